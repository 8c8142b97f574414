"""nt.checkpoint: the same values and gradients, whatever is kept; and what is kept."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from judging import leaves
from nestor.dialects.nt import CheckpointOp, DotOp, OptimizationBarrierOp
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from nestor.transforms.registry import load_pass

pytestmark = pytest.mark.one_of(5)

RNG = np.random.default_rng(7)
X, W = RNG.normal(size=(6, 5)), RNG.normal(size=(4, 5, 5)) * 0.4
SETTINGS = [
    {},
    {"policy": "save-products"},
    {"policy": "save-all"},
    {"snapshots": 2},
    {"bytes": 600},
    {"policy": "save-nothing", "snapshots": 1},
]


def quick(settings, *chosen):
    """The settings; all but those chosen are slow tests."""
    return [s if k in chosen else pytest.param(s, marks=pytest.mark.slow) for k, s in enumerate(settings)]


def layer(x, w):
    return np.tanh(x @ w) + x


def layers(x, w, scale=1.0):
    for k in range(w.shape[0]):
        x = np.sin(x @ w[k]) * scale + x
    return x


def until_small(x, w):
    while (x * x).sum() > 1.0:
        x = np.tanh(x @ w[0]) * 0.7
    return x


def branches(x, w):
    if x.sum() > 0:
        return np.exp(x @ w[0] * 0.1)
    return x * w.sum()


def writes_in_place(x, w):
    y = x.copy()
    for i in range(1, y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = y[i, j] * 0.5 + y[i - 1, j] * w[0, j, 0]
    return np.sin(y)


def of_structures(x, w):
    def inner(p):
        return {"y": p["x"] @ p["w"][0], "n": 3}

    return inner({"x": x, "w": w})["y"]


def of_nothing(x, w):
    return x + w[0, 0]


PROGRAMS = [layers, until_small, branches, writes_in_place, of_structures, of_nothing]


def loss_of(f):
    def loss(x, w):
        y = f(x, w)
        return (y * np.cos(y)).sum()

    return loss


def close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "settings"), list(zip(PROGRAMS, SETTINGS, strict=True)))
def test_gradients_are_the_same(f, settings):
    are_the_same(f, settings, (-X[:3], W[:2]))


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_the_same_for_all(f, settings):
    are_the_same(f, settings, (X, W), (-X[:3], W[:2]), (X[:1], W[:1] * 0.1))


def are_the_same(f, settings, *arguments):
    plain = nt.value_and_grad(loss_of(f), argnums=(0, 1))
    kept = nt.value_and_grad(loss_of(nt.checkpoint(f, **settings)), argnums=(0, 1))
    for x, w in arguments:
        value, gradients = kept(x, w)
        expected, others = plain(x, w)
        assert value == pytest.approx(expected, rel=1e-13)
        close(gradients, others)


@pytest.mark.parametrize("settings", quick(SETTINGS, 4), ids=str)
def test_shapes_that_the_run_knows(settings):
    agree_for_unknown_extents(settings, ((X, W), (X[:2], W[:3]), (X[:0], W)))


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_strides_that_the_run_knows(settings):
    agree_for_unknown_extents(settings, ((X[::2], W[::-1]), (np.asfortranarray(X), W)))


def agree_for_unknown_extents(settings, arguments):
    plain = nt.grad(loss_of(layers), argnums=(0, 1))
    kept = nt.jit(nt.grad(loss_of(nt.checkpoint(layers, **settings)), argnums=(0, 1)), dynamic=True)
    for x, w in arguments:
        close(kept(x, w), plain(x, w))


T, U, STACK = (RNG.normal(size=shape) for shape in (X.shape, W.shape, (3, *X.shape)))
COMPOSED = {
    "jvp": lambda f: nt.jvp(f, (X, W), (T, U)),
    "hvp": lambda f: nt.hvp(loss_of(f), (X[:2], W[:2]), (T[:2], U[:2]))[1],
    "hessian": lambda f: nt.hessian(lambda v: loss_of(f)(v, W))(X[:1]),
    "vmap of grad": lambda f: nt.vmap(nt.grad(loss_of(f)), in_axes=(0, None))(STACK, W),
    "grad of vmap": lambda f: nt.grad(lambda x: nt.vmap(f, in_axes=(0, None))(x, W).sum())(STACK),
    "pullback": lambda f: [nt.vjp(f, X, W)[1](t) for t in (T, 2 * T)],
}


@pytest.mark.parametrize("settings", quick(SETTINGS[:4], 0), ids=str)
@pytest.mark.parametrize("how", quick(COMPOSED, 1, 3))
def test_it_composes(how, settings):
    found, expected = (COMPOSED[how](f) for f in (nt.checkpoint(layers, **settings), layers))
    close(leaves(found), leaves(expected))


def test_nested_and_in_loops():
    def deep(g):
        inner = g(layer)
        outer = g(lambda x, w: inner(inner(x, w[0]), w[1]))

        def loss(x, w):
            for _ in range(3):
                x = outer(x, w)
            return (x * x).sum()

        return loss

    x, w = X[:2], W[:2]
    expected = nt.grad(deep(lambda f: f), argnums=(0, 1))(x, w)
    close(nt.grad(deep(nt.checkpoint), argnums=(0, 1))(x, w), expected)


def test_in_compiled_code_and_as_a_decorator():
    @nt.checkpoint(policy="save-products")
    def decorated(x, w):
        return layer(x, w)

    @nt.jit
    def step(x, w, settings):
        def loss(v):
            f = nt.checkpoint(layer, policy="save-all")
            g = nt.checkpoint(snapshots=settings)(layers)
            return (f(x, v[0]) * decorated(x, v[1]) * g(x, v)).sum()

        return nt.grad(loss)(w)

    x, w = X[:2], W[:3]

    def loss(v):
        return (layer(x, v[0]) * layer(x, v[1]) * layers(x, v)).sum()

    close([step(x, w, 2)], [nt.grad(loss)(w)])
    np.testing.assert_allclose(decorated(X, W[0]), layer(X, W[0]), rtol=1e-13)


def test_time_loops_whose_inner_loops_begin_at_their_step():
    def triangular(v, p):
        v = v * 1.0
        for i in range(v.shape[0]):
            for j in range(i, v.shape[0]):
                v[2] = np.sin(v[j]) * p
        return (v * v).sum()

    x = np.array([1.0, 2, 3, 4, 5, 0.5])
    expected = nt.grad(triangular, argnums=(0, 1))(x, 0.5)
    for count in (1, 4):
        close(nt.grad(nt.checkpoint(triangular, snapshots=count), argnums=(0, 1))(x, 0.5), expected)


def test_what_happens_once_happens_once(capfd):
    def noisy(x):
        print("sum", int(x.sum()))
        return np.sin(x) * np.exp(x)

    x = np.array([1.0, 2.0, 3.0])
    value, gradient = nt.value_and_grad(lambda x: (nt.checkpoint(noisy)(x) ** 2).sum())(x)
    assert capfd.readouterr().out == "sum 6\n"
    y = np.sin(x) * np.exp(x)
    assert value == pytest.approx((y**2).sum())
    np.testing.assert_allclose(gradient, 2 * y * (np.cos(x) * np.exp(x) + y))


def test_arrays_outside_are_written_once():
    def counting(x, count):
        count[0] += 1.0
        return np.sin(x) * count[0]

    def loss(x, count):
        return nt.checkpoint(counting)(x, count).sum()

    count, gradient = np.zeros(1), nt.grad(loss)
    for k in (1.0, 2.0):
        np.testing.assert_allclose(gradient(X, count), np.cos(X) * k)
        assert count[0] == k


def test_values_from_outside_may_change():
    scale = {"s": 2.0}

    def f(x):
        return np.sin(x * scale["s"])

    gradient = nt.grad(lambda x: nt.checkpoint(f)(x).sum())
    for s in (2.0, 3.0, -1.0):
        scale["s"] = s
        np.testing.assert_allclose(gradient(X), np.cos(X * s) * s)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_targets(target):
    gradient = nt.jit(nt.grad(loss_of(nt.checkpoint(layer))), target=target)
    close([gradient(X, W[0])], [nt.grad(loss_of(layer))(X, W[0])])


# ---- what is kept -----------------------------------------------------------------------------------------


def three(f):
    return lambda x, w: (f(f(f(x, w[0]), w[1]), w[2]) ** 2).sum()


def differentiated(f):
    module = parse_module(nt.value_and_grad(f).lower(X, W).as_text("nt"))
    for name in ("nt-differentiate", "canonicalize", "cse"):
        load_pass(name)().apply(make_context(), module)
    return module


@pytest.mark.parametrize(("policy", "products"), [("save-nothing", 9), ("save-products", 6), ("save-all", 6)])
def test_products_are_computed_again_as_the_policy_says(policy, products):
    """Three in the forward half, three of cotangents; and three again, where they are not kept."""
    module = differentiated(three(nt.checkpoint(layer, policy=policy)))
    ops = list(module.walk())
    assert sum(isinstance(o, DotOp) for o in ops) == products
    assert not any(isinstance(o, CheckpointOp) for o in ops)


@pytest.mark.parametrize(("policy", "count"), [("save-nothing", 2), ("save-products", 2), ("save-all", 1)])
def test_elementwise_operations_are_computed_again_unless_all_is_kept(policy, count):
    def f(x, w):
        return np.tanh(np.exp(x) * w[0, 0])

    module = differentiated(lambda x, w: nt.checkpoint(f, policy=policy)(x, w).sum())
    assert sum(o.name == "nt.exp" for o in module.walk()) == count
    assert any(isinstance(o, OptimizationBarrierOp) for o in module.walk())


def test_what_is_linear_needs_nothing():
    module = differentiated(lambda x, w: nt.checkpoint(lambda v: v[::2] * 3.0 + 1.0)(x).sum())
    assert not any(isinstance(o, OptimizationBarrierOp) for o in module.walk())


@pytest.mark.parametrize(("size", "states"), [(240, 1), (700, 2), (100_000, 40)])
def test_bytes_are_as_many_states_as_fit(size, states):
    """A state is 6 x 5 numbers of 8 bytes; there are no more of them than iterations."""

    def steps(x):
        for _ in range(40):
            x = np.sin(x)
        return x

    text = str(differentiated(lambda x, w: (nt.checkpoint(steps, bytes=size)(x)).sum()))
    assert f"tensor<{states}x6x5xf64>" in text


# ---- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "dots"}, "nt.checkpoint of layer: policy='dots'"),
        ({"snapshots": 0}, "snapshots=0"),
        ({"snapshots": True}, "snapshots=True"),
        ({"bytes": 1.5}, "bytes=1.5"),
        ({"bytes": 8, "snapshots": 1}, "both snapshots and bytes"),
    ],
)
def test_wrong_settings(settings, message):
    for make in (lambda: nt.checkpoint(layer, **settings), lambda: nt.checkpoint(**settings)(layer)):
        with pytest.raises(nt.NestorError, match=message.replace("nt.checkpoint of layer: ", "")):
            make()
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(lambda x, w: nt.checkpoint(layer, **settings)(x, w))(X, W[0])


def itself(x):
    return x


def view(x):
    return x[1:]


def in_a_structure(x):
    return {"a": [x.T]}


@pytest.mark.parametrize("f", [itself, view, in_a_structure])
def test_arrays_from_outside_are_not_returned(f):
    def loss(x):
        nt.checkpoint(f)(x)
        return x.sum()

    with pytest.raises(
        nt.NestorError, match=r"of .*: the result.* is an array from outside of it, or a view of one"
    ):
        nt.grad(loss)(X)


def test_too_few_bytes():
    def steps(x):
        for _ in range(40):
            x = np.sin(x)
        return x

    with pytest.raises(
        nt.NestorError, match="the state of an iteration has 240 bytes, and snapshots may take 100"
    ):
        nt.grad(lambda x: nt.checkpoint(steps, bytes=100)(x).sum())(X)
