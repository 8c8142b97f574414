"""The schedule in use for a program is one that can be given back: `low.compile(schedule=low.schedule())`.

Printed, parsed and replayed it leaves the nests that the automatic scheduler left, on static extents and on unknown ones,
for the processor and for a GPU; and what is compiled with it computes what NumPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np
import pytest
from gpu_programs import PROGRAMS, arguments_of
from nestor.analysis.nest.loop_structure import functions
from nestor.frontend.jit.driver.lowered import Lowered
from nestor.frontend.jit.driver.schedule_steps import sequences_of
from nestor.frontend.jit.specialise.stages import lowered_copy
from nestor.transforms.schedule.apply_schedule import apply_sequence

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.yardstick import ROWS

pytestmark = pytest.mark.one_of(5)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).random(shape)


@dataclass(frozen=True, eq=False)
class Program:
    """A function of NumPy, what makes its arguments, and whether it is compiled for unknown extents as well."""

    name: str
    function: Callable[..., Any]
    arguments: Callable[[], list[Any]]
    dynamic: bool = True


def running_and_sums(a):
    return np.cumsum(a * 2) - a, a.sum(), (a * a).max()


def softmax_of_columns(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def sums_of_long_rows(x):
    return x.sum(axis=1), (x * x).sum()


def relaxed(x):
    for i in range(1, x.shape[0] - 1):
        x[i] = (x[i - 1] + x[i + 1]) / 2
    return x.max()


def programs() -> Iterator[Program]:
    yield Program("running and sums", running_and_sums, lambda: [numbers(100).astype("f4")])
    yield Program("softmax of columns", softmax_of_columns, lambda: [numbers(40, 30).astype("f4")])
    yield Program("sums of long rows", sums_of_long_rows, lambda: [numbers(3, 5000)])
    yield Program("relaxed", relaxed, lambda: [numbers(50)])
    for row in ROWS.values():
        yield Program(f"yardstick {row.name}", row.program, lambda row=row: row.make(small=True))
    for one in PROGRAMS:
        yield Program(
            f"gpu {one.name}", one.function, lambda one=one: arguments_of(one.calls[0]), one.dynamic
        )


OWN = 4
EVERY = 24
"""Where slow tests are left out, of the other programs only each so many-th is tried."""

CASES = [
    pytest.param(
        program,
        dynamic,
        target,
        id=f"{program.name}-{'dynamic' if dynamic else 'static'}-{target}",
        marks=() if k < OWN or (k + dynamic) % EVERY == 0 else pytest.mark.slow,
    )
    for k, program in enumerate(programs())
    for dynamic in (False, True)
    for target in ("cpu", "cuda-sim")
    if program.dynamic or not dynamic
]


def lowered(program: Program, dynamic: bool, target: str) -> Lowered:
    return nt.jit(program.function, dynamic=dynamic, target=target).lower(*program.arguments())


@pytest.mark.parametrize(("program", "dynamic", "target"), CASES)
def test_the_schedule_in_use_replays_to_the_same_nests(program: Program, dynamic: bool, target: str):
    low = lowered(program, dynamic, target)
    schedule = low.schedule()
    fresh = lowered_copy(low.program.module, ("to-nest" if target == "cpu" else "cuda-to-nest",))
    for sequence in sequences_of(str(schedule)):
        apply_sequence(sequence, fresh)
    (function,) = functions(fresh, low.program.name)
    assert str(function) == schedule.nest


COMPILED = [case for case in CASES if not case.values[0].name.startswith("gpu ")]


@pytest.mark.parametrize(("program", "dynamic", "target"), COMPILED)
def test_what_is_compiled_with_the_schedule_in_use_computes_the_same(
    program: Program, dynamic: bool, target: str
):
    low = lowered(program, dynamic, target)
    given, plain = low.compile(schedule=low.schedule()), low.compile()
    for _ in range(2):
        want, got = plain(*program.arguments()), given(*program.arguments())
        for one, other in zip(_leaves(want), _leaves(got), strict=True):
            np.testing.assert_array_equal(one, other)


def _leaves(results: Any) -> list[np.ndarray]:
    listed = results if isinstance(results, tuple | list) else [results]
    return [np.asarray(one) for one in listed]


@pytest.mark.parametrize("name", [program.name for program in list(programs())[:OWN]])
def test_it_computes_what_numpy_does(name: str):
    (program,) = [one for one in programs() if one.name == name]
    for dynamic in (False, True):
        low = lowered(program, dynamic, "cpu")
        got = low.compile(schedule=low.schedule())(*program.arguments())
        want = program.function(*program.arguments())
        for one, other in zip(_leaves(want), _leaves(got), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4)
