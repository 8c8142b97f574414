"""Loop nests over integers on which the memory primitives are tried: exact results, every awkward bound."""

from __future__ import annotations

import numpy as np

MATMUL = """
func.func @f(%x: memref<?x?xi32> {nest.dims = ["n", "p"]}, %w: memref<?x?xi32> {nest.dims = ["p", "m"]},
             %y: memref<?x?xi32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?x?xi32>
  %p = memref.dim %x, %c1 : memref<?x?xi32>
  %m = memref.dim %w, %c1 : memref<?x?xi32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      nest.store "y" %zero, %y[%i, %j] : memref<?x?xi32>
      nest.for "k" %k = 0 to %p {
        %a = nest.load %x[%i, %k] : memref<?x?xi32>
        %b = nest.load %w[%k, %j] : memref<?x?xi32>
        %c = arith.muli %a, %b : i32
        nest.accumulate "y" add %c, %y[%i, %j] : memref<?x?xi32>
      }
    }
  }
  func.return
}"""

STENCIL = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {
  nest.for "i" %i = 2 to %n - 1 step 3 {
    nest.for "d" %d = 0 to 3 {
      %a = nest.load %x[%i + %d - 1] : memref<?xi32>
      %b = nest.load %x[%i - 2] : memref<?xi32>
      %c = arith.muli %a, %b : i32
      nest.accumulate "y" add %c, %y[%i + %d - 1] : memref<?xi32>
      nest.store "y" %b, %y[%i - 2] where (%d < 2, %i < 9) : memref<?xi32>
    }
  }
  func.return
}"""

TRIANGLE = """
func.func @f(%n: index, %x: memref<?x?xi32>, %y: memref<?x?xi32>) {
  %t = nest.alloc "t"(%n, %n) : memref<?x?xi32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i + 1 {
      %a = nest.load %x[%i, %j] : memref<?x?xi32>
      nest.store "t" %a, %t[%i, %j] : memref<?x?xi32>
    }
    nest.for "k" %k = 0 to %i {
      %b = nest.load %t[%i, %i - %k] : memref<?x?xi32>
      nest.accumulate "y" maxsi %b, %y[%k, %i] : memref<?x?xi32>
    }
  }
  nest.for "u" %u = 1 to %n {
    nest.for "v" %v = 0 to min(%u, 4) {
      %b = nest.load %t[%u, %v] : memref<?x?xi32>
      %c = nest.load %t[%u - 1, %v] : memref<?x?xi32>
      %d = arith.subi %b, %c : i32
      nest.store "y" %d, %y[%u, %v] where (%v + 1 < %u) : memref<?x?xi32>
    }
  }
  func.return
}"""

IN_PLACE = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  nest.for "t" %t = 0 to 3 {
    nest.for "i" %i = 1 to %n - 1 {
      nest.for "j" %j = 0 to 2 {
        %a = nest.load %x[%i - 1] : memref<?xi32>
        %b = nest.load %x[%i + 1] : memref<?xi32>
        %c = arith.addi %a, %b : i32
        %p = arith.cmpi sgt, %c, %zero : i32
        nest.if %p {
          nest.store "x" %c, %x[%i - %j] : memref<?xi32>
        }
        nest.accumulate "y" add %c, %y[%i floordiv 2 + %j] mask %p : memref<?xi32>
      }
    }
  }
  func.return
}"""

BLOCKED = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "v" %v = 0 to 4 {
      %a = nest.load %x[4 * %o + %v] : memref<?xi32>
      %b = nest.load %x[(4 * %o + %v) floordiv 2] : memref<?xi32>
      %c = nest.load %x[%v mod 2] : memref<?xi32>
      %d = arith.addi %a, %b : i32
      %e = arith.addi %c, %d : i32
      nest.store "y" %e, %y[4 * %o + %v] where (4 * %o + %v < %n) : memref<?xi32>
    }
  }
  func.return
}"""

ALIASED = """
func.func @f(%n: index, %x: memref<?xi32> {nest.alias_set = 1 : i64}, %y: memref<?xi32> {nest.alias_set = 1 : i64}) {
  %two = arith.constant 2 : i32
  nest.for "i" %i = 1 to %n {
    %a = nest.load %x[%i] : memref<?xi32>
    %b = arith.muli %a, %two : i32
    nest.store "y" %b, %y[%i] : memref<?xi32>
    %c = nest.load %y[%i - 1] : memref<?xi32>
    nest.store "x" %c, %x[%i - 1] : memref<?xi32>
  }
  nest.for "o" %o = 0 to %n floordiv 3 {
    nest.for "v" %v = 0 to 3 {
      %d = nest.load %x[3 * %o + %v] : memref<?xi32>
      nest.accumulate "y" add %d, %y[3 * %o + 2 - %v] : memref<?xi32>
    }
  }
  nest.for "k" %k = 1 to %n {
    %e = nest.load %x[%k - 1] : memref<?xi32>
    %g = nest.load %x[%k + 1] : memref<?xi32>
    %h = arith.subi %e, %g : i32
    nest.store "x" %h, %x[%k] : memref<?xi32>
  }
  func.return
}"""

BRANCHES = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : index
  nest.for "k" %k = 0 to %n + 2 {
    nest.store "y" %zero, %y[%k] : memref<?xi32>
  }
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "v" %v = 0 to min(4, %n - 4 * %o) {
      %a = nest.load %x[4 * %o + %v] : memref<?xi32>
      %c = arith.cmpi slt, %v, %three : index
      nest.if %c {
        nest.store "y" %a, %y[4 * %o + %v] : memref<?xi32>
      } else {
        nest.store "y" %zero, %y[4 * %o + %v] : memref<?xi32>
      }
    }
    nest.for "w" %w = 0 to 5 step 2 {
      %b = nest.load %x[%o + %w floordiv 4] : memref<?xi32>
      nest.accumulate "y" add %b, %y[%w floordiv 2 + %o] where (%w < %o) : memref<?xi32>
    }
  }
  func.return
}"""


def _matmul(n: int, rng: np.random.Generator) -> list:
    p, m = n + 1, n + 2
    return [_numbers(rng, n, p), _numbers(rng, p, m), np.full((n, m), -77, np.int32)]


def _vectors(n: int, rng: np.random.Generator) -> list:
    return [n, _numbers(rng, n + 2), _numbers(rng, n + 2)]


def _overlapping(n: int, rng: np.random.Generator) -> list:
    memory = _numbers(rng, n + 4)
    return [n, memory[1 : n + 3], memory[: n + 2]]


def _squares(n: int, rng: np.random.Generator) -> list:
    return [n, _numbers(rng, n, n), _numbers(rng, n, n)]


def _numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-9, 9, shape, dtype=np.int32)


PROGRAMS = {
    "matmul": (MATMUL, _matmul),
    "stencil": (STENCIL, _vectors),
    "triangle": (TRIANGLE, _squares),
    "in-place": (IN_PLACE, _vectors),
    "blocked": (BLOCKED, _vectors),
    "aliased": (ALIASED, _overlapping),
    "branches": (BRANCHES, _vectors),
}
"""The text of `@f`, and its arguments for a size `n` of at least 2."""


def static_text(name: str, n: int) -> str:
    """The program for one size, as the ones with extents 0 and 1 are given. (Not for the matrix product.)"""
    text = PROGRAMS[name][0].replace('"t"(%n, %n)', '"t"')
    extent = f"{n}x{n}" if name == "triangle" else str(n + 2)
    return text.replace("?x?xi32" if name == "triangle" else "?xi32", f"{extent}xi32")
