"""Programs of a producer and a consumer, not scheduled: a buffer "t" that is read at the loop "o"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation


def blur(n: int | str, m: int | str, tile: tuple[int, int] | None = None) -> str:
    """A box blur of 3 x 3 in two stages: `t` is the mean of three columns, `out` that of three rows of `t`.

    The consumer runs in tiles when `tile` is given.
    """
    rows, columns = ("?" if isinstance(e, str) else str(e + 2) for e in (n, m))
    image = f"memref<{rows}x{columns}xf32>"
    out = f"memref<{'?' if isinstance(n, str) else n}x{'?' if isinstance(m, str) else m}xf32>"
    stage = f"memref<{rows}x{'?' if isinstance(m, str) else m}xf32>"
    high, wide = ("%n" if isinstance(n, str) else n + 2), ("%m - 2" if isinstance(m, str) else m)
    tall = "%n - 2" if isinstance(n, str) else n
    sizes = [v for v, e in (("%n", n), ("%w", m)) if isinstance(e, str)]
    given = f"({', '.join(sizes)})" if sizes else ""
    body = f"""
      %a = nest.load %t[I, J] : {stage}
      %b = nest.load %t[I + 1, J] : {stage}
      %c = nest.load %t[I + 2, J] : {stage}
      %d = arith.addf %a, %b : f32
      %e = arith.addf %d, %c : f32
      %f = arith.mulf %e, %third : f32
      nest.store "out" %f, %out[I, J] : {out}"""
    if tile is None:
        consumer = f"""
  nest.for "o" %o = 0 to {tall} {{
    nest.for "p" %p = 0 to {wide} {{{body.replace("I", "%o").replace("J", "%p")}
    }}
  }}"""
    else:
        h, w = tile
        inside = body.replace("I", f"{h} * %o + %k").replace("J", f"{w} * %p + %l")
        consumer = f"""
  nest.for "o" %o = 0 to ({tall}) ceildiv {h} {{
    nest.for "p" %p = 0 to ({wide}) ceildiv {w} {{
      nest.for "k" %k = 0 to min({h}, {tall} - {h} * %o) {{
        nest.for "l" %l = 0 to min({w}, {wide} - {w} * %p) {{{inside}
        }}
      }}
    }}
  }}"""
    return f"""
