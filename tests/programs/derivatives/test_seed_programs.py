"""Gradients of whole programs: float64 on the CPU and by the interpreter against differences, float32 in checked CUDA."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

STEP = 1e-5


def iou(x1, y1, w1, h1, x2, y2, w2, h2):
    xi, yi = np.maximum(x1, x2), np.maximum(y1, y2)
    wi = np.clip(np.minimum(x1 + w1, x2 + w2) - xi, 0, None)
    hi = np.clip(np.minimum(y1 + h1, y2 + h2) - yi, 0, None)
    area_i = wi * hi
    return (area_i / np.maximum(w1 * h1 + w2 * h2 - area_i, 1e-5)).sum()


def lstm_cell(x, h, c, w, u, bias):
    n = h.shape[1]
    g = x @ w + h @ u + bias
    i, f, o = (1 / (1 + np.exp(-g[:, k * n : (k + 1) * n])) for k in range(3))
    c = f * c + i * np.tanh(g[:, 3 * n :])
    return (o * np.tanh(c)).sum() + (c * c).sum()


def uniformity_by_differences(x):
    d = x[:, None, :] - x[None, :, :]
    return np.log(np.exp(-2 * (d * d).sum(axis=-1)).mean())


def uniformity_by_products(x):
    squares = (x * x).sum(axis=1)
    return np.log(np.exp(-2 * (squares[:, None] + squares[None, :] - 2 * (x @ x.T))).mean())


def batch_norm(x, scale, shift):
    mean = x.mean(axis=0)
    variance = ((x - mean) ** 2).mean(axis=0)
    return np.tanh((x - mean) / np.sqrt(variance + 1e-5) * scale + shift).sum()


def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return np.tanh((x - mean) / np.sqrt(variance + 1e-5) * scale + shift).sum()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return ((e / e.sum(axis=-1, keepdims=True)) ** 2).sum()


def attention(q, k, v, mask):
    scores = np.einsum("bid,bjd->bij", q, k) / 2.5 + mask
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (np.einsum("bij,bjd->bid", e / e.sum(axis=-1, keepdims=True), v) ** 2).sum()


def encoder_layer(x, wq, wk, wv, wo, up, down, scale, shift):
    def normal(a):
        m = a.mean(axis=-1, keepdims=True)
        v = ((a - m) ** 2).mean(axis=-1, keepdims=True)
        return (a - m) / np.sqrt(v + 1e-5) * scale + shift

    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    x = normal(x + (e / e.sum(axis=-1, keepdims=True)) @ v @ wo)
    return (normal(x + np.maximum(x @ up, 0) @ down) ** 3).sum()


def conv_net(x, w, dense):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    y = np.maximum(np.einsum("ncijpq,ocpq->noij", windows, w), 0)
    y = y.reshape(y.shape[0], -1) @ dense
    y = y - y.max(axis=1, keepdims=True)
    return (np.log(np.exp(y).sum(axis=1)) - y[:, 0]).mean()


def arrays(seed, *shapes, positive=False):
    rng = np.random.default_rng(seed)
    made = [rng.standard_normal(shape) for shape in shapes]
    return [np.abs(a) + 0.1 for a in made] if positive else made


def programs(small):
    """The programs and their arguments, of two sets of extents."""
    n = 3 if small else 5
    return {
        iou: arrays(0, *[(n, 2 * n)] * 8, positive=True),
        lstm_cell: arrays(1, (n, 4), (n, 2 * n), (n, 2 * n), (4, 8 * n), (2 * n, 8 * n), (8 * n,)),
        uniformity_by_differences: arrays(2, (4 * n, n)),
        uniformity_by_products: arrays(3, (4 * n, n)),
        batch_norm: arrays(4, (6 * n, n), (n,), (n,)),
        layer_norm: arrays(5, (n, 6 * n), (6 * n,), (6 * n,)),
        softmax: arrays(6, (n, 11 * n)),
        attention: arrays(7, *[(2, 3 * n, 4)] * 3, (3 * n, 3 * n)),
        encoder_layer: arrays(8, (2 * n, 8), *[(8, 8)] * 4, (8, 12), (12, 8), (8,), (8,)),
        conv_net: arrays(9, (2, 2, n + 3, n + 2), (3, 2, 3, 3), (3 * (n + 1) * n, 4)),
    }


PROGRAMS = list(programs(True))


def check(f, gradients, arguments, directions):
    """<gradients, directions> is the derivative along the directions, by central differences of NumPy's results."""
    along = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    ahead, behind = (
        f(*[a + sign * STEP * d for a, d in zip(arguments, directions, strict=True)]) for sign in (1, -1)
    )
    np.testing.assert_allclose(along, (ahead - behind) / (2 * STEP), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=pytest.mark.slow) if f is encoder_layer else f for f in PROGRAMS],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_gradients(f, target):
    everything = tuple(range(len(programs(True)[f])))
    compiled = nt.jit(nt.value_and_grad(f, argnums=everything), target=target)
    for small in (True, False, True) if target == "cpu" and f in (iou, softmax, layer_norm) else (True,):
        arguments = programs(small)[f]
        before = [a.copy() for a in arguments]
        value, gradients = compiled(*arguments)
        np.testing.assert_allclose(value, f(*arguments), rtol=1e-10)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            check(f, gradients, arguments, [rng.standard_normal(a.shape) for a in arguments])
        for a, b, g in zip(arguments, before, gradients, strict=True):
            np.testing.assert_array_equal(a, b)
            assert g.shape == a.shape and g.dtype == a.dtype and not np.shares_memory(a, g)


QUICK = (softmax, uniformity_by_differences, layer_norm)


@pytest.mark.parametrize(
    "f",
    [f if f in QUICK else pytest.param(f, marks=pytest.mark.slow) for f in PROGRAMS],
    ids=lambda f: f.__name__,
)
def test_unknown_extents(f):
    arguments = programs(False)[f]
    expected = nt.value_and_grad(f, argnums=tuple(range(len(arguments))))(*arguments)
    compiled = nt.jit(nt.value_and_grad(f, argnums=tuple(range(len(arguments)))), dynamic=True)
    compiled(*programs(True)[f])
    value, gradients = compiled(*arguments)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    for a, b in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_checked_cuda(f):
    arguments = [a.astype("f4") for a in programs(True)[f]]
    everything = tuple(range(len(arguments)))
    value, gradients = nt.jit(nt.value_and_grad(f, argnums=everything), target="cuda-sim:checked")(*arguments)
    expected = nt.value_and_grad(f, argnums=everything)(*[a.astype("f8") for a in arguments])
    np.testing.assert_allclose(value, expected[0], rtol=1e-4)
    for a, b in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_the_function_and_its_gradient_do_not_take_each_others_place():
    x = arrays(1, (4, 5))[0]
    for first, second in ((0, 1), (1, 0)):
        plain, gradient = nt.jit(softmax), nt.grad(softmax)
        calls = [lambda f=plain: f(x), lambda f=gradient: f(x)]
        for k in (first, second, first, second):
            result = calls[k]()
            assert np.shape(result) == ((), (4, 5))[k]
        np.testing.assert_allclose(plain(x), softmax(x))
