"""nest-reverse-compute-inline and nest-fuse-epilogue compute what the program computed, without the buffer."""

from __future__ import annotations

import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.producers.fuse_epilogue import fuse_epilogue, why_not_fuse_epilogue
from nestor.transforms.nest.producers.reverse_compute_inline import (
    reverse_compute_inline,
    why_not_reverse_compute_inline,
)
from parsed import parse_module
from producer_nests import PROGRAMS, Program, buffer_of, of_lengths


def _line(producer: str, consumer: str) -> str:
    return f"""
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {{
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  {producer}
  {consumer}
  func.return
}}"""


def _square(bounds: str = "0 to %n", at: str = "%i", where: str = "") -> str:
    return f"""nest.for "i" %i = {bounds} {{
    %a = nest.load %x[{at}] : memref<?xi64>
    %b = arith.muli %a, %a : i64
    nest.store "t" %b, %t[{at}]{where} : memref<?xi64>
  }}"""


def _use(
    bounds: str = "0 to %n", at: str = "%o", to: str = "%o", where: str = "", kind: str = "store"
) -> str:
    head = "nest.store" if kind == "store" else "nest.accumulate"
    middle = "" if kind == "store" else " add"
    return f"""nest.for "o" %o = {bounds} {{
    %p = nest.load %t[{at}] : memref<?xi64>
    %c = nest.load %x[{to}] : memref<?xi64>
    %q = arith.subi %p, %c : i64
    {head} "y"{middle} %q, %y[{to}]{where} : memref<?xi64>
  }}"""


_BLOCKS = """nest.for "b" %b = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to min(4, %n - 4 * %b) {
      %a = nest.load %x[4 * %b + %i] : memref<?xi64>
      nest.store "t" %a, %t[4 * %b + %i] : memref<?xi64>
    }
  }"""

INLINED = {
    "same": _line(_square(), _use()),
    "from-one": _line(_square(), _use("1 to %n")),
    "but-the-last": _line(_square(), _use("0 to %n - 1")),
    "one-element": _line(_square(), _use("0 to min(%n, 1)")),
    "middle": _line(_square(), _use("2 to %n - 1", to="%o - 2")),
    "backwards": _line(_square("0 to %n", "%n - 1 - %i"), _use()),
    "read-backwards": _line(_square(), _use("0 to %n", "%n - 1 - %o")),
    "shifted": _line(_square("3 to %n + 3", "%i - 3"), _use("1 to %n + 1", "%o - 1", "%o - 1")),
    "summed": _line(_square(), _use(kind="accumulate")),
    "one-place": _line(_square(), _use(kind="accumulate").replace("%y[%o]", "%y[0]")),
    "blocks": _line(_BLOCKS, _use()),
    "blocks-of-two": _line(
        _square(),
        """nest.for "o" %o = 0 to %n ceildiv 2 {
    nest.for "r" %r = 0 to min(2, %n - 2 * %o) {
      %p = nest.load %t[2 * %o + %r] : memref<?xi64>
      nest.store "y" %p, %y[2 * %o + %r] : memref<?xi64>
    }
  }""",
    ),
    "domain": _line(_square(), _use(where=" where (%o >= 2)")),
    "both-domains": _line(_square(where=" where (%i >= 2)"), _use("2 to %n")),
    "in-place": _line(
        _square(), _use().replace('nest.store "y"', 'nest.store "x"').replace("%y[%o]", "%x[%o]")
    ),
    "several": _line(
        _square(),
        """nest.for "o" %o = 0 to %n {
    nest.for "r" %r = 0 to 3 {
      %p = nest.load %t[%o] : memref<?xi64>
      nest.accumulate "y" add %p, %y[%o] : memref<?xi64>
    }
  }""",
    ),
}
"""Programs that are inlined, each with one store."""

_SUMS = """
func.func @f(%n: index, %m: index, %x: memref<?x?xi64>, %y: memref<?xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    nest.store "t" %zero, %t[%i] : memref<?xi64>
    nest.for "k" %k = 0 to LAST {
      %a = nest.load %x[%i, %k] : memref<?x?xi64>
      nest.accumulate "t" add %a, %t[%i] WHERE: memref<?xi64>
    }
  }
  nest.for "o" %o = FIRST to %n {
    %p = nest.load %t[%o] : memref<?xi64>
    %q = arith.muli %p, %p : i64
    nest.store "y" %q, %y[%o] : memref<?xi64>
  }
  func.return
}"""


def _sums(last: str = "%m", first: str = "0", where: str = "") -> str:
    return _SUMS.replace("LAST", last).replace("FIRST", first).replace("WHERE", where)


EPILOGUES = {
    "rows": _sums(),
    "from-one": _sums(first="1"),
    "triangle": _sums("min(%m, %i + 1)"),
    "domain": _sums(where="where (%k >= 1) "),
}


def _agrees(program: Program, change) -> None:
    def checked(function):
        change(function)
        assert all(op.label.data != "t" for op in function.walk() if isinstance(op, AllocOp))

    program.agrees(checked)


@pytest.mark.parametrize("name", INLINED)
def test_same_results(name: str):
    program = of_lengths(INLINED[name], 1, 2, 5, 9, results=0)
    _agrees(program, lambda function: reverse_compute_inline(buffer_of(function)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_where_it_is_legal_it_is_right(name: str):
    def change(function):
        if why_not_reverse_compute_inline(buffer_of(function)) is None:
            reverse_compute_inline(buffer_of(function))

    PROGRAMS[name].agrees(change)


@pytest.mark.parametrize("name", ["masked", "sums", "total"])
def test_refused_it_changes_nothing(name: str):
    module = parse_module(PROGRAMS[name].text)
    before = str(module)
    with pytest.raises(NestorError):
        reverse_compute_inline(buffer_of(module))
    assert str(module) == before


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("tile", [None, 3])
def test_epilogue(name: str, tile: int | None):
    def change(function):
        loop = find_loop(function.parent_op(), "i")
        if tile is not None:
            loop, *_ = split(loop, tile, "clamp")
        _, back = fuse_epilogue(find_loop(function.parent_op(), "o"), loop)
        assert (back is None) == (tile is None)
        assert all(loop.label != "o" for loop in loops_in(function))

    calls = tuple(((n, m), ((n, m), (n,))) for n, m in ((0, 3), (1, 1), (5, 0), (7, 4)))
    _agrees(Program(EPILOGUES[name], calls, results=0), change)


def test_an_epilogue_that_is_refused_changes_nothing():
    module = parse_module(_sums())
    before = str(module)
    loops = [find_loop(module, name) for name in ("o", "k")]
    assert why_not_fuse_epilogue(*loops) is not None
    with pytest.raises(NestorError):
        fuse_epilogue(*loops)
    assert str(module) == before
