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


def test_rows_of_unknown_length_on_a_gpu():
    """Rows that shared memory has room for, and longer ones, each by a kernel of its own; infinities and NaN."""
    compiled = nt.jit(softmax, target="cuda-sim:checked", dynamic=True)
    for rows, length in ((5, 33), (2, 5121)):
        x = np.random.default_rng(length).standard_normal((rows, length)).astype("f4")
        x[0, :3], x[1, 5] = -np.inf, np.nan
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(compiled(x), softmax(x), rtol=2e-5)
    text = compiled.lower(x).as_text("cuda")
    assert text.count("__global__") == 2
    assert "__shared__ float x_row[5120]" in text
