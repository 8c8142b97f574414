"""Iterations of a loop that is marked parallel stay independent, whatever primitives do to the program afterwards.

Runs in adversarial orders (`test_schedules.py`) do not see two threads that add to one element at a time: sums commute.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.transforms.nest.mapping.parallel import parallelize, why_not_independent, why_not_parallel
from parsed import parse_module
from primitive_requests import NothingToDo, Request
from primitives import PRIMITIVES, apply
from programs import FAMILIES, draw_program
from sampling import seeds
from sequences import LARGEST
from xdsl.dialects.builtin import ModuleOp

REQUESTS = 12
"""Requests that are drawn for a program, accepted or not."""

OPAQUE = ("tensorize",)
"""Primitives that leave calls of which nothing is known."""

MOVING = [
    "compute_at",
    "compute_root",
    "decompose_reduction",
    "distribute",
    "fold_buffer",
    "fuse",
    "fuse_epilogue",
    "hoist",
    "hoist_alloc",
    "privatise",
    "registerise",
    "resize_buffer",
    "reuse_buffers",
    "reverse_compute_at",
    "reverse_compute_inline",
    "sink",
    "sink_alloc",
]
"""Primitives that move statements or storage into loops or out of them; drawn seven times as often."""

NAMES = [name for name, row in PRIMITIVES.items() if not row.is_mark and name not in OPAQUE] + 6 * MOVING


def dependence_between_iterations(module: ModuleOp) -> str | None:
    """Why some loop could not be marked parallel that is, were the others serial; None where all could.

    Two iterations may write one element of memory of the program where no other one reads it: what is read of it later is
    compared by runs in adversarial orders.
    """
    serial = module.clone()
    marked = [loop.label for loop in loops_in(functions(module)[0]) if loop.kind == "parallel"]
    for loop in loops_in(functions(serial)[0]):
        loop.set_kind("serial")
    made = [op.label.data for op in serial.walk() if isinstance(op, AllocOp)]
    for name in marked:
        refusal = why_not_independent(find_loop(serial, name), "parallelize")
        if refusal is not None and not any(f'an output dependence on "{b}"' in str(refusal) for b in made):
            return refusal.diagnostic.message
    return None


def run(seed: int, accepted: Counter[str], favoured: Sequence[str] = ()) -> None:
    """Half of the requests are for the favoured primitives, where there are any."""
    rng = random.Random(f"parallel {seed}")
    module = parse_module(draw_program(rng, rng.choice(list(FAMILIES))).text)
    loops = loops_in(functions(module)[0])
    for loop in rng.sample(loops, len(loops)):
        if rng.random() < 0.6 and why_not_parallel(loop) is None:
            loop.set_kind("parallel")
    if all(loop.kind == "serial" for loop in loops):
        return
    steps: list[Request] = []
    each = len(NAMES) // max(1, len(favoured))
    for name in rng.choices(NAMES + each * list(favoured), k=REQUESTS):
        if sum(1 for _ in module.walk()) > LARGEST:
            return
        request = PRIMITIVES[name].draw(rng, module)
        if request is None:
            continue
        before = str(module)
        try:
            apply(module, request)
        except (NestorError, NothingToDo):
            continue
        accepted[name] += 1
        steps.append(request)
        found = dependence_between_iterations(module)
        assert found is None, f"{seed}, {steps}: {found}\n{before}\nBECOMES\n{module}"


def test_accepted_steps_leave_parallel_loops_independent():
    """The slow test draws two thousand programs."""
    accepted: Counter[str] = Counter()
    for seed in seeds(180):
        run(seed, accepted)
    assert sum(accepted.values()) >= 30 and sum(accepted[name] for name in MOVING) >= 10, accepted


@pytest.mark.slow
def test_two_thousand_programs_with_parallel_loops():
    """And more until each primitive was accepted, which `sink` is in one of two thousand programs: half of their requests
    are for those that were not."""
    accepted: Counter[str] = Counter()
    for seed in range(2000):
        run(seed, accepted)
    for seed in range(2000, 4000):
        if not (missing := [name for name in MOVING if not accepted[name]]):
            return
        run(seed, accepted, missing)
    raise AssertionError(f"never accepted: {[name for name in MOVING if not accepted[name]]}")


def test_two_iterations_that_add_to_one_element_are_seen():
    module = parse_module("""
func.func @f(%x: memref<2x8xi64>, %s: memref<8xi64> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<2x8xi64>
      nest.accumulate "s" add %a, %s[%j] : memref<8xi64>
    }
  }
  func.return
}""")
    parallelize(find_loop(module, "j"))
    assert dependence_between_iterations(module) is None
    find_loop(module, "i").set_kind("parallel")
    assert 'a reduction dependence on "s"' in str(dependence_between_iterations(module))
