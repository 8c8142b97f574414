"""What a compilation does grows with the program: counts of analyses, never times."""

import itertools

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.sets import dependence
from nestor.frontend.jit.specialise.stages import lowered_copy


def chain(x, weights):
    for w in weights:
        x = np.maximum(x @ w, 0)
    return x


def accesses_looked_at(monkeypatch: pytest.MonkeyPatch, products: int) -> int:
    """How often the schedule of a chain of different products asks what an operation reads and writes."""
    widths = [8 + k for k in range(products + 1)]
    weights = [np.zeros(pair) for pair in itertools.pairwise(widths)]
    module = nt.jit(chain).lower(np.zeros((24, 8)), weights).program.module
    counted = []
    real = dependence.accesses_of
    with monkeypatch.context() as patch:
        patch.setattr(dependence, "accesses_of", lambda op: counted.append(op) or real(op))
        lowered_copy(module, ("to-nest", "nest-schedule-cpu"))
    return len(counted)


def test_schedules_do_not_look_at_the_whole_program_for_each_nest(monkeypatch):
    few, many = (accesses_looked_at(monkeypatch, count) for count in (4, 12))
    assert few > 0
    assert many < 3.3 * few
