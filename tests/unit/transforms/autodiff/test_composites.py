"""Closed forms of composites: against differences, and against the derivative of what they stand for."""

import re

import nestor as nt
import numpy as np
import pytest
from derivative_programs import check, run
from nestor.dialects.special import erf
from nestor.transforms.autodiff.rules import attention as blocked
from xdsl.dialects.builtin import TensorType, f32

pytestmark = pytest.mark.one_of(2)

_RNG = np.random.default_rng(5)
X, C = _RNG.standard_normal((2, 4, 6))
W, B = _RNG.standard_normal((2, 6))
CUBE = _RNG.standard_normal((2, 3, 4))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, w, b, axis=-1, eps=1e-5):
    centred = x - x.mean(axis=axis, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(axis=axis, keepdims=True) + eps)
    return y * w + b


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * w


def batch_norm_training(x, w, b, axis=1):
    others = tuple(k for k in range(x.ndim) if k != axis)
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    mean, var = x.mean(axis=others), x.var(axis=others)
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-5)
    return y * w.reshape(shape) + b.reshape(shape), mean, var


def logsumexp(x, axis=None, keepdims=False):
    largest = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    return total if keepdims else total.sum(axis=axis)


def attention(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(4)) @ v


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# name: compiled, NumPy, arguments
FORMS = {
    "softmax": (lambda x: nt.nn.softmax(x), softmax, X),
    "softmax along the first axis": (lambda x: nt.nn.softmax(x, axis=0), lambda x: softmax(x, 0), X),
    "log_softmax": (lambda x: nt.nn.log_softmax(x), lambda x: np.log(softmax(x)), X),
    "layer_norm": (lambda x, w, b: nt.nn.layer_norm(x, w, b), layer_norm, X, W, B),
    "layer_norm, no weight": (lambda x: nt.nn.layer_norm(x), lambda x: layer_norm(x, 1.0, 0.0), X),
    "layer_norm of two axes": (
        lambda x: nt.nn.layer_norm(x, axis=(1, 2)),
        lambda x: layer_norm(x, 1.0, 0.0, axis=(1, 2)),
        CUBE,
    ),
    "layer_norm, squared": (
        lambda x, w, b: nt.nn.layer_norm(x, w, b) ** 2,
        lambda *a: layer_norm(*a) ** 2,
        X,
        W,
        B,
    ),
    "rms_norm": (lambda x, w: nt.nn.rms_norm(x, w), rms_norm, X, W),
    "batch_norm_training": (lambda x, w, b: nt.nn.batch_norm_training(x, w, b), batch_norm_training, X, W, B),
    "batch_norm_training of images": (
        lambda x, w, b: nt.nn.batch_norm_training(x, w, b),
        batch_norm_training,
        CUBE,
        W[:3],
        B[:3],
    ),
    "gelu": (lambda x: nt.nn.gelu(x), lambda x: 0.5 * x * (1 + erf(x * np.sqrt(0.5))), X),
    "gelu, tanh": (lambda x: nt.nn.gelu(x, approximate="tanh"), gelu_tanh, X),
    "logsumexp": (lambda x: nt.nn.logsumexp(x), logsumexp, X),
    "logsumexp of rows": (lambda x: nt.nn.logsumexp(x, axis=1), lambda x: logsumexp(x, 1), X),
    "logsumexp, axis kept": (
        lambda x: nt.nn.logsumexp(x, axis=(0, 2), keepdims=True),
        lambda x: logsumexp(x, (0, 2), True),
        CUBE,
    ),
    "attention": (lambda q, k, v: nt.nn.attention(q, k, v), attention, CUBE, CUBE + 1, CUBE[:, :, :2] * 2),
}


@pytest.mark.parametrize("name", FORMS)
def test_derivatives(name):
    compiled, plain, *arguments = FORMS[name]
    check(compiled, *arguments, oracle=plain)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "batch_norm_training", "logsumexp of rows"])
