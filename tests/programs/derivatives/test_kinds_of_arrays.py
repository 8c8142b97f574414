"""Derivatives of arrays in all forms: other libraries' arrays, halves, read-only, overlapping, of extent 0; and the plain
function beside its gradient, with outside values that change."""

import differences
import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(21)
X = RNG.normal(size=(3, 4))


def f(x):
    return (np.sin(x) * x).sum()


def slope(x):
    return np.cos(x) * x + np.sin(x)


class Foreign:
    """An array of another library."""

    def __init__(self, x):
        self.x = x

    def __array_namespace__(self, api_version=None):
        return np

    def __dlpack__(self, **_):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_a_pullback_of_another_library():
    x = X.copy()
    value, pullback = nt.vjp(lambda x: np.sin(x) * x, Foreign(x))
    _, derivative = nt.linearize(lambda p: np.sin(p["a"]) * p["a"], {"a": Foreign(x)})
    x[:] = 0.0  # both hold copies
    np.testing.assert_allclose(value, np.sin(X) * X)
    np.testing.assert_allclose(pullback(Foreign(X))[0], slope(X) * X)
    np.testing.assert_allclose(derivative({"a": Foreign(X)}), slope(X) * X)


class Holder:
    def __init__(self, w):
        self.w = w


def test_an_object_with_an_array_of_another_library():
    with pytest.raises(nt.UnsupportedError, match="Foreign"):
        nt.vjp(lambda p: p.w * 2, Holder(Foreign(X)))


LAYOUTS = {
    "0-d": np.array(0.7),
    "empty": np.zeros((0, 4)),
    "read-only": np.broadcast_to(X[0], (3, 4)),
    "steps": np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": X[::-1, ::-1],
    "columns": np.asfortranarray(X),
    "not a number": np.array([np.nan, np.inf, 1.0]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_transform_of_every_layout(layout):
    x = LAYOUTS[layout]
    with np.errstate(invalid="ignore"):
        wanted, value = slope(x), f(x)
    for g in (nt.grad(f), nt.jit(nt.grad(f), dynamic=True)):
        found = g(x)
        assert type(found) is np.ndarray and found.shape == x.shape
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(nt.value_and_grad(f)(x)[0], value)
    out, pullback = nt.vjp(f, x)
    np.testing.assert_allclose(pullback(type(out)(2.0))[0], 2 * wanted)
    np.testing.assert_allclose(nt.jvp(f, (x,), (np.ones(x.shape),))[1], wanted.sum())
    if x.ndim:
        np.testing.assert_allclose(nt.vmap(nt.grad(f))(x), wanted)


@pytest.mark.parametrize("dtype", ["f2", pytest.param("f4", marks=pytest.mark.slow)])
def test_dtypes_of_results(dtype):
    x = X.astype(dtype)
    tolerance = {"rtol": 2e-2, "atol": 1e-2} if dtype == "f2" else {"rtol": 1e-5, "atol": 1e-6}
    value, g = nt.value_and_grad(f)(x)
    out, pullback = nt.vjp(f, x)
    y, tangent = nt.jvp(f, (x,), (x,))
    rows = nt.vmap(nt.grad(f))(x)
    for found in (value, g, out, pullback(out)[0], y, tangent, rows, nt.jacrev(np.sin)(x), nt.hessian(f)(x)):
        assert found.dtype == dtype
    np.testing.assert_allclose(g, slope(X), **tolerance)
    np.testing.assert_allclose(rows, slope(X), **tolerance)


def test_overlapping_arguments():
    x = X.ravel().copy()
    g = nt.vmap(nt.grad(lambda a, b: (a * a * b).sum(), (0, 1)))
    for a, b in ((x[2:8], x[:6]), (x[:6], x[:6]), (x[5::-1], x[:6]), (x[:6], x[6:])):
        ga, gb = g(a.reshape(2, 3), b.reshape(2, 3))
        np.testing.assert_allclose(ga.ravel(), 2 * a * b)
        np.testing.assert_allclose(gb.ravel(), a * a)


SCALE, TABLE = 2.0, np.array([1.0, 2.0, 3.0, 4.0])


def outside(x):
    return (x * x * TABLE).sum() * SCALE


def branches(x):
    return (x**3).sum() if SCALE > 2.5 else (np.sin(x) * TABLE).sum()


def loop(x):
    for _ in range(3):
        x = np.tanh(x * SCALE) + TABLE
    return (x * x).mean()


def in_place(x):
    y = x.copy()
    for i in range(1, y.shape[0]):
        y[i] = y[i] + SCALE * y[i - 1]
    return (y * TABLE).sum()


def matrix(x):
    return np.linalg.solve(np.diag(TABLE) + np.outer(x, x), x * SCALE).sum()


def chosen(x):
    return np.where(x > SCALE - 2, x * TABLE, np.exp(x) * SCALE).max()


@pytest.mark.parametrize("gradient_first", [False, True])
@pytest.mark.parametrize("function", [outside, branches, loop, in_place, matrix, chosen])
def test_the_function_and_its_gradient_in_both_orders(function, gradient_first):
    """Each runs its own program, whichever was compiled first, and sees outside values as they are."""
    global SCALE, TABLE
    kept = SCALE, TABLE
    plain = nt.jit(function)
    gradient = nt.grad(plain)
    calls = [gradient, plain] if gradient_first else [plain, gradient]
    try:
        for scale, table in ((2.0, TABLE), (3.0, TABLE + 1), (2.0, TABLE[::-1]), (2.0, TABLE)):
            SCALE, TABLE = scale, table
            x = RNG.normal(size=4)
            for call in (*calls, *calls):
                if call is plain:
                    np.testing.assert_allclose(call(x), function(x), rtol=1e-12)
                else:
                    wanted = differences.gradient(function, x)
                    np.testing.assert_allclose(call(x), wanted, rtol=1e-5, atol=1e-7)
    finally:
        SCALE, TABLE = kept
