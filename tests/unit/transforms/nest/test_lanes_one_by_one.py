"""What lanes of a vector do one after the other: masked accesses along several axes, updates that may meet, regions."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.mapping.vectorize import vectorize
from parsed import parse_module
from test_nest_lowering import run_on_cpu

pytestmark = pytest.mark.one_of(3)

DIAGONAL = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i, %i + 1] : memref<?x?xf32>
    nest.store "y" %a, %y[%i, %i] where (%m - %i - 1 >= 0) : memref<?x?xf32>
  }
  func.return
}
"""

ANTIDIAGONAL = DIAGONAL.replace("%y[%i, %i]", "%y[%i, %n - %i - 1]")

MASKED = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i, %i] : memref<?x?xf32>
    %p = arith.cmpf ogt, %a, %zero : f32
    %b = nest.load %x[%i, %i + 1] : memref<?x?xf32>
    nest.store "y" %b, %y[%i, %i] mask %p : memref<?x?xf32>
  }
  func.return
}
"""

BLOCKED = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  nest.for "k" %k = 0 to 3 {
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%k, %i] : memref<?x?xf32>
      nest.accumulate "y" add %a, %y[%i floordiv 4, %i mod 4] where (%i - %m >= 0) : memref<?x?xf32>
    }
  }
  func.return
}
"""

REGION = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  nest.for "k" %k = 0 to 3 {
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%k, %i] : memref<?x?xf32>
      nest.accumulate "y" custom (%a), (%y)[%k, 0] {
      ^bb0(%old: f32, %new: f32):
        %both = arith.mulf %old, %new : f32
        nest.yield %both : f32
      } : memref<?x?xf32>
    }
  }
  func.return
}
"""

DEAD = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  %two = arith.constant 2.0 : f32
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i, 0] : memref<?x?xf32>
    %b = arith.mulf %a, %two : f32
    %q = arith.mulf %b, %b : f32
    %c = arith.fptosi %q : f32 to i64
    %d = arith.index_cast %c : i64 to index
    %e = nest.load %x[%d, 0] : memref<?x?xf32>
    %g = nest.load %x[1, %i] : memref<?x?xf32>
    nest.store "y" %g, %y[%i, 0] : memref<?x?xf32>
  }
  func.return
}
"""

NESTS = {
    "diagonal": DIAGONAL,
    "antidiagonal": ANTIDIAGONAL,
    "masked": MASKED,
    "blocked": BLOCKED,
    "region": REGION,
    "dead": DEAD,
}


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("name", NESTS)
def test_it_is_accepted_and_does_what_the_loop_does(name: str, width: int):
    module = parse_module(NESTS[name])
    loop = next(loop for loop in loops_in(functions(module)[0]) if loop.label == "i")
    vectorize(loop, width)
    rng = np.random.default_rng(width)
    for n, m in ((0, 0), (1, 1), (7, 3), (8, 8), (13, 2), (16, 11)):
        x = (rng.integers(-4, 5, (20, 20)) / 2).astype("f4")
        arguments = [[x.copy(), np.ones((20, 20), "f4"), n, m] for _ in range(2)]
        assert run_on_cpu(str(module), arguments[0])[0] == 0
        run_nest(functions(parse_module(NESTS[name]))[0], arguments[1])
        np.testing.assert_array_equal(arguments[0][1], arguments[1][1])
