"""Values and gradients of composed programs against jax in float64: the same text, with NumPy's names and jax.numpy's.

Each program is a function of a namespace (`np` or `jax.numpy`) and of arrays, which it names, and gives a number. It is
called twice, with other extents and values the second time. The tolerance is 1e-7, relative, and 1e-9 around zero.
"""

import nestor as nt
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed (the extra 'bench' has it)")
pytestmark = pytest.mark.slow


def arrays(seed, rows, columns, inner, side):
    """The arguments of the programs, by name, of given extents: X, W, Z are (rows, columns), M, N (columns, inner)."""
    rng = np.random.default_rng(seed)
    x, w, z = rng.standard_normal((3, rows, columns))
    m, n = rng.standard_normal((2, columns, inner))
    v, u = rng.standard_normal((2, columns))
    a = rng.standard_normal((columns, columns)) + 4 * np.eye(columns)
    c, d = rng.standard_normal((2, columns, columns)) + 1j * rng.standard_normal((2, columns, columns))
    stack = rng.standard_normal((2, inner, inner)) + 3 * np.eye(inner)
    image, kernel = rng.standard_normal((side, side)), rng.standard_normal((3, 3))
    found = {"X": x, "W": w, "Z": z, "M": m, "N": n, "V": v, "U": u, "A": a, "C": c, "D": d, "STACK": stack}
    found |= {"P": np.abs(x) + 0.5, "R": np.abs(v) + 0.5, "B": np.abs(u) + 0.5, "S": a @ a.T, "H": a + a.T}
    found |= {"IMAGE": image, "KERNEL": kernel, "TIED": np.round(x), "TIES": np.round(w)}
    found |= {f"BOX{k}": box for k, box in enumerate(np.abs(rng.standard_normal((8, side))) + 0.1)}
    return found


CALLS = arrays(11, 6, 5, 4, 8), arrays(12, 7, 6, 3, 9)
"""The arguments of the first call, and of the second one: other extents and values."""


def iou(np, x1, y1, w1, h1, x2, y2, w2, h2):
    xi, yi = np.maximum(x1, x2), np.maximum(y1, y2)
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
    inter = wi * hi
    return (inter / (w1 * h1 + w2 * h2 - inter + 1e-5)).sum()


def softmax_loss(np, x, m):
    logits = x @ m
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return -(np.log(p)[:, 0]).mean()


def layer_norm(np, x, v, u):
    centred = x - x.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return np.tanh(y * v + u).sum()


def batch_norm(np, x, v):
    return (((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)) ** 3 * v).sum()


def mlp(np, x, m, n):
    h = np.tanh(x @ m)
    return ((np.maximum(h @ n.T, 0) - x) ** 2).mean()


def lstm_cell(np, x, m, n):
    h, c = np.zeros((len(x), m.shape[1])), np.zeros((len(x), m.shape[1]))
    for _ in range(3):
        gate = 1 / (1 + np.exp(-(x @ m + h)))
        c = c * gate + np.tanh(x @ n) * (1 - gate)
        h = np.tanh(c) * gate
    return (h * h).sum()


def attention(np, x, w, z):
    s = x @ w.T / np.sqrt(x.shape[1])
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return ((p / p.sum(axis=-1, keepdims=True)) @ z).sum(axis=0)[0] ** 2


def uniformity(np, x):
    d = x[:, None, :] - x[None, :, :]
    return np.log(np.exp(-2 * (d * d).sum(axis=-1)).mean())


def uniformity_products(np, x):
    sq = (x * x).sum(axis=1)
    return np.log(np.exp(-(sq[:, None] + sq[None, :] - 2 * x @ x.T)).mean())


def gaussian_process(np, x, v):
    sq = (x * x).sum(axis=1)
    k = np.exp(-0.1 * (sq[:, None] + sq[None, :] - 2 * x @ x.T)) + 0.5 * np.eye(len(x))
    y = x @ v
    return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.linalg.slogdet(k)[1]


def newton(np, v):
    x = v
    for _ in range(4):
        x = x - (x**3 - 2 - v) / (3 * x * x + 1)
    return (x * x).sum()


