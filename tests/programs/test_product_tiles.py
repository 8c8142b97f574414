"""Products of matrices whose tiles, blocks and panels end anywhere, with what is computed around them in their blocks."""

import nestor as nt
import numpy as np
import pytest

from .agreement import jitted, same


def product(a, b):
    return a @ b


def by_rows(a, b):
    return a @ b.T


def layer(a, b, bias):
    return np.maximum(a @ b + bias, 0) * 2


def layer_by_rows(a, b, bias):
    return bias - b.T @ a.T


def cell(a, b, c, d, bias):
    return a @ b + c @ d + bias


def numbers(seed, *shape, dtype="f4"):
    """Small integers: their sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


SHAPES = [
    (8, 8, 8),
    (14, 32, 24),
    (15, 33, 25),
    (27, 31, 17),
    (57, 130, 40),
    (113, 200, 33),
    (130, 257, 70),
    (300, 9, 50),
    (9, 300, 1100),
    (121, 97, 2100),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_edges(shape, dtype, dynamic):
    m, n, k = shape
    a, b, bias = numbers(0, m, k, dtype=dtype), numbers(1, k, n, dtype=dtype), numbers(2, n, dtype=dtype)
    same(jitted(layer, dynamic=dynamic)(a, b, bias), layer(a, b, bias), 0.0)


@pytest.mark.parametrize("shape", [*SHAPES[2:5:2], pytest.param(SHAPES[6], marks=pytest.mark.slow)], ids=str)
def test_transposed_operands(shape):
    m, n, k = shape
    a, b = numbers(0, m, k), numbers(1, n, k)
    same(nt.jit(by_rows)(a, b), by_rows(a, b), 0.0)
    same(
        nt.jit(layer_by_rows)(a, b.T.copy(), numbers(2, m)), layer_by_rows(a, b.T.copy(), numbers(2, m)), 0.0
    )


@pytest.mark.parametrize("rows", [3, 20, 64, 150])
def test_two_products_in_one_sum(rows):
    operands = (
        numbers(0, rows, 40),
        numbers(1, 40, 130),
        numbers(2, rows, 33),
        numbers(3, 33, 130),
        numbers(4, 130),
    )
    same(nt.jit(cell)(*operands), cell(*operands), 0.0)


def test_strides_and_windows():
    a, b = numbers(0, 200, 90), numbers(1, 90, 140)
    f = nt.jit(product)
    for left in (a, a[::-1], a[::2, ::3], np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b[:, ::-1])):
            right = right[: left.shape[1]]
            same(f(left, right), product(left, right), 0.0)


@pytest.mark.parametrize(
    "shape", [(0, 40, 30), (40, 0, 30), (40, 30, 0), (1, 40, 30), (40, 1, 30), (40, 30, 1)]
)
def test_empty_and_single(shape):
    m, n, k = shape
    for dynamic in (False, True):
        a, b, bias = numbers(0, m, k), numbers(1, k, n), numbers(2, n)
        same(jitted(layer, dynamic=dynamic)(a, b, bias), layer(a, b, bias), 0.0)
