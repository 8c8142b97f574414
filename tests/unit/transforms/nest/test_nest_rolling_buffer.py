"""nest-rolling-buffer computes what the program computed, and each element once for each run of the loop."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.producers.compute_at import compute_at
from nestor.transforms.nest.producers.rolling_buffer import rolling_buffer, why_not_rolling_buffer
from parsed import parse_module
from producer_nests import PROGRAMS, blur, blurred, buffer_of, of_lengths


def _line(loop: str, body: str, extra: str = "") -> str:
    """A program whose loop "o" computes a window of `t` in each iteration, and reads it."""
    return f"""
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {{
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "o" %o = {loop} {{
    {body}
  }}
  {extra}
  func.return
}}"""


def _square(bounds: str, at: str = "%i", where: str = "") -> str:
    return f"""
    nest.for "i" %i = {bounds} {{
      %a = nest.load %x[{at}] : memref<?xi64>
      %b = arith.muli %a, %a : i64
      nest.store "t" %b, %t[{at}]{where} : memref<?xi64>
    }}"""


def _difference(first: str, second: str, to: str = "%o", where: str = "") -> str:
    return f"""
    %p = nest.load %t[{first}] : memref<?xi64>
    %q = nest.load %t[{second}] : memref<?xi64>
    %r = arith.subi %p, %q : i64
    nest.store "y" %r, %y[{to}]{where} : memref<?xi64>"""


_SUMS = """
    nest.for "h" %h = %o to %o + 3 {
      nest.store "t" %zero, %t[%h] : memref<?xi64>
    }
    nest.for "i" %i = %o to %o + 3 {
      nest.for "k" %k = 0 to %i + 1 {
        %a = nest.load %x[%k] : memref<?xi64>
        nest.accumulate "t" add %a, %t[%i] where (%k >= 1) : memref<?xi64>
      }
    }"""

_PRIVATE = """
    nest.for "i" %i = %o to %o + 3 {
      %s = nest.alloc "s" : memref<i64>
      nest.store "s" %zero, %s[] : memref<i64>
      nest.for "k" %k = 0 to %n {
        %a = nest.load %x[%k] : memref<?xi64>
        nest.accumulate "s" add %a, %s[] where (%k <= %i) : memref<i64>
      }
      %b = nest.load %s[] : memref<i64>
      nest.store "t" %b, %t[%i] : memref<?xi64>
    }"""

ROLLS = {
    "forward": _line("0 to %n - 2", _square("%o to %o + 3") + _difference("%o", "%o + 2")),
    "from-two": _line("2 to %n", _square("%o - 2 to %o + 1") + _difference("%o - 2", "%o")),
    "steps": _line("0 to %n - 4 step 2", _square("%o to %o + 5") + _difference("%o + 1", "%o + 4")),
    "steps-apart": _line("1 to %n - 3 step 3", _square("%o - 1 to %o + 4") + _difference("%o + 3", "%o - 1")),
    "backward": _line(
        "0 to %n - 2", _square("%n - 3 - %o to %n - %o") + _difference("%n - 3 - %o", "%n - 1 - %o")
    ),
    "mirrored": _line(
        "0 to %n - 2", _square("%o to %o + 3", "%n - 1 - %i") + _difference("%n - 1 - %o", "%n - 3 - %o")
    ),
    "clamped": _line(
        "0 to %n",
        _square("max(0, %o - 1) to min(%n, %o + 2)")
        + _difference("%o - 1", "%o + 1", where=" where (%o >= 1, %o + 1 < %n)"),
    ),
    "blocks": _line(
        "0 to %n floordiv 4",
        _square("4 * %o to min(%n, 4 * %o + 6)")
        + _difference("4 * %o", "4 * %o + 5", where=" where (4 * %o + 5 < %n)"),
    ),
    "masked": _line(
        "0 to %n - 2", _square("%o to %o + 3", where=" where (%i >= 1)") + _difference("%o + 1", "%o + 2")
    ),
    "two-bounds": _line("max(0, %n - %n) to %n - 2", _square("%o to %o + 3") + _difference("%o", "%o + 2")),
    "sums": _line("0 to %n - 2", _SUMS + _difference("%o", "%o + 2")),
    "private": _line("0 to %n - 2", _PRIVATE + _difference("%o", "%o + 2")),
    "nested": f"""
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {{
  nest.for "g" %g = 0 to 2 {{
    %t = nest.alloc "t"(%n) : memref<?xi64>
    nest.for "o" %o = %g to %n - 2 {{
      {_square("%o to %o + 3")}
      {_difference("%o", "%o + 2")}
    }}
  }}
  func.return
}}""",
    "runs": f"""
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {{
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "g" %g = 0 to 3 {{
    nest.for "o" %o = %g to %n - 2 {{
      {_square("%o to %o + 3")}
      {_difference("%o", "%o + 2")}
    }}
  }}
  func.return
}}""",
}
"""Programs in which the buffer can be circular."""

GROWING = {
    "growing": _line("0 to %n", _square("0 to %o + 1") + _difference("0", "%o")),
    "read-later": _line(
        "0 to %n - 2",
        _square("%o to %o + 3") + _difference("%o", "%o + 2"),
        """nest.for "z" %z = 0 to %n - 2 {
    %u = nest.load %t[%z + 2] : memref<?xi64>
    nest.accumulate "y" add %u, %y[%z] : memref<?xi64>
  }""",
    ),
}
"""Programs in which it must be whole."""


@pytest.mark.parametrize(
    ("name", "storage"),
    [*((name, s) for name in ROLLS for s in ("circular", "whole")), *((name, "whole") for name in GROWING)],
)
def test_same_results(name: str, storage):
    def change(function):
        loop = next(loop for loop in loops_in(function) if loop.label == "o")
        alloc, _ = rolling_buffer(buffer_of(function), loop, storage)
        assert alloc is buffer_of(function)
        if storage == "circular":
            assert 3 <= alloc.memref.type.get_shape()[0] <= 6  # type: ignore[attr-defined]

    of_lengths((ROLLS | GROWING)[name], 0, 1, 2, 3, 4, 5, 8, 13).agrees(change)


@pytest.mark.parametrize("name", GROWING)
def test_a_circular_buffer_is_refused(name: str):
    module = parse_module(GROWING[name])
    before = str(module)
    with pytest.raises(NestorError):
        rolling_buffer(buffer_of(module), find_loop(module, "o"))
    assert str(module) == before


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("storage", ["circular", "whole"])
def test_after_compute_at(name: str, storage):
    """Where a producer has overlaps at the loop, or is refused, results are the same."""

    def change(function):
        loop = next(loop for loop in loops_in(function) if loop.label == "o")
        compute_at(buffer_of(function), loop)
        if why_not_rolling_buffer(buffer_of(function), loop, storage) is None:
            rolling_buffer(buffer_of(function), loop, storage)

    PROGRAMS[name].agrees(change)


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (8, 16)])
@pytest.mark.parametrize("storage", ["circular", "whole"])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("at", ["rows", "o", "p", "k", "l"])
def test_blur(shape: tuple[int, int], storage, symbolic: bool, at: str):
    tile = None if at == "rows" else (4, 8)
    module = parse_module(blur("n", "m", tile) if symbolic else blur(*shape, tile))
    function = next(iter(module.ops))
    loop = find_loop(module, "o" if at == "rows" else at)
    compute_at(buffer_of(function), loop)
    before = str(module)
    try:
        rolling_buffer(buffer_of(function), loop, storage)
    except NestorError:
        assert str(module) == before
    else:
        if at == "rows" and storage == "circular":
            assert buffer_of(function).memref.type.get_shape()[0] == 3  # type: ignore[attr-defined]
    verify(module)
    x = np.random.default_rng(0).random((shape[0] + 2, shape[1] + 2), dtype=np.float32)
    out = np.zeros(shape, np.float32)
    run_nest(function, [x, out], mode="shuffled")  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, blurred(x))


def test_a_window_in_a_tile():
    """A tile has a buffer of its own, in which a window slides; tiles run in parallel."""
    module = parse_module(blur("n", "m", (4, 8)))
    function = next(iter(module.ops))
    compute_at(buffer_of(function), find_loop(module, "p"), "here")
    compute_at(buffer_of(function), find_loop(module, "k"))
    alloc, first = rolling_buffer(buffer_of(function), find_loop(module, "k"))
    assert first is not None and first.parent_op() is not None
    assert list(alloc.memref.type.get_shape()) == [3, 8]  # type: ignore[attr-defined]
    parallelize(find_loop(module, "o"))
    verify(module)
    x = np.random.default_rng(0).random((11, 15), dtype=np.float32)
    out = np.zeros((9, 13), np.float32)
    run_nest(function, [x, out], mode="shuffled", seed=1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, blurred(x))


_COUNT = """%one = arith.constant 1 : i64
nest.accumulate add %one, %c[0] : memref<?xi64>"""


@pytest.mark.parametrize(
    ("name", "computed"), [("forward", 13), ("steps", 13), ("growing", 13), ("blocks", 13)]
)
def test_each_element_is_computed_once(name: str, computed: int):
    """A counter beside the store tells how often it runs; it was more before."""
    text = (ROLLS | GROWING)[name].replace("%y: memref<?xi64>)", "%y: memref<?xi64>, %c: memref<?xi64>)")
    counts = []
    for rolls in (False, True):
        module = parse_module(text)
        function = next(iter(module.ops))
        if rolls:
            rolling_buffer(buffer_of(function), find_loop(module, "o"), "whole")
        counted = str(module).replace('nest.store "t"', f'{_COUNT}\n nest.store "t"')
        arrays = [np.ones(13, np.int64), np.zeros(13, np.int64), np.zeros(1, np.int64)]
        run_nest(next(iter(parse_module(counted).ops)), [13, *arrays])  # type: ignore[arg-type]
        counts.append(int(arrays[2][0]))
    assert counts[1] == computed < counts[0]


def test_nothing_is_computed_before_the_loop_where_the_first_iteration_finds_nothing():
    module = parse_module(_line("0 to %n", _square("0 to %o + 1") + _difference("0", "%o")))
    _, first = rolling_buffer(buffer_of(module), find_loop(module, "o"), "whole")
    assert first is None
    assert sum(isinstance(op, ForOp) for op in module.walk()) == 2