def convolution(np, image, kernel):
    total = 0.0
    for i in range(3):
        for j in range(3):
            total = total + image[i : i + len(image) - 2, j : j + len(image) - 2] * kernel[i, j]
    return np.tanh(total).sum()


def runge_kutta(np, v, u):
    y = v
    for _ in range(5):
        k1 = np.sin(y) * u
        k2 = np.sin(y + 0.05 * k1) * u
        y = y + 0.1 * k2
    return (y * y).sum()


def spectrum(np, x):
    f = np.fft.rfft(x, axis=-1)
    return (np.abs(f) ** 2 * np.arange(f.shape[-1])).sum()


def filtered(np, x):
    f = np.fft.rfft(x)
    return (np.fft.irfft(f * np.exp(-np.arange(f.shape[-1])), n=x.shape[-1]) ** 3).sum()


def mahalanobis(np, a, v):
    factor = np.linalg.cholesky(a @ a.T + np.eye(len(a)))
    z = np.linalg.solve(factor, v)
    return (z * z).sum() + np.log((factor * np.eye(len(a))).sum(axis=0)).sum()


def principal(np, x):
    w, v = np.linalg.eigh(x.T @ x)
    return w[-1] + (v[:, -1] ** 4).sum()


def huber(np, x, w):
    d = np.abs(x - w)
    return np.where(d < 1, 0.5 * d * d, d - 0.5).sum()


def focal(np, x):
    p = 1 / (1 + np.exp(-x))
    return -(np.where(x > 0, (1 - p) ** 2 * np.log(p), p**2 * np.log(1 - p))).mean()


def kl(np, x, w):
    return (0.5 * (np.exp(w) + x * x - 1 - w)).sum(axis=1).mean()


def elman(np, x, a, v):
    h = v
    for t in range(x.shape[0]):
        h = np.tanh(a @ h / 4 + x[t])
    return (h * np.arange(len(v))).sum()


def jacobi(np, a, v):
    """As many iterations as it takes: the condition is on the values."""
    off = a - np.diag(np.diag(a))
    x, step = v / np.diag(a), v * 0 + 1
    count = 0
    while count < 4 or np.abs(step).max() > 0.2:
        step = (v - off @ x) / np.diag(a) - x
        x = x + 0.5 * step
        count += 1
        if count > 12:
            break
    return (x * x).sum()


def branches(np, x, w):
    if (x * w).sum() > 0:
        y = np.sqrt(np.abs(x) + 1)
    elif x[0, 0] > w[0, 0]:
        y = x * w
    else:
        y = np.exp(-w) + x
    return y.sum() if y.shape[0] % 2 else (y * y).mean()


def early(np, v, u):
    total = 0.0
    for k in range(v.shape[0]):
        total = total + np.sin(v[k]) * u[k] + total * total / 9
        if total > 0.8:
            return total * v[k]
    return total


def horner(np, v, u):
    result = np.zeros(u.shape)
    for c in range(v.shape[0]):
        result = result * u / 2 + v[c]
    return np.cos(result).sum()


def kalman(np, x, a, s):
    """Log likelihood of a linear filter."""
    n = a.shape[0]
    mean, cov, total = x[0], np.eye(n), 0.0
    for t in range(1, 4):
        mean, cov = a @ mean / 8, a @ cov @ a.T / 64 + np.eye(n)
        total = total + np.linalg.slogdet(cov + s)[1]
        gain = np.linalg.solve(cov + s, cov).T
        gap = x[t] - mean
        mean, cov = mean + gain @ gap, cov - gain @ cov
        total = total + (gap * gap).sum()
    return total


def contrastive(np, x, w):
    a = x / np.linalg.norm(x, axis=1, keepdims=True)
    b = w / np.linalg.norm(w, axis=1, keepdims=True)
    s = a @ b.T * 3
    top = s.max(axis=1)
    return (np.log(np.exp(s - top[:, None]).sum(axis=1)) + top - np.diag(s)).mean()


def multi_head(np, x, a, s):
    rows, columns = x.shape
    heads = np.stack([x @ a, x @ s])
    scores = np.einsum("hid,hjd->hij", heads, heads) / 40
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (e / e.sum(axis=-1, keepdims=True)) @ heads
    return np.tanh(mixed.transpose(1, 0, 2).reshape(rows, 2 * columns)).sum()


