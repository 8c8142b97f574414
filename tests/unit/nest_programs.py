"""Loop nests, each with arguments and with what NumPy computes: shared by the tests of the interpreter and the lowerings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = list[Any]


@dataclass(frozen=True)
class Program:
    """`arguments(rng)` makes the arguments; `expected` computes the last one with NumPy; `ulp` 0: the same bits."""

    text: str
    arguments: Callable[[np.random.Generator], Arguments]
    expected: Callable[..., np.ndarray]
    rtol: float = 0.0


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


POINTWISE = Program(
    """
func.func @f(%x: memref<?xf32>, %s: f32, %y: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i.o" %o = 0 to %n step 16 parallel {
    nest.for "i.i" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[%o + %v] : memref<?xf32>
      %b = arith.mulf %a, %s : f32
      %c = arith.divf %b, %one : f32
      %m = arith.cmpf olt, %c, %a : f32
      %d = arith.select %m, %c, %one : f32
      %e = arith.maximumf %d, %a : f32
      nest.store "y" %e, %y[%o + %v] where (%o + %v < %n) : memref<?xf32>
    }
  }
  func.return
}""",
    lambda rng: [_floats(rng, 77), np.float32(1.5), np.zeros(77, np.float32)],
    lambda x, s, y: np.maximum(np.where(x * s < x, x * s, np.float32(1)), x),
)

STATIC_2D = Program(
    """
func.func @f(%x: memref<5x32xf64>, %y: memref<5x32xf64, strided<[1, 5]>>, %z: memref<5x32xf64> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 5 {
    nest.for "j.o" %o = 0 to 4 {
      nest.for "j.i" %v = 0 to 8 vectorized(8) {
        %a = nest.load %x[%i, 8 * %o + %v] : memref<5x32xf64>
        %b = nest.load %y[%i, 8 * %o + %v] : memref<5x32xf64, strided<[1, 5]>>
        %c = arith.subf %a, %b : f64
        nest.store "z" %c, %z[%i, 8 * %o + %v] : memref<5x32xf64>
      }
    }
  }
  func.return
}""",
    lambda rng: [
        rng.standard_normal((5, 32)),
        np.asfortranarray(rng.standard_normal((5, 32))),
        np.zeros((5, 32)),
    ],
    lambda x, y, z: x - y,
)

ROW_SUM = Program(
    """
func.func @f(%x: memref<?x?xf32>, %out: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n parallel {
    %acc = nest.alloc "acc" : memref<16xf32>
    nest.for "k" %k = 0 to 16 vectorized(16) {
      nest.store "acc" %zero, %acc[%k] : memref<16xf32>
    }
    nest.for "j.o" %o = 0 to %m step 16 {
      nest.for "j.i" %v = 0 to min(16, %m - %o) vectorized(16) {
        %a = nest.load %x[%i, %o + %v] : memref<?x?xf32>
        nest.accumulate "acc" add %a, %acc[%v] : memref<16xf32>
      }
    }
    nest.store "s" %zero, %out[%i] : memref<?xf32>
    nest.for "r" %r = 0 to 16 vectorized(16) {
      %b = nest.load %acc[%r] : memref<16xf32>
      nest.accumulate "s" add %b, %out[%i] : memref<?xf32>
    }
  }
  func.return
}""",
    lambda rng: [_floats(rng, 4, 45), np.zeros(4, np.float32)],
    lambda x, out: x.sum(axis=1),
    rtol=1e-5,
)

GUARDED = Program(
    """
