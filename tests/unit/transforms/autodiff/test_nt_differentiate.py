"""Forward mode against central differences, reverse mode against forward mode, operation by operation."""

import nestor as nt
import numpy as np
import pytest
from derivative_programs import check, derivative_text, lowered, run, run_passes
from nestor.dialects.nt import WindowOp
from parsed import parse_module

_RNG = np.random.default_rng(0)
X, W = _RNG.standard_normal((2, 4, 5))
P = np.abs(X) + 0.5
V, M = _RNG.standard_normal(5), _RNG.standard_normal((5, 3))


def inverse_functions(x):
    return (
        np.arcsin(x / 9)
        + np.arccos(x / 9)
        + np.arctan(x)
        + np.arccosh(x + 1)
        + np.arctanh(x / 9)
        + np.arcsinh(x)
    )


def exponentials(x):
    return (
        np.log1p(x)
        + np.expm1(x)
        + np.sinh(x)
        + np.cosh(x)
        + np.exp2(x)
        + np.cbrt(x)
        + np.log2(x)
        + np.log10(x)
    )


def angles(x, w):
    return np.arctan2(x, w) + np.hypot(x, w) + np.tan(x / 4) + np.radians(x) + np.degrees(w) + np.cos(w)


def choices(x, w):
    return np.maximum(x, w) + 2 * np.minimum(x, w) + np.fmax(x, 0.1) * np.fmin(w, 0.2) + np.clip(x, -0.5, 0.7)


def steps(x, w):
    return (
        np.floor(x) * w
        + np.sign(w) * x
        + np.trunc(x) * np.rint(w)
        + np.abs(x)
        + np.copysign(x, w)
        + np.remainder(x, np.exp(w))
    )


def products_of_windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, 3, axis=1).sum(axis=2) * x[:, :3]


IMAGES = _RNG.standard_normal((2, 3, 6, 9))
KERNELS = _RNG.standard_normal((4, 3, 3, 3))


def windows_of(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))


def pooling(x):
    return windows_of(x, 2)[:, :, ::2, 1::3].max(axis=(4, 5)) + windows_of(x, 3)[:, :, :3, :3].mean(
        axis=(4, 5)
    )


def pooling_of_all(x):
    return windows_of(x, 3)[:, :, ::3, ::3].max(axis=(4, 5))


def rows_and_columns(x):
    m = x.max(axis=-1, keepdims=True)
    logs = np.log(np.exp(x - m).sum(axis=-1, keepdims=True)) + m
    return ((logs * x.T)[0] ** 2).sum()


def convolution(x, w):
    return np.einsum("ncijpq,ocpq->noij", windows_of(x, 3), w)


def strided_convolution(x, w):
    return np.einsum("ncijpq,ocpq->noij", windows_of(x, 3)[:, :, ::2, 1::3], w)