def whitened(np, x):
    centred = x - x.mean(axis=0)
    cov = centred.T @ centred / (len(x) - 1) + 0.1 * np.eye(x.shape[1])
    w, v = np.linalg.eigh(cov)
    return ((centred @ v / np.sqrt(w)) ** 4).mean() + w[-1]


def convolved(np, x, w):
    f, g = np.fft.fft2(x), np.fft.fft2(w)
    return (np.fft.ifft2(f * np.conj(g)).real ** 2).sum() + np.abs(f).mean()


def phases(np, x, w):
    z = np.exp(1j * x) * (1 + w)
    return (np.abs(z.sum(axis=0)) ** 2).sum() + (z * z).imag.mean()


def picked(np, x, m):
    rows, places = np.array([3, 0, 3, 2]), np.array([1, 1, 0, 2])
    return (x[rows] @ m).max() + (x[rows, places] ** 3).sum() + np.take(x, places, axis=1).prod(axis=1).sum()


def moments(np, x, w):
    a, b = x - x.mean(), w - w.mean()
    skew = (a**3).mean() / x.std() ** 3
    return skew + (a * b).mean() / (x.std() * w.std()) + np.median(w) * np.mean(np.cov(x.T))


def stacked(np, v, u):
    table = np.stack([v, u, v * u, np.roll(v, 2)], axis=1)
    wide = np.concatenate([table, np.pad(table[1:], ((0, 1), (0, 0)))], axis=1)
    return (np.repeat(wide, 2, axis=0) ** 2 * np.tile(wide, (2, 1))).sum() + np.flip(
        np.diff(table, axis=0)
    ).prod()


