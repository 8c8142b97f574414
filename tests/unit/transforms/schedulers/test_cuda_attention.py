"""Attention on a GPU: one kernel, no scores in global memory, right at odd sizes and free of races."""

from __future__ import annotations

import numpy as np
import pytest
from nestor import jit, nn


def attention(q, k, v):
    return nn.attention(q, k, v)


def masked(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) / 3
    return nn.softmax(np.where(mask[:, None, None, :], -np.inf, scores), axis=-1) @ v


def chosen(q, k, v, mask):
    return nn.attention(q, k, v, mask)


def arguments(batch, queries, keys, size, dtype="f4"):
    rng = np.random.default_rng(queries)
    shapes = ((*batch, n, size) for n in (queries, keys, keys))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check(function, given):
    """One kernel, without faults, gives what NumPy gives."""
    exact = function(*(a.astype("f8") if a.dtype.kind == "f" else a for a in given))
    compiled = jit(function, target="cuda-sim:checked", dynamic=False).lower(*given).compile()
    assert len(compiled.engine.module.kernels) == 1
    np.testing.assert_allclose(compiled(*given), exact, rtol=2e-5, atol=1e-5)


def test_scores_stay_in_shared_memory():
    """Stacks of stacks are slow (`test_sizes`)."""
    check(attention, arguments((2,), 17, 45, 9))


def test_tiles_of_keys_where_rows_are_too_long():
    """Odd numbers of queries, keys and features; rows without a key that counts; NaN and infinities in the keys."""
    q, k, v = arguments((2, 2), 9, 301, 24, "f8")
    k[0, 0, 5], k[1, 0, 7] = np.nan, np.inf
    mask = np.random.default_rng(3).random((9, 301)) < 0.5
    mask[1], mask[2, :-1], mask[3, :70] = False, False, False
    with np.errstate(all="ignore"):
        check(chosen, [q, k, v, mask])


@pytest.mark.slow
def test_the_schedule_of_tiles_of_keys_replays():
    given = arguments((2, 2), 9, 4096, 32)
    low = jit(chosen, target="cuda").lower(*given, np.ones((9, 4096), bool))
    schedule = low.schedule("cuda")
    assert "schedule.online_softmax" in str(schedule)
    assert low.as_text("cuda", schedule=schedule) == low.as_text("cuda")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "size", [(16, 64, 32), (1, 33, 8), (3, 20, 7), (33, 129, 40), (40, 700, 64), (70, 100, 130)], ids=str
)
def test_sizes(size, dtype):
    check(attention, arguments((2, 2), *size, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [(9, 1031, 16), (70, 1000, 128), (65, 4096, 64), (600, 601, 33)], ids=str)
def test_sizes_of_long_rows(size, dtype):
    check(attention, arguments((2, 2), *size, dtype))


@pytest.mark.slow
def test_masks_of_padding():
    q, k, v = arguments((2, 3), 19, 50, 16)
    mask = np.arange(50)[None, :] >= np.array([[50], [23]])
    check(masked, [q, k, v, mask])
