"""Chains of products on a GPU: factors are computed where they are used; the reverse of attention is two kernels of them."""

from __future__ import annotations

import numpy as np
import pytest
from nestor import grad, jit, nn, spec
from nestor.runtime.cuda import nvrtc

pytestmark = pytest.mark.one_of(2)

TOLERANCES = {"f4": (3e-5, 3e-6), "f8": (1e-12, 1e-12), "f2": (0.0, 4e-3)}
"""Relative and absolute ones. Of float16 weights of up to 1 and their cotangents are rounded once to 11 bits, the scores two
times before; results are sums of these in 32 bits, of standard normal numbers."""


def attention(q, k, v):
    return nn.attention(q, k, v)


def causal(q, k, v):
    return nn.attention(q, k, v, np.arange(q.shape[-2])[:, None] >= np.arange(k.shape[-2]))


def gradients(q, k, v, c):
    return grad(lambda q, k, v: np.sum(attention(q, k, v) * c), argnums=(0, 1, 2))(q, k, v)


def causal_gradients(q, k, v, c):
    return grad(lambda q, k, v: np.sum(causal(q, k, v) * c), argnums=(0, 1, 2))(q, k, v)


def masked_gradients(q, k, v, c, mask):
    return grad(lambda q, k, v: np.sum(nn.attention(q, k, v, mask) * c), argnums=(0, 1, 2))(q, k, v)


def exact(q, k, v, c, mask=None):
    """The gradients by their formulas, of float64."""
    q, k, v, c = (a.astype("f8") for a in (q, k, v, c))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = c @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ c