PROGRAMS = {
    "iou": (iou, *[f"BOX{k}" for k in range(8)]),
    "softmax loss": (softmax_loss, "X", "M"),
    "layer norm": (layer_norm, "X", "V", "U"),
    "batch norm": (batch_norm, "X", "V"),
    "mlp": (mlp, "X", "M", "N"),
    "lstm cell": (lstm_cell, "X", "M", "N"),
    "attention": (attention, "X", "W", "Z"),
    "uniformity": (uniformity, "X"),
    "uniformity by products": (uniformity_products, "X"),
    "gaussian process": (gaussian_process, "X", "V"),
    "newton": (newton, "R"),
    "convolution": (convolution, "IMAGE", "KERNEL"),
    "runge kutta": (runge_kutta, "V", "U"),
    "power spectrum": (spectrum, "X"),
    "filter": (filtered, "X"),
    "mahalanobis": (mahalanobis, "A", "V"),
    "principal axis": (principal, "X"),
    "huber": (huber, "X", "W"),
    "focal": (focal, "X"),
    "kl": (kl, "X", "W"),
    "elman": (elman, "X", "A", "V"),
    "jacobi": (jacobi, "A", "V"),
    "branches": (branches, "X", "W"),
    "early return": (early, "V", "U"),
    "horner": (horner, "V", "U"),
    "kalman": (kalman, "X", "A", "S"),
    "contrastive": (contrastive, "X", "W"),
    "multi head": (multi_head, "X", "A", "S"),
    "whitened": (whitened, "X"),
    "convolved": (convolved, "X", "W"),
    "phases": (phases, "X", "W"),
    "picked": (picked, "X", "M"),
    "moments": (moments, "X", "W"),
    "stacked": (stacked, "V", "U"),
    "sum of squares": (lambda np, x: (x * x).sum(), "X"),
    "mean of logs": (lambda np, x: np.log(x).mean(), "P"),
    "powers": (lambda np, x, w: (x**w).sum() + (x**3).mean(), "P", "W"),
    "roots": (lambda np, x: np.sqrt(x).sum() * np.cbrt(x).mean(), "P"),
    "hyperbolic": (lambda np, x: (np.sinh(x) * np.cosh(x) + np.arctanh(x / 9)).sum(), "X"),
    "inverse trigonometric": (lambda np, x: (np.arcsin(x / 5) * np.arccos(x / 5) + np.arctan(x)).sum(), "X"),
    "angles": (lambda np, x, w: (np.arctan2(x, w) * np.hypot(x, w)).sum(), "X", "W"),
    "log sums": (lambda np, x, w: np.logaddexp(x, w).sum() * np.logaddexp2(x, w).mean(), "X", "W"),
    "extremes": (lambda np, x: x.max() * x.min() + x.max(axis=0).sum(), "X"),
    "ties of a maximum": (lambda np, x: (x.max(axis=1) * np.arange(len(x))).sum(), "TIED"),
    "ties of two": (lambda np, x, w: np.maximum(x, w).sum() + np.minimum(x, 2 * w).sum(), "TIED", "TIES"),
    "clip": (lambda np, x: (np.clip(x, -0.5, 0.5) * x).sum(), "X"),
    "absolute": (lambda np, x, w: (np.abs(x) * np.sign(w)).sum(), "X", "W"),
    "product": (lambda np, x: x.prod(axis=0).sum() + x[0].prod(), "X"),
    "product with zeros": (lambda np, x: x.prod(axis=1).sum(), "TIED"),
    "running sum": (lambda np, x, w: (np.cumsum(x, axis=1) * w).sum(), "X", "W"),
    "running product": (lambda np, x, w: (np.cumprod(x, axis=0) * w).sum(), "X", "W"),
    "variance": (lambda np, x: x.var(axis=1).sum() * x.std(), "X"),
    "norms": (lambda np, x: np.linalg.norm(x, axis=1).sum() + np.linalg.norm(x), "X"),
    "cosines": (
        lambda np, x, w: ((x * w).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(w, axis=1))).sum(),
        "X",
        "W",
    ),
    "slices": (lambda np, x: (x[1:, ::2] * x[:-1, 1:4]).sum() * x[-1, 0], "X"),
    "reversed": (lambda np, x: (x[::-1, ::-1] * x).sum(axis=0)[2] ** 2, "X"),
    "reshape": (lambda np, x, w: (x.reshape(x.shape[::-1]) @ w).sum(axis=1)[3] ** 2, "X", "W"),
    "transpose": (lambda np, x, w: (x.T @ w)[1, 2] * (x @ w.T)[0, 1], "X", "W"),
    "broadcast": (lambda np, x, v: (np.sin(x * v) / (2 + v)).sum(), "X", "R"),
    "outer": (lambda np, v, u: np.exp(np.outer(v, u) / 2).sum(), "V", "U"),
    "einsum": (lambda np, x, m, n: (np.einsum("ij,jk,jk->ik", x, m, n) ** 2).sum(), "X", "M", "N"),
    "matrix and vector": (lambda np, x, v: np.tanh(x @ v).sum(), "X", "V"),
    "tensordot": (lambda np, x, w: np.tensordot(x, w, axes=((0,), (0,)))[1, 2] ** 2, "X", "W"),
    "where": (lambda np, x, w: np.where(x > w, x * w, x - w).sum(), "X", "W"),
    "safe root": (lambda np, x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0).sum(), "X"),
    "inv": (lambda np, a: (np.linalg.inv(a) ** 2).sum(), "A"),
    "det": (lambda np, a: np.linalg.det(a / 4), "A"),
    "det of a stack": (lambda np, a: (np.linalg.det(a) ** 2).sum() / 1000, "STACK"),
    "log det": (lambda np, a: np.linalg.slogdet(a)[1], "A"),
    "solve": (lambda np, a, v: (np.linalg.solve(a, v) ** 2).sum(), "A", "V"),
    "solve a stack": (lambda np, a: np.linalg.solve(a, a @ a * 2 + 1).sum(), "STACK"),
    "cholesky": (lambda np, a: (np.linalg.cholesky(a @ a.T) ** 3).sum() / 100, "A"),
    "cholesky of the matrix itself": (lambda np, a: (np.linalg.cholesky(a) ** 3).sum() / 100, "S"),
    "qr": (lambda np, x: (np.linalg.qr(x)[0] ** 3).sum() + np.linalg.qr(x)[1].sum(), "X"),
    "eigenvalues": (lambda np, a: (np.linalg.eigvalsh(a + a.T) ** 2 * np.arange(len(a))).sum(), "A"),
    "eigh of the matrix itself": (lambda np, a: (np.linalg.eigh(a)[0] * np.arange(len(a))).sum(), "H"),
    "singular values": (lambda np, x: np.linalg.svd(x, compute_uv=False)[0] ** 2, "X"),
    "svd": (lambda np, x: (np.linalg.svd(x, full_matrices=False)[0] ** 4).sum(), "X"),
    "pinv": (lambda np, x: (np.linalg.pinv(x) ** 2).sum(), "X"),
    "matrix power": (lambda np, a: np.linalg.matrix_power(a / 3, 5).sum(), "A"),
    "sort": (lambda np, x: (np.sort(x, axis=1) * np.arange(x.shape[1])).sum(), "X"),
    "sort with ties": (lambda np, x: (np.sort(x, axis=1) * np.arange(x.shape[1])).sum(), "TIED"),
    "median": (lambda np, x: (np.median(x, axis=0) ** 2).sum(), "X"),
    "quantile": (lambda np, x: np.quantile(x, 0.3) ** 2, "X"),
    "casts": (lambda np, x: (x.astype(np.float32).astype(np.float64) * x).sum(), "X"),
    "integers between": (lambda np, x: ((x * 2).astype(np.int64) * x).sum(), "X"),
    "remainder": (lambda np, x: np.remainder(x, 0.7).sum() + np.fmod(x, 0.6).sum(), "X"),
    "steps": (lambda np, x: (np.floor(x) * x + np.rint(x)).sum(), "X"),
    "sinc of sums": (lambda np, x: np.sinc(x).sum(), "X"),
}


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    f, *names = PROGRAMS[name]
    argnums = tuple(range(len(names)))
    ours = nt.value_and_grad(lambda *args: f(np, *args), argnums)
    theirs = jax.value_and_grad(lambda *args: f(jax.numpy, *args), argnums)

    for values in CALLS:
        args = [values[name] for name in names]
        value, gradients = ours(*args)
        expected, derivatives = theirs(*args)

        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
        for one, other in zip(gradients, derivatives, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


HOLOMORPHIC = {
    "exp and sin": lambda np, z: (np.exp(z) * np.sin(z)).sum(),
    "quotients": lambda np, z: (z / (z * z + 2)).sum(),
    "roots": lambda np, z: (np.sqrt(z) * np.log(z)).sum(),
    "powers": lambda np, z: (z**3 - 2 * z**0.5).sum(),
    "solve": lambda np, z: np.linalg.solve(z + 4 * np.eye(len(z)), z).sum(),
    "fft": lambda np, z: (np.fft.fft(z) ** 2).sum(),
}
REAL_LOSS = {
    "absolute": lambda np, z: (np.abs(z) ** 3).sum(),
    "parts": lambda np, z: (z.real * z.imag * z.real).sum(),
    "conjugates": lambda np, z: (z * np.conj(z) * np.conj(z)).real.sum(),
    "angle": lambda np, z: np.angle(z).sum(),
    "quotients": lambda np, z: (1 / (1 + np.abs(z * z))).sum(),
    "spectrum": lambda np, z: (np.abs(np.fft.ifft(z)) ** 4).sum(),
}


@pytest.mark.parametrize("name", [*HOLOMORPHIC, *(f"real: {name}" for name in REAL_LOSS)])
def test_complex_gradients(name):
    real = name.startswith("real: ")
    f = REAL_LOSS[name[6:]] if real else HOLOMORPHIC[name]

    def plain(z):
        return f(np, z)

    for values in CALLS:
        expected = jax.grad(lambda z: f(jax.numpy, z), holomorphic=not real)(values["C"])
        value, pull = nt.vjp(plain, values["C"])
        (got,) = pull(np.ones_like(value)[()])

        np.testing.assert_allclose(value, f(np, values["C"]), rtol=1e-10)
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
        if not real:
            asked = nt.grad(plain, holomorphic=True)(values["C"])
            np.testing.assert_allclose(asked, expected, rtol=1e-8, atol=1e-10)
