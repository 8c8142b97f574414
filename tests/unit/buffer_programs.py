"""Loop nests over integers with buffers of their own, in and before loops: what the buffer primitives are tried on.

`PROGRAMS` has the text of each `@f(%n, %x, %y)`; `check` compares what a module computes with what the text does, for
sizes 0 and up.
"""

from __future__ import annotations

import numpy as np
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

SIZES = (0, 1, 2, 3, 4, 7, 12)

_HEAD = "func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {"

PROGRAMS = {
    # made in each iteration; extents that are computed in it; a step, and bounds that are not 0
    "inside": """
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : index
  nest.for "i" %i = 2 to %n step 3 {
    %m = arith.addi %n, %two : index
    %u = nest.alloc "u"(%m) : memref<?xi32>
    nest.for "j" %j = 0 to %n {
      %a = nest.load %x[%j + 1] : memref<?xi32>
      nest.store "u" %a, %u[%j + 2] : memref<?xi32>
    }
    %s = nest.alloc "s" : memref<i32>
    nest.store "s" %zero, %s[] : memref<i32>
    nest.for "k" %k = 0 to %i {
      %b = nest.load %u[%k + 2] : memref<?xi32>
      nest.accumulate "s" add %b, %s[] : memref<i32>
    }
    %c = nest.load %s[] : memref<i32>
    nest.store "y" %c, %y[%i] : memref<?xi32>
  }""",
    # made before the loops, used anew in each iteration of both
    "outside": """
  %u = nest.alloc "u" : memref<5xi32>
  %t = nest.alloc "t"(%n) : memref<?xi32>
  nest.for "o" %o = 1 to %n {
    nest.for "i" %i = 0 to min(%o, 6) {
      nest.for "j" %j = 0 to 5 {
        %a = nest.load %x[%i + %j] : memref<?xi32>
        nest.store "u" %a, %u[%j] : memref<5xi32>
      }
      nest.for "k" %k = 1 to 4 {
        %b = nest.load %u[%k - 1] : memref<5xi32>
        %c = nest.load %u[%k + 1] : memref<5xi32>
        %d = arith.subi %b, %c : i32
        nest.accumulate "y" add %d, %y[%o + %k] : memref<?xi32>
      }
      nest.store "t" %t0, %t[%i] : memref<?xi32>
    }
    nest.for "l" %l = 0 to min(%o, 6) {
      %e = nest.load %t[%l] : memref<?xi32>
      nest.accumulate "y" add %e, %y[%l] : memref<?xi32>
    }
  }""".replace("%t0", "%a0").replace(
        'nest.store "t"', '%a0 = nest.load %x[%o] : memref<?xi32>\n      nest.store "t"'
    ),
    # an element for each iteration, a sum over all, and one handed on from iteration to iteration
    "carried": """
  %zero = arith.constant 0 : i32
  %u = nest.alloc "u"(%n) : memref<?xi32>
  %s = nest.alloc "s" : memref<1xi32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "s" %zero, %s[0] : memref<1xi32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xi32>
    nest.store "u" %a, %u[%i] : memref<?xi32>
    nest.accumulate "s" add %a, %s[0] : memref<1xi32>
    %b = nest.load %u[%i] : memref<?xi32>
    %c = nest.load %p[] : memref<i32>
    %d = arith.subi %b, %c : i32
    nest.store "p" %b, %p[] : memref<i32>
    nest.store "y" %d, %y[%i] : memref<?xi32>
  }
  %t = nest.load %s[0] : memref<1xi32>
  nest.store "y" %t, %y[%n] : memref<?xi32>""",
    # written by some iterations only
    "masked": """
  %zero = arith.constant 0 : i32
  %u = nest.alloc "u" : memref<4xi32>
  nest.for "z" %z = 0 to 4 {
    nest.store "u" %zero, %u[%z] : memref<4xi32>
  }
  %v = nest.alloc "v" : memref<4xi32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%i] : memref<?xi32>
      nest.store "v" %zero, %v[%j] : memref<4xi32>
      nest.store "u" %a, %u[%j] where (%j < %i) : memref<4xi32>
      %p = arith.cmpi sgt, %a, %zero : i32
      nest.store "v" %a, %v[%j] mask %p : memref<4xi32>
    }
    nest.for "k" %k = 0 to 4 {
      %b = nest.load %u[%k] : memref<4xi32>
      %c = nest.load %v[%k] : memref<4xi32>
      %d = arith.addi %b, %c : i32
      nest.accumulate "y" add %d, %y[%i] : memref<?xi32>
    }
  }""",
    # a sliding window: each iteration makes one element, and reads three
    "sliding": """
  %u = nest.alloc "u"(%m) : memref<?xi32>
  %c0 = nest.load %x[0] : memref<?xi32>
  nest.store "u" %c0, %u[0] : memref<?xi32>
  nest.store "u" %c0, %u[1] : memref<?xi32>
  nest.for "i" %i = 1 to %n {
    %a = nest.load %x[%i + 1] : memref<?xi32>
    nest.store "u" %a, %u[%i + 1] : memref<?xi32>
    %b = nest.load %u[%i - 1] : memref<?xi32>
    %c = nest.load %u[%i] : memref<?xi32>
    %d = nest.load %u[%i + 1] : memref<?xi32>
    %e = arith.muli %b, %c : i32
    %f = arith.subi %e, %d : i32
    nest.store "y" %f, %y[%i] : memref<?xi32>
  }""".replace(
        "%u = nest", "%two = arith.constant 2 : index\n  %m = arith.addi %n, %two : index\n  %u = nest", 1
    ),
    # rows made two at a time, and a triangle
    "rows": """
  %t = nest.alloc "t"(%n) : memref<?x6xi32>
  nest.for "i" %i = 0 to %n ceildiv 2 {
    nest.for "r" %r = 0 to min(2, %n - 2 * %i) {
      nest.for "j" %j = %r to 6 {
        %a = nest.load %x[%i + %j] : memref<?xi32>
        nest.store "t" %a, %t[2 * %i + %r, %j] : memref<?x6xi32>
      }
    }
    nest.for "s" %s = 2 * %i to min(%n, 2 * %i + 2) {
      nest.for "k" %k = 1 to 6 {
        %b = nest.load %t[%s, %k] : memref<?x6xi32>
        nest.accumulate "y" maxsi %b, %y[%s + %k] : memref<?xi32>
      }
    }
  }""",
}


def parsed(name: str) -> ModuleOp:
    """The program called `name`."""
    return parse_module(f"{_HEAD}{PROGRAMS[name]}\n  func.return\n}}")


def function_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def allocations(module: ModuleOp) -> list[AllocOp]:
    return [op for op in module.walk() if isinstance(op, AllocOp)]


def arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    return [n, *(rng.integers(-9, 9, n + 12, dtype=np.int32) for _ in range(2))]


def check(name: str, module: ModuleOp, sizes=SIZES, modes=("program", "shuffled")) -> None:
    """The module gives what the program as written gives."""
    verify(module)
    for n in sizes:
        wanted = arguments(n)
        run_nest(function_of(parsed(name)), wanted)
        for mode in modes:
            given = arguments(n)
            run_nest(function_of(module), given, mode=mode, seed=n)
            for a, b in zip(wanted, given, strict=True):
                np.testing.assert_array_equal(a, b)
