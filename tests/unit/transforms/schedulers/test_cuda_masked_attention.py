"""Attention with masks that leave whole tiles of keys out: these are skipped, and what is left is what NumPy leaves."""

from __future__ import annotations

import re

import numpy as np
import pytest
from nestor import jit, nn

pytestmark = pytest.mark.one_of(6)


def causal(q, k, v):
    return nn.attention(q, k, v, np.arange(q.shape[-2])[:, None] >= np.arange(k.shape[-2]))


def plain(q, k, v):
    return nn.attention(q, k, v)


def lower(q, k, v):
    return nn.attention(q, k, v, np.tril(np.ones((q.shape[-2], k.shape[-2]), bool)))


def window(q, k, v):
    distance = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
    return nn.attention(q, k, v, (distance >= -3) & (distance < 70))


def anticausal(q, k, v):
    return nn.attention(q, k, v, np.arange(q.shape[-2])[:, None] <= np.arange(k.shape[-2]))


def arguments(queries, keys, features=32, batch=()):
    rng = np.random.default_rng(queries)
    return [rng.standard_normal((*batch, n, features)).astype("f2") for n in (queries, keys, keys)]


def check(function, given):
    with np.errstate(all="ignore"):
        exact = function(*(a.astype("f8") for a in given))
        compiled = jit(function, target="cuda-sim:checked", dynamic=False).lower(*given).compile()
        result = compiled(*given).astype("f8")
    keys, features = given[1].shape[-2:]
    if keys != features:  # else the weights are in the memory of the result, and that is not one nest of rows
        assert len(compiled.engine.module.kernels) == 1
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_allclose(result, exact, rtol=4e-3, atol=4e-3)


def loops(function, given):
    """The bounds of the loop over tiles of keys."""
    text = jit(function, target="cuda").lower(*given).as_text("cuda")
    return re.findall(r"for \(int \w+_o(?:_tail)? = (.*?)\+\+\)", text)


@pytest.mark.parametrize(
    "function", [causal, window, anticausal, pytest.param(lower, marks=pytest.mark.slow)]
)
def test_tiles_that_a_mask_leaves_out_are_skipped(function):
    """Three tiles of rows, four of keys, the last of both in part; some rows of the window have no key."""
    given = arguments(140, 200)
    check(function, given)
    assert len(loops(function, given)) > len(loops(plain, given))  # one for each side that is left out


@pytest.mark.parametrize("function", [causal, window])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_zero_times_infinity_stays_no_number(function, value):
    """NumPy multiplies a weight of 0 by each value: of a column with an infinity all rows are NaN, skipped or not."""
    q, k, v = arguments(130, 200)
    v[199, 3] = v[1, 7] = value
    check(function, [q, k, v])


def test_scores_that_are_no_numbers_where_the_mask_is_false_do_not_count():
    q, k, v = arguments(130, 200)
    k[190:] = np.nan
    check(causal, [q, k, v])


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [(64, 64, 64), (1, 70, 32), (200, 65, 96), (70, 300, 128), (300, 40, 48)], ids=str
)
def test_sizes(sizes):
    for function in (causal, window):
        check(function, arguments(*sizes, batch=(2, 1)))


@pytest.mark.slow
def test_a_mask_that_is_an_argument_leaves_all_tiles_in():
    q, k, v = arguments(70, 130)
    mask = np.tril(np.ones((70, 130), bool))

    def chosen(q, k, v, mask):
        return nn.attention(q, k, v, mask)

    with np.errstate(all="ignore"):
        compiled = jit(chosen, target="cuda-sim:checked", dynamic=False).lower(q, k, v, mask).compile()
        np.testing.assert_allclose(compiled(q, k, v, mask), chosen(q, k, v, mask), rtol=4e-3, atol=4e-3)
    assert loops(chosen, [q, k, v, mask]) == loops(plain, [q, k, v])
