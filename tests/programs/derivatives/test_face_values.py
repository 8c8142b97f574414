"""What nt.grad and its kin compute, against central differences and closed forms; in which kinds, dtypes and structures."""

import functools
from dataclasses import dataclass

import differences
import nestor as nt
import numpy as np
import pytest
from nestor import nn

pytestmark = pytest.mark.one_of(4)

RNG = np.random.default_rng(3)
W, X = RNG.normal(size=4), RNG.normal(size=(3, 4))
TARGETS = ("cpu", "interp")
CLOSE = {"rtol": 1e-6, "atol": 1e-8}


def loss(w, x, scale=1.0):
    y = np.tanh(x @ w) * scale
    return (y * y).sum()


@pytest.mark.parametrize("target", (*TARGETS, "cuda-sim"))
def test_a_gradient(target):
    found = nt.jit(nt.grad(loss), target=target)(W, X)
    np.testing.assert_allclose(found, differences.gradient(lambda w: loss(w, X), W), **CLOSE)


def test_defaults_and_keywords():
    g = nt.grad(loss, argnums=(1, 0))
    gx, gw = g(W, X, scale=2.0)
    np.testing.assert_allclose(gx, differences.gradient(lambda x: loss(W, x, 2.0), X), **CLOSE)
    np.testing.assert_allclose(gw, differences.gradient(lambda w: loss(w, X, 2.0), W), **CLOSE)
    np.testing.assert_allclose(g(x=X, w=W)[1], differences.gradient(lambda w: loss(w, X), W), **CLOSE)


def test_a_default_that_is_replaced():
    def f(x, k=2.0):
        return (x * x).sum() * k

    g = nt.grad(f)
    np.testing.assert_allclose(g(W), 4 * W)
    f.__defaults__ = (3.0,)
    np.testing.assert_allclose(g(W), 6 * W)
    np.testing.assert_allclose(nt.jit(g)(W), 6 * W)


def test_argnames():
    f = lambda w, x, *, s: (x @ w).sum() * s  # noqa: E731
    assert np.allclose(nt.grad(f, argnames="s")(W, X, s=2.0), (X @ W).sum())
    gs, gw = nt.grad(f, argnames=("s", "w"))(W, X, s=2.0)
    np.testing.assert_allclose(gw, 2 * X.sum(axis=0))
    assert isinstance(gs, float)


def test_value_and_aux():
    f = lambda w: ((w * w).sum(), {"shape": w.shape, "w": w + 1, "n": 3, "name": "aux"})  # noqa: E731
    (value, aux), g = nt.value_and_grad(f, has_aux=True)(W)
    assert value == pytest.approx((W * W).sum()) and type(value) is np.float64
    np.testing.assert_allclose(g, 2 * W)
    np.testing.assert_array_equal(aux["w"], W + 1)
    assert (aux["shape"], aux["n"], aux["name"]) == ((4,), 3, "aux")
    g, aux = nt.grad(f, has_aux=True)(W)
    np.testing.assert_allclose(g, 2 * W)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_gradient_has_the_dtype_of_its_argument(dtype):
    w, x = W.astype(dtype), X.astype("f8")
    g = nt.grad(lambda w: (x @ w).sum())(w)
    assert g.dtype == w.dtype and g.shape == w.shape
    np.testing.assert_allclose(g, x.sum(axis=0), rtol=1e-2 if dtype == "f2" else 1e-5)


@pytest.mark.parametrize(
    "value, kind",
    [(2.0, float), (np.float32(2), np.float32), (np.array(2.0), np.ndarray), (np.array([2.0]), np.ndarray)],
)
def test_a_gradient_has_the_kind_of_its_argument(value, kind):
    g = nt.grad(lambda x: (x * x * x) if np.ndim(x) == 0 else (x * x * x).sum())(value)
    assert type(g) is kind and np.shape(g) == np.shape(value)
    np.testing.assert_allclose(g, 12.0)


