"""Emitted kernels with a fault planted in their text: what changes a result is seen by the checks of the simulator.

Seven edits of each program of the table of GPU programs (`gpu_mutations.py`), one of a few in `make test`.
"""

from __future__ import annotations

import random

import pytest
from gpu_mutations import EDITS, Judge, Mutant
from gpu_programs import PROGRAMS, Program

EACH = 7
QUICK = ("transpose", "bias and scale", "row sums", "running sums", "two results")


def judged(program: Program, count: int) -> dict[str, list[Mutant]]:
    """Mutants of a program, by verdict."""
    rng = random.Random(program.name)
    judge = Judge(program, lambda mutants: rng.sample(mutants, min(count, len(mutants))))
    found: dict[str, list[Mutant]] = {}
    for k, mutant in enumerate(judge.mutants):
        found.setdefault(judge.verdict(k), []).append(mutant)
    return found


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_fault_is_seen(name):
    (program,) = [one for one in PROGRAMS if one.name == name]
    found = judged(program, 2)
    assert not found.get("missed"), found["missed"]
    assert found.get("fault") or found.get("value")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_planted_faults_are_seen(part):
    """Of those that change nothing for the calls of a row there are fewer than a third."""
    seen, same, missed = 0, 0, []
    edits = set()
    for program in PROGRAMS[part::8]:
        found = judged(program, EACH)
        seen += len(found.get("fault", ())) + len(found.get("value", ()))
        same += len(found.get("same", ()))
        missed += found.get("missed", [])
        edits |= {mutant.edit for mutants in found.values() for mutant in mutants}
    assert not missed, "\n".join(map(str, missed))
    assert seen >= 35 and same < seen / 2
    assert len(edits) >= len(EDITS) / 2
