"""Transposed copies: tiles, their edges, and what stands behind the last row of memory."""

import ctypes
import mmap

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

SIZES = ((0, 3), (1, 5), (4, 4), (7, 3), (16, 16), (17, 33), (64, 15), (70, 130))
TYPES = ("f4", "f8", "i1", "i2", "?", "f2")


def transpose(x):
    return x.T.copy()


def transpose_and_add(x, y):
    return x.T * 2 + y


def batches(x):
    return np.transpose(x, (0, 2, 1)).copy()


def channels_last(x):
    return np.transpose(x, (0, 2, 3, 1)).copy()


def _array(*shape, dtype="f4"):
    values = np.random.default_rng(0).integers(0, 100, shape)
    return (values % 2 == 1) if dtype == "?" else values.astype(dtype)


copied = nt.jit(transpose, dynamic=True)


def sizes_of_types():
    """Every size of every type, but extents of 0 and 1, for which is compiled anew, of one type and as slow tests."""
    for dtype in TYPES:
        for size in SIZES:
            yield pytest.param(
                dtype, size, marks=[pytest.mark.slow] if min(size) < 2 and dtype != "f4" else []
            )


@pytest.mark.parametrize(("dtype", "size"), list(sizes_of_types()), ids=str)
def test_sizes_known_at_run_time(dtype, size):
    x = _array(*size, dtype=dtype)
    np.testing.assert_array_equal(copied(x), x.T)


@pytest.mark.parametrize("size", [(16, 16), (17, 40), (40, 17), (5, 9)])
def test_sizes_known_before(size):
    x = _array(*size)
    np.testing.assert_array_equal(nt.jit(transpose)(x), x.T)


def test_strides():
    x = _array(80, 90)
    function = nt.jit(transpose, dynamic=True)
    for view in (x[::2], x[:, ::2], x[::-1, 3:], x[5:, ::-1]):
        np.testing.assert_array_equal(function(view), view.T)


def test_more_in_the_statement():
    x, y = _array(37, 50), _array(50, 37)
    np.testing.assert_array_equal(nt.jit(transpose_and_add)(x, y), x.T * 2 + y)


@pytest.mark.parametrize(("program", "shape"), [(batches, (3, 17, 20)), (channels_last, (2, 20, 5, 6))])
def test_more_axes(program, shape):
    x = _array(*shape)
    np.testing.assert_array_equal(nt.jit(program)(x), program(x))


def test_a_result_past_the_caches():
    x = _array(2048, 2064)
    np.testing.assert_array_equal(nt.jit(transpose)(x), x.T)


def test_nothing_is_read_behind_the_last_element():
    """The array ends where memory that may not be read begins."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 4 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    library = ctypes.CDLL(None, use_errno=True)
    assert library.mprotect(ctypes.c_void_p(start + 3 * page), page, 0) == 0
    function = nt.jit(transpose, dynamic=True)
    try:
        for rows, columns in ((16, 16), (17, 31), (31, 17), (2, 5), (33, 20)):
            size = rows * columns
            x = np.frombuffer((ctypes.c_float * size).from_address(start + 3 * page - 4 * size), np.float32)
            x = x.reshape(rows, columns)
            x[...] = _array(rows, columns)
            np.testing.assert_array_equal(function(x), x.T)
    finally:
        library.mprotect(ctypes.c_void_p(start + 3 * page), page, mmap.PROT_READ | mmap.PROT_WRITE)