func.func @f(%x: memref<?xi32>, %p: memref<?xi8>, %y: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %n = memref.dim %x, %c0 : memref<?xi32>
  nest.for "i" %i = 0 to %n step 8 {
    nest.for "v" %v = 0 to 8 vectorized(8) {
      %left = nest.load %x[%i + %v - 1] : memref<?xi32>
      %right = nest.load %x[%i + %v + 1] : memref<?xi32>
      %q = nest.load %p[%i + %v] : memref<?xi8>
      %m = arith.cmpi ne, %q, %zero : i8
      %s = arith.addi %left, %right : i32
      nest.store "y" %s, %y[%i + %v] where (%i + %v >= 1, %i + %v < %n - 1) mask %m : memref<?xi32>
    }
  }
  func.return
}""",
    lambda rng: [
        rng.integers(-(2**31), 2**31, 29).astype(np.int32),
        rng.integers(0, 2, 29).astype(np.int8),
        np.full(29, 7, np.int32),
    ],
    lambda x, p, y: np.where(
        (p != 0) & (np.arange(29) >= 1) & (np.arange(29) < 28), np.roll(x, 1) + np.roll(x, -1), 7
    ),
)

GATHER = Program(
    """
func.func @f(%x: memref<?x?xf32, strided<[?, ?]>>, %k: memref<?xi64>, %y: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %k, %c0 : memref<?xi64>
  nest.for "i.o" %o = 0 to %n step 4 {
    nest.for "i.i" %i = %o to min(%n, %o + 4) vectorized(4) {
      %a = nest.load %k[%i] : memref<?xi64>
      %b = arith.index_cast %a : i64 to index
      %c = nest.load %x[2, %b] : memref<?x?xf32, strided<[?, ?]>>
      %d = nest.load %x[%i, 1] : memref<?x?xf32, strided<[?, ?]>>
      %e = arith.index_cast %i : index to i64
      %f = arith.sitofp %e : i64 to f32
      %g = arith.addf %c, %d : f32
      %h = arith.addf %g, %f : f32
      nest.store "y" %h, %y[%i] : memref<?xf32>
    }
  }
  func.return
}""",
    lambda rng: [
        _floats(rng, 22, 18)[::2, ::3],
        rng.integers(0, 6, 11),
        np.zeros(11, np.float32),
    ],
    lambda x, k, y: (x[2, k] + x[:, 1]) + np.arange(11, dtype=np.float32),
)

GAUSS_SEIDEL = Program(
    """
func.func @f(%t: i64, %a: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %quarter = arith.constant 0.25 : f64
  %n = memref.dim %a, %c0 : memref<?x?xf64>
  %m = memref.dim %a, %c1 : memref<?x?xf64>
  %steps = arith.index_cast %t : i64 to index
  nest.for "t" %s = 0 to %steps {
    nest.for "i" %i = 0 to %n - 1 {
      nest.for "j" %j = 0 to %m - 1 {
        %up = nest.index %i - 1 of %n axis 0 of "a"
        %left = nest.index %j - 1 of %m axis 1 of "a"
        %p = nest.load %a[%up, %j] : memref<?x?xf64>
        %q = nest.load %a[%i, %left] : memref<?x?xf64>
        %r = nest.load %a[%i + 1, %j] : memref<?x?xf64>
        %u = nest.load %a[%i, %j + 1] : memref<?x?xf64>
        %v = arith.addf %p, %q : f64
        %w = arith.addf %v, %r : f64
        %x = arith.addf %w, %u : f64
        %y = arith.mulf %x, %quarter : f64
        nest.store "a" %y, %a[%i, %j] : memref<?x?xf64>
      }
    }
  }
  func.return
}""",
    lambda rng: [3, rng.standard_normal((6, 9))],
    lambda t, a: _gauss_seidel(t, a.copy()),
)


def _gauss_seidel(steps: int, a: np.ndarray) -> np.ndarray:
    for _ in range(steps):
        for i in range(a.shape[0] - 1):
            for j in range(a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1]) * 0.25
    return a


ARGMAX = Program(
    """
