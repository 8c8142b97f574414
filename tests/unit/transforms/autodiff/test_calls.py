"""Derivatives of what NumPy computes for compiled code: equations, decompositions, transforms, sorting."""

import nestor as nt
import numpy as np
import pytest
from derivative_programs import check

pytestmark = pytest.mark.one_of(2)

_RNG = np.random.default_rng(1)
A = _RNG.standard_normal((4, 4)) + 3 * np.eye(4)
B = _RNG.standard_normal((4, 3))
V = _RNG.standard_normal(4)
STACK = _RNG.standard_normal((2, 3, 3)) + 2 * np.eye(3)
TALL, WIDE = _RNG.standard_normal((5, 3)), _RNG.standard_normal((3, 5))
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])


def positive(a):
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(a.shape[-1])


def symmetric(a):
    return a + np.swapaxes(a, -1, -2)


def spectrum(a):
    w, v = np.linalg.eigh(symmetric(a))
    return w, v * v, (v * np.sin(w)) @ v.T


def factors(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u * u, s, (u * np.exp(s / 9)) @ vh, vh * vh


def least_squares(a, b):
    x, residuals, _, s = np.linalg.lstsq(a, b, rcond=None)
    return x, residuals, s


def log_density(a, x):
    factor = np.linalg.cholesky(positive(a))
    z = np.linalg.solve(factor, x)
    return -0.5 * (z * z).sum() - np.log((factor * np.eye(4)).sum(axis=1)).sum()


PROGRAMS = {
    "solve": (lambda a, b: np.linalg.solve(a, b), A, B),
    "solve for a vector": (lambda a, b: np.linalg.solve(a, b), A, V),
    "solve, stacks": (lambda a, b: np.linalg.solve(a, b), STACK, _RNG.standard_normal((2, 3, 2))),
    "solve, one matrix": (lambda a, b: np.linalg.solve(a, b), A, _RNG.standard_normal((2, 4, 2))),
    "solve, one right side": (lambda a, b: np.linalg.solve(a, b), STACK, _RNG.standard_normal((1, 3, 2))),
    "solve, a vector for a stack": (lambda a, b: np.linalg.solve(a, b), STACK, V[:3]),
    "solve twice with one matrix": (lambda a, b: np.linalg.solve(a, np.linalg.solve(a, b)), A, B),
    "inv": (lambda a: np.linalg.inv(a), A),
    "inv, stack": (lambda a: np.linalg.inv(a) @ a[0], STACK),
    "det": (lambda a: np.linalg.det(a), A),
    "det, stack": (lambda a: np.linalg.det(a) * a[:, 0, 0], STACK),
    "det of a singular matrix": (lambda a: np.linalg.det(a), SINGULAR),
    "slogdet": (lambda a: np.linalg.slogdet(a), A),
    "slogdet, stack": (lambda a: np.linalg.slogdet(a)[1] * 2, STACK),
    "pinv, tall": (lambda a: np.linalg.pinv(a), TALL),
    "pinv, wide": (lambda a: np.linalg.pinv(a), WIDE),
    "lstsq": (least_squares, TALL, _RNG.standard_normal((5, 2))),
    "lstsq, vector": (least_squares, TALL, _RNG.standard_normal(5)),
    "lstsq, wide": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], WIDE, V[:3]),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, 7) / 900, A),
    "matrix_power, inverse": (lambda a: np.linalg.matrix_power(a, -3), A),
    "matrix_power, none": (lambda a: np.linalg.matrix_power(a, 0) + a, A),
    "cholesky": (lambda a: np.linalg.cholesky(positive(a)), A),
    "cholesky, upper": (lambda a: np.linalg.cholesky(positive(a), upper=True), A),
    "cholesky, stack": (lambda a: np.linalg.cholesky(positive(a)), STACK),
    "log density": (log_density, A, V),
    "qr": (lambda a: np.linalg.qr(a), A),
    "qr, tall": (lambda a: np.linalg.qr(a), TALL),
    "qr, wide": (lambda a: np.linalg.qr(a), WIDE),
    "qr, only r": (lambda a: np.linalg.qr(a, mode="r"), TALL),
    "qr, stack": (lambda a: np.linalg.qr(a), STACK),
    "qr, complete and square": (lambda a: np.linalg.qr(a, mode="complete"), A),
    "eigh": (spectrum, A),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(symmetric(a)), STACK),
    "svd": (factors, A),
    "svd, tall": (factors, TALL),
    "svd, wide": (factors, WIDE),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), TALL),
    "singular values of full matrices": (lambda a: np.linalg.svd(a)[1], WIDE),
    "svdvals, stack": (lambda a: np.linalg.svdvals(a), STACK),
}

