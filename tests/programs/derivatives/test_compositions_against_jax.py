"""Compositions of jvp, vjp, vmap, Jacobians, Hessians, linearize, custom rules and stop_gradient against jax in float64.

Each program is a function of a namespace (`Nestor` or `Jax`) and of arrays. It is called from Python, and in a compiled
function, both twice: with other extents and values the second time. The tolerance is 1e-7, relative, and 1e-9 around zero.
"""

import nestor as nt
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed (the extra 'bench' has it)")
pytestmark = pytest.mark.slow

TRANSFORMS = "grad value_and_grad jvp vjp linearize vmap jacfwd jacrev hessian custom_vjp custom_jvp"


class Nestor:
    np = np


class Jax:
    np = jax.numpy
    stop_gradient = staticmethod(jax.lax.stop_gradient)

    @staticmethod
    def hvp(f, primals, tangents):
        product = jax.jvp(jax.grad(f, tuple(range(len(primals)))), primals, tangents)[1]
        return product[0] if len(primals) == 1 else product


for _name in TRANSFORMS.split():
    setattr(Nestor, _name, staticmethod(getattr(nt, _name)))
    setattr(Jax, _name, staticmethod(getattr(jax, _name)))
Nestor.hvp, Nestor.stop_gradient = staticmethod(nt.hvp), staticmethod(nt.stop_gradient)


def arrays(seed, rows, columns):
    rng = np.random.default_rng(seed)
    x, t = rng.standard_normal((2, rows, columns))
    a = rng.standard_normal((columns, columns)) + 4 * np.eye(columns)
    v, u = rng.standard_normal((2, columns))
    return {"x": x, "t": t, "a": a, "v": v, "u": u, "y": rng.standard_normal(rows)}


CALLS = arrays(5, 4, 3), arrays(6, 3, 5)


def network(np, v, x):
    return np.tanh(x @ v) * v.sum()


def energy(np, v, a):
    return (np.sin(a @ v) ** 2).sum() + np.exp(-(v * v).sum())


def hvp_of_hvp(k, v, u, a):
    """The third derivative in two directions."""
    return k.hvp(lambda v: k.np.sum(k.hvp(lambda w: energy(k.np, w, a), (v,), (u,)) * u), (v,), (u,))


def per_example_norms(k, v, x, y):
    gradient = k.grad(lambda v, row, target: (k.np.tanh(row @ v) - target) ** 2)
    each = k.vmap(gradient, (None, 0, 0))(v, x, y)
    return k.np.sqrt((each * each).sum(axis=1)), each


def jvp_of_vjp(k, v, x, u, y):
    def pulled(v):
        return k.vjp(lambda w: network(k.np, w, x), v)[1](y)[0]

    return k.jvp(pulled, (v,), (u,))


def vjp_of_jvp(k, v, x, u, y):
    def pushed(v):
        return k.jvp(lambda w: network(k.np, w, x), (v,), (u,))[1]

    value, pullback = k.vjp(pushed, v)
    return value, pullback(y)


def gradient_of_a_hessian(k, v, a):
    return k.grad(
        lambda v: k.np.log(k.np.linalg.det(k.hessian(lambda w: (w**4).sum() + (a @ w) @ w)(v)) ** 2)
    )(v)


def penalty(k, v, x):
    """A gradient penalty: the gradient of the norm of gradients."""

    def loss(v):
        rows = k.vmap(k.grad(lambda row, v: k.np.tanh(row @ v) ** 2), (0, None))(x, v)
        return (rows * rows).sum(axis=1).mean()

    return k.value_and_grad(loss)(v)


def newton_step(k, v, a):
    h = k.hessian(lambda w: (w**4).sum() + ((a @ w) ** 2).sum())(v)
    g = k.grad(lambda w: (w**4).sum() + ((a @ w) ** 2).sum())(v)
    return v - k.np.linalg.solve(h, g)


