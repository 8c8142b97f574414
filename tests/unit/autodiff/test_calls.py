"""Derivatives of what NumPy computes for compiled code: equations, decompositions, transforms, sorting."""

import numpy as np
import pytest
from derivative_programs import check

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

DYNAMIC = ("solve", "solve for a vector", "solve, stacks", "inv, stack", "det", "slogdet", "cholesky", "eigh")


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)
