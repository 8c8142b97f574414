"""A loop with the range of all iterations around it does what it did, on empty ranges and in any order, too."""

import numpy as np
import pytest
from cpu_nests import GAUSS_SEIDEL
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.analysis.nest.sets.dependence import Dependences
from nestor.dialects.nest import IfOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.skew import skew
from nestor.transforms.nest.loops.widen import widen
from nestor.transforms.nest.mapping.parallel import parallelize, why_not_independent
from parsed import parse_module
from relabelled_nests import TRIANGLE, assert_same, changed


def test_a_triangle_becomes_a_square():
    module = changed(TRIANGLE.text, lambda loop: widen(loops_in(loop)[1], loop))
    for n in range(6):
        assert_same(TRIANGLE.text, module, TRIANGLE.arguments(n))


@pytest.mark.parametrize("slope", [1, 2, -1])
@pytest.mark.parametrize("n", range(6))
def test_after_a_skew(slope, n):
    def both(loop):
        inner = loops_in(loop)[1]
        skew(loop, inner, slope)
        widen(inner, loop)

    assert_same(TRIANGLE.text, changed(TRIANGLE.text, both), TRIANGLE.arguments(n))


@pytest.mark.parametrize("slopes", [(2, 1), (3, 2), (4, 2)])
@pytest.mark.parametrize("shape", [(6, 9), (9, 4), (3, 3), (2, 5), (1, 1), (0, 0), (3, 12)])
def test_the_diagonals_of_all_sweeps_run_in_parallel(shape, slopes):
    module = parse_module(GAUSS_SEIDEL.text)
    steps, rows, columns = (find_loop(module, name) for name in ("t", "i", "j"))
    skew(steps, columns, slopes[0])
    skew(rows, columns, slopes[1])
    reorder([columns, steps, rows])
    for loop in (steps, rows):
        widen(loop, columns)
        assert not set(loop.lower_operands) & {columns.iv, steps.iv}
        assert not set(loop.upper_operands) & {columns.iv, steps.iv}
        assert why_not_independent(loop, "bind", Dependences(steps)) is None
    parallelize(steps)
    verify(module)
    start = np.random.default_rng(0).standard_normal(shape)
    wanted = GAUSS_SEIDEL.expected(3, start.copy())[1]
    for mode, seed in (("program", 0), ("shuffled", 1), ("shuffled", 2)):
        grid = start.copy()
        run_nest(next(iter(module.ops)), [3, grid], mode=mode, seed=seed)  # pyright: ignore
        np.testing.assert_array_equal(grid, wanted)


DIVIDES = """
func.func @f(%n: index, %k: i64, %y: memref<?xi64> {nest.role = "out"}) {
  %one = arith.constant 1 : i64
  nest.for "d" %d = 0 to 3 {
    nest.for "i" %i = %d to %n {
      %q = arith.floordivsi %one, %k : i64
      nest.store "y" %q, %y[%i] : memref<?xi64>
    }
  }
  func.return
}
"""


def test_what_must_not_run_is_in_a_branch():
    """No iteration is the program's where it divides by zero: the loop is empty then."""
    module = parse_module(DIVIDES)
    outer, inner = find_loop(module, "d"), find_loop(module, "i")
    widen(inner, outer)
    verify(module)
    run_nest(next(iter(module.ops)), [0, 0, np.zeros(0, np.int64)])  # pyright: ignore
    y = np.zeros(5, np.int64)
    run_nest(next(iter(module.ops)), [5, 1, y])  # pyright: ignore
    np.testing.assert_array_equal(y, 1)


def test_a_branch_is_only_where_domains_do_not_do():
    module = changed(TRIANGLE.text, lambda loop: widen(loops_in(loop)[1], loop))
    assert not any(isinstance(op, IfOp) for op in module.walk())