def laplacian(k, x):
    return k.vmap(lambda v: k.np.trace(k.hessian(lambda w: k.np.sin(w).prod() + (w**3).sum())(v)))(x)


def divergence(k, x, a):
    return k.vmap(lambda v: k.np.trace(k.jacfwd(lambda w: k.np.tanh(a @ w) * w)(v)))(x)


def gauss_newton(k, v, x, u):
    _, pushed = k.linearize(lambda w: network(k.np, w, x), v)
    _, pullback = k.vjp(lambda w: network(k.np, w, x), v)
    return pullback(pushed(u))[0]


def linearized_rows(k, v, x, t):
    return k.vmap(lambda t: k.linearize(lambda w: network(k.np, w, x), v)[1](t))(t)


def pulled_rows(k, v, a):
    return k.vmap(lambda c: k.vjp(lambda w: k.np.exp(a @ w / 9), v)[1](c))(a)[0]


def jacobian_of_structures(k, v, a):
    def f(p):
        return {"s": p["v"] @ a, "t": (p["v"] * p["b"]).sum()}

    rows, columns = k.jacrev(f)({"v": v, "b": 2.0 * v}), k.jacfwd(f)({"v": v, "b": 2.0 * v})
    return [(j["s"]["v"], j["s"]["b"], j["t"]["v"], j["t"]["b"]) for j in (rows, columns)]


def blocks_of_a_hessian(k, v, u, a):
    return k.hessian(lambda v, u: k.np.sin(v @ a @ u) + (v * v * u).sum(), (0, 1))(v, u)


def root_of(k):
    @k.custom_vjp
    def root(y):
        return k.np.sqrt(y * y + 1.0)

    def forward(y):
        out = root(y)
        return out, (y, out)

    def backward(kept, c):
        return (3.0 * c * kept[0] / kept[1],)

    root.defvjp(forward, backward)
    return root


def softplus_of(k):
    @k.custom_jvp
    def softplus(y):
        return k.np.log(1.0 + k.np.exp(y))

    @softplus.defjvp
    def _(primals, tangents):
        (y,), (t,) = primals, tangents
        return softplus(y), 2.0 * t / (1.0 + k.np.exp(-y))

    return softplus


for _k in (Nestor, Jax):
    _k.root, _k.softplus = staticmethod(root_of(_k)), staticmethod(softplus_of(_k))


def custom_reverse(k, v, x):
    """A rule that is no derivative, so that it is seen whether it was taken."""
    rows = k.vmap(k.grad(lambda row, v: k.root(row @ v)), (0, None))(x, v)
    return rows, k.grad(lambda v: k.root(x @ v).sum())(v), k.jacrev(lambda v: k.root(x @ v))(v)


def custom_forward(k, v, x):
    f = lambda v: k.softplus(x @ v).sum()  # noqa: E731
    return k.hessian(f)(v), k.jacfwd(lambda v: k.softplus(x @ v))(v), k.grad(f)(v)


def straight_through(k, v, x):
    def quantised(y):
        return y + k.stop_gradient(k.np.round(y) - y)

    f = lambda v, row: (quantised(row * v) ** 2).sum()  # noqa: E731
    return k.vmap(k.value_and_grad(f), (None, 0))(v, x), k.jvp(lambda v: f(v, x[0]), (v,), (v,))


def advantage(k, v, x):
    """A score function times a baseline that is held constant."""

    def loss(v):
        scores = k.np.tanh(x @ v)
        gain = k.stop_gradient(scores - scores.mean())
        return (scores * gain).sum()

    return k.value_and_grad(loss)(v), k.hvp(loss, (v,), (v,))


def unrolled(k, v, a, u):
    """The gradient with respect to a step size and a start, through steps of descent."""

    def after(rate, start):
        for _ in range(3):
            start = start - rate * k.grad(lambda w: energy(k.np, w, a))(start)
        return energy(k.np, start, a) + (start * u).sum()

    return k.grad(after, (0, 1))(0.05, v)


