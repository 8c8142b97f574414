"""`nt.schedule`: schedules from Python are the IR `opt-tool` applies, proved step by step; they replay on other shapes."""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest

X = np.arange(50 * 70, dtype=np.float32).reshape(50, 70) % 7
"""Small integers: sums are exact in any order."""


@nt.jit
def row_sums(x, y):
    return (x + y).sum(axis=1)


@pytest.fixture
def lowered():
    return row_sums.lower(X, X)


def scheduled(lowered):
    s = nt.schedule(lowered)
    size = s.parameter("T", 4)
    outer, _ = s.split("i", size, tail="mask")
    s.parallel(outer)
    return s


TEXT = """\
schedule.sequence @schedule for @row_sums params {T = 4} {
  %i = schedule.match loops ["i"]
  %i_o, %i_i = schedule.split %i by @T tail(mask)
  schedule.parallel %i_o
}
"""


def test_steps_are_recorded_as_text(lowered):
    s = scheduled(lowered)
    assert str(s) == TEXT
    assert s.loop_names == ["i.o", "i.i", "j"]
    assert 'nest.for "i.o" %i_o = 0 to 13 parallel {' in s.nest


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("shape", [(50, 70), (7, 3), (1, 1), (4, 1)])
def test_a_schedule_replays_on_other_shapes(lowered, target, shape):
    s = scheduled(lowered)
    if target == "cuda-sim":
        s = nt.schedule(lowered)
        outer, inner = s.split("i", 32, tail="mask")
        s.bind(outer, "block.x")
        s.bind(inner, "thread.x")
    x = np.ascontiguousarray(X[: shape[0], : shape[1]])
    other = row_sums.lower(x, x)
    compiled = other.compile(target, schedule=s)
    np.testing.assert_array_equal(compiled(x, x), (x + x).sum(axis=1))


def test_saved_schedules_load_by_path_and_as_text(lowered, tmp_path):
    path = tmp_path / "rows.mlir"
    scheduled(lowered).save(path)
    assert path.read_text() == TEXT
    assert [p.name for p in tmp_path.iterdir()] == ["rows.mlir"]
    for source in (path, str(path), TEXT):
        text = lowered.as_text("nest", schedule=source)
        assert 'nest.for "i.o"' in text and "parallel" in text
        np.testing.assert_array_equal(lowered.compile(schedule=source)(X, X), (X + X).sum(axis=1))


def test_the_automatic_schedule_can_be_gone_on_with(lowered):
    s = lowered.schedule()
    assert "schedule.vectorize" in str(s) and "schedule.rfactor" in str(s)
    assert lowered.as_text("nest", schedule=s) == lowered.as_text("nest")
    s.parallel("i")
    np.testing.assert_array_equal(lowered.compile(schedule=s)(X, X), (X + X).sum(axis=1))
    assert "schedule.bind" in str(lowered.schedule("cuda"))
    with pytest.raises(nt.NestorError, match="no automatic schedule for target 'interp'"):
        lowered.schedule("interp")


def sums_and_running_sums(x):
    return np.sum(x, axis=0), np.sum(x, axis=1), np.cumsum(x, axis=1), np.max(x)


def test_the_automatic_cuda_schedule_replays_where_a_buffer_is_called_as_a_result_is():
    low = nt.jit(sums_and_running_sums, target="cuda-sim").lower(np.ones((37, 130), "f4"))
    s = str(low.schedule("cuda"))
    assert 'schedule.match buffers ["result[1]"]' in s
    assert low.as_text("cuda", schedule=s) == low.as_text("cuda")


def test_matching_by_pattern(lowered):
    s = nt.schedule(lowered)
    assert s.loops_contiguous_in("x").names == ["j"]
    assert s.loops_containing("nest.accumulate").names == ["j"]
    assert s.loops_reducing("result").names == ["j"]
    assert s.buffer("x").names == ["x"]
    assert set(s.statement("result").names) == {"result"}
    assert repr(s.loops("i", "j")) == "[<loop i>, <loop j>]"