ARRAYS = {
    "empty": np.zeros((0, 3)),
    "one": RNG.normal(size=(1, 1)),
    "odd": RNG.normal(size=(7, 5)),
    "transposed": RNG.normal(size=(5, 7)).T,
    "strided": RNG.normal(size=(14, 15))[::2, ::3],
    "reversed": RNG.normal(size=(7, 5))[::-1, ::-1],
    "read-only": np.broadcast_to(RNG.normal(size=5), (7, 5)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_shapes_and_layouts(name, dynamic):
    x = ARRAYS[name]
    g = nt.jit(nt.grad(lambda x: (np.sin(x) * x.sum(axis=0)).sum()), dynamic=dynamic)
    expected = np.cos(x) * x.sum(axis=0) + np.sin(x).sum(axis=0)
    np.testing.assert_allclose(g(x), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        g(x[:1]), np.cos(x[:1]) * x[:1].sum(axis=0) + np.sin(x[:1]).sum(axis=0), atol=1e-12
    )
    np.testing.assert_allclose(g(x.astype("f4")), expected, rtol=1e-4, atol=1e-4)


def test_not_a_number_and_infinity():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    np.testing.assert_array_equal(nt.grad(lambda x: (x * x).sum())(x), 2 * x)


def test_one_array_as_two_arguments():
    gx, gy = nt.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(W, W)
    np.testing.assert_allclose(gx, 2 * W * W)
    np.testing.assert_allclose(gy, W * W)
    both = RNG.normal(size=5)
    gx, gy = nt.grad(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(both[1:], both[:-1])
    np.testing.assert_allclose(gx, 2 * both[1:] * both[:-1])
    np.testing.assert_allclose(gy, both[1:] ** 2)


SCALE = 2.0
TABLE = {"gain": np.array([1.0, 2.0, 3.0, 4.0])}


def test_what_is_read_outside_may_change():
    global SCALE
    g = nt.grad(lambda w: (w * w * TABLE["gain"]).sum() * SCALE)
    np.testing.assert_allclose(g(W), 4 * W * TABLE["gain"])
    SCALE = 3.0
    np.testing.assert_allclose(g(W), 6 * W * TABLE["gain"])
    TABLE["gain"][0] = 10.0
    np.testing.assert_allclose(g(W), 6 * W * TABLE["gain"])
    TABLE["gain"] = np.ones(4)
    np.testing.assert_allclose(g(W), 6 * W)
    SCALE = 2.0


# ---- which functions --------------------------------------------------------------------------------


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return ((x @ self.w) ** 2).sum()

    def __call__(self, x):
        return (x @ self.w).sum()


@nt.jit
def jitted(w, x):
    return loss(w, x, 0.5)


def test_functions_of_all_kinds():
    model = Model(W)
    np.testing.assert_allclose(nt.grad(model.loss)(X), 2 * np.outer(X @ W, W))
    np.testing.assert_allclose(nt.grad(model)(X), np.broadcast_to(W, X.shape))
    model.w = W + 1
    np.testing.assert_allclose(nt.grad(model.loss)(X), 2 * np.outer(X @ (W + 1), W + 1))
    half = differences.gradient(lambda w: loss(w, X, 0.5), W)
    np.testing.assert_allclose(nt.grad(jitted)(W, X), half, **CLOSE)
    np.testing.assert_allclose(nt.jit(nt.grad(jitted))(W, X), half, **CLOSE)
    np.testing.assert_allclose(nt.grad(functools.partial(loss, scale=0.5))(W, X), half, **CLOSE)
    np.testing.assert_allclose(nt.grad(np.sum)(W), np.ones(4))
    np.testing.assert_allclose(nt.grad(np.sin)(0.5), np.cos(0.5))
    np.testing.assert_allclose(nt.grad(lambda *xs: (xs[0] * xs[1]).sum(), argnums=1)(W, W + 2), W)


def test_helpers_of_networks():
    f = lambda x: (nn.softmax(x) * np.arange(4)).sum()  # noqa: E731
    np.testing.assert_allclose(nt.grad(f)(X), differences.gradient(f, X), **CLOSE)
    f = lambda x: nn.gelu(x).sum() + nn.logsumexp(x, axis=-1).sum()  # noqa: E731
    np.testing.assert_allclose(nt.grad(f)(X), differences.gradient(f, X), **CLOSE)


def test_the_same_derivative_is_compiled_once():
    g = nt.grad(loss)
    g(W, X)
    assert nt.grad(loss) is g and g.cache_info()["compiled"] >= 1


def test_options_are_those_of_the_function():
    inner = nt.jit(
        lambda x, mode: x.sum() * (2.0 if mode == "double" else 1.0), target="interp", static_argnames="mode"
    )
    g = nt.grad(inner)
    assert g.target == "interp"
    np.testing.assert_allclose(g(W, "double"), np.full(4, 2.0))
    np.testing.assert_allclose(g(W, "single"), np.ones(4))


def test_the_stages_of_a_gradient():
    g = nt.grad(lambda x: (np.sin(x) * x).sum())
    low = g.lower(nt.spec((4,), "f8"))
    assert "nt.vjp" in low.as_text("nt") and "nest.for" in low.as_text("nest")
    assert "define" in low.as_text("llvm-ir")
    np.testing.assert_allclose(low.compile()(W), np.cos(W) * W + np.sin(W))
    assert "grad_of_lambda" in repr(g) and g.explain(W)


# ---- in compiled code -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_a_closure_over_values_of_the_run(target):
    @nt.jit(target=target)
    def step(w, x, rate):
        h = x * rate

        def f(v):
            return ((h @ v) ** 2).sum()

        return w - rate * nt.grad(f)(w)

    for rate in (0.1, 0.2):
        expected = W - rate * 2 * (X * rate).T @ ((X * rate) @ W)
        np.testing.assert_allclose(step(W, X, rate), expected)
    np.testing.assert_allclose(
        step(W[:2], X[:, :2], 0.1), W[:2] - 0.1 * 2 * (X[:, :2] * 0.1).T @ ((X[:, :2] * 0.1) @ W[:2])
    )


def test_a_gradient_is_taken_at_what_holds_then():
    @nt.jit
    def f(x):
        g = nt.grad(lambda v: (v**3).sum())
        first = g(x)
        x[0] = 2.0
        return first, g(x)

    x = W.copy()
    first, second = f(x)
    np.testing.assert_allclose(first, 3 * W**2)
    np.testing.assert_allclose(second, 3 * np.array([2.0, *W[1:]]) ** 2)


def test_descent_in_a_loop():
    @nt.jit
    def fit(w, x, y, n):
        losses = np.zeros(n)
        for k in range(n):
            value, g = nt.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
            w = w - 0.1 * g
            losses[k] = value
        return w, losses

    x, y = RNG.normal(size=(20, 4)), RNG.normal(size=20)
    w, losses = fit(W, x, y, 50)
    expected = W
    for k in range(50):
        assert losses[k] == pytest.approx(((x @ expected - y) ** 2).mean())
        expected = expected - 0.1 * 2 * x.T @ (x @ expected - y) / 20
    np.testing.assert_allclose(w, expected)


def test_second_derivatives():
    f = lambda x: np.sin(x) * x**3  # noqa: E731
    second = lambda x: -np.sin(x) * x**3 + 6 * np.cos(x) * x**2 + 6 * x * np.sin(x)  # noqa: E731
    assert nt.grad(nt.grad(f))(0.7) == pytest.approx(second(0.7))
    inside = nt.jit(lambda x: nt.grad(lambda y: nt.grad(f)(y))(x))
    assert inside(0.7) == pytest.approx(second(0.7))
    third = nt.grad(nt.grad(nt.grad(lambda x: x**5)))
    assert third(2.0) == pytest.approx(240.0)


def test_stop_gradient():
    assert nt.grad(lambda x: x * nt.stop_gradient(x))(3.0) == 3.0
    assert nt.jvp(lambda x: x * nt.stop_gradient(x * x), (3.0,), (1.0,)) == (27.0, 9.0)
    y = nt.stop_gradient(W)
    y[0] = 7.0
    assert W[0] != 7.0
    pair = nt.jit(lambda x: nt.stop_gradient({"a": x, "b": (1, None)}))(W)
    np.testing.assert_array_equal(pair["a"], W)
    assert pair["b"] == (1, None)


def test_what_is_printed_is_printed_once(capfd):
    def f(x):
        print("loss of", len(x))
        return (x * x).sum()

    nt.grad(f)(W)
    _, pullback = nt.vjp(f, W)
    pullback(1.0)
    assert capfd.readouterr().out == "loss of 4\n" * 2


def test_checks_run():
    def f(x, k):
        assert x.sum() > k, "too small"
        return (x * x).sum()

    np.testing.assert_allclose(nt.grad(f)(W, -100.0), 2 * W)
    with pytest.raises(AssertionError, match="too small"):
        nt.grad(f)(W, 100.0)


def test_what_the_function_writes_outside_is_written():
    @nt.jit
    def outer(x, log):
        def f(v):
            log[1] = v.sum()
            return (v * v).sum()

        return nt.grad(f)(x)

    log = np.zeros(3)
    np.testing.assert_allclose(outer(W, log), 2 * W)
    np.testing.assert_allclose(log, [0, W.sum(), 0])


# ---- structures -------------------------------------------------------------------------------------


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


class Net:
    def __init__(self, first, second):
        self.layers = [first, second]
        self.scale = 0.5


def apply(net, x):
    for layer in net.layers:
        x = np.tanh(x @ layer.w + layer.b)
    return (x * net.scale).sum()


def test_structures():
    params = {
        "a": Layer(RNG.normal(size=(4, 2)), RNG.normal(size=2)),
        "b": (RNG.normal(size=2), None),
        "c": [2.0],
    }

    def f(p, x):
        return ((np.tanh(x @ p["a"].w + p["a"].b) @ p["b"][0]) * p["c"][0]).sum()

    g = nt.grad(f)(params, X)
    assert type(g["a"]) is Layer and g["b"][1] is None and type(g["c"]) is list and type(g["c"][0]) is float
    expected = differences.gradient(lambda w: f({**params, "a": Layer(w, params["a"].b)}, X), params["a"].w)
    np.testing.assert_allclose(g["a"].w, expected, **CLOSE)
    assert g["c"][0] == pytest.approx(f(params, X) / 2.0)


def test_objects():
    net = Net(
        Layer(RNG.normal(size=(4, 3)), RNG.normal(size=3)), Layer(RNG.normal(size=(3, 2)), RNG.normal(size=2))
    )
    g = nt.grad(apply)(net, X)
    assert type(g) is Net and [type(one) for one in g.layers] == [Layer, Layer]

    def of_bias(b):
        other = Net(net.layers[0], Layer(net.layers[1].w, b))
        return apply(other, X)

    np.testing.assert_allclose(g.layers[1].b, differences.gradient(of_bias, net.layers[1].b), **CLOSE)
    assert g.scale == pytest.approx(apply(net, X) / 0.5)


def test_tuples_of_numbers_are_compiled_once():
    g = nt.grad(lambda p, shape: p[0] * p[1] ** 2 * shape[0])
    for k in range(40):
        np.testing.assert_allclose(g((float(k), 2.0), (3, 4)), (12.0, 12.0 * k))
    assert g.cache_info()["compiled"] == 1
    assert nt.jit(g)((1.0, 2.0), (3, 4)) == (12.0, 12.0)
    assert nt.jvp(lambda p: p[0] * p[1], ((2.0, 3.0),), ((1.0, 0.0),)) == (6.0, 3.0)


def test_aux_of_all():
    def f(x):
        return (x * x, {"s": x.sum()}), {"positive": x > 0, "n": len(x)}

    @nt.jit
    def inside(x, t):
        y, pullback, aux = nt.vjp(f, x, has_aux=True)
        _, derivative, _ = nt.linearize(f, x, has_aux=True)
        return y, pullback((t, {"s": 2.0})), derivative(t), nt.jvp(f, (x,), (t,), has_aux=True)[1], aux

    t = np.arange(4.0)
    y, pullback, aux = nt.vjp(f, W, has_aux=True)
    _, derivative, _ = nt.linearize(f, W, has_aux=True)
    outside = y, pullback((t, {"s": 2.0})), derivative(t), nt.jvp(f, (W,), (t,), has_aux=True)[1], aux
    for found in (outside, inside(W, t)):
        np.testing.assert_allclose(found[0][0], W * W)
        np.testing.assert_allclose(found[1][0], 2 * W * t + 2)
        for tangent in found[2:4]:
            np.testing.assert_allclose(tangent[0], 2 * W * t)
            assert tangent[1]["s"] == pytest.approx(6.0)
        assert found[4]["n"] == 4
        np.testing.assert_array_equal(found[4]["positive"], W > 0)


def test_complex_numbers():
    z, t = W + 1j * W[::-1], X[0] - 2j
    np.testing.assert_allclose(nt.jvp(lambda z: z * z, (z,), (t,))[1], 2 * z * t)
    np.testing.assert_allclose(nt.linearize(np.exp, z)[1](t), np.exp(z) * t)
    np.testing.assert_allclose(
        nt.vjp(lambda z: z * z * 1j, z)[1](t)[0], 2j * z * t
    )  # the transpose, without conjugation
    np.testing.assert_allclose(nt.grad(lambda x: np.abs(x * (1 + 2j)).sum())(W), np.sqrt(5) * np.sign(W))
    with pytest.raises(TypeError, match="float64 instead of complex128"):
        nt.vjp(lambda z: z * z, z)[1](W)


def cubes(z):
    return (z**3).sum()


@pytest.mark.parametrize("dynamic", [False, True])
def test_holomorphic_functions(dynamic):
    z = W + 1j * W[::-1]
    g = nt.jit(nt.grad(cubes, holomorphic=True), dynamic=dynamic)
    for one in (z, z[:2], z[::-2], z[:0], z.astype("c8")):
        found = g(one)
        assert found.dtype == one.dtype
        np.testing.assert_allclose(found, 3 * one**2, rtol=1e-5 if one.dtype == "c8" else 1e-12)
    inside = nt.jit(lambda z: nt.value_and_grad(cubes, holomorphic=True)(z))
    for found, wanted in zip(inside(z), (cubes(z), 3 * z**2), strict=True):
        np.testing.assert_allclose(found, wanted)
    twice = nt.grad(nt.grad(lambda z: z * z * z, holomorphic=True), holomorphic=True)
    assert twice(np.complex128(2j)) == 12j
    gw, gz = nt.grad(lambda w, n, z: (w * z * n).sum(), (0, 2), holomorphic=True)(z, 2, z * 1j)
    np.testing.assert_allclose(gw, 2j * z)
    np.testing.assert_allclose(gz, 2 * z)


class Named:
    def __init__(self, w, sizes):
        self.w, self.sizes, self.name = w, sizes, "net"


def test_attributes_without_derivatives():
    """A name or a size of an object: its gradient has None there."""
    g = nt.grad(lambda p: (p.w * p.sizes[0]).sum() if p.name == "net" else 0.0)(Named(W, [3, 4]))
    np.testing.assert_allclose(g.w, np.full(4, 3.0))
    assert g.name is None and g.sizes == [None, None]
    _, tangent = nt.jvp(lambda p: p.w * p.sizes[0], (Named(W, [3, 4]),), (g,))
    np.testing.assert_allclose(tangent, np.full(4, 9.0))
    p = Named(W.copy(), [3, 4])
    _, pullback = nt.vjp(lambda p: p.w**2 * p.sizes[0], p)
    _, derivative = nt.linearize(lambda p: p.w**2 * p.sizes[0], p)
    p.w[:], p.sizes[0] = 0.0, 0
    np.testing.assert_allclose(pullback(np.ones(4))[0].w, 6 * W)
    np.testing.assert_allclose(derivative(g), 18 * W)


def test_a_method_is_compiled_once():
    model = Model(W)
    assert nt.grad(model.loss) is nt.grad(model.loss)
    assert nt.grad(model.loss) is not nt.grad(Model(W).loss)


# ---- jvp, vjp, linearize, hvp -----------------------------------------------------------------------


def f2(x, w):
    return np.tanh(x @ w), {"norm": (w * w).sum()}


T = RNG.normal(size=(3, 4)), RNG.normal(size=4)


def test_jvp():
    y, dy = nt.jvp(f2, (X, W), T)
    np.testing.assert_allclose(y[0], np.tanh(X @ W))
    np.testing.assert_allclose(dy[0], (1 - np.tanh(X @ W) ** 2) * (T[0] @ W + X @ T[1]))
    assert dy[1]["norm"] == pytest.approx(2 * (W * T[1]).sum())
    assert nt.jvp(lambda x: x**3, (2.0,), (1.0,)) == (8.0, 12.0)
    y, dy, aux = nt.jvp(lambda x: (x * x, x > 0), (W,), (T[1],), has_aux=True)
    np.testing.assert_array_equal(aux, W > 0)


def test_jvp_is_compiled_once_for_all_numbers():
    f = lambda x: x**3  # noqa: E731
    for k in range(4):
        assert nt.jvp(f, (float(k),), (1.0,)) == (k**3, 3 * k**2)
    from nestor.frontend.functional import derivatives

    known = [made for function, made in derivatives._KEPT.values() if function is f]
    assert [made.cache_info()["compiled"] for made in known] == [1]


def test_vjp_and_its_pullback():
    x, w = X.copy(), W.copy()
    _, pullback = nt.vjp(f2, x, w)
    c = RNG.normal(size=3)
    x[:], w[:] = 0, 0  # the pullback holds copies
    for factor in (1.0, -2.0):
        gx, gw = pullback((factor * c, {"norm": factor}))
        d = factor * c * (1 - np.tanh(X @ W) ** 2)
        np.testing.assert_allclose(gx, np.outer(d, W))
        np.testing.assert_allclose(gw, X.T @ d + 2 * W * factor)
    _, dy = nt.jvp(f2, (X, W), T)
    gx, gw = pullback((c, {"norm": 0.3}))
    assert (c * dy[0]).sum() + 0.3 * dy[1]["norm"] == pytest.approx((gx * T[0]).sum() + (gw * T[1]).sum())


GAIN = np.ones(4)


def test_a_pullback_holds_what_was_read_outside():
    global SCALE
    gain = np.array([1.0, 2.0, 3.0, 4.0])
    _, pullback = nt.vjp(lambda x: np.sin(x) * gain * SCALE, W)
    _, derivative = nt.linearize(lambda x: np.sin(x) * gain * SCALE, W)
    expected = np.cos(W) * [1, 2, 3, 4] * 2.0
    SCALE, gain[:] = 5.0, 0.0
    try:
        np.testing.assert_allclose(pullback(np.ones(4))[0], expected)
        np.testing.assert_allclose(derivative(np.ones(4)), expected)
    finally:
        SCALE = 2.0


def test_cotangents_that_do_not_fit():
    _, pullback = nt.vjp(f2, X, W)
    for cotangent, error, match in [
        ((np.ones(4), {"norm": 1.0}), ValueError, r"shape \(4,\) instead of \(3,\)"),
        ((np.ones(3, "f4"), {"norm": 1.0}), TypeError, "float32 instead of float64"),
        ((np.ones(3), {"other": 1.0}), ValueError, "instead of a dict"),
        ((np.ones(3), 1.0), ValueError, "1.0 instead of a dict"),
        ((np.ones(3), {"norm": "a"}), TypeError, "a str"),
    ]:
        with pytest.raises(error, match=match):
            pullback(cotangent)
    with pytest.raises(TypeError, match="takes the cotangent"):
        pullback(1.0, 2.0)


@pytest.mark.parametrize("value", [3, np.arange(3), True])
def test_vjp_of_integers(value):
    with pytest.raises(TypeError, match="only floats and complex"):
        nt.vjp(lambda x: x * 2.0, value)


def test_strided_cotangents():
    _, pullback = nt.vjp(lambda x: x * x, X)
    c = np.asfortranarray(RNG.normal(size=(3, 4)))
    np.testing.assert_allclose(pullback(c)[0], 2 * X * c)
    np.testing.assert_allclose(pullback(np.broadcast_to(2.0, (3, 4)))[0], 4 * X)


def test_linearize():
    _, derivative = nt.linearize(f2, X, W)
    for k in (1.0, 3.0):
        dy = derivative(k * T[0], k * T[1])
        np.testing.assert_allclose(dy[0], k * nt.jvp(f2, (X, W), T)[1][0])
    with pytest.raises(ValueError, match="tangent 1 has the shape"):
        derivative(T[0], np.ones(3))


def test_hvp():
    f = lambda w, x: (np.tanh(x @ w) ** 3).sum()  # noqa: E731
    along = differences.tangent(lambda w: nt.grad(f)(w, X), W, T[1])
    np.testing.assert_allclose(nt.hvp(lambda w: f(w, X), (W,), (T[1],)), along, rtol=1e-5, atol=1e-7)
    hw, hx = nt.hvp(f, (W, X), (T[1], T[0]))
    both = differences.tangent(lambda s: nt.grad(f)(W + s * T[1], X + s * T[0]), 0.0, 1.0)
    np.testing.assert_allclose(hw, both, rtol=1e-5, atol=1e-7)
    both = differences.tangent(lambda s: nt.grad(f, argnums=1)(W + s * T[1], X + s * T[0]), 0.0, 1.0)
    np.testing.assert_allclose(hx, both, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("target", TARGETS)
def test_pullbacks_in_compiled_code(target):
    @nt.jit(target=target)
    def outer(x, c):
        y, pullback = nt.vjp(lambda v: np.sin(v) * 2, x)
        (first,) = pullback(c)
        x[0] = 3.0
        _, derivative = nt.linearize(np.cos, x)
        return y, first, pullback(2 * c)[0], derivative(c)

    x, c = W.copy(), T[1]
    y, first, second, third = outer(x, c)
    np.testing.assert_allclose(y, np.sin(W) * 2)
    np.testing.assert_allclose(first, 2 * np.cos(W) * c)
    np.testing.assert_allclose(second, 4 * np.cos(W) * c)
    np.testing.assert_allclose(third, -np.sin(x) * c)
    assert x[0] == 3.0


def test_the_plain_function_and_its_gradient_do_not_disturb_each_other():
    f = nt.jit(loss)
    g = nt.grad(f)
    expected = differences.gradient(lambda w: loss(w, X), W)
    for _ in range(3):
        assert f(W, X) == pytest.approx(loss(W, X))
        np.testing.assert_allclose(g(W, X), expected, **CLOSE)
    other = nt.jit(loss)
    np.testing.assert_allclose(nt.grad(other)(W, X), expected, **CLOSE)
    assert other(W, X) == pytest.approx(loss(W, X))