def flows(k, x, a):
    """Slices along different axes, of a function and its Jacobian at once."""

    def both(v):
        return a @ k.np.sin(v), k.jacrev(lambda w: a @ k.np.sin(w))(v)

    return k.vmap(both, 1, (1, 0))(x.T)


def all_pairs(k, x, t):
    kernel = lambda p, q: k.np.exp(-((p - q) ** 2).sum())  # noqa: E731
    pairs = k.vmap(k.vmap(kernel, (None, 0)), (0, None))
    mixed = k.vmap(k.vmap(k.jacfwd(k.grad(kernel, 0), 1), (None, 0)), (0, None))
    return pairs(x, t), mixed(x, t)


def fisher(k, v, x):
    def log_likelihood(v, row):
        logits = row * v
        return logits[0] - k.np.log(k.np.exp(logits).sum())

    scores = k.vmap(k.grad(log_likelihood), (None, 0))(v, x)
    return scores.T @ scores / len(x)


def implicit(k, v, a):
    """A root by Newton's method, with the derivative of the implicit function theorem."""

    def residual(z, v):
        return z + 0.1 * k.np.sin(a @ z) - v

    z = v
    for _ in range(5):
        z = z - k.np.linalg.solve(k.jacfwd(residual, 0)(z, v), residual(z, v))
    return z, k.np.linalg.solve(k.jacrev(residual, 0)(z, v), -k.jacrev(residual, 1)(z, v))


def third(k, v):
    f = lambda s: k.np.sin(s) * s**3  # noqa: E731
    return k.vmap(k.grad(k.grad(k.grad(f))))(v), k.vmap(k.jacfwd(k.jacrev(k.grad(f))))(v)


def aux_everywhere(k, v, x):
    f = lambda v: ((k.np.tanh(x @ v) ** 2).sum(), {"h": x @ v})  # noqa: E731
    (value, aux), g = k.value_and_grad(f, has_aux=True)(v)
    y, pullback, more = k.vjp(f, v, has_aux=True)
    return value, aux["h"], g, y, pullback(2.0 * y), more["h"], k.jvp(f, (v,), (v,), has_aux=True)[1]


def of_complex_numbers(k, v, u):
    z = v + 1j * u
    power = lambda z: k.np.exp(z) * z  # noqa: E731
    return (
        k.jvp(power, (z,), (1j * z,)),
        k.vjp(power, z)[1](z),
        k.grad(lambda v: k.np.abs(power(v + 1j * u)).sum())(v),
    )


PROGRAMS = {
    f.__name__: f
    for f in (
        hvp_of_hvp,
        per_example_norms,
        jvp_of_vjp,
        vjp_of_jvp,
        gradient_of_a_hessian,
        penalty,
        newton_step,
        laplacian,
        divergence,
        gauss_newton,
        linearized_rows,
        pulled_rows,
        jacobian_of_structures,
        blocks_of_a_hessian,
        custom_reverse,
        custom_forward,
        straight_through,
        advantage,
        unrolled,
        flows,
        all_pairs,
        fisher,
        implicit,
        third,
        aux_everywhere,
        of_complex_numbers,
    )
}


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def compare(found, expected):
    if isinstance(found, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
        return
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def names_of(f):
    return f.__code__.co_varnames[1 : f.__code__.co_argcount]


@pytest.mark.parametrize("name", PROGRAMS)
def test_called_from_python(name):
    f = PROGRAMS[name]
    for values in CALLS:
        args = [values[name] for name in names_of(f)]
        compare(f(Nestor, *args), f(Jax, *args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_compiled_code(name):
    f = PROGRAMS[name]
    compiled = nt.jit(lambda *args: f(Nestor, *args))
    for values in CALLS:
        args = [values[name] for name in names_of(f)]
        compare(compiled(*args), f(Jax, *args))
