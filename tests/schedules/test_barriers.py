"""Random programs, scheduled and bound to threads at random: with nest-insert-barriers no thread meets another one.

The interpreter runs every thread of a block by itself and stops where two of them touch an element without a barrier
between them (mode "threads").
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from nestor.analysis.nest.kernels.barrier_places import THREAD_AXES, bound_loops
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import BarrierOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import TrapError
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from program_drafts import Program
from programs import draw_program
from sampling import seeds
from sequences import Reference, Runner, difference, draw_schedule
from xdsl.dialects.builtin import ModuleOp

AXES = ("block.x", "block.y", "thread.x", "thread.x", "thread.x", "thread.y")


def bound_at_random(rng: random.Random, module: ModuleOp) -> None:
    """Bind loops to blocks and threads, as often as that is legal."""
    for loop in rng.sample(loops_in(module), len(loops_in(module))):
        if rng.random() < 0.7:
            try:
                bind(loop, rng.choice(AXES))
            except NestorError:
                continue


def disagreement(program: Program, module: ModuleOp, arguments: range) -> str | None:
    """How threads that run by themselves differ from the program, None if nowhere."""
    reference, runner = Reference(program, arguments), Runner(module, "threads")
    for seed, before, defined in reference._runs:
        for order in (1, 2):
            try:
                after = runner.run(program.arguments(seed), order)
                found = difference(before, after, defined, program.tolerance)
            except TrapError as trap:
                found = str(trap)
            if found is not None:
                return f"arguments {seed}, order {order}: {found}"
    return None


def draw(seed: int) -> tuple[Program, ModuleOp] | None:
    """A program with loops bound to threads and all the barriers that it needs; None where there is nothing to see."""
    rng = random.Random(seed)
    schedule = draw_schedule(rng, draw_program(rng), longest=4, marks=False)
    module = schedule.module
    bound_at_random(rng, module)
    if not bound_loops([module], THREAD_AXES):
        return None
    try:
        insert_barriers(functions(module)[0])
        Runner(module, "threads")
    except NestorError:  # no place for a barrier; a buffer whose extent is not constant in a kernel
        return None
    verify(module)
    return schedule.program, module


def run(drawn: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in drawn:
        one = draw(seed)
        if one is None:
            continue
        program, module = one
        counts["programs"] += 1
        found = disagreement(program, module, range(seed, seed + 2))
        assert found is None, f"seed {seed}: {found}\n{program.text}\n{module}"
        barriers = [op for op in module.walk() if isinstance(op, BarrierOp)]
        counts["barriers"] += len(barriers)
        for barrier in barriers:
            barrier.detach()
        if barriers:
            counts["needed"] += disagreement(program, module, range(seed, seed + 4)) is not None
            counts["with barriers"] += 1
    return counts


def test_threads_wait_for_what_they_use():
    counts = run(seeds(180))
    assert counts["programs"] >= len(seeds(180)) / 4
    assert counts["needed"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_many_threads_wait_for_what_they_use(first: int):
    counts = run(range(first, first + 1000))
    assert counts["needed"] >= 8