PROGRAMS = {
    "inverse functions": (inverse_functions, P),
    "exponentials": (exponentials, P),
    "angles": (angles, X, W),
    "choices": (choices, X, W),
    "steps": (steps, X, W),
    "powers": (lambda x, w: x**w + x**3 + np.square(w) + 1 / x + np.sqrt(x), P, W),
    "log of sums": (lambda x, w: np.logaddexp(x, w) * np.logaddexp2(x, w), X, W),
    "broadcast": (lambda x, v: np.sin(x * v) / v + v, X, V),
    "sums": (lambda x: (x * x).sum(axis=1) + x.sum() + x.mean(axis=1), X),
    "extremes": (lambda x: x.max(axis=1) * x.min(axis=1) + x.max(), X),
    "product": (lambda x: x.prod(axis=0) * x.prod(), X),
    "product with a zero": (lambda x: x.prod(axis=1), np.where(np.arange(5) == 2, 0.0, X)),
    "product with two zeros": (lambda x: x.prod(axis=1), np.where(np.arange(5) < 2, 0.0, X)),
    "variance": (lambda x: x.var(axis=0) + x.std(axis=0), X),
    "norm": (lambda x: np.linalg.norm(x, axis=1), X),
    "dot": (lambda x, m: np.tanh(x @ m), X, M),
    "matrix and vector": (lambda x, v: x @ v, X, V),
    "einsum": (lambda x, w: np.einsum("ij,kj->ik", x, w), X, W),
    "einsum with a batch": (lambda x, w: np.einsum("ij,ik->ijk", x, w), X, W),
    "transpose": (lambda x, m: np.exp(x.T)[::2] @ x * m[::2, :1], X, M),
    "slices": (lambda x: x[1:, ::2] * x[:-1, 1:4] + x[-1, 0], X),
    "reversed": (lambda x: x[::-1, ::-2] * x[:, ::2], X),
    "reshape": (lambda x: x.reshape(2, 10) * 3, X),
    "running sum": (lambda x: np.cumsum(x, axis=1) * x, X),
    "running product": (lambda x: np.cumprod(x, axis=0), X),
    "running product with a zero": (lambda x: np.cumprod(x, axis=1), np.where(np.arange(5) == 2, 0.0, X)),
    "running maximum": (lambda x: np.maximum.accumulate(x, axis=1) * x, X),
    "where": (lambda x, w: np.where(x > 0, x * w, w), X, W),
    "windows": (products_of_windows, X),
    "pooling": (pooling, IMAGES),
    "pooling of all": (pooling_of_all, IMAGES),
    "convolution": (convolution, IMAGES, KERNELS),
    "strided convolution": (strided_convolution, IMAGES, KERNELS),
    "rows and columns": (rows_and_columns, X[:, :4]),
    "windows read twice": (lambda x: windows_of(x, 2).sum(axis=(4, 5)) * windows_of(x, 2)[..., 1, 0], IMAGES),
    "several results": (lambda x, w: (x * w, x.sum(), x > w), X, W),
    "integers between": (lambda x: (x * 2).astype(np.int64) * x, X),
    "one element": (lambda x: x[:1, :1] * x.sum(), X),
    "rank 0": (lambda x: np.exp(x.sum()) / 9, X * 0.1),
    "empty": (lambda x: x[:0] * 2, X),
}

DYNAMIC = (
    "broadcast",
    "sums",
    "product",
    "dot",
    "slices",
    "reversed",
    "reshape",
    "running product",
    "windows",
    "empty",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_closed_forms(name):
    def compiled(x):
        return getattr(nt.nn, name)(x, axis=-1)

    def plain(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        y = e / e.sum(-1, keepdims=True)
        return y if name == "softmax" else np.log(y)

    check(compiled, X, oracle=plain)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_zero_that_was_not_chosen_is_no_nan():
    def safe(x):
        return np.where(x > 0, np.sqrt(x), 0.0)

    def far(x):
        return np.where(x > 0, np.log(x), -x)

    at = np.array([0.0, 1.0, 4.0])

    (gradient,) = run("vjp", safe, [at], [np.ones(3)], [0])
    np.testing.assert_array_equal(gradient, [0.0, 0.5, 0.25])
    (gradient,) = run("vjp", far, [at], [np.ones(3)], [0])
    np.testing.assert_array_equal(gradient, [-1.0, 1.0, 0.25])


def windows_read_twice(x, w):
    windows = windows_of(x, 3)
    return np.einsum("ncijpq,ocpq->noij", windows, w) + windows[:, :1, :, :, 0, 0]


@pytest.mark.parametrize(("f", "count"), [(convolution, 2), (windows_read_twice, 1)])
def test_the_cotangent_of_an_image_is_a_convolution_where_its_windows_are_read_once(f, count):
    """Of the cotangent's windows; a sum into what each window covers would be made in memory of all windows."""
    text = derivative_text("vjp", *lowered(f, (IMAGES, KERNELS)), [0])
    module = run_passes(parse_module(text), "nt-differentiate", "cse")
    assert sum(isinstance(op, WindowOp) for op in module.walk()) == count
