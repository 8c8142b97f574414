"""What was accepted step by step can be compiled; a step after which it could not is refused when it is asked for."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from compiled import MachineCode, failure
from nestor.analysis.nest.kernels.loop_marks import bound_loop_in
from parsed import parse_module
from primitives import apply
from sampling import seeds
from sequences import Runner, Schedule, Stop, are_apart, defined_elements, draw_schedule


def uncompiled(draws: Iterable[int], early: bool = False) -> list[str]:
    """The draws that compiling refuses, with the first step from which on it does; `early`: loops are marked early."""
    found = []
    for seed in draws:
        schedule = draw_schedule(random.Random(seed), early=early)
        if (why := failure(schedule.module)) is not None:
            found.append(f"seed {seed}: {why}\n{_blamed(schedule)}")
    return found


def _blamed(schedule: Schedule) -> str:
    module, lines = parse_module(schedule.program.text), [schedule.program.text]
    for request in schedule.steps:
        apply(module, request)
        lines.append(f"  {request}")
        if (why := failure(module)) is not None:
            return "\n".join([*lines, f"REFUSED: {why}", str(module)])
    return "\n".join(lines)


def test_what_is_accepted_step_by_step_is_compiled():
    assert uncompiled(seeds(90)) == []
    assert uncompiled(seeds(30), early=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(200, 1200, 250))
def test_a_thousand_schedules_are_compiled(first: int):
    assert uncompiled(range(first, first + 250)) == []


@pytest.mark.slow
def test_many_schedules_whose_loops_are_marked_early_are_compiled():
    assert uncompiled(range(100, 300), early=True) == []


def wrong_code(draws: Iterable[int]) -> tuple[int, list[str]]:
    """How many schedules for the processor ran as machine code, and those that compute something else than the program."""
    ran, found = 0, []
    for seed in draws:
        schedule = draw_schedule(random.Random(seed))
        if bound_loop_in(schedule.module) is not None:
            continue
        code, program = MachineCode(schedule.module), schedule.program
        interpreter = Runner(parse_module(program.text))
        for k in range(seed, seed + 3):
            expected = interpreter.run(program.arguments(k))
            status, results = code.run(program.arguments(k))
            if isinstance(expected, Stop) or not program.is_exact(expected):
                if isinstance(expected, Stop) != (status != 0):
                    found.append(f"seed {seed}, arguments {k}: status {status}, expected {expected}")
                continue
            ran += 1
            defined = defined_elements(interpreter, program.arguments(k), program, expected)
            for old, new, mask in zip(expected, results, defined, strict=True):
                if status or np.any(are_apart(old, new, program.tolerance) & mask):
                    steps = "\n".join(map(str, schedule.steps))
                    found.append(f"seed {seed}, arguments {k}\n{program.text}\n{steps}\n{schedule.module}")
                    break
    return ran, found


def test_machine_code_of_schedules_computes_what_the_programs_do():
    ran, found = wrong_code(seeds(30))
    assert ran >= 20
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3000, 3400, 100))
def test_machine_code_of_many_schedules_computes_what_the_programs_do(first: int):
    ran, found = wrong_code(range(first, first + 100))
    assert ran >= 180
    assert found == []
