"""A step after which the program could not be compiled is refused when it is asked for, and changes nothing.

From Python, and when the schedule is replayed from text, with the same words.
"""

from __future__ import annotations

from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.schedule.apply_schedule import apply_sequence, sequences_in
from parsed import parse_module

NESTS = """
func.func @f(%x: memref<8x16xf32>, %y: memref<8xf32> {nest.role = "out"}, %z: memref<8x8xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %zero, %y[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 16 {
      %a = nest.load %x[%i, %k] : memref<8x16xf32>
      nest.accumulate "y" add %a, %y[%i] : memref<8xf32>
    }
  }
  nest.for "p" %p = 0 to 8 {
    nest.for "q" %q = 0 to 8 {
      %b = nest.load %y[%q] : memref<8xf32>
      nest.store "z" %b, %z[%p, %q] : memref<8x8xf32>
    }
  }
  func.return
}
"""

Step = tuple[str, tuple[Any, ...]]

REFUSED: dict[str, tuple[list[Step], Step, str]] = {
    "parallel inside of parallel": (
        [("parallel", ("p",))],
        ("parallel", ("q",)),
        'the loop "p" around it is parallel already',
    ),
    "parallel around parallel": (
        [("parallel", ("q",))],
        ("parallel", ("p",)),
        'the loop "q" inside it is parallel already',
    ),
    "a buffer in lanes": (
        [("vectorize", ("i", 8)), ("split", ("k", 4))],
        ("rfactor", ("k.i",)),
        'it is inside of the vectorized loop "i"',
    ),
    "the processor's threads beside a kernel": (
        [("bind", ("i", "block.x"))],
        ("parallel", ("p",)),
        'the loop "i" of this function is bound to block.x',
    ),
    "a kernel beside the processor's threads": (
        [("parallel", ("p",))],
        ("bind", ("i", "block.x")),
        'the loop "p" of this function is parallel',
    ),
}


def _asked(schedule: nt.Schedule, step: Step) -> Any:
    name, arguments = step
    return getattr(schedule, name)(*arguments)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_changes_nothing(name: str):
    before, step, reason = REFUSED[name]
    schedule = nt.schedule(NESTS)
    for one in before:
        _asked(schedule, one)
    text, nest = str(schedule), schedule.nest
    for _ in range(2):
        with pytest.raises(NestorError) as refusal:
            _asked(schedule, step)
        assert reason in refusal.value.diagnostic.message
        assert refusal.value.diagnostic.location is not None
        assert (str(schedule), schedule.nest) == (text, nest)
    schedule.split(
        "q" if name == "the processor's threads beside a kernel" else "k.o" if "lanes" in name else "k", 2
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_replay_says_the_same(name: str):
    before, step, reason = REFUSED[name]
    good, bad = nt.schedule(NESTS), nt.schedule(NESTS)
    for one in before:
        _asked(good, one)
        _asked(bad, one)
    with pytest.raises(NestorError) as of_python:
        _asked(bad, step)
    loop, *rest = step[1]
    written = {"parallel": "schedule.parallel %l", "bind": f'schedule.bind %l to "{"".join(rest)}"'}
    written["rfactor"] = "%u, %v = schedule.rfactor %l"
    text = str(good).rstrip().removesuffix("}")
    text += f'  %l = schedule.match loops ["{loop}"]\n  {written[step[0]]}\n}}\n'
    module = parse_module(NESTS)
    (sequence,) = sequences_in(parse_module(text))
    with pytest.raises(NestorError) as of_text:
        apply_sequence(sequence, module)
    reasons = [e.value.diagnostic.message.partition("`: ")[2] for e in (of_python, of_text)]
    assert reasons[0] == reasons[1] and reason in reasons[0]
    assert str(module) == str(parse_module(NESTS))


def test_a_step_that_a_primitive_lets_through_is_undone(monkeypatch: pytest.MonkeyPatch):
    """All marks are looked at after each step, whatever its primitive has checked; handles stay what they were."""
    monkeypatch.setattr("nestor.transforms.nest.reductions.rfactor.refuse_in_vector", lambda *_: None)
    schedule = nt.schedule(NESTS)
    (lanes,) = schedule.loops("i")
    schedule.vectorize(lanes, 8)
    outer, inner, *_ = schedule.split("k", 4)
    nest = schedule.nest
    with pytest.raises(NestorError, match='cannot compile the vectorized loop "i"'):
        schedule.rfactor(inner)
    assert schedule.nest == nest
    assert (outer.names, inner.names) == (["k.o"], ["k.i"])
    schedule.split(outer, 2)
    assert "k.o.o" in schedule.loop_names


def test_what_was_accepted_is_compiled():
    def program(x):
        y = np.zeros(8, "f4")
        for i in range(8):
            for k in range(16):
                y[i] += x[i, k]
        return y

    x = np.arange(128, dtype="f4").reshape(8, 16)
    low = nt.jit(program).lower(x)
    schedule = nt.schedule(low)
    outer = schedule.loop_names[-2]
    schedule.parallel(outer)
    with pytest.raises(NestorError):
        schedule.parallel(schedule.loop_names[-1])
    np.testing.assert_array_equal(low.compile(schedule=schedule)(x), x.sum(axis=1))


# ---- what a schedule's text says ---------------------------------------------------------------------


@pytest.mark.parametrize("after", ["y", 1])
def test_where_a_loop_is_cut_is_a_label_or_a_number(after: str | int):
    schedule = nt.schedule(NESTS)
    schedule.distribute("i", after=after)
    module = parse_module(NESTS)
    (sequence,) = sequences_in(parse_module(str(schedule)))
    assert str(sequence) == str(schedule).strip()
    apply_sequence(sequence, module)
    assert [loop.label for loop in loops_in(functions(module)[0])] == schedule.loop_names
    assert schedule.loop_names == ["i", "i.1", "k", "p", "q"]


def test_the_text_of_an_option_may_have_quotes():
    schedule = nt.schedule(NESTS)
    schedule.annotate("i", "nestor.note", text='a "word"\\ and\na line')
    (sequence,) = sequences_in(parse_module(str(schedule)))
    module = parse_module(NESTS)
    apply_sequence(sequence, module)
    (note,) = {op.attributes["nestor.note"].data for op in module.walk() if "nestor.note" in op.attributes}  # type: ignore[attr-defined]
    assert note == 'a "word"\\ and\na line'


def test_buffers_of_one_name_are_numbered_where_the_number_is_a_name_as_well():
    text = NESTS.replace(
        "%zero = arith.constant 0.0 : f32",
        "\n".join(f'%t{k} = nest.alloc "{name}" : memref<4xf32>' for k, name in enumerate(("t", "t", "t.1")))
        + "\n  %zero = arith.constant 0.0 : f32",
    )
    schedule = nt.schedule(text)
    found = [schedule.buffer(name) for name in ("t[0]", "t[1]", "t.1")]
    state = schedule.recorder.state
    payloads = [state.payload(handle.value)[0] for handle in found]
    assert len(set(payloads)) == 3
    assert [state.name_to_match(payload) for payload in payloads] == ["t[0]", "t[1]", "t.1"]
    with pytest.raises(NestorError, match="there are 2 buffers"):
        schedule.buffer("t")
