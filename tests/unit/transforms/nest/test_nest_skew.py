"""Skewed loops compute what they did; a skewed sweep runs in wavefronts."""

import numpy as np
import pytest
from cpu_nests import GAUSS_SEIDEL
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.skew import skew
from nestor.transforms.nest.mapping.parallel import parallelize
from parsed import parse_module
from relabelled_nests import TRIANGLE, assert_same, changed


@pytest.mark.parametrize("by", [-2, 0, 1, 3])
def test_a_skew_keeps_the_results(by):
    module = changed(TRIANGLE.text, lambda loop: skew(loop, loops_in(loop)[1], by))
    for n in range(6):
        assert_same(TRIANGLE.text, module, TRIANGLE.arguments(n))


def _sweep(shape, steps, skewed):
    """Gauss-Seidel after `skewed`, in program order and shuffled; as it was."""
    module = parse_module(GAUSS_SEIDEL.text)
    skewed(module)
    verify(module)
    rng = np.random.default_rng(0)
    start = rng.standard_normal(shape)
    wanted = GAUSS_SEIDEL.expected(steps, start.copy())[1]
    for mode, seed in (("program", 0), ("shuffled", 1), ("shuffled", 2)):
        grid = start.copy()
        run_nest(next(iter(module.ops)), [steps, grid], mode=mode, seed=seed)  # pyright: ignore
        np.testing.assert_array_equal(grid, wanted)


@pytest.mark.parametrize("shape", [(6, 9), (9, 4), (3, 3), (2, 5), (1, 1), (0, 0), (3, 12)])
def test_wavefronts_of_a_sweep_run_in_parallel(shape):
    def wavefronts(module):
        rows, columns = find_loop(module, "i"), find_loop(module, "j")
        with pytest.raises(NestorError, match="cannot parallelize"):
            parallelize(columns)
        skew(rows, columns)
        reorder([columns, rows])
        parallelize(rows)

    _sweep(shape, 3, wavefronts)


def test_without_the_skew_the_inner_loop_stays_serial():
    module = parse_module(GAUSS_SEIDEL.text)
    rows, columns = find_loop(module, "i"), find_loop(module, "j")
    reorder([columns, rows])
    with pytest.raises(NestorError, match="dependence"):
        parallelize(rows)


def test_all_sweeps_skewed_run_in_parallel_as_well():
    def wavefronts(module):
        steps, rows, columns = (find_loop(module, name) for name in "tij")
        skew(steps, rows)
        skew(steps, columns)
        skew(rows, columns)
        reorder([columns, steps, rows])
        parallelize(rows)

    _sweep((6, 7), 4, wavefronts)


def test_loops_that_are_not_nested():
    def refused(loop):
        with pytest.raises(NestorError, match="it is not inside of that loop"):
            skew(loops_in(loop)[1], loop)

    changed(TRIANGLE.text, refused)
