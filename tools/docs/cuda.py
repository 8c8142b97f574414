"""docs/cuda.md: from Python to CUDA C, the simulator's reports and the profile, for the softmax of examples/softmax.py.

python -m nestor.tools.docs.cuda > docs/cuda.md
"""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from ...frontend.interface.spec import spec
from ...frontend.jit.driver.jit import jit
from ...frontend.jit.driver.schedule import schedule

ROOT = Path(__file__).parents[2]
BARRIER = re.compile(r"\n *__syncthreads\(\);")

PAGE = """\
# CUDA

Kernels are CUDA C that a person can read. They run on a GPU (`target="cuda"`), and on the CPU without one
(`target="cuda-sim"`), unmodified, where every access can be checked and counted. This page follows one program
down the levels; it is written by `make docs`, so that it shows what the compiler does today.

{python}

| what | how |
|---|---|
| run on a GPU, on CuPy arrays and all that speak DLPack | `nt.jit(f, target="cuda")` |
| run the same kernels on the CPU | `nt.jit(f, target="cuda-sim")`, `target="cuda-sim:checked"` with every access checked |
| the texts of the levels | `low = f.lower(x)`; `low.as_text("nt")`, `"gpu"`, `"cuda"`, `"ptx"` |
| machine code without a GPU | `low.compile(target="cuda", arch="sm_90")`: `.cubin`, `.ptx`, `.report()` |
| faults and memory traffic | `low.compile(target="cuda-sim").check(x)`, `.profile(x)`; `opt-tool -t cuda-sim-report` |
| why kernels are as they are, by line | `nt.jit(f, target="cuda").explain(x)` |
| the schedule, to edit and replay | `low.schedule("cuda")`, `low.compile(target="cuda", schedule=...)` |

## The tensor level

{nt}

## The loop nest

`convert-nt-to-nest` makes one nest per fusion; `nt-fuse` has said what belongs together. One loop over rows, three in it.

{nest}

## The schedule

`nest-schedule-cuda` takes the steps of this sequence, each proved legal when it is taken. A warp has a row: its
lanes keep it in registers (`x_row`, `result_row`: 16-byte accesses, one read and one write of the matrix), and share
maximum and sum by shuffles.

{schedule}

Which strategy a nest gets is decided in `transforms/schedulers/cuda/schedule_cuda.py`; each has a module beside it
(`transforms/schedulers/cuda/`), whose docstring shows what it makes of what. [schedules.md](schedules.md) lists the
primitives.

## The scheduled nest

{scheduled}

`nest-insert-barriers` then asks isl which threads of a block touch what others wrote, and puts barriers there and
nowhere else. Rows of 128 elements need none.

## The gpu level

A host function that launches, and a `gpu.module` of upstream operations, which `mlir-opt` accepts and lowers to
NVVM. `%aligned` says that all 16-byte accesses fall on multiples of 16; it is computed for each launch.

{gpu}

## CUDA C

{cuda}

No header is needed: NVRTC and nvcc compile it as it is, for `sm_80` and up. The lines of Python are those that
computed the value. Results match NumPy operation by operation: NVRTC gets `--fmad=false`.

## Without a GPU: what the simulator says

`runtime/cuda_sim/` compiles that text with g++, unmodified, behind a header that gives `threadIdx`,
`__syncthreads`, shuffles and the rest their meaning. A block's threads are fibers, switched where they wait for
each other, in one of three orders. The `checked` mode sees every access: races (of a block, of a warp, of two
blocks), barriers that not all threads reach, deadlocks, shuffles from lanes that take no part, accesses outside of
arrays (stopped before they happen), misaligned vectors, reads of what was never written.

A row of {wide} elements has a block of {wide_threads} threads and {barriers} barriers. Without the first of them:

{fault}

What `profile` counts, for {rows} rows of 128 elements: a *request* is one access of a warp, a *sector* 32 bytes of
memory; *ideal* is how few would do, *compulsory* each array's bytes once.

{profile}

The same for a transpose, whose tiles go through shared memory; *ways* are the passes that a request takes over the
banks:

{transpose}

Tests hold such figures (`tests/programs/test_gpu_budgets.py`): a schedule that reads something twice fails them.
Caches are not modelled.

Where a row or a column is longer than what a block keeps, of f32:

| program | what is done | kernels | moved |
|---|---|---|---|
| batch norm in training, up to 1024 rows | a block has its columns from the sums to the result | 1 | 1.00 |
| batch norm in training, 4096 x 256 | sums, squares of parts, all parts, the result (`long_columns.py`) | 3 | 1.59 |
| mean and variance of columns, 4096 x 256 | sums and squares of parts, all parts | 2 | 1.19 |
| softmax of columns, 4096 x 64 | maxima of parts and exponentials less these, all parts, the result | 3 | 1.53 |
| layer norm, softmax, up to 32768 | a block has a row, in registers (`cuda/row_programs.py`) | 1 | 1.00 |
| softmax, 64 x 65536 | a block has a row, and passes over it thrice | 1 | 1.50 |
| row sums, 4 x 1000000 | blocks have parts of a row, 245 each (`long_rows.py`) | 2 | 1.00 |
| layer norm, 4 x 100000 | sums and squares of parts, all parts, the result | 3 | 1.40 |
| softmax, 4 x 100000 | maxima of parts and exponentials less these, all parts, the result | 3 | 1.50 |

Attention, `softmax(q @ k.T * scale + bias) @ v`, is one kernel. Scores are in shared memory or, of 16 bits, in registers:

| of | what is done |
|---|---|
| f32, f64, few keys | a block has whole rows of scores (`whole_row_attention.py`) |
| f32, f64, many keys, or unknown | tiles of keys, with a running maximum and sum (`online_attention.py`) |
| f16, bf16, up to 128 features | tiles of keys, by tensor cores, copied one ahead (`matrix_attention.py`) |

Its gradient keeps a number of each row, and is three kernels more: a sum of each row, one for `dq`, and one for `dk` and
`dv`, which compute tiles of scores again and use them where they are (`chains.py`; by tensor cores, in registers,
`matrix_chains.py`). No array of rows by keys is in memory. Other products are done so, too, where a factor is an elementwise
function of products with up to 128 terms, and blocks of rows are enough: `np.maximum(x @ w, 0) @ v`, `np.exp(-d2) @ y`
([decision 41](decisions/0041-chains-of-products.md)).

[Decision 17](decisions/0017-attention-by-tensor-cores.md) has what it is not done for; `explain` says it of a function.

Convolutions, their gradients and other sums of products over several axes are one kernel, with what is done to each sum:

| of | what is done |
|---|---|
| f16, bf16; f32 with `fastmath=("tf32",)` | a product by tensor cores, pixels by channels (`matrix_convolutions.py`) |
| the same, of images whose extents only the run time knows | tiles of 8 x 16 pixels (`image_tiles.py`) |
| f32, f64 | tiles of pixels and channels by threads, with the window of the image in shared memory (`convolutions.py`) |

A padded image is not written: what copies a tile to shared memory writes zeros where the border is
([decision 39](decisions/0039-convolutions-by-tensor-cores.md)). Channels that are last are copied 16 bytes at a time, where
there is a multiple of 8 of them.
"""


