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


X = np.array([2.0, NAN, 3.0, INF])
FINE = np.isfinite(X)
W = np.array([1.0, 2.0, 3.0, 4.0])


def cleared(w):
    y = w * X
    y[1] = 0.0
    y[~FINE] = 0.0
    return y.sum()


def in_loop(w):
    y = np.zeros(4)
    for i in range(4):
        t = w[i] * X[i]
        if np.isfinite(t):
            y[i] = t
    return y.sum()


def until(w):
    s = 0.0
    for i in range(4):
        t = w[i] * X[i]
        if not np.isfinite(t):
            break
        s += t
    return s


def no_turn(w):
    root, y = np.sqrt(w - 1.0), w
    for _ in range(int(w[0]) - 1):
        y = y * root
    return y.sum()


def branched(w):
    z = w * X
    return z.sum() if w[0] < 0 else w[0] * 2.0


UNUSED = {
    "where": (lambda w: np.where(FINE, w * X, 0.0).sum(), [2, 0, 3, 0]),
    "where of itself": (lambda w: np.where(np.isfinite(w * X), (w * X) ** 2, 0.0).sum(), [8, 0, 54, 0]),
    "exponential": (
        lambda w: np.where(w < 2, np.exp(w), np.where(w > 9, np.exp(w * 400), w)).sum(),
        [np.e, 1, 1, 1],
    ),
    "select": (lambda w: np.select([np.isnan(X), X > 9], [0.0, w], w * X).sum(), [2, 0, 3, 1]),
    "nansum": (lambda w: np.nansum(w[:3] * X[:3]), [2, 0, 3, 0]),
    "nanmean": (lambda w: np.nanmean(w[:3] * X[:3]), [1, 0, 1.5, 0]),
    "nanmax": (lambda w: np.nanmax(w[:3] * X[:3]), [0, 0, 3, 0]),
    "nanvar": (lambda w: np.nanvar(w[:3] * X[:3]), [-7, 0, 10.5, 0]),
    "nanprod": (lambda w: np.nanprod(w[:3] * X[:3]), [18, 0, 6, 0]),
    "max": (lambda w: np.sqrt(w - 1.0).max(), [0, 0, 0, 0.5 / np.sqrt(3.0)]),
    "nan_to_num": (lambda w: np.nan_to_num(w[:3] * X[:3]).sum(), [2, 0, 3, 0]),
    "mask": (lambda w: (w * X)[FINE].sum(), [2, 0, 3, 0]),
    "where=": (lambda w: np.sum(w * X, where=FINE), [2, 0, 3, 0]),
    "fmin": (lambda w: np.fmin(w * X, 5.0).sum(), [2, 0, 0, 0]),
    "slice": (lambda w: (w * X)[::2].sum(), [2, 0, 3, 0]),
    "places": (lambda w: np.take(w * X, [0, 2]).sum(), [2, 0, 3, 0]),
    "joined": (lambda w: np.concatenate([w * X, w])[4:].sum(), [1, 1, 1, 1]),
    "triangle": (lambda w: np.tril(np.outer(w, X))[:, 0].sum(), [2, 2, 2, 2]),
    "overwritten": (cleared, [2, 0, 3, 0]),
    "branch": (branched, [2, 0, 0, 0]),
    "branch in a loop": (in_loop, [2, 0, 3, 0]),
    "after the end of a loop": (until, [2, 0, 0, 0]),
    "loop that does not run": (no_turn, [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_not_used_has_no_part_in_derivatives(name):
    f, expected = UNUSED[name]
    np.testing.assert_allclose(nt.grad(f)(W), expected)
    along = [nt.jvp(f, (W,), (one,))[1] for one in np.eye(4)]
    np.testing.assert_allclose(along, expected)


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
