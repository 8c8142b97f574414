"""Rules of nt.custom_jvp: those that are linear in the tangents are transposed, others refused in reverse mode."""

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError

LINEAR = {
    "a product": lambda x, t: np.cos(x) * t,
    "a quotient": lambda x, t: t / np.exp(x),
    "a sum with zeros": lambda x, t: np.zeros_like(t) + 2.0 * t - (-t),
    "a choice by the primal": lambda x, t: np.where(x > 0, t, 0.0),
    "extents": lambda x, t: t * t.shape[0] / len(x),
    "sums and views": lambda x, t: np.sum(t) * x + t[::-1],
    "a loop": lambda x, t: _three_times(t),
}


def _three_times(t):
    total = np.zeros_like(t)
    for _ in range(3):
        total = total + t
    return total


OTHER = {
    "a square": lambda x, t: t * t,
    "a constant": lambda x, t: np.cos(x) * t + 1.0,
    "a choice by the tangent": lambda x, t: np.where(t > 0, t, 0.0),
    "an absolute value": lambda x, t: np.abs(t),
    "a divisor": lambda x, t: x / t,
    "an exponential, in a sum": lambda x, t: t + 0.5 * np.exp(t),
}


def with_rule(tangent):
    @nt.custom_jvp
    def function(x):
        return np.sin(x)

    @function.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return np.sin(x), tangent(x, t)

    return function


@pytest.mark.parametrize("name", list(LINEAR))
def test_what_is_linear_is_transposed(name):
    function, rng = with_rule(LINEAR[name]), np.random.default_rng(1)
    x, cotangent = rng.normal(size=4), rng.normal(size=4)
    gradient = nt.grad(lambda x: (function(x) * cotangent).sum())(x)
    columns = [nt.jvp(function, (x,), (t,))[1] for t in np.eye(4)]
    np.testing.assert_allclose(gradient, np.stack(columns) @ cotangent, rtol=1e-12)


@pytest.mark.parametrize("name", list(OTHER))
def test_what_is_not_is_refused_in_reverse_mode_alone(name):
    function, x = with_rule(OTHER[name]), np.array([0.5, 1.0])
    assert nt.jvp(function, (x,), (np.ones(2),))[1].shape == (2,)
    with pytest.raises(NestorError, match="not linear in the tangents"):
        nt.grad(lambda x: function(x).sum())(x)
