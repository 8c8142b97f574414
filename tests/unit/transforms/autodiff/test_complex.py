"""Derivatives of complex numbers: of holomorphic functions, of their parts, and of real losses."""

import nestor as nt
import numpy as np
import pytest
from derivative_programs import check

pytestmark = pytest.mark.one_of(2)

_RNG = np.random.default_rng(0)


def _numbers(*shape):
    return _RNG.standard_normal(shape) + 1j * _RNG.standard_normal(shape)


C, D = _numbers(3, 4), _numbers(3, 4)
S, B = _numbers(2, 3, 3), _numbers(2, 3, 2)
X = _RNG.standard_normal((3, 4))


def hermitian(a):
    return a @ np.conj(np.swapaxes(a, 1, 2)) + np.eye(3)


def functions(x):
    return np.exp(x) + np.sin(x) * np.cos(x) + np.tan(x) + np.sinh(x) + np.cosh(x) * np.tanh(x)


def logarithms(x):
    return (
        np.log(x)
        + np.sqrt(x)
        + np.square(x)
        + np.log10(x) * np.log2(x)
        + np.log1p(x)
        + np.expm1(x)
        + np.exp2(x)
    )


def times_in_loop(x, z):
    out = np.zeros(z.shape, complex)
    s = 0j
    for i in range(len(x)):
        out[i] = np.exp(1j * x[i]) * z[i]
        s += x[i] * (1 + 2j)
    return out * s


def parts_in_loop(z, x):
    s = 0.0
    for i in range(len(x)):
        s += (x[i] * z[i]).real + np.abs(z[i]) * x[i] - (np.conj(z[i]) * z[i] * z[i]).imag
    return s


def assigned(x):
    out = np.zeros(x.shape, complex)
    out[:] = x
    out[1:] *= 1j
    return np.abs(out.sum())


PROGRAMS = {
    "arithmetic": (lambda x, y: x * y + x - y / x, C, D),
    "powers": (lambda x, y: x**y + x**3 + x**0.5, C, D),
    "functions": (functions, C),
    "logarithms": (logarithms, C),
    "reciprocal": (lambda x: np.reciprocal(x) + 1 / x, C),
    "absolute values": (lambda x: np.abs(x) * 2 + np.abs(x) ** 2, C),
    "angles": (lambda x: np.angle(x), C),
    "conjugates": (lambda x: np.conj(x) * x * x, C),
    "parts": (lambda x: x.real * x.imag, C),
    "directions": (lambda x: np.sign(x), C),
    "made of reals": (lambda x: x + 1j * x * x, X),
    "real times complex": (lambda x, y: x * y, X, C),
    "sums": (lambda x: x.sum(axis=0) * x.mean(), C),
    "products": (lambda x: x.prod(axis=0), C),
    "running sums": (lambda x: np.cumsum(x, axis=1) * x, C),
    "running products": (lambda x: np.cumprod(x, axis=1), C),
    "matrix product": (lambda x, y: x @ y.T, C, D),
    "einsum": (lambda x, y: np.einsum("ij,ij->i", x, np.conj(y)), C, D),
    "vdot": (lambda x, y: np.vdot(x, y), C, D),
    "where": (lambda x, y: np.where(x.real > 0, x * y, y), C, D),
    "slices": (lambda x: x[:, ::-1] * x[::-1], C),
    "norm": (lambda x: np.linalg.norm(x), C),
    "variance": (lambda x: x.var(), C),
    "of rank 0": (lambda x: np.exp(x) * x, np.asarray(C[0, 0])),
    "nothing": (lambda x: x[:0] * 2, C),
    "inv": (lambda x: np.linalg.inv(x), S),
    "det": (lambda x: np.linalg.det(x), S),
    "slogdet": (lambda x: np.linalg.slogdet(x), S),
    "solve": (lambda x, y: np.linalg.solve(x, y), S, B),
    "solve, real matrix": (lambda x, y: np.linalg.solve(x, y), X[:, :3], B[0]),
    "eigh": (lambda x: np.linalg.eigh(hermitian(x))[0], S),
    "eigenvectors": (lambda x: np.abs(np.linalg.eigh(hermitian(x))[1]), S),
    "cholesky": (lambda x: np.linalg.cholesky(hermitian(x)), S),
    "qr": (lambda x: np.linalg.qr(x), S),
    "pinv": (lambda x: np.linalg.pinv(x), C),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), S),
    "singular vectors": (lambda x: np.abs(np.linalg.svd(x)[0]), S),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[:3:2], _numbers(5, 3), _numbers(5, 2)),
    "loop of reals times complex": (times_in_loop, X[0], C[0]),
    "loop of parts": (parts_in_loop, C[0], X[0]),
    "assignments of reals": (assigned, X[0]),
    "joined with reals": (lambda x, z: np.abs(np.concatenate([x, z, 1j * x])), X[0], C[0]),
    "real loss by way of fft": (lambda x: (np.abs(np.fft.fft(x)) ** 2).sum(), X),
}


SLOW = (
    "singular vectors",
    "eigenvectors",
    "pinv",
    "lstsq",
    "functions",
    "logarithms",
    "slogdet",
    "cholesky",
    "qr",
)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in PROGRAMS])
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize("name", ["arithmetic", "parts", "matrix product", "slices", "running products"])
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)


def gradient(loss, z):
    """The gradient of a real loss: its pullback of one."""

    def compiled(z):
        _, pull = nt.vjp(loss, z)
        return pull(1.0)

    (result,) = nt.jit(compiled, target="interp")(z)
    return result


def test_the_gradient_of_a_real_loss_is_not_conjugated():
    np.testing.assert_allclose(gradient(lambda z: (np.abs(z) ** 2).sum(), C), 2 * np.conj(C))


def test_the_absolute_value_of_zero_has_the_derivative_zero():
    np.testing.assert_array_equal(gradient(lambda z: np.abs(z).sum(), np.zeros(2, complex)), [0, 0])


def test_whole_powers_of_a_number_of_python():
    z = 1.5 - 0.5j
    exact = 3 * z**2 + 2 * z
    f = lambda z: z**3 + z**2  # noqa: E731
    np.testing.assert_allclose(nt.grad(f, holomorphic=True)(z), exact, rtol=1e-14)
    np.testing.assert_allclose(nt.jvp(f, (z,), (1j,))[1], exact * 1j, rtol=1e-14)
    np.testing.assert_allclose(nt.vjp(f, z)[1](1 + 0j)[0], exact, rtol=1e-14)