func.func @blur(%x: {image}, %out: {out} {{nest.role = "out"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %third = arith.constant 0.333333343 : f32
  %n = memref.dim %x, %c0 : {image}
  %m = memref.dim %x, %c1 : {image}
  %w = arith.subi %m, %c2 : index
  %t = nest.alloc "t"{given} : {stage}
  nest.for "i" %i = 0 to {high} {{
    nest.for "j" %j = 0 to {wide} {{
      %a = nest.load %x[%i, %j] : {image}
      %b = nest.load %x[%i, %j + 1] : {image}
      %c = nest.load %x[%i, %j + 2] : {image}
      %d = arith.addf %a, %b : f32
      %e = arith.addf %d, %c : f32
      %f = arith.mulf %e, %third : f32
      nest.store "t" %f, %t[%i, %j] : {stage}
    }}
  }}{consumer}
  func.return
}}"""


def blurred(x: np.ndarray) -> np.ndarray:
    """What `blur` computes, in the same order and precision."""
    third = np.float32(0.333333343)
    t = ((x[:, :-2] + x[:, 1:-1]) + x[:, 2:]) * third
    return ((t[:-2] + t[1:-1]) + t[2:]) * third


@dataclass(frozen=True)
class Program:
    """A function of integers, and what it is called with: in each call scalars, and the shapes of arrays.

    Arrays are filled with random numbers, the last ones (`results`) are results of zeros.
    """

    text: str
    calls: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], ...]
    results: int = 1
    can_inline: bool = True

    def function(self) -> FuncOp:
        """The function as it is written, in a module of its own."""
        function = next(iter(_parsed(self.text).clone().ops))
        assert isinstance(function, FuncOp)
        return function

    def agrees(
        self,
        change: Callable[[FuncOp], object],
        modes: Sequence[str] = ("program", "shuffled"),
    ) -> None:
        """After `change` the function computes in every call and mode what it computes as it is written."""
        function = self.function()
        change(function)
        module = function.parent_op()
        assert module is not None
        verify(module)
        compiled = {mode: compile_nest(function, mode=mode) for mode in modes}
        for (scalars, shapes), expected in zip(self.calls, _computed(self), strict=True):
            for mode, kernel in compiled.items():
                arrays = self._arrays(shapes)
                kernel(*scalars, *arrays, seed=3)
                for result, wanted in zip(arrays, expected, strict=True):
                    np.testing.assert_array_equal(result, wanted, f"called with {scalars}, mode {mode!r}")

    def _arrays(self, shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        arrays = [rng.integers(-99, 99, shape, dtype=np.int64) for shape in shapes]
        for array in arrays[len(arrays) - self.results :]:
            array[...] = 0
        return arrays


@cache
def _parsed(text: str) -> ModuleOp:
    return parse_module(text)


@cache
def _computed(program: Program) -> list[list[np.ndarray]]:
    """The arrays after each call of the function as it is written."""
    kernel = compile_nest(program.function())
    results = []
    for scalars, shapes in program.calls:
        results.append(program._arrays(shapes))
        kernel(*scalars, *results[-1], seed=3)
    return results


def of_lengths(text: str, *lengths: int, results: int = 1) -> Program:
    """A program of a length and two arrays that long."""
    return Program(text, tuple(((n,), ((n,), (n,))) for n in lengths), results)


def buffer_of(function: Operation, name: str = "t") -> AllocOp:
    """The buffer called `name`."""
    return next(op for op in function.walk() if isinstance(op, AllocOp) and op.label.data == name)


def _line(producer: str, consumer: str, size: str = "%n", arguments: str = "%n: index") -> str:
    return f"""
func.func @f({arguments}, %x: memref<?xi64>, %y: memref<?xi64>) {{
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"({size}) : memref<?xi64>
  {producer}
  {consumer}
  func.return
}}"""


_SQUARE = """
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    %b = arith.muli %a, %a : i64
    nest.store "t" %b, %t[%i] : memref<?xi64>
  }"""

_TILED = """
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "j" %j = 0 to min(4, %n - 4 * %o) {
      %p = nest.load %t[4 * %o + %j] : memref<?xi64>
      nest.store "y" %p, %y[4 * %o + %j] : memref<?xi64>
    }
  }"""

_MASKED = """
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j - 1] : memref<?xi64>
      %q = nest.load %t[4 * %o + %j + 1] : memref<?xi64>
      %r = arith.subi %p, %q : i64
      nest.store "y" %r, %y[4 * %o + %j] where (4 * %o + %j > 0, 4 * %o + %j + 1 < %n) : memref<?xi64>
    }
  }"""

_STEPS = """
  nest.for "o" %o = 1 to %n step 3 {
    nest.for "j" %j = %o to min(%n, %o + 3) step 2 {
      %p = nest.load %t[%n - 1 - %j] : memref<?xi64>
      nest.store "y" %p, %y[%j] : memref<?xi64>
    }
  }"""

_SHIFTED = """
  nest.for "i" %i = 2 to %n + 2 {
    %a = nest.load %x[%i - 2] : memref<?xi64>
    %v = arith.index_cast %i : index to i64
    %b = arith.muli %a, %v : i64
    nest.store "t" %b, %t[%n + 1 - %i] : memref<?xi64>
  }"""

_SPLIT = """
  nest.for "b" %b = 0 to %n ceildiv 5 {
    nest.for "i" %i = 0 to min(5, %n - 5 * %b) {
      %a = nest.load %x[5 * %b + %i] : memref<?xi64>
      nest.store "t" %a, %t[5 * %b + %i] : memref<?xi64>
    }
  }"""

_TRIANGLE = """
func.func @f(%n: index, %x: memref<?x?xi64>, %y: memref<?x?xi64>) {
  %t = nest.alloc "t"(%n, %n) : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i + 1 {
      %a = nest.load %x[%j, %i] : memref<?x?xi64>
      nest.store "t" %a, %t[%j, %i] : memref<?x?xi64>
    }
  }
  nest.for "o" %o = 0 to %n {
    nest.for "k" %k = %o to %n {
      %p = nest.load %t[%o, %k] : memref<?x?xi64>
      nest.store "y" %p, %y[%o, %k] : memref<?x?xi64>
    }
  }
  func.return
}"""

_SUMS = """
func.func @f(%n: index, %m: index, %x: memref<?x?xi64>, %y: memref<?xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "h" %h = 0 to %n {
    nest.store "t" %zero, %t[%h] : memref<?xi64>
  }
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xi64>
      nest.accumulate "t" add %a, %t[%i] where (%j >= 1) : memref<?xi64>
    }
  }
  nest.for "o" %o = 0 to %n floordiv 2 {
    %p = nest.load %t[2 * %o] : memref<?xi64>
    %q = nest.load %t[2 * %o + 1] : memref<?xi64>
    %r = arith.muli %p, %q : i64
    nest.store "y" %r, %y[%o] : memref<?xi64>
  }
  func.return
}"""

_TOTAL = """
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<i64>
  nest.store "t" %zero, %t[] : memref<i64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    nest.accumulate "t" add %a, %t[] : memref<i64>
  }
  nest.for "o" %o = 0 to 3 {
    %p = nest.load %t[] : memref<i64>
    nest.store "y" %p, %y[%o] : memref<?xi64>
  }
  func.return
}"""

_PRIVATE = """
func.func @f(%n: index, %m: index, %x: memref<?x?xi64>, %y: memref<?xi64>) {
  %zero = arith.constant 0 : i64
  %lots = arith.constant 100 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<i64>
    nest.store "s" %zero, %s[] : memref<i64>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xi64>
      %big = arith.cmpi sgt, %a, %zero : i64
      nest.if %big {
        nest.accumulate "s" add %a, %s[] : memref<i64>
      } else {
        nest.accumulate "s" add %lots, %s[] : memref<i64>
      }
    }
    %b = nest.load %s[] : memref<i64>
    nest.store "t" %b, %t[%i] : memref<?xi64>
  }
  nest.for "o" %o = 0 to %n {
    nest.for "k" %k = 0 to 2 {
      %p = nest.load %t[%n - 1 - %o] : memref<?xi64>
      %q = nest.load %y[%o] : memref<?xi64>
      %r = arith.addi %p, %q : i64
      nest.store "y" %r, %y[%o] : memref<?xi64>
    }
  }
  func.return
}"""

_IN_PLACE = """
  nest.for "o" %o = 0 to %n {
    %p = nest.load %t[%o] : memref<?xi64>
    nest.store "x" %p, %x[%o] : memref<?xi64>
    nest.store "y" %p, %y[%o] : memref<?xi64>
  }"""


_LENGTHS = (0, 1, 2, 7, 12)
_LINES = tuple(((n,), ((n,), (n,))) for n in _LENGTHS)
_TABLES = tuple(((n, m), ((n, m), (n,))) for n in _LENGTHS for m in (0, 1, 4))

PROGRAMS = {
    "tiled": Program(_line(_SQUARE, _TILED), _LINES),
    "masked": Program(_line(_SQUARE, _MASKED), _LINES),
    "steps": Program(_line(_SQUARE, _STEPS), _LINES),
    "shifted": Program(_line(_SHIFTED, _TILED), _LINES),
    "in-place": Program(_line(_SQUARE, _IN_PLACE), _LINES),
    "split": Program(_line(_SPLIT, _MASKED), _LINES, can_inline=False),
    "triangle": Program(_TRIANGLE, tuple(((n,), ((n, n), (n, n))) for n in _LENGTHS)),
    "total": Program(_TOTAL, tuple(((n,), ((n,), (3,))) for n in _LENGTHS), can_inline=False),
    "sums": Program(_SUMS, _TABLES, can_inline=False),
    "private": Program(_PRIVATE, _TABLES, can_inline=False),
}