def softmax() -> Any:
    """The function of examples/softmax.py."""
    found = spec_from_file_location("softmax", ROOT / "examples" / "softmax.py")
    assert found is not None and found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module.softmax


def transpose(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.T)


def page() -> str:
    """The text of docs/cuda.md."""
    from ...runtime.cuda_sim.module import SimModule

    function, rows, wide = softmax(), 1000, 5000
    lowered = jit(function).lower(spec((rows, 128), "f4"))
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, 128)).astype(np.float32)
    y = random.standard_normal((2, wide)).astype(np.float32)
    by_blocks = jit(function, dynamic=False).lower(y).compile("cuda-sim:checked")
    source = by_blocks.engine.module.source
    first = BARRIER.search(source)
    assert first is not None, "rows of this length have barriers"
    threads = re.search(r"__launch_bounds__\((\d+)", source)
    assert threads is not None
    by_blocks.engine.module = SimModule(source[: first.start()] + source[first.end() :], "checked")
    matrix = random.standard_normal((300, 200)).astype(np.float32)
    return PAGE.format(
        python=_block((ROOT / "examples" / "softmax.py").read_text(), "python"),
        nt=_block(lowered.as_text("nt"), "mlir"),
        nest=_block(schedule(lowered).nest, "mlir"),
        schedule=_block(str(lowered.schedule("cuda")), "mlir"),
        scheduled=_block(lowered.schedule("cuda").nest, "mlir"),
        gpu=_block(lowered.as_text("gpu"), "mlir"),
        cuda=_block(lowered.as_text("cuda"), "cuda"),
        wide=wide,
        wide_threads=threads[1],
        barriers=len(BARRIER.findall(source)),
        fault=_block(_fault(by_blocks, y)),
        rows=rows,
        profile=_block(str(lowered.compile(target="cuda-sim").profile(x))),
        transpose=_block(str(jit(transpose).lower(matrix).compile(target="cuda-sim").profile(matrix))),
    )


def _fault(compiled: Any, *arguments: np.ndarray) -> str:
    """What a call of a program that is wrong raises."""
    from ...runtime.cuda_sim.faults import SimulatorFault

    try:
        compiled(*arguments)
    except SimulatorFault as fault:
        return str(fault)
    raise AssertionError("the simulator finds no fault")


def _block(text: str, language: str = "") -> str:
    return f"```{language}\n{text.strip()}\n```"


def main() -> int:
    sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
