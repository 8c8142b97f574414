"""What the automatic schedulers do is schedule IR: printed, parsed and replayed it gives the same nests."""

from __future__ import annotations

import pytest
from cpu_nests import NESTS
from nestor.dialects.schedule.ops import SequenceOp
from nestor.transforms.schedule.apply_schedule import apply_sequence
from nestor.transforms.schedule.automatic import automatic_schedules
from parsed import parse_module


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("name", NESTS)
def test_replaying_an_automatic_schedule_gives_the_same_nests(name: str, target: str):
    scheduled, fresh = parse_module(NESTS[name].text), parse_module(NESTS[name].text)
    for sequence in automatic_schedules(scheduled, target):
        text = str(sequence)
        (parsed,) = parse_module(text).ops
        assert isinstance(parsed, SequenceOp) and str(parsed) == text
        apply_sequence(parsed, fresh)
    assert str(fresh) == str(scheduled)


def test_a_recorded_schedule_is_what_the_pass_does():
    from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass

    recorded, passed = parse_module(NESTS["softmax"].text), parse_module(NESTS["softmax"].text)
    automatic_schedules(recorded, "cpu")
    NestScheduleCpuPass().apply(None, passed)  # type: ignore[arg-type]
    assert str(recorded) == str(passed)
