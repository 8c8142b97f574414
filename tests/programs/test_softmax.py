"""Softmax of rows: one program for all shapes."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, same


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_static():
    agrees(softmax, np.random.default_rng(0).random((5, 33)).astype("f4"), tolerance=1e-6)


def test_twenty_shapes_one_compilation():
    jitted = nt.jit(softmax, dynamic=True)
    rng = np.random.default_rng(1)
    for n in range(2, 22):
        x = rng.random((n, 3 * n + 1)).astype("f4")
        same(jitted(x), softmax(x), 1e-6)
    assert jitted.cache_info()["compiled"] == 1


def test_auto_opens_the_extents_that_differ():
    jitted = nt.jit(softmax)
    rng = np.random.default_rng(2)
    for n in (4, 5, 6, 9):
        x = rng.random((n, 8))
        same(jitted(x), softmax(x), 1e-12)
    assert jitted.cache_info()["compiled"] == 2


@pytest.mark.parametrize("shape", [(700, 517), (40000, 17), (2, 200001), (300000, 3)], ids=str)
@pytest.mark.parametrize("element", ["f4", "f8"])
def test_rows_of_big_arrays(shape, element):
    """Of which the next rows are fetched, and which are divided by an inverse where the dividends are ordinary numbers."""
    x = (8 * np.random.default_rng(3).standard_normal(shape)).astype(element)
    x[:, 1] = -np.inf
    x[-1, 0] = np.nan
    tolerance = 1e-5 if element == "f4" else 1e-12
    agrees(softmax, x, tolerance=tolerance)
    agrees(softmax, x[::-2, ::-1], tolerance=tolerance)
