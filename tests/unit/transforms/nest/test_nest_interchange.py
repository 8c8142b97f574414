"""Loops whose bounds depend on each other change places: the same pairs of iterations, in the other order."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nestor.analysis.nest.loop_structure import find_loop
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.reorder import reorder
from parsed import parse_module
from sampling import seeds

PAIRS = """
func.func @f(%n: index, %m: index, %y: memref<64x64xi64>) {{
  %one = arith.constant 1 : i64
  nest.for "i" %i = {lower} to {upper} {{
    nest.for "j" %j = {inner_lower} to {inner_upper} {{
      nest.accumulate "y" add %one, %y[%i + 20, %j + 30] : memref<64x64xi64>
    }}
  }}
  func.return
}}"""

BOUNDS = st.sampled_from(
    ("0", "%i", "%n", "%i + 1", "2 * %i - 3", "%n - %i", "3 - 2 * %i", "%i floordiv 2", "(%i + %n) ceildiv 3",
     "%m - (%i ceildiv 2)", "1 - ((3 * %i) floordiv 2)", "max(%i, %m)", "max(0, %i - 2)")
)  # fmt: skip


def visited(module, n, m):
    grid = np.zeros((64, 64), np.int64)
    run_nest(next(iter(module.ops)), [n, m, grid])
    return grid


@settings(max_examples=len(seeds(60)), deadline=None)
@given(BOUNDS, BOUNDS, st.sampled_from(("0", "2", "max(%m - 3, 1)")), st.sampled_from(("5", "min(%n, 6)")))
def test_every_pair_runs_once_as_before(inner_lower, inner_upper, lower, upper):
    inner_upper = inner_upper.replace("max", "min")
    text = PAIRS.format(lower=lower, upper=upper, inner_lower=inner_lower, inner_upper=inner_upper)
    module = parse_module(text)
    reorder([find_loop(module, "j"), find_loop(module, "i")])
    verify(module)
    for n, m in itertools.product((0, 3, 6), (0, 4)):
        np.testing.assert_array_equal(visited(module, n, m), visited(parse_module(text), n, m))


@pytest.mark.parametrize("upper", ["%i mod 3", "2 * (%i floordiv 3)", "(%i floordiv 2) + (%i floordiv 3)"])
def test_bounds_that_are_not_linear_stay(upper):
    module = parse_module(PAIRS.format(lower="0", upper="%n", inner_lower="0", inner_upper=upper))
    before = str(module)
    with pytest.raises(NestorError, match='the bounds of "j" use the variable of "i"'):
        reorder([find_loop(module, "j"), find_loop(module, "i")])
    assert str(module) == before


def test_three_loops_turn_inside_out():
    text = """
func.func @f(%n: index, %y: memref<?x?x?xi64>) {
  %one = arith.constant 1 : i64
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i + 1 {
      nest.for "k" %k = %j to %i + %j {
        nest.accumulate "y" add %one, %y[%i, %j, %k] : memref<?x?x?xi64>
      }
    }
  }
  func.return
}"""
    for order in itertools.permutations("ijk"):
        module = parse_module(text)
        reorder([find_loop(module, name) for name in order])
        verify(module)
        for n in (0, 1, 2, 5):
            wanted, found = np.zeros((2, n, n, 2 * n), np.int64)
            run_nest(next(iter(parse_module(text).ops)), [n, wanted])
            run_nest(next(iter(module.ops)), [n, found])
            np.testing.assert_array_equal(found, wanted)