def arguments(batch, queries, keys, size, dtype):
    rng = np.random.default_rng(queries)
    shapes = ((*batch, n, size) for n in (queries, keys, keys, queries))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check(function, given, mask=None, target="cuda-sim:checked", kernels=4):
    """A forward, a sum of rows and two kernels of the reverse, without faults, near what the formulas give."""
    compiled = jit(function, target=target, dynamic=False).lower(*given).compile()
    assert kernels is None or len(compiled.engine.module.kernels) == kernels
    relative, absolute = TOLERANCES[given[0].dtype.str[1:]]
    for found, wanted in zip(compiled(*given), exact(*given[:4], mask), strict=True):
        np.testing.assert_allclose(found.astype("f8"), wanted, rtol=relative, atol=absolute)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_gradients_of_rows_and_keys_that_fill_no_tile(dtype):
    check(gradients, arguments((2,), 70, 75, 16, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize(
    "size",
    [
        (64, 64, 32),
        (128, 128, 64),
        (33, 70, 24),
        (65, 100, 48),
        (90, 33, 8),
        (70, 130, 128),
    ],
    ids=str,
)
def test_sizes(size, dtype):
    """Of one tile and of several, of one row; features of whole instructions and others; of a stack of stacks."""
    check(gradients, arguments((2, 2), *size, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("queries", [1, 5])
def test_few_rows_are_right(queries, dtype):
    """In kernels of their own."""
    check(gradients, arguments((2,), queries, 40, 16, dtype), kernels=None)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("batch", [(), (1,), (1, 3)], ids=str)
def test_stacks(batch, dtype):
    check(gradients, arguments(batch, 40, 50, 16, dtype))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_a_causal_mask_is_computed_where_it_is_used(dtype):
    given = arguments((2,), 75, 75, 16, dtype)
    check(causal_gradients, given, np.tri(75, dtype=bool))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_a_mask_that_is_an_argument(dtype):
    given = arguments((2,), 40, 70, 16, dtype)
    mask = np.random.default_rng(4).random((40, 70)) < 0.5
    mask[:, 3] = True
    check(masked_gradients, [*given, mask], mask)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("order", ["reverse", "random=1", "random=2"])
def test_threads_in_any_order(order, dtype):
    given = arguments((2,), 70, 75, 16, dtype)
    check(gradients, given, target=f"cuda-sim:checked,{order}")


@pytest.mark.slow
def test_results_are_the_same_each_time():
    """No sum depends on which block comes first."""
    given = arguments((2,), 70, 75, 16, "f4")
    compiled = jit(gradients, target="cuda-sim", dynamic=False).lower(*given).compile()
    for one, other in zip(compiled(*given), compiled(*given), strict=True):
        np.testing.assert_array_equal(one, other)


def mlp(x, w, v):
    return np.maximum(x @ w, 0) @ v


def kernel_method(x, y, z):
    return np.exp(-((x[:, :, None] - y[:, None]) ** 2).sum(-1)) @ z


def linear_attention(q, k, v):
    return np.maximum(q @ np.swapaxes(k, -1, -2) * 0.5, 0) @ v


def unknown(dtype):
    shapes = ((2, "n", 16), (2, "m", 16), (2, "m", 16), (2, "n", 16))
    return [spec(shape, dtype) for shape in shapes]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_unknown_numbers_of_queries_and_keys(dtype):
    compiled = jit(gradients, target="cuda-sim").lower(*unknown(dtype)).compile()
    assert len(compiled.engine.module.kernels) == 4
    relative, absolute = TOLERANCES[dtype]
    for queries, keys in ((70, 75), (33, 140), (64, 64)):
        given = arguments((2,), queries, keys, 16, dtype)
        for found, wanted in zip(compiled(*given), exact(*given), strict=True):
            np.testing.assert_allclose(found.astype("f8"), wanted, rtol=relative, atol=absolute)


@pytest.mark.parametrize(
    ("function", "shapes", "dtype"),
    [
        (kernel_method, [(64, 70, 8), (64, 3000, 8), (64, 3000, 24)], "f4"),
        (linear_attention, [(64, 70, 16), (64, 3000, 16), (64, 3000, 24)], "f4"),
        (linear_attention, [(64, 70, 16), (64, 3000, 16), (64, 3000, 24)], "f2"),
    ],
    ids=["kernel method", "linear attention", "linear attention of float16"],
)
def test_other_chains_are_one_kernel(function, shapes, dtype):
    """Of so many columns that no block has room for whole rows of them."""
    text = jit(function, target="cuda").lower(*(spec(shape, dtype) for shape in shapes)).as_text("cuda")
    assert text.count("__global__ void") == 1


@pytest.mark.slow
@pytest.mark.parametrize("function", [kernel_method, linear_attention])
def test_other_chains_are_right(function):
    """Of unknown numbers of rows and columns, for which blocks are taken to be enough."""
    shapes = ((2, "n", 12), (2, "m", 12), (2, "m", 20))
    compiled = jit(function, target="cuda-sim:checked").lower(*(spec(s, "f8") for s in shapes)).compile()
    assert len(compiled.engine.module.kernels) == 1
    rng = np.random.default_rng(2)
    for rows, columns in ((70, 201), (5, 64)):
        sizes = {"n": rows, "m": columns}
        given = [rng.standard_normal([sizes.get(n, n) for n in shape]) for shape in shapes]
        np.testing.assert_allclose(compiled(*given), function(*given), rtol=1e-11, atol=1e-11)


def keys_gradient(x, w, k):
    return grad(lambda k: np.sum(((x @ w) @ k.T) ** 2))(k)


@pytest.mark.parametrize("sizes", [pytest.param((40, 12, 48), marks=pytest.mark.slow), (70, 16, 75)], ids=str)
def test_a_reader_without_a_stack_that_goes_down_columns(sizes):
    """x @ w is computed for the scores, and for the gradient, whose blocks are of its columns."""
    rows, size, keys = sizes
    rng = np.random.default_rng(3)
    x, w, k = given = [rng.standard_normal(shape) for shape in ((rows, size), (size, size), (keys, size))]
    low = jit(keys_gradient, target="cuda-sim:checked", dynamic=False).lower(*given)
    assert "schedule.recompute" in str(low.schedule("cuda"))
    np.testing.assert_allclose(low.compile()(*given), 2 * ((x @ w) @ k.T).T @ (x @ w), rtol=1e-12, atol=1e-12)


def test_few_rows_of_a_long_layer_stay_apart():
    """Eight blocks would pass over 3000 columns each."""
    low = jit(mlp, target="cuda").lower(*(spec(s, "f4") for s in ((500, 64), (64, 3000), (3000, 48))))
    assert low.as_text("cuda").count("__global__ void") > 1


@pytest.mark.parametrize("dtype", [pytest.param("f4", marks=pytest.mark.slow), "f2"])
def test_the_schedule_replays(dtype):
    low = jit(gradients, target="cuda").lower(*(spec((2, 96, 16), dtype) for _ in range(4)))
    schedule = low.schedule("cuda")
    assert "schedule.recompute" in str(schedule)
    assert low.as_text("cuda", schedule=schedule) == low.as_text("cuda")


@pytest.mark.slow
@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
@pytest.mark.parametrize("size", [32, 64, 80, 128])
@pytest.mark.parametrize("rows", [1024, 1000])
def test_no_spills(size, rows):
    """Of whole tiles, and where the last ones are in part."""
    given = [spec((4, 16, rows, size), "f2") for _ in range(4)]
    text = jit(gradients, target="cuda").lower(*given).as_text("cuda")
    kernels = nvrtc.compile_cubin(text, "sm_80").kernels
    assert len(kernels) == 4
    assert not any(kernel.spill_stores or kernel.stack for kernel in kernels)
