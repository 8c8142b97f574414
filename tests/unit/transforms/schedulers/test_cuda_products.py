"""Products in tiles on a GPU: every tile, at sizes that are no multiples of it, is right and free of races."""

from __future__ import annotations

from unittest.mock import patch

import nestor as nt
import numpy as np
import pytest
from nestor import jit
from nestor.runtime.cuda import nvrtc
from nestor.transforms.schedulers.cuda import products as cuda_products
from nestor.transforms.schedulers.cuda.products import SHAPES, SMALL, Shape, shape_for

pytestmark = pytest.mark.one_of(3)


def dense(x, y, bias, rest):
    return np.maximum(x @ y + bias, 0) * rest


def product(a, b):
    return a @ b


def product_of_transpose(a, b):
    return a.T @ b


def arguments(m, n, k, dtype):
    rng = np.random.default_rng(m + n + k)
    shapes = ((m, k), (k, n), (n,), (m, n))
    return [(4 * rng.standard_normal(shape)).astype(dtype) for shape in shapes]


def compiled_with(shape: Shape, function, *given, target="cuda-sim:checked", dynamic=False):
    """The function compiled with that tile whatever its size."""
    with patch.object(cuda_products, "shape_for", lambda *_: shape):
        return jit(function, target=target, dynamic=dynamic).lower(*given).compile()


def check(shape: Shape, m: int, n: int, k: int, dtype="f4", dynamic=False):
    given = arguments(m, n, k, dtype)
    got = compiled_with(shape, dense, *given, dynamic=dynamic)(*given)
    exact = dense(*(a.astype("f8") for a in given))
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())


def test_the_largest_tile_at_its_edges():
    check(SHAPES[0], 129, 130, 33)


def test_a_transposed_operand_and_unknown_extents():
    x, y = arguments(33, 35, 19, "f8")[:2]
    compiled = jit(product_of_transpose, target="cuda-sim:checked", dynamic=True)
    x = np.ascontiguousarray(x.T)
    np.testing.assert_allclose(compiled(x, y), x.T @ y, rtol=1e-12, atol=1e-12)


def test_small_products_are_one_for_each_warp():
    """Each element is copied once, no bank of shared memory is asked for two at a time."""
    x, y = (np.random.default_rng(3).standard_normal((40, 8, 8)).astype("f4") for _ in range(2))
    compiled = compiled_with(SMALL[1], product, x, y, target="cuda-sim:profile")
    np.testing.assert_allclose(compiled(x, y), x @ y, rtol=1e-5, atol=1e-5)
    report = compiled.profile(x, y)
    assert report.requested == report.compulsory
    assert report.ways == 1


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("size", [(127, 200, 16), (8, 8, 8), (256, 64, 48), (33, 257, 40)], ids=str)
@pytest.mark.parametrize("shape", (*SHAPES, *SMALL), ids=lambda s: f"{s.height}x{s.width}")
def test_every_tile(shape, size, dynamic):
    check(shape, *size, dtype="f4", dynamic=dynamic)
    check(shape, *size, dtype="i4" if size[0] == 8 else "f8", dynamic=dynamic)


def test_zeros_at_the_ends_meet_no_infinity():
    """What is outside of an operand is not multiplied by the other's elements."""
    x, y = np.full((9, 17), np.inf, "f4"), np.full((17, 9), np.nan, "f4")
    y[:, :3] = 1
    got = compiled_with(SHAPES[5], product, x, y)(x, y)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, x @ y)


def test_larger_products_have_larger_tiles():
    tiles = [shape_for(n, n, 1, 4) for n in (4096, 1024, 512, 128)]
    areas = [tile.height * tile.width for tile in tiles]
    assert areas == sorted(areas, reverse=True) and areas[0] == 128 * 128
    assert shape_for(4096, 4096, 1, 8) is not SHAPES[0], "sums of doubles would need all registers"


@pytest.mark.skipif(nvrtc.available() is None, reason="neither NVRTC nor nvcc is installed")
def test_the_inner_loop_is_multiply_adds_and_vectors_from_shared_memory():
    given = [nt.spec(shape, "f4") for shape in ((256, 64), (64, 256))]
    with patch.object(cuda_products, "shape_for", lambda *_: SHAPES[0]):
        text = jit(product, target="cuda").lower(*given).as_text("cuda")
    ptx = nvrtc.compile_ptx(text)
    steps = 2 * 16  # those of the loop, and of the last tiles, beside which nothing is copied
    assert ptx.count("fma.rn.f32") == steps * 64
    assert ptx.count("ld.shared.v4.f32") == steps * 4 and "ld.shared.f32" not in ptx
    assert text.count("__syncthreads") == 2


def squared_distances(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def largest_differences(x, y):
    return np.abs(x[:, None] - y[None]).max(-1)


def largest_smaller_ones(a, b):
    return np.minimum(a[:, :, None], b[None, :, :]).max(1)


def scaled_by_a_row(x, y):
    return np.maximum(x[:, None] * y[None], y[:, :1]).min(-1)


OF_TWO_FACTORS = (squared_distances, largest_differences, largest_smaller_ones, scaled_by_a_row)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("function", OF_TWO_FACTORS, ids=lambda f: f.__name__)
def test_reductions_of_other_functions_have_the_tiles_of_products(function, dynamic):
    """One kernel, whose threads have several sums each, of copies in shared memory that are under way a step ahead."""
    shape = (70, 50) if function is largest_smaller_ones else (50, 70)
    given = [nt.spec((40, 70), "f4"), nt.spec(shape, "f4")]
    lowered = jit(function, target="cuda-sim", dynamic=dynamic).lower(*given)
    text = lowered.as_text("cuda")
    assert text.count("__global__") == 1
    assert text.count("__shared__") == 2
    assert "nt_wait_copies" in text
    assert "sums[2]" in text or "sums[4]" in text or "sums[8]" in text


@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[5], SMALL[1]], ids=lambda s: f"{s.height}x{s.width}")
@pytest.mark.parametrize("k", [1, 16, 33])
def test_the_largest_of_negative_terms_at_the_edges(shape, k):
    """No element of the padding, which is zero, is among the terms; NaNs are found."""
    m, n = shape.height + 1, shape.width + 3
    rng = np.random.default_rng(k)
    a, b = -1 - rng.random((m, k), "f4"), -1 - rng.random((k, n), "f4")
    a[0, k - 1] = np.nan
    got = compiled_with(shape, largest_smaller_ones, a, b)(a, b)
    np.testing.assert_array_equal(got, largest_smaller_ones(a, b))


def test_a_term_that_is_one_element_has_no_tile():
    lowered = jit(lambda x, y: (x + y[:, None]).max(-1), target="cuda-sim").lower(
        nt.spec((20, 30, 40), "f4"), nt.spec((20, 40), "f4")
    )
    assert "nt_wait_copies" not in lowered.as_text("cuda")
