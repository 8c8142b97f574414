"""Reductions of tuples under random schedules: what is legal of sums is legal of them, and computes the same."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from programs import draw_program
from sampling import seeds
from sequences import Reference, draw_schedule

SCHEDULED = (
    "lift",
    "rfactor",
    "privatise",
    "vectorize",
    "split",
    "reorder",
    "decompose_reduction",
    "tree_reduce",
)
"""Primitives that random schedules of tuples get to."""


def run(count: int, start: int = 0) -> Counter[str]:
    """Check that many random schedules of tuples; which primitives were legal, how often."""
    legal: Counter[str] = Counter()
    for seed in range(start, start + count):
        rng = random.Random(seed)
        schedule = draw_schedule(rng, draw_program(rng, "tuples"))
        found = schedule.disagreement([seed + k for k in range(3)])
        assert found is None, f"seed {seed}: {found}"
        legal.update(step.primitive for step in schedule.steps)
    return legal


def test_legal_schedules_of_tuples_compute_the_same():
    """The slow tests draw a thousand."""
    run(len(seeds(12)))


def test_programs_of_tuples_say_something():
    references = [Reference(draw_program(random.Random(seed), "tuples"), range(3)) for seed in range(12)]
    assert sum(one.runs for one in references) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 250))
def test_more_legal_schedules_of_tuples_compute_the_same(start):
    legal = run(250, start)
    assert [name for name in SCHEDULED if not legal[name]] == []
