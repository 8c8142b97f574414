"""What derivatives are where there is none, as docs/derivatives.md has it, and of parameters of all kinds."""

import nestor as nt
import numpy as np
import pytest

INF, NAN = np.inf, np.nan


def pair(name):
    f = getattr(np, name)
    return lambda x: f(x[0], x[1])


POINTS = {
    "absolute": (lambda x: np.abs(x).sum(), [0.0, -0.0, -2.0, NAN], [0, 0, -1, NAN]),
    "norm of order 1": (lambda x: np.linalg.norm(x, 1), [0.0, 3.0, -1.0], [0, 1, -1]),
    "root": (lambda x: np.sqrt(x).sum(), [0.0, 4.0], [INF, 0.25]),
    "norm of zeros": (lambda x: np.linalg.norm(x), [0.0, 0.0], [NAN, NAN]),
    "maximum": (pair("maximum"), [2.0, 2.0], [0.5, 0.5]),
    "minimum": (pair("minimum"), [2.0, 2.0], [0.5, 0.5]),
    "fmax": (pair("fmax"), [2.0, 2.0], [0.5, 0.5]),
    "fmin": (pair("fmin"), [2.0, 2.0], [0.5, 0.5]),
    "max": (lambda x: x.max(), [3.0, 1.0, 3.0], [0.5, 0, 0.5]),
    "min": (lambda x: x.min(), [1.0, 1.0, 3.0, 1.0], [1 / 3, 1 / 3, 0, 1 / 3]),
    "max of NaN": (lambda x: x.max(), [3.0, NAN], [0, 0]),
    "power": (pair("power"), [0.0, 0.0], [0, 0]),
    "power of zero": (pair("power"), [0.0, -1.0], [-INF, 0]),
    "hypot": (pair("hypot"), [0.0, 0.0], [NAN, NAN]),
    "logaddexp": (pair("logaddexp"), [1.0, INF], [0, 1]),
    "where": (lambda x: np.where(x > 0, np.log(x), 0.0).sum(), [0.0, 2.0], [0, 0.5]),
    "steps": (
        lambda x: (np.floor(x) + np.ceil(x) + np.rint(x) + np.sign(x)).sum(),
        [0.0, 1.0, 0.5],
        [0, 0, 0],
    ),
}


@pytest.mark.parametrize("name", POINTS)
def test_points_without_a_derivative(name):
    f, at, expected = POINTS[name]
    np.testing.assert_allclose(nt.grad(f)(np.array(at)), expected)


def by_keyword(x, *, n=np.arange(4.0), m):  # noqa: B008
    return (x * n).sum() * m


def variadic(*xs, w=2.0, **more):
    return (xs[0] * xs[-1]).sum() * w * more.get("s", 1.0)


def test_parameters_of_all_kinds():
    a = np.arange(4.0)
    np.testing.assert_allclose(nt.grad(by_keyword)(a, m=2.0), 2 * a)
    n, m = nt.grad(by_keyword, argnames=("n", "m"))(a + 1, m=2.0)
    np.testing.assert_allclose(n, 2 * (a + 1))
    assert m == (a * (a + 1)).sum()
    first, last = nt.grad(variadic, argnums=(0, -1))(a, a, a + 1)
    np.testing.assert_allclose(first, 2 * (a + 1))
    np.testing.assert_allclose(last, 2 * a)
    assert nt.grad(variadic, argnames="s")(a, a + 1, s=3.0) == 2 * (a * (a + 1)).sum()


def test_a_default_that_is_an_array():
    def f(x, t=np.ones(4)):  # noqa: B008
        return (x * x * t).sum()

    a = np.arange(4.0)
    g = nt.grad(f)
    np.testing.assert_allclose(g(a), 2 * a)
    f.__defaults__[0][:] = 3.0
    np.testing.assert_allclose(g(a), 6 * a)
    f.__defaults__ = (np.full(4, 7.0),)
    np.testing.assert_allclose(g(a), 14 * a)
    np.testing.assert_allclose(nt.vjp(f, a)[1](1.0)[0], 14 * a)
