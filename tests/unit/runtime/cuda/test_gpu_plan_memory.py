"""gpu-plan-memory: no two temporaries that live at the same time share bytes, and a plan that lets them is caught."""

import random

import nestor as nt
import numpy as np
import pytest
from gpu_programs import PROGRAMS, arguments_of, compare, expected
from nestor.dialects.registry import make_context
from nestor.lowering.nest_to_gpu import plan_memory as gpu_plan_memory
from nestor.lowering.nest_to_gpu.plan_memory import ALIGNMENT, GpuPlanMemoryPass
from nestor.runtime.cuda.host_plan import HostPlan
from nestor.runtime.cuda.launch_arguments import Packer
from xdsl.parser import Parser


def program_of(lives, dynamic):
    """A host function that makes temporaries of given sizes, each used at two moments."""
    moments = {}
    for k, (first, last, size) in enumerate(lives):
        moments.setdefault(first, []).insert(0, (k, size))
        moments.setdefault(last, []).append((k, None))
    lines = []
    for _, events in sorted(moments.items()):
        for k, size in events:
            if size is not None and dynamic[k]:
                lines.append(f"%n{k} = arith.constant {size} : index")
                lines.append(f"%b{k} = memref.alloc(%n{k}) : memref<?xi8>")
            elif size is not None:
                lines.append(f"%b{k} = memref.alloc() : memref<{size}xi8>")
            else:
                type = "memref<?xi8>" if dynamic[k] else f"memref<{lives[k][2]}xi8>"
                lines.append(
                    f"gpu.launch_func @m::@k{k} blocks in (%c, %c, %c) threads in (%c, %c, %c) args(%b{k} : {type})"
                )
    body = "\n".join(lines)
    return f"func.func @f() {{ %c = arith.constant 1 : index\n{body}\nfunc.return }}"


class Recorder:
    """A device that notes where temporaries are, and until when."""

    def __init__(self):
        self.size, self.moment, self.views = 0, 0, []

    def allocate(self, shape, dtype):
        self.size = int(np.prod(shape)) * dtype.itemsize
        return "arena"

    def view(self, memory, offset, shape, dtype):
        assert memory == "arena" and offset % ALIGNMENT == 0
        self.moment += 1
        one = {"start": offset, "end": offset + shape[0], "made": self.moment, "used": self.moment}
        self.views.append(one)
        return one

    def launch(self, kernel, grid, block, arguments, shared=0):
        self.moment += 1
        arguments[0]["used"] = self.moment


@pytest.mark.parametrize("seed", range(12))
def test_buffers_that_live_at_the_same_time_are_apart(seed):
    rng = random.Random(seed)
    times = [rng.sample(range(1000), 2) for _ in range(12)]
    lives = [(min(t), max(t), rng.choice([1, 255, 256, 257, 3000, 70000])) for t in times]
    dynamic = [rng.random() < (0, 0.5, 1)[seed % 3] for _ in lives]
    module = Parser(make_context(), program_of(lives, dynamic)).parse_module()
    GpuPlanMemoryPass().apply(make_context(), module)
    plan = HostPlan(module)
    plan._packers.update(
        {f"k{k}": Packer(f"k{k}", False, 0, lambda operands, _: [*operands]) for k in range(len(lives))}
    )
    device = Recorder()
    plan.run(device, ())
    assert len(device.views) == len(lives)
    for k, one in enumerate(device.views):
        assert one["end"] <= device.size
        for other in device.views[:k]:
            live_together = one["made"] <= other["used"] and other["made"] <= one["used"]
            assert not live_together or one["end"] <= other["start"] or other["end"] <= one["start"]
    assert device.size <= sum(-(-size // ALIGNMENT) * ALIGNMENT for *_, size in lives)


def test_a_plan_that_shares_what_is_still_needed_is_caught(monkeypatch):
    program = next(p for p in PROGRAMS if p.name == "centred columns")
    arguments = arguments_of("f32[1065,33]")  # sums of so long columns are kernels of their own
    want = expected(program, arguments)
    compare(program, nt.jit(program.function, target="cuda-sim")(*arguments), want)
    monkeypatch.setattr(gpu_plan_memory._Life, "overlaps", lambda one, other: False)
    with pytest.raises(AssertionError):
        compare(program, nt.jit(program.function, target="cuda-sim")(*arguments), want)