def test_unknown_extents(name):
    compiled, plain, *arguments = FORMS[name]
    check(compiled, *arguments, oracle=plain, dynamic=True)


SQUARE = _RNG.standard_normal((4, 4))
VIEWS = {
    "transposed": lambda f, x: f(x.T)[0],
    "a new axis": lambda f, x: f(x[None])[0, 1:],
    "reversed": lambda f, x: f(x[::-1, ::-1])[1:],
    "a row": lambda f, x: f(x[1]),
}


@pytest.mark.parametrize(
    "view", [pytest.param(v, marks=pytest.mark.slow) if k % 2 else v for k, v in enumerate(VIEWS)]
)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm, no weight", "logsumexp of rows"])
def test_of_views(name, view):
    """The caller's view is made in the composite, whose operand is the array itself."""
    compiled, plain, *_ = FORMS[name]
    of = VIEWS[view]
    if name == "logsumexp of rows":
        check(
            lambda x: of(lambda v: nt.nn.logsumexp(v, axis=-1, keepdims=True), x),
            SQUARE,
            oracle=lambda x: of(lambda v: logsumexp(v, -1, True), x),
        )
    else:
        check(lambda x: of(compiled, x), SQUARE, oracle=lambda x: of(plain, x))


def test_attention_of_views_is_not_by_blocks(monkeypatch):
    monkeypatch.setattr(blocked, "KEPT_BYTES", 0)
    q = np.random.default_rng(2).standard_normal((3, 3, 3))

    check(
        lambda q: nt.nn.attention(q.transpose(1, 0, 2), q, q.transpose(0, 2, 1)),
        q,
        oracle=lambda q: (
            softmax(q.transpose(1, 0, 2) @ q.transpose(0, 2, 1) / np.sqrt(3)) @ q.transpose(0, 2, 1)
        ),
    )


@pytest.mark.parametrize("size", [1e-3, pytest.param(1.0, marks=pytest.mark.slow), 1e3])
@pytest.mark.parametrize(
    "name", ["layer_norm", "rms_norm", "batch_norm_training", "gelu", "logsumexp of rows"]
)
def test_as_the_derivative_of_what_they_stand_for(name, size):
    compiled, plain, x, *rest = FORMS[name]
    arguments = [x * size, *rest]
    wrt = list(range(len(arguments)))
    cotangents = [np.ones_like(r) * 0.5 + r for r in _results(plain, arguments)]

    ours = run("vjp", compiled, arguments, cotangents, wrt, oracle=plain)
    theirs = run("vjp", plain, arguments, cotangents, wrt)

    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9 * np.abs(other).max())


def _results(f, arguments):
    result = f(*arguments)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def _gradient(f, x):
    return nt.jit(lambda x: nt.grad(lambda x: f(x).sum())(x), target="interp")(x)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_far_out(approximate, dtype):
    x = np.array([-np.inf, -1e30, -40, 0, 40, 1e30, np.inf], dtype)

    gradient = _gradient(lambda x: nt.nn.gelu(x, approximate=approximate), x)

    np.testing.assert_array_equal(gradient, np.array([0, 0, 0, 0.5, 1, 1, 1], dtype))


def test_logsumexp_of_nothing_but_minus_infinity():
    x = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])

    np.testing.assert_array_equal(_gradient(lambda x: nt.nn.logsumexp(x, axis=1), x), [[0, 0], [1, 0]])


def test_rows_of_equal_elements():
    x = np.full((2, 6), 3.0)

    assert np.isfinite(_gradient(lambda x: nt.nn.layer_norm(x) * W, x)).all()


def test_second_derivatives():
    def loss(x):
        return (
            (nt.nn.layer_norm(x) ** 3).sum() + (nt.nn.gelu(x) * nt.nn.softmax(x)).sum() + nt.nn.logsumexp(x)
        )

    gradient = nt.jit(lambda x: nt.grad(loss)(x), target="interp")
    product = nt.jit(lambda x, t: nt.hvp(loss, (x,), (t,)), target="interp")
    expected = (gradient(X + 1e-6 * C) - gradient(X - 1e-6 * C)) / 2e-6

    np.testing.assert_allclose(product(X, C), expected, rtol=1e-5, atol=1e-6)


