"""Random programs under random schedules: what is legal computes the same, what computes something else is refused."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from judge import NEEDED, judge
from nestor.analysis.nest.loop_structure import enclosing_loops
from nestor.dialects.nest import LoadOp
from nestor.dialects.schedule.table import PRIMITIVES as TABLE
from parsed import parse_module
from primitive_requests import Request
from primitives import PRIMITIVES
from programs import FAMILIES, USUAL, draw_program
from refusals import Count, draw_judged
from sampling import seeds
from sequences import Reference, Runner, draw_schedule
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.one_of(2)

RARE = {
    "exact_sum": "floats are added up at indices in one found program of five; test_gpu_updates.py has only these",
    "lift": "legal in one schedule of a hundred; test_tuples.py has it more often",
    "online_softmax": "a softmax with its product is one family of many",
}
"""Primitives that five hundred schedules may lack."""


@dataclass
class Statistics:
    """What was drawn."""

    lengths: list[int] = field(default_factory=list)
    legal: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)


def run_sequences(count: int, arguments: int, part: int = 0) -> Statistics:
    """Check that many random schedules, others for each part; what they were."""
    drawn = Statistics()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(st.integers(0, 2**48))
    def check(number: int) -> None:
        schedule = draw_schedule(random.Random(number))
        found = schedule.disagreement([number + k for k in range(arguments)])
        assert found is None, f"seed {number}: {found}"
        drawn.lengths.append(len(schedule.steps))
        drawn.legal.update(step.primitive for step in schedule.steps)
        drawn.families[schedule.program.family] += 1

    (seeded(part)(check) if part else check)()
    return drawn


def test_legal_schedules_compute_the_same():
    """The slow tests draw three thousand."""
    count = len(seeds(24))
    drawn = run_sequences(count, arguments=3)
    assert len(drawn.lengths) >= count
    assert statistics.median(drawn.lengths) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 7))
def test_more_legal_schedules_compute_the_same(part: int):
    """Each other primitive is legal some ten times in five hundred schedules."""
    drawn = run_sequences(500, arguments=4, part=part)
    assert len(drawn.lengths) >= 500
    assert statistics.median(drawn.lengths) >= 6
    never = {name for name in PRIMITIVES if not drawn.legal[name]}
    assert never <= set(RARE)
    assert set(drawn.families) == set(FAMILIES)


def test_every_primitive_has_a_row():
    assert set(PRIMITIVES) == set(TABLE)


@pytest.mark.parametrize("name", [name for name, row in PRIMITIVES.items() if not row.harmless])
def test_without_its_checks_a_primitive_is_caught(name: str):
    """A mutant that refuses nothing computes something else on one of the first programs on which it is tried."""
    assert any(_is_caught(name, seed) for seed in (*PRIMITIVES[name].caught_by, *range(1000)))


def _is_caught(name: str, seed: int) -> bool:
    rng = random.Random(seed)
    program = draw_program(rng, rng.choice(PRIMITIVES[name].families or USUAL))
    before = draw_schedule(rng, program, longest=seed % 3, marks=False).module
    request = PRIMITIVES[name].draw(rng, before)
    return request is not None and judge(before, request, program, seeds=range(4)).kind == NEEDED


def test_programs_are_defined():
    """Programs stay inside their buffers, read nothing unwritten, and nearly all come out exactly.

    With the slow tests twice as many are drawn.
    """
    runs = 0
    count = len(seeds(40))
    for seed in range(count):
        program = draw_program(random.Random(seed))
        reference = Reference(program, range(3))
        runs += reference.runs
        adversarial = Runner(parse_module(program.text), "shuffled")
        for k in range(3):
            adversarial.run(program.arguments(k))
    assert runs >= 0.95 * 3 * count


def test_illegal_requests_are_refused():
    counts = draw_judged(range(6))
    assert sum(count.needed for count in counts.values()) >= 6
    assert _wrong(counts) == {}


@pytest.mark.slow
def test_many_illegal_requests_are_refused():
    counts = draw_judged(range(1000, 1600))
    assert sum(count.needed for count in counts.values()) >= 500
    assert _wrong(counts) == {}


def test_what_is_no_valid_program_is_wrong(monkeypatch: pytest.MonkeyPatch):
    """A primitive that leaves a variable out of its loop is reported with the program, and nothing of it is run."""
    program = draw_program(random.Random(0), "pointwise")
    module = parse_module(program.text)

    def leave_a_load_behind(module: ModuleOp, request: Request) -> None:
        load = next(op for op in module.walk() if isinstance(op, LoadOp))
        loop = enclosing_loops(load)[0]
        load.detach()
        assert loop.parent is not None
        loop.parent.insert_op_before(load, loop)

    monkeypatch.setattr("judge.apply", leave_a_load_behind)
    verdict = judge(module, Request("hoist"), program, seeds=range(2))
    assert verdict.is_wrong
    assert "does not dominate" in verdict.message


def _wrong(counts: dict[str, Count]) -> dict[str, list[str]]:
    return {name: count.wrong for name, count in counts.items() if count.wrong}