C = _RNG.standard_normal((3, 6)) + 1j * _RNG.standard_normal((3, 6))
R = _RNG.standard_normal((3, 6))

for _n in (None, 4, 6, 9):
    for _name in ("fft", "ifft", "irfft", "hfft"):
        PROGRAMS[f"{_name} to {_n}"] = (lambda x, name=_name, n=_n: getattr(np.fft, name)(x, n=n), C)
    for _name in ("fft", "rfft", "ihfft"):
        PROGRAMS[f"{_name} of reals to {_n}"] = (lambda x, name=_name, n=_n: getattr(np.fft, name)(x, n=n), R)
for _norm in ("ortho", "forward"):
    for _name, _x in (("fft", C), ("ifft", C), ("irfft", C), ("hfft", C), ("rfft", R), ("ihfft", R)):
        PROGRAMS[f"{_name}, {_norm}"] = (
            lambda x, name=_name, norm=_norm: getattr(np.fft, name)(x, axis=0, norm=norm),
            _x,
        )
PROGRAMS |= {
    "fft of an odd length": (lambda x: np.fft.irfft(np.fft.rfft(x) * np.arange(3), n=5), R[:, :5]),
    "fft2": (lambda x: np.fft.fft2(x), C),
    "ifftn with lengths": (lambda x: np.fft.ifftn(x, s=(4, 5), axes=(0, 1)), C),
    "rfft2": (lambda x: np.fft.rfft2(x), R),
    "rfftn with lengths": (lambda x: np.fft.rfftn(x, s=(2, 7), axes=(1, 0)), R),
    "irfft2": (lambda x: np.fft.irfft2(x), C),
    "irfftn with lengths": (lambda x: np.fft.irfftn(x, s=(4, 5), axes=(0, 1)), C),
    "filter": (lambda x: np.fft.irfft(np.exp(-np.arange(4)) * np.fft.rfft(x)), R),
    "power spectrum": (lambda x: np.abs(np.fft.rfft(x)) ** 2, R),
}

TIES = np.array([[2.0, 1.0, 2.0, 0.5], [3.0, -1.0, 7.0, 2.0], [0.0, 4.0, 1.5, 2.5]])
CUBE = _RNG.standard_normal((2, 3, 4))
PROGRAMS |= {
    "sort": (lambda x: np.sort(x) * np.arange(6), R),
    "sort down": (lambda x: np.sort(x, axis=0) * x, R),
    "sort all": (lambda x: np.sort(x, axis=None)[::2] ** 2, R),
    "sort nothing": (lambda x: np.sort(x), R[:0]),
    "partition": (lambda x: np.partition(x, 2)[:, :3].sum(axis=1) * x[:, 0], R),
    "median": (lambda x: np.median(x), R),
    "median, odd": (lambda x: np.median(x, axis=0) * x, R),
    "median of several axes": (lambda x: np.median(x, axis=(0, 2), keepdims=True) * x, CUBE),
    "quantile": (lambda x: np.quantile(x, 0.3, axis=1) * x[:, 0], R),
    "quantiles": (lambda x: np.quantile(x, [0.0, 0.4, 1.0], axis=0), R),
    "percentile": (lambda x: np.percentile(x, 75), R),
}