def test_a_number_that_the_composite_uses_has_its_derivative():
    def loss(x, scale):
        return (nt.nn.attention(x, x, x, scale=scale) * C).sum()

    gradient = nt.jit(lambda x, s: nt.grad(loss, 1)(x, s), target="interp")
    near = [(attention(X, X * s * 2, X) * C).sum() for s in (0.3 + 1e-6, 0.3 - 1e-6)]

    np.testing.assert_allclose(gradient(X, 0.3), (near[0] - near[1]) / 2e-6, rtol=1e-6)


MASK = np.tril(np.ones((7, 7), bool))


def masked_attention(q, k, v):
    scores = np.where(MASK, q @ np.swapaxes(k, -1, -2) * 0.5, -np.inf)
    return softmax(scores) @ v


@pytest.mark.parametrize("rows", [*(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 7)), 3])
@pytest.mark.parametrize("name", ["attention", "with a mask", "second derivative"])
def test_attention_by_blocks_of_rows(name, rows, monkeypatch):
    q, k, v = np.random.default_rng(2).standard_normal((3, 2, 7, 4))
    monkeypatch.setattr(blocked, "KEPT_BYTES", 0)
    monkeypatch.setattr(blocked, "BLOCK_BYTES", rows * 2 * 7 * 8)
    if name == "attention":
        check(lambda q, k, v: nt.nn.attention(q, k, v), q, k, v, oracle=attention)
    elif name == "with a mask":

        def compiled(q, k, v):
            return nt.nn.attention(q, k, v, mask=np.tril(np.ones((7, 7), np.bool_)), scale=0.5)

        check(compiled, q, k, v, oracle=masked_attention)
    elif rows == 3:

        def loss(q):
            return (nt.nn.attention(q, q, q) ** 2).sum()

        gradient = nt.jit(lambda q: nt.grad(loss)(q), target="interp")
        product = nt.jit(lambda q, t: nt.hvp(loss, (q,), (t,)), target="interp")
        expected = (gradient(q + 1e-6 * k) - gradient(q - 1e-6 * k)) / 2e-6
        np.testing.assert_allclose(product(q, k), expected, rtol=1e-5, atol=1e-6)


def test_attention_keeps_no_scores():
    kinds = [TensorType(f32, [1, 8192, 64])] * 3
    function = nt.jit(lambda q, k, v: nt.grad(lambda q: (nt.nn.attention(q, k, v) * v).sum())(q))
    text = function.lower(*[nt.spec(tuple(t.get_shape()), "f4") for t in kinds]).as_text("nest")

    sizes = [int(n) for n in re.findall(r"memref<1x8192x(\d+)xf32>", text)]
    assert sizes
    assert max(sizes) == 64
    assert "8192x8192" not in text


def test_dropout_has_one_mask_in_both_directions():
    def loss(x):
        return (nt.nn.dropout(x, 0.4, 7) ** 2).sum()

    gradient = nt.jit(lambda x: nt.grad(loss)(x), target="interp")
    kept = nt.nn.dropout(np.ones_like(X), 0.4, 7)

    assert 0 < np.count_nonzero(kept) < kept.size
    np.testing.assert_allclose(gradient(X), 2 * X * kept * kept)


def test_random_numbers_are_constants():
    def loss(x, key):
        return (x * nt.random.normal(key, x.shape, np.float64) + nt.random.rand_like(key, x)).sum()

    gradient = nt.jit(lambda x, key: nt.grad(loss)(x, key), target="interp")

    for key in (3, 4):
        np.testing.assert_array_equal(gradient(X, key), nt.random.normal(key, X.shape, np.float64))
