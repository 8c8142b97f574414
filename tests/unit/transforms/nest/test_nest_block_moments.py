"""Sums and the squares around their mean, a part at a time: the numbers of the program, for terms far from 0, too."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.reductions.block_moments import block_moments
from parsed import parse_module
from places import FILECHECK

FILES = FILECHECK / "transforms" / "nest" / "reductions"
PLAIN, COLUMNS, UNEVEN = (FILES / "nest-block-moments.mlir").read_text().split("// -----")


def rewritten(text, parts):
    module = parse_module(text, "moments")
    block_moments(find_loop(module, "i"), find_loop(module, "i.1"), parts)
    module.verify()
    return functions(module)[0]


@pytest.mark.parametrize("parts", [1, 2, 4, 12])
def test_numbers_are_those_of_the_program(parts):
    function, rng = rewritten(PLAIN, parts), np.random.default_rng(parts)
    for far in (0, 1e2, 1e4):
        x = (far + rng.standard_normal(15)).astype("f4")
        mean, squares = np.empty((), "f4"), np.empty((), "f4")
        run_nest(function, [x, mean, squares])
        np.testing.assert_allclose(mean, x[:12].astype("f8").mean(), rtol=3e-7, atol=1e-6)
        np.testing.assert_allclose(squares, ((x[:12].astype("f8") - mean) ** 2).sum(), rtol=2e-6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_number_is_no_number(value):
    x = np.ones(15, "f4")
    x[5] = value
    mean, squares = np.empty((), "f4"), np.empty((), "f4")
    with np.errstate(invalid="ignore"):
        run_nest(rewritten(PLAIN, 4), [x, mean, squares])
    np.testing.assert_equal(mean, np.float32(value))
    assert np.isnan(squares)


@pytest.mark.parametrize("n", [8.0, 5.0])
def test_what_is_subtracted_need_not_be_a_mean(n):
    x = np.random.default_rng(0).standard_normal((11, 5)).astype("f4")
    sums, squares = np.ones(5), np.ones(5)
    run_nest(rewritten(COLUMNS, 4), [x, np.float64(n), sums, squares])
    want = 1 + x[3:].astype("f8").sum(0)
    np.testing.assert_allclose(sums, want)
    np.testing.assert_allclose(squares, 1 + ((x[3:] - want / n) ** 2).sum(0))


@pytest.mark.parametrize("parts", [4, 5, 7])
def test_a_part_may_have_fewer_terms_than_others(parts):
    x = (1e3 + np.random.default_rng(parts).standard_normal((14, 5))).astype("f4")
    sums, squares = np.ones(5, "f4"), np.ones(5, "f4")
    run_nest(rewritten(UNEVEN, parts), [x, np.float32(14), sums, squares])
    np.testing.assert_allclose(sums, x.astype("f8").sum(0), rtol=2e-7)
    np.testing.assert_allclose(squares, 1 + 14 * x.astype("f8").var(0), rtol=3e-6)


def test_big_arrays_are_done_so_with_the_same_bits_for_any_number_of_threads():
    @nt.jit
    def variances(x):
        return np.mean(x, axis=0), np.var(x, axis=0)

    x = (1e4 + np.random.default_rng(0).standard_normal((140000, 16))).astype("f4")
    before = nt.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            nt.set_num_threads(threads)
            results.append(np.array(variances(x)))
    finally:
        nt.set_num_threads(before)
    assert "schedule.block_moments" in str(variances.lower(x).schedule())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_allclose(results[0][1], x.astype("f8").var(0), rtol=5e-4)
