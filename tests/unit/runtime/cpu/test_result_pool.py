"""The result pool reuses a buffer exactly when no result, view or exported buffer of it is alive."""

import gc

import numpy as np
import pytest
from nestor.runtime.pool import ALIGNMENT, PAGE, PLACE, ResultPool

pytestmark = pytest.mark.usefixtures("collected_quickly")

MEGABYTE = 1 << 20
SHAPE, DTYPE = (512, 1024), np.dtype("f4")


def address(array):
    return array.__array_interface__["data"][0]


def test_a_dead_result_gives_its_buffer_to_the_next():
    pool = ResultPool(64 * MEGABYTE)
    first = pool.empty(SHAPE, DTYPE)
    where = address(first)
    del first
    assert address(pool.empty(SHAPE, DTYPE)) == where


def test_a_live_result_keeps_its_buffer():
    pool = ResultPool(64 * MEGABYTE)
    first = pool.empty(SHAPE, DTYPE)
    first[:] = 1
    second = pool.empty(SHAPE, DTYPE)
    second[:] = 2
    assert (first == 1).all()


def test_views_memoryviews_and_reshapes_keep_the_buffer():
    for derive in (
        lambda a: a[3:, ::2],
        memoryview,
        lambda a: a.reshape(-1).T,
        lambda a: iter(a),
        np.from_dlpack,
    ):
        pool = ResultPool(64 * MEGABYTE)
        result = pool.empty(SHAPE, DTYPE)
        where, derived = address(result), derive(result)
        del result
        gc.collect()
        other = pool.empty(SHAPE, DTYPE)
        assert address(other) != where, derive
        del derived
        gc.collect()
        assert where in (address(pool.empty(SHAPE, DTYPE)), address(other))


def test_small_results_and_a_pool_turned_off_are_numpys():
    assert ResultPool(64 * MEGABYTE).empty((7,), DTYPE).base is None
    assert ResultPool(0).empty(SHAPE, DTYPE).base is None


def test_the_pool_is_bounded():
    pool = ResultPool(8 * MEGABYTE)
    for size in range(1, 8):
        pool.empty((size * MEGABYTE // 4,), DTYPE)
    assert pool.held_bytes <= 8 * MEGABYTE


def test_layout_and_alignment():
    result = ResultPool(64 * MEGABYTE).empty(SHAPE, DTYPE, strides=(4, 4 * SHAPE[0]))
    assert result.flags.f_contiguous and address(result) % PAGE == PLACE and PLACE % ALIGNMENT == 0
