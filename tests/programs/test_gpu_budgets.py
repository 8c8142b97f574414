"""What the kernels of the automatic GPU schedules cost in memory traffic, counted by the simulator: upper bounds.

A row is a program of gpu_programs.py, a call, and what it may cost at most:

    launches    kernels that are started
    requested   bytes of all sectors that warps ask for, for each byte that any implementation has to move
    moved       bytes of distinct sectors in every launch, likewise: 1.00 reads all arguments once, writes all results once
    sectors     sectors for each that the bytes of a request need: 1.00 is fully coalesced
    width       bytes that every access to global memory moves at least
    dynamic     compiled for extents that are not known
    once        arrays of which every byte is asked for only once, read or written
    slow        left to `make test-all`: other rows have the program, and what is special about this one
    ways        passes over the banks of shared memory for each that is needed, of the worst line

Extents of round rows are multiples of 8 elements, so that a row of an array starts at a sector. A change that does better
may lower a number here; one that needs a higher one has made the kernels slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import nestor as nt
import pytest
from gpu_programs import PROGRAMS, arguments_of

pytestmark = pytest.mark.one_of(4)

BY_NAME = {program.name: program for program in PROGRAMS}
ROUNDING = 0.005  # numbers are given with two digits


@dataclass(frozen=True)
class Budget:
    """A row of the table."""

    program: str
    call: str
    launches: int
    requested: float
    moved: float = 1.0
    sectors: float = 1.0
    ways: float = 1.0
    once: str = ""
    width: int = 1
    dynamic: bool = False
    slow: bool = False


# fmt: off
BUDGETS = (
    # pointwise
    Budget("iou", "; ".join(["f32[64,1000]"] * 8), 1, 1.00, slow=True),
    Budget("iou", "; ".join(["f32[200000]"] * 8), 1, 1.00, width=16),
    Budget("iou", "; ".join(["f32[512,1000]"] * 8), 1, 1.00, slow=True),
    Budget("iou", "; ".join(["f32[1021]"] * 8), 1, 1.00),
    Budget("iou", "; ".join(["f64[300]"] * 8), 1, 1.00, slow=True),
    Budget("iou", "; ".join(["f32[64,1000]"] * 8), 1, 1.00, dynamic=True),
    Budget("axpy", "0.5; f16[8192]; f16[8192]", 1, 1.00),
    Budget("axpy", "3; i32[4096]; i32[1]", 1, 1.12),
    Budget("bias and scale", "f32[96,256]; f32[256]; f32[96,1]", 1, 1.61),
    Budget("large pointwise", "f16[600000]", 1, 1.00),
    Budget("gelu with bias and residual", "f32[1024,256]; f32[256]; f32[1024,256]", 1, 1.35, sectors=1.02),
    # transposes, concatenation, padding, gathers
    Budget("transpose", "f32[128,96]", 1, 1.00, once="x result"),
    Budget("transpose", "f16[96,64]", 1, 1.00, once="x result", width=4),
    Budget("transpose", "i8[96,64]", 1, 1.00, once="x result", width=4, ways=1.27),
    Budget("transpose", "f32[65,47]", 1, 1.31, sectors=1.23),  # unaligned rows, 32 lanes each: no fewer sectors
    Budget("plus transpose", "f32[96,64]; f32[64,96]", 1, 1.00),
    Budget("matrix plus its transpose", "f32[96,96]", 1, 1.50),
    Budget("reverse of the axes", "f32[40,24,64]", 1, 1.00, once="x result"),
    Budget("rotated halves", "f16[600,256]", 1, 1.00, width=4),
    Budget("roll", "f32[64,256]", 1, 1.14, sectors=1.11),
    Budget("concatenate", "f32[64,128]; f32[64,64]", 1, 1.00),
    Budget("pad", "f32[61,256]", 1, 1.25, sectors=1.22),  # rows of 259, shifted: no fewer
    Budget("rows set to zero", "f32[300,512]", 1, 1.04, sectors=1.04),
    Budget("gather", "f32[64,256]; i64[96] below 64", 1, 1.52),
    Budget("gather", "f32[64,256]; i64[96] within 64", 1, 1.52, dynamic=True),
    Budget("embedding and normalisation", "f32[64,256]; f32[96,256]; i64[96] within 64", 1, 1.32, once="result"),
    Budget("likelihood of labels", "f32[1024,64]; i64[1024] within 64", 1, 3.35, moved=3.35, sectors=3.33),
    # reductions
    Budget("row sums", "f32[64,1024]", 1, 1.01, once="x"),
    Budget("row sums", "f32[300,40]", 1, 1.17),
    Budget("row sums", "f32[4,81920]", 2, 1.01, once="x"),  # several blocks a row
    Budget("row sums", "f32[64,1024]", 1, 1.01, dynamic=True),
    Budget("column sums", "f32[512,256]", 2, 1.03, moved=1.03, once="x result"),
    Budget("column extremes", "f32[512,256]", 2, 1.07, moved=1.07, once="x result out"),  # parts of both at once
    Budget("whole sum", "f32[65536] positive", 2, 1.00, once="x"),
    Budget("whole sum", "f32[65536] positive", 2, 1.14, moved=1.03, once="x", dynamic=True, slow=True),
    Budget("mean and variance", "f32[32,1024]", 1, 1.01),
    Budget("argmax", "f32[32,512]", 1, 1.01, once="x"),
    Budget("count above", "f32[16384]; 0.25", 1, 1.01),
    Budget("running sums", "i64[32,512]", 1, 1.00, once="x result"),
    # rows that are normalised
    Budget("softmax", "f32[32,1024]", 1, 1.00, once="x result", width=16),
    Budget("softmax", "f32[32,1000]", 1, 1.00, once="x result", dynamic=True),
    Budget("softmax", "f32[8,6000]", 1, 1.00, slow=True),
    Budget("softmax", "f32[4,81920]", 3, 1.57, moved=1.50),  # x twice: blocks share rows
    Budget("softmax", "f16[3,70000]", 3, 1.64, moved=1.51, slow=True),
    Budget("log_softmax", "f32[4,81920]", 3, 1.57, moved=1.50, slow=True),
    Budget("log_softmax", "f32[64,96]", 1, 1.00),
    Budget("layer norm", "f32[32,1024]; f32[1024]; f32[1024]", 1, 1.94, once="x result"),
    Budget("layer norm", "f32[4,80000]; f32[80000]; f32[80000]", 3, 2.07, moved=1.40),  # x twice: blocks share rows
    Budget("mean and variance", "f32[2,80000]", 2, 1.02),
    Budget("RMS norm", "f32[32,512]; f32[512]", 1, 1.48, once="x result"),
    Budget("batch norm", "f32[256,64]; f32[64]; f32[64]", 1, 2.05, width=16),
    Budget("batch norm", "f16[256,64]; f16[64]; f16[64]", 1, 2.05, width=8, slow=True),
    Budget("batch norm", "f32[1032,64]; f32[64]; f32[64]", 3, 4.11, moved=1.60),  # 1.50, and sums of parts
    Budget("batch norm", "f32[16384,128]; f32[128]; f32[128]", 3, 4.11, moved=1.60, slow=True),
    Budget("mean and variance of columns", "f32[4096,64]", 2, 2.22, moved=1.19),
    Budget("normalised over leading axes", "f32[64,64,32]", 3, 4.11, moved=1.60, slow=True),
    Budget("softmax of columns", "f32[256,64]", 1, 2.50, moved=1.50, width=16),
    Budget("softmax of columns", "f16[256,64]", 1, 2.50, moved=1.50, width=8),
    Budget("softmax of columns", "f32[4096,64]", 3, 2.54, moved=1.53),  # x twice, and maxima and sums of parts
    # products
    Budget("matmul", "f32[128,64]; f32[64,128]", 1, 3.50),
    Budget("matmul", "f32[128,64]; f32[64,127]", 1, 4.63, sectors=1.31, slow=True),
    Budget("matmul of short floats", "f16[64,96]; f16[96,64]", 1, 1.00, width=16),
    Budget("matmul", "f16[128,128]; f16[128,128]", 1, 1.67, width=16, slow=True),
    Budget("dense layer", "f32[64,64]; f32[64,96]; f32[96]", 1, 2.80),
    Budget("batched matmul", "f32[4,32,32]; f32[4,32,64]", 1, 1.60),
    Budget("convolution", "f32[2,8,16,16]; f32[16,8,3,3]", 1, 3.54, sectors=1.16),
    # windows: what several of them have in common is read once a tile, and again where tiles meet
    Budget("maxima of windows", "f32[2,4,64,64]", 1, 1.20, sectors=1.09),
    Budget("means of windows", "f32[2,32,96]", 1, 1.03, sectors=1.03),
    Budget("convolution of separate channels", "f32[1,4,64,64]; f32[4,1,3,3]", 1, 1.15, sectors=1.06),
    Budget("separate channels, channels last", "f32[1,32,32,16]; f32[16,1,3,3]", 1, 1.10),
    Budget("attention", "f32[2,2,32,32]; f32[2,2,64,32]; f32[2,2,64,32]", 1, 2.50, sectors=1.50),
    Budget("attention", "f32[2,2,16,32]; f32[2,2,640,32]; f32[2,2,640,32]", 1, 1.72, sectors=1.55, slow=True),
)
# fmt: on


def name_of(budget):
    return f"{budget.program} {budget.call.partition(';')[0]}"


def profile(budget):
    program, arguments = BY_NAME[budget.program], arguments_of(budget.call)
    jitted = nt.jit(program.function, target="cuda-sim:profile", dynamic=budget.dynamic)
    compiled = jitted.lower(*arguments).compile()
    return compiled.profile(*arguments)


def costs(report):
    """What a budget bounds, of a profile."""
    ratio = report.compulsory or 1
    return {
        "launches": report.launches,
        "requested": report.requested / ratio,
        "moved": report.moved / ratio,
        "sectors": report.sectors_over_ideal,
        "ways": report.ways,
    }


@pytest.mark.parametrize(
    "budget", [pytest.param(b, marks=[pytest.mark.slow] * b.slow, id=name_of(b)) for b in BUDGETS]
)
def test_costs_stay_within_the_budget(budget):
    report = profile(budget)
    cost = costs(report)
    for array in map(report.array, budget.once.split()):
        cost[array.name] = max(array.requested_read, array.requested_written) / array.bytes
    bounds = {**vars(budget), **dict.fromkeys(budget.once.split(), 1.0)}
    above = {name: value for name, value in cost.items() if value > bounds[name] + ROUNDING}
    assert not above, f"{above}, and the budget is {budget}\n{report}"
    narrow = [line for line in report.lines if line.space == "global" and line.size < budget.width]
    assert not narrow, f"accesses narrower than {budget.width} bytes\n{report}"