func.func @f(%x: memref<?x16xf32>, %best: memref<?xf32>, %at: memref<?xi64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %lowest = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %n = memref.dim %x, %c0 : memref<?x16xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "best" %lowest, %best[%i] : memref<?xf32>
    nest.store "at" %first, %at[%i] : memref<?xi64>
    nest.for "j" %j = 0 to 16 vectorized(16) {
      %a = nest.load %x[%i, %j] : memref<?x16xf32>
      %k = arith.index_cast %j : index to i64
      nest.accumulate "best" custom (%a, %k), (%best, %at)[%i] {
      ^bb0(%old: f32, %old_k: i64, %new: f32, %new_k: i64):
        %c = arith.cmpf ogt, %new, %old : f32
        %v = arith.select %c, %new, %old : f32
        %w = arith.select %c, %new_k, %old_k : i64
        nest.yield %v, %w : f32, i64
      } : memref<?xf32>, memref<?xi64>
    }
  }
  func.return
}""",
    lambda rng: [_floats(rng, 5, 16), np.zeros(5, np.float32), np.zeros(5, np.int64)],
    lambda x, best, at: x.argmax(axis=1),
)

SCRATCH = Program(
    """
func.func @f(%x: memref<?xf32>, %y: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %big = nest.alloc "big"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    nest.store "big" %b, %big[%i] : memref<?xf32>
  }
  nest.for "k" %k = 0 to %n {
    %t = nest.alloc "t" : memref<3xf32>
    nest.for "u" %u = 0 to 3 unrolled {
      %c = nest.load %big[(%k + %u) mod 8] : memref<?xf32>
      nest.store "t" %c, %t[%u] : memref<3xf32>
    }
    %p = nest.load %t[0] : memref<3xf32>
    %q = nest.load %t[2] : memref<3xf32>
    %r = arith.mulf %p, %q : f32
    nest.store "y" %r, %y[%k] : memref<?xf32>
  }
  func.return
}""",
    lambda rng: [_floats(rng, 21), np.zeros(21, np.float32)],
    lambda x, y: (2 * x)[np.arange(21) % 8] * (2 * x)[(np.arange(21) + 2) % 8],
)

DIVISIONS = Program(
    """
func.func @f(%x: memref<?xi32>, %d: memref<?xi32>, %y: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  nest.for "i" %i = 0 to %n {
    %b = nest.load %d[%i] : memref<?xi32>
    %on = arith.cmpi ne, %b, %zero : i32
    %a = nest.load %x[%i] : memref<?xi32>
    %q = arith.floordivsi %a, %b : i32
    nest.store "y" %q, %y[%i] mask %on : memref<?xi32>
  }
  nest.for "j.o" %o = 0 to %n ceildiv 8 {
    nest.for "j.i" %v = 0 to 8 vectorized(8) {
      %b = nest.load %d[8 * %o + %v] : memref<?xi32>
      %on = arith.cmpi sgt, %b, %zero : i32
      %a = nest.load %x[8 * %o + %v] : memref<?xi32>
      %r = arith.remsi %a, %b : i32
      %s = arith.floordivsi %r, %b : i32
      nest.accumulate "y" add %s, %y[8 * %o + %v] where (8 * %o + %v < %n) mask %on : memref<?xi32>
    }
  }
  func.return
}""",
    lambda rng: [
        rng.integers(-50, 50, 77).astype("i4"),
        rng.integers(-2, 3, 77).astype("i4"),
        np.zeros(77, "i4"),
    ],
    lambda x, d, y: np.where(d == 0, 0, x // d) + np.where(d > 0, np.fmod(x, d) // d, 0),
)

PROGRAMS = {
    "pointwise": POINTWISE,
    "static-2d": STATIC_2D,
    "row-sum": ROW_SUM,
    "guarded": GUARDED,
    "gather": GATHER,
    "gauss-seidel": GAUSS_SEIDEL,
    "argmax": ARGMAX,
    "scratch": SCRATCH,
    "divisions": DIVISIONS,
}


def arguments_of(program: Program) -> Arguments:
    """Fresh arguments, the same at every call."""
    return program.arguments(np.random.default_rng(7))


def check(program: Program, arguments: Arguments) -> None:
    """Compare the last argument with NumPy's result on fresh arguments."""
    with np.errstate(all="ignore"):
        expected = program.expected(*arguments_of(program))
    np.testing.assert_allclose(arguments[-1], expected, rtol=program.rtol, atol=0)
