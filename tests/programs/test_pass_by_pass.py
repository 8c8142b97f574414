"""Each pass, on all whole programs: what it leaves gives what Python gives, run by the reference interpreter."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.transforms.tensor import nt_drop_carried
from pass_by_pass import first_difference
from whole import convergence
from whole.program import outcome, same
from whole.test_whole_programs import PROGRAMS

QUICK = [p for p in PROGRAMS if not p.long][::16]
"""One in sixteen of the short ones is quick, and so one of each area or so; the others are slow tests."""


@pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.name, marks=[] if p in QUICK else [pytest.mark.slow]) for p in PROGRAMS],
)
def test_each_pass_keeps_the_meaning(program):
    assert judged(program) is None


def judged(program, call=0):
    """The first pass that changes what a call gives, and how."""
    want = outcome(program, program.function, call)[:2]

    if program.outside is not None:  # once: a list that is equal to the one before is another one
        program.outside(call)

    def arguments():
        return program.arguments(np.random.default_rng(call), call)

    def differs(got):
        try:
            same(program, got, want, "the call")
        except AssertionError as error:
            return str(error)
        return None

    return first_difference(nt.jit(program.function, dynamic=program.dynamic), arguments, differs)


def test_a_pass_that_drops_too_much_is_found(monkeypatch):
    """The pass itself is what the test changes: it takes what only conditions read for what nobody reads."""
    program = next(p for p in convergence.PROGRAMS if p.name == "relax_and_count")
    assert judged(program) is None
    monkeypatch.setattr(nt_drop_carried, "_decides", lambda op: [])
    with pytest.raises(Exception):  # noqa: B017  what remains is no program
        assert judged(program) is None
