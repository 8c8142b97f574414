"""Derivatives of special functions."""

import nestor as nt
import numpy as np
from derivative_programs import check

X = np.array([[-3.3, -0.5, 0.3, 0.5], [1.0, 1.46, 2.0, 40.0]])


def test_lgamma():
    check(lambda x: nt.nn.lgamma(x) * x, X, oracle=lambda x: nt.nn.lgamma(x) * x)


def test_erfc():
    check(lambda x: nt.nn.erfc(x) + nt.nn.erf(2 * x), X, oracle=lambda x: nt.nn.erfc(x) + nt.nn.erf(2 * x))


def test_digamma_and_trigamma():
    """Abramowitz and Stegun, 6.3.2, 6.3.3, 6.4.2, 6.4.4; of 10 and -1/2 by the recurrence."""
    euler = 0.5772156649015329
    x = np.array([1.0, 0.5, 10.0, -0.5])
    digamma = [
        -euler,
        -euler - 2 * np.log(2),
        sum(1 / k for k in range(1, 10)) - euler,
        2 - euler - 2 * np.log(2),
    ]
    trigamma = [
        np.pi**2 / 6,
        np.pi**2 / 2,
        np.pi**2 / 6 - sum(1 / k**2 for k in range(1, 10)),
        np.pi**2 / 2 + 4,
    ]
    first = nt.jit(lambda x: nt.grad(lambda x: nt.nn.lgamma(x).sum())(x), target="interp")
    second = nt.jit(lambda x: nt.hvp(lambda x: nt.nn.lgamma(x).sum(), (x,), (np.ones(4),)), target="interp")

    np.testing.assert_allclose(first(x), digamma, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(second(x), trigamma, rtol=1e-12)
    np.testing.assert_allclose(first(x.astype(np.float32)), digamma, rtol=2e-5)
    assert np.isposinf(first(np.array([np.inf]))).all()
