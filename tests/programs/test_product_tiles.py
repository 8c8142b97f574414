"""Products of matrices whose tiles, blocks and panels end anywhere, with what is computed around them in their blocks."""

import nestor as nt
import numpy as np
import pytest

from .agreement import jitted, same

pytestmark = pytest.mark.one_of(3)


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


def edges():
    """Every shape for any extents in both types; every second for these extents, in a type; the others are slow."""
    for k, shape in enumerate(SHAPES):
        for j, dtype in enumerate(("f4", "f8")):
            yield pytest.param(shape, dtype, True)
            yield pytest.param(shape, dtype, False, marks=[] if k % 4 == 2 * j else [pytest.mark.slow])


@pytest.mark.parametrize(("shape", "dtype", "dynamic"), list(edges()), ids=str)
def test_edges(shape, dtype, dynamic):
    m, n, k = shape
    a, b, bias = numbers(0, m, k, dtype=dtype), numbers(1, k, n, dtype=dtype), numbers(2, n, dtype=dtype)
    same(jitted(layer, dynamic=dynamic)(a, b, bias), layer(a, b, bias), 0.0)


@pytest.mark.parametrize(
    "shape", [SHAPES[4], *(pytest.param(SHAPES[k], marks=pytest.mark.slow) for k in (2, 6))], ids=str
)
def test_transposed_operands(shape):
    m, n, k = shape
    a, b = numbers(0, m, k), numbers(1, n, k)
    same(nt.jit(by_rows)(a, b), by_rows(a, b), 0.0)
    same(
        nt.jit(layer_by_rows)(a, b.T.copy(), numbers(2, m)), layer_by_rows(a, b.T.copy(), numbers(2, m)), 0.0
    )


@pytest.mark.parametrize("rows", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 64)), 150])
def test_two_products_in_one_sum(rows):
    operands = (
        numbers(0, rows, 40),
        numbers(1, 40, 130),
        numbers(2, rows, 33),
        numbers(3, 33, 130),
        numbers(4, 130),
    )
    same(nt.jit(cell)(*operands), cell(*operands), 0.0)


def layouts():
    """Pairs of layouts: each of the left matrix, each of the right one; all pairs among slow tests."""
    for k in range(4):
        for j in range(2):
            yield pytest.param(k, j, marks=[pytest.mark.slow] if j != k % 2 else [])


@pytest.mark.parametrize(("left", "right"), list(layouts()))
def test_strides_and_windows(left, right):
    a, b = numbers(0, 200, 90), numbers(1, 90, 140)
    first = (a, a[::-1], a[::2, ::3], np.asfortranarray(a))[left]
    second = (b, np.asfortranarray(b[:, ::-1]))[right][: first.shape[1]]
    same(jitted(product)(first, second), product(first, second), 0.0)


EMPTY_AND_SINGLE = [(0, 40, 30), (40, 0, 30), (40, 30, 0), (1, 40, 30), (40, 1, 30), (40, 30, 1)]


@pytest.mark.parametrize(
    ("shape", "dynamic"),
    [
        pytest.param(shape, dynamic, marks=[pytest.mark.slow] if dynamic != k % 2 else [])
        for k, shape in enumerate(EMPTY_AND_SINGLE)
        for dynamic in (False, True)
    ],
)
def test_empty_and_single(shape, dynamic):
    """Each for any extents or for these; the other among slow tests."""
    m, n, k = shape
    a, b, bias = numbers(0, m, k), numbers(1, k, n), numbers(2, n)
    same(jitted(layer, dynamic=dynamic)(a, b, bias), layer(a, b, bias), 0.0)


def fused(a, b, bias, residual):
    return np.maximum(a.astype(np.float32) @ (b.T * np.float32(2)) + bias, 0) + residual


def test_what_is_before_and_after_is_part_of_the_tiles():
    """A cast, a transpose and a scale are done where operands are copied; bias, activation and residual in registers."""
    a, b = numbers(1, 120, 40, dtype="f2"), numbers(2, 208, 40)
    arguments = a, b, numbers(3, 208), numbers(4, 120, 208)
    lines = nt.jit(fused).lower(*arguments).as_text("nest").splitlines()
    assert sum(line.startswith("    nest.for") for line in lines) == 1
    made = [line for line in lines if "nest.alloc" in line]
    assert len(made) == 3 and not any("120x208" in line or "208x40xf32" in line for line in made)
    same(nt.jit(fused)(*arguments), fused(*arguments))


def stacked_layer(a, b, bias, c):
    return np.maximum(a @ b + bias, 0) @ c + a


@pytest.mark.parametrize("extents", [{0: "batch"}, {0: "batch", 1: "positions"}])
def test_rows_of_a_batch_of_unknown_size_are_summed_up_in_registers(extents):
    """The rows of a result are a multiple of one unknown extent, or the product of two."""
    width, wide = 40, 70
    b, bias, c = numbers(1, width, wide), numbers(2, wide), numbers(3, wide, width)
    layer_ = nt.jit(stacked_layer, dynamic={"a": extents})
    positions = (18,) if len(extents) == 1 else (18, 1, 5)
    for batch in (4, 2, 1, 9, 0, 3):
        for count in positions:
            a = numbers(batch, batch, count, width)
            np.testing.assert_array_equal(layer_(a, b, bias, c), stacked_layer(a, b, bias, c))
    schedule = str(layer_.lower(numbers(0, 4, 18, width), b, bias, c).schedule())
    assert schedule.count("schedule.cache_write") == 2, schedule