def test_dependences_can_be_asked_for():
    @nt.jit
    def running(a):
        for i in range(1, a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i - 1, j] + a[i, j]

    s = nt.schedule(running.lower(np.ones((8, 9))))
    before = str(s)
    text = s.dependences()
    assert re.search(r"flow +a +3 -> 1 +\[1\] +0 +i\n", text)
    assert "flow" not in s.dependences("j")
    assert "flow" in s.dependences(s.loop("i"))
    assert str(s) != before and s.dependences("j") == s.dependences(s.loop("j"))
    with pytest.raises(nt.NestorError, match='unknown loop "k"'):
        s.dependences("k")


def test_what_is_refused_says_why_and_changes_nothing(lowered):
    s = nt.schedule(lowered)
    i = s.loop("i")
    s.split(i, 4, tail="mask")
    before = str(s), s.nest
    with pytest.raises(nt.NestorError, match='carried by the loop "j"') as refusal:
        s.parallel("j")
    assert refusal.value.diagnostic.location.file == __file__
    assert {note.location.file for note in refusal.value.diagnostic.notes if note.location} == {__file__}
    with pytest.raises(
        nt.NestorError, match=r'the handle of "i" .*step 2, `%i_o, %i_i = schedule.split .*replaced it'
    ):
        s.split(i, 2)
    with pytest.raises(nt.NestorError, match=r'unknown loop "i": step 2, .* replaced it by "i.i", "i.o"'):
        s.loop("i")
    with pytest.raises(
        nt.NestorError, match="'tail' is one of remainder, mask, clamp, perfect, not 'ragged'"
    ):
        s.split("j", 2, tail="ragged")
    with pytest.raises(nt.NestorError, match="unknown parameter @U"):
        s.split("j", nt.schedule(lowered).parameter("U", 3))
    with pytest.raises(nt.NestorError, match="handle of another schedule"):
        s.parallel(nt.schedule(lowered).loop("i"))
    with pytest.raises(
        nt.NestorError,
        match=r"(?s)missing a required argument: 'factor'\n.*  help: it is split\(loop, factor",
    ):
        s.split("j")
    with pytest.raises(nt.NestorError, match="the factor must be positive"):
        s.split("j", 0)
    with pytest.raises(nt.NestorError, match=r"an option of a schedule cannot be 2\.5"):
        s.split("j", 2.5)
    with pytest.raises(nt.NestorError, match="a loop is a handle or a name, not 3"):
        s.parallel(3)
    assert (str(s), s.nest) == before
    assert repr(i) == "<loop, replaced by a later step>"


def test_a_step_on_several_loops_is_done_to_all_or_to_none():
    s = nt.schedule("""
        func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {
          nest.for "i" %i = 0 to 8 {
            %v = nest.load %x[%i] : memref<9xf32>
            nest.store "y" %v, %y[%i] : memref<9xf32>
          }
          nest.for "j" %j = 0 to 8 {
            %v = nest.load %x[%j] : memref<9xf32>
            nest.store "x" %v, %x[%j + 1] : memref<9xf32>
          }
          func.return
        }""")
    i, y = s.loop("i"), s.buffer("y")
    both = s.loops_containing("nest.store")
    before = str(s), s.nest
    with pytest.raises(nt.NestorError, match='cannot vectorize the loop "j"'):
        s.vectorize(both)
    assert (str(s), s.nest) == before
    s.stream(y, i)  # handles are good after the failure
    s.parallel(i)
    assert "{nestor.nontemporal}" in s.nest and s.nest.count("parallel") == 1
    assert both.names == ["i", "j"]


def test_a_schedule_that_does_not_fit_is_refused(lowered, tmp_path):
    with pytest.raises(nt.NestorError, match=r'step 1, .*unknown loop "k"'):
        lowered.compile(schedule='schedule.sequence @s { %k = schedule.match loops ["k"] }')
    with pytest.raises(nt.NestorError, match="cannot read the schedule"):
        lowered.compile(schedule=tmp_path / "none.mlir")
    with pytest.raises(nt.NestorError, match=r"a schedule is what nt.schedule makes"):
        lowered.compile(schedule=3)
    with pytest.raises(
        nt.NestorError, match=r"(?s)a schedule is of a lowered program, .*  help: nt.schedule\(f.lower"
    ):
        nt.schedule(np.add)
    with pytest.raises(nt.NestorError, match=r"a schedule is of one function"):
        nt.schedule("func.func @f() { return } func.func @g() { return }")
    with pytest.raises(nt.NestorError, match='unknown function "h"'):
        nt.schedule("func.func @f() { return }", "h")