KNOTS, AT = np.array([-1.0, -0.2, 0.5, 2.0]), np.array([[-3.0, -0.7, 0.1], [0.4, 1.3, 5.0]])
BINS = np.array([0, 3, 1, 3, 3, 2])
PROGRAMS |= {
    "interp": (lambda x, xp, fp: np.interp(x, xp, fp), AT, KNOTS, V[:4]),
    "interp with ends": (lambda x, xp, fp: np.interp(x, xp, fp, left=0.0, right=9.0), AT, KNOTS, V[:4]),
    "interp at a number": (lambda x, xp, fp: np.interp(x[0, 1], xp, fp), AT, KNOTS, V[:4]),
    "bincount": (lambda k, w: np.bincount(k, w, minlength=5) ** 2, BINS, R[0]),
    "histogram": (lambda k, w: np.histogram(k, bins=3, weights=w)[0] ** 2, BINS, R[0]),
    "histogram in a range": (
        lambda k, w: np.histogram(k, bins=3, range=(1, 2.5), weights=w)[0] ** 2,
        BINS,
        R[0],
    ),
    "histogram of edges": (
        lambda k, w: np.histogram(k, [0.5, 1.0, 2.0, 3.0], weights=w)[0] ** 2,
        BINS,
        R[0],
    ),
    "density": (
        lambda k, w: np.histogram(k, bins=4, weights=w, density=True)[0] ** 2,
        BINS,
        np.abs(R[0]) + 0.5,
    ),
}

DYNAMIC = (
    "interp",
    *("sort", "sort down", "partition"),
    *("fft to None", "irfft to None", "rfft of reals to None", "filter", "fft2"),
    *("solve", "solve for a vector", "solve, stacks", "inv, stack", "det", "slogdet", "cholesky", "eigh"),
)


_SLOW = ("ortho", "forward", "to 9", "svd", "stack", "lstsq", "with lengths", "matrix_power", "qr, ")


def _is_slow(name):
    return any(word in name for word in _SLOW)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * _is_slow(n)) for n in PROGRAMS])
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)


def test_equal_elements_have_one_share_each():
    gradient = nt.jit(lambda x, w: nt.grad(lambda x: (np.sort(x) * w).sum())(x), target="interp")
    weights = np.array([1.0, 2.0, 4.0, 8.0])

    np.testing.assert_array_equal(gradient(TIES, weights)[0], [4.0, 2.0, 8.0, 1.0])


SECOND = {
    "solve": (lambda a: np.linalg.solve(a, B).sum() ** 2, A),
    "inv": (lambda a: (np.linalg.inv(a) ** 3).sum(), A),
    "det": (lambda a: np.linalg.det(a) ** 2 / 900, A),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], A),
    "cholesky": (lambda a: log_density(a, V), A),
    "qr": (lambda a: (np.linalg.qr(a)[0] ** 3).sum() + np.linalg.qr(a)[1].sum(), TALL),
    "eigh": (lambda a: (spectrum(a)[1] ** 2 * np.arange(4)).sum(), A),
    "svd": (lambda a: (factors(a)[0] ** 2 * np.arange(3)).sum() + factors(a)[1].sum() ** 2, TALL),
    "pinv": (lambda a: (np.linalg.pinv(a) ** 3).sum(), TALL),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    f, a = SECOND[name]
    gradient = nt.jit(lambda a: nt.grad(f)(a), target="interp")
    product = nt.jit(lambda a, t: nt.hvp(f, (a,), (t,)), target="interp")
    t = _RNG.standard_normal(a.shape)
    expected = (gradient(a + 1e-6 * t) - gradient(a - 1e-6 * t)) / 2e-6

    np.testing.assert_allclose(product(a, t), expected, rtol=1e-5, atol=1e-5)


REFUSED = {
    "a function of the user": (
        lambda x: nt.custom_call(np.sinc, x, result=nt.spec(x.shape, x.dtype)).sum(),
        "numpy.sinc",
    ),
    "complete and tall": (lambda x: np.linalg.qr(x, mode="complete")[0].sum(), "mode='complete'"),
    "edges": (lambda x: np.histogram(x, bins=3)[1].sum(), "numpy.histogram"),
    "full and tall": (lambda x: np.linalg.svd(x)[0].sum(), "full_matrices=False"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused_where_it_is(name):
    f, words = REFUSED[name]
    with pytest.raises(Exception, match=r"ha(s|ve) (no|a) derivative") as caught:
        nt.grad(f)(TALL)
    assert words in str(caught.value)
    assert "test_calls.py" in str(caught.value)
