"""`nt.custom_vjp` and `nt.custom_jvp`: derivatives that the user gives, in both modes, of all orders, with structures."""

import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(7)
X = RNG.normal(size=5)
TARGETS = ("cpu", "interp")


@nt.custom_vjp
def sine(x, k):
    return np.sin(x) * k


def sine_fwd(x, k):
    return sine(x, k), (x, k)


def sine_bwd(residuals, c):
    x, k = residuals
    return 10 * c * np.cos(x) * k, None  # ten times the truth: whose rule was used can be seen


sine.defvjp(sine_fwd, sine_bwd)


@nt.custom_jvp
def power(x, k):
    return x**k


@power.defjvp
def power_jvp(primals, tangents):
    (x, k), (tx, tk) = primals, tangents
    return power(x, k), 7 * tx * x + tk


def test_by_itself_it_is_the_function():
    np.testing.assert_array_equal(sine(X, 2.0), np.sin(X) * 2)
    np.testing.assert_allclose(nt.jit(sine)(X, 2.0), np.sin(X) * 2)
    np.testing.assert_allclose(nt.jit(lambda x: sine(x, k=2.0))(X), np.sin(X) * 2)


@pytest.mark.parametrize("target", (*TARGETS, "cuda-sim"))
def test_the_rule_takes_the_place_of_the_derivative(target):
    g = nt.jit(nt.grad(lambda x, k: sine(x, k).sum() + (x * x).sum(), argnums=(0, 1)), target=target)
    gx, gk = g(X, 2.0)
    np.testing.assert_allclose(gx, 20 * np.cos(X) + 2 * X)
    assert gk == 0.0
    np.testing.assert_allclose(nt.grad(sine)(0.5, 2.0), 20 * np.cos(0.5))
    np.testing.assert_allclose(nt.grad(nt.jit(sine))(0.5, 2.0), 20 * np.cos(0.5))
    np.testing.assert_allclose(nt.vjp(lambda x: sine(x, 1.0), X)[1](np.ones(5))[0], 10 * np.cos(X))


def test_other_shapes_and_extents_of_the_run():
    g = nt.jit(nt.grad(lambda x: sine(x, 1.0).sum()), dynamic=True)
    for n in (5, 3, 1, 0):
        np.testing.assert_allclose(g(X[:n]), 10 * np.cos(X[:n]))


def test_derivatives_of_derivatives_use_the_rule_again():
    second = nt.grad(lambda x: nt.grad(lambda v: sine(v, 2.0).sum())(x).sum())
    np.testing.assert_allclose(second(X), -20 * np.sin(X))
    # The residual of the outer sine is the inner one: its derivative is that of the rule.
    both = nt.grad(nt.grad(lambda x: sine(sine(x, 1.0), 1.0)))
    expected = lambda x: 100 * (-np.sin(np.sin(x)) * 10 * np.cos(x) ** 2 - np.cos(np.sin(x)) * np.sin(x))  # noqa: E731
    assert both(0.5) == pytest.approx(expected(0.5))


def test_what_the_rule_returns_of_the_function_has_the_rule():
    @nt.custom_vjp
    def f(x):
        return np.floor(x)  # whose derivative is zero

    f.defvjp(lambda x: (lambda y: (y, y))(f(x)), lambda y, c: (c * y,))
    assert nt.grad(f)(2.5) == 2.0
    assert nt.grad(nt.grad(f))(2.5) == 2.0  # d(c * f(x))/dx, by the rule


@pytest.mark.parametrize("target", TARGETS)
def test_a_rule_for_forward_mode_serves_both(target):
    y, dy = nt.jvp(power, (X, 2.0), (np.ones(5), 3.0))
    np.testing.assert_allclose(y, X**2)
    np.testing.assert_allclose(dy, 7 * X + 3)
    gx, gk = nt.jit(nt.grad(lambda x, k: power(x, k).sum(), argnums=(0, 1)), target=target)(X, 2.0)
    np.testing.assert_allclose(gx, 7 * X)
    assert gk == pytest.approx(5.0)
    np.testing.assert_allclose(nt.hvp(lambda x: power(x, 2.0).sum(), (X,), (np.ones(5),)), np.full(5, 7.0))
    np.testing.assert_allclose(nt.grad(lambda x: nt.jvp(lambda v: power(v, 3.0), (x,), (1.0,))[1])(2.0), 7.0)


def test_constants_stay_constants():
    """An exponent that is known: a power of Python's floats needs it."""
    np.testing.assert_allclose(nt.grad(lambda x: power(x, 3.0))(2.0), 14.0)


def test_structures():
    @nt.custom_vjp
    def f(p, n):
        return {"y": p["w"] * p["b"][0], "n": n + 1}

    def fwd(p, n):
        return f(p, n), (p, n)

    def bwd(residuals, c):
        p, _ = residuals
        return {"w": c["y"] * p["b"][0], "b": [None]}, None

    f.defvjp(fwd, bwd)
    p = {"w": X, "b": [3.0]}
    g = nt.grad(lambda p: f(p, 4)["y"].sum() * f(p, 4)["n"])(p)
    np.testing.assert_allclose(g["w"], np.full(5, 15.0))
    assert g["b"] == [0.0]


def test_arguments_that_are_not_differentiated():
    @nt.custom_vjp
    def plain(kind, x, function):
        return x

    f = nt.custom_vjp(lambda kind, x, function: function(x) * (2.0 if kind == "double" else 1.0), (0, 2))
    f.defvjp(
        lambda kind, x, function: (f(kind, x, function), x),
        lambda kind, function, x, c: (c * function(x) * (20.0 if kind == "double" else 10.0),),
    )
    for kind, factor in (("double", 20.0), ("single", 10.0)):
        np.testing.assert_allclose(nt.grad(lambda x, k=kind: f(k, x, np.cos).sum())(X), factor * np.cos(X))
    plain.defvjp(lambda kind, x, function: (x, None), lambda r, c: (None, c, None))
    with pytest.raises(TypeError, match="argument 0 of plain is 'mean'"):
        nt.grad(lambda x: plain("mean", x, np.sin).sum())(X)


def test_a_function_without_a_derivative():
    """Python computes it; the rule says what its derivative is."""

    @nt.custom_vjp
    def outside(x):
        return nt.custom_call(np.exp, x, result=nt.spec(x.shape, x.dtype))

    outside.defvjp(lambda x: (outside(x), x), lambda x, c: (c * np.exp(x),))
    np.testing.assert_allclose(nt.grad(lambda x: outside(x).sum())(X), np.exp(X))


CALLS = []


def counted(x):
    CALLS.append(len(CALLS) + 1)
    return np.full(x.shape, float(len(CALLS)))


def test_python_is_called_once():
    """What a pullback needs was computed: a second call might give something else."""
    CALLS.clear()
    drawn = nt.custom_vjp(lambda x: nt.custom_call(counted, x, result=nt.spec(x.shape, x.dtype)))
    drawn.defvjp(lambda x: (drawn(x), x), lambda x, c: (c * x,))
    y, pullback = nt.vjp(drawn, X)
    np.testing.assert_allclose(pullback(np.ones(5))[0], X)
    np.testing.assert_array_equal(y, np.ones(5))
    assert CALLS == [1]

    def scaled(x):
        return x * nt.stop_gradient(nt.custom_call(counted, x, result=nt.spec(x.shape, x.dtype)))

    np.testing.assert_array_equal(nt.grad(lambda x: scaled(x).sum())(X), np.full(5, 2.0))
    with pytest.raises(nt.NestorError, match="would call it once more"):
        nt.vjp(scaled, X)


def test_a_loop_over_elements():
    @nt.custom_vjp
    def running(x):
        y = np.empty_like(x)
        s = 0.0
        for i in range(len(x)):
            s = 0.5 * s + x[i]
            y[i] = s
        return y

    def bwd(_, c):
        g = np.empty_like(c)
        s = 0.0
        for i in range(len(c) - 1, -1, -1):
            s = 0.5 * s + c[i]
            g[i] = s
        return (g,)

    running.defvjp(lambda x: (running(x), None), bwd)
    f = lambda x: (running(x) * np.arange(5)).sum()  # noqa: E731
    expected = [f(np.eye(5)[k]) for k in range(5)]
    np.testing.assert_allclose(nt.grad(f)(X), expected)


def test_values_from_outside():
    @nt.jit
    def step(x, k):
        @nt.custom_vjp  # a decorator in compiled code is refused
        def f(v):
            return v

        return f(x) * k

    with pytest.raises(nt.UnsupportedError, match="decorated"):
        step(X, 2.0)


SCALE = np.array([2.0])


def test_arrays_from_outside_are_read_anew():
    f = nt.custom_vjp(lambda x: x * SCALE[0])
    f.defvjp(lambda x: (f(x), None), lambda _, c: (c * SCALE[0] * 10,))
    g = nt.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(g(X), np.full(5, 20.0))
    SCALE[0] = 3.0
    np.testing.assert_allclose(g(X), np.full(5, 30.0))
    SCALE[0] = 2.0


def test_a_rule_that_is_replaced():
    f = nt.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (f(x), None), lambda _, c: (2 * c,))
    g = nt.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(g(X), np.full(5, 2.0))
    f.defvjp(lambda x: (f(x), None), lambda _, c: (3 * c,))
    np.testing.assert_allclose(g(X), np.full(5, 3.0))


def test_prints_once(capfd):
    f = nt.custom_vjp(lambda x: (print("f"), x)[1])
    f.defvjp(lambda x: (f(x), None), lambda _, c: (2 * c,))
    np.testing.assert_allclose(nt.grad(lambda x: f(x).sum() ** 2)(X), np.full(5, 4 * X.sum()))
    _, pullback = nt.vjp(f, X)
    pullback(X)
    assert capfd.readouterr().out == "f\n" * 2


# ---- refusals ---------------------------------------------------------------------------------------


def refused(function, match, error=TypeError):
    with pytest.raises(error, match=match):
        function(X)


def made(fwd, bwd, function=lambda x: x * 2):
    f = nt.custom_vjp(function)
    f.defvjp(fwd, bwd)
    return nt.grad(lambda x: f(x).sum())


def test_refusals():
    f = nt.custom_vjp(lambda x: x)
    refused(nt.grad(lambda x: f(x).sum()), "has no derivative yet")
    refused(made(lambda x: x * 2, lambda r, c: (c,)), r"fwd of lambda returns \(result, residuals\)")
    refused(made(lambda x: (x[:2], None), lambda r, c: (c,)), "another result", ValueError)
    refused(made(lambda x: (x * 2, None), lambda r, c: (c, c)), "a tuple of 1, one for each argument")
    refused(
        made(lambda x: (x * 2, None), lambda r, c: (c[:2],)), r"shape \(2,\) instead of \(5,\)", ValueError
    )
    refused(made(lambda x: (x * 2, None), lambda r, c: ((c, c),)), "instead of a number", ValueError)
    with pytest.raises(TypeError, match="nondiff_argnums"):
        nt.custom_vjp(lambda x: x, nondiff_argnums=(-1,))


def test_a_function_that_writes_to_its_argument():
    def f(x):
        x[0] = 1.0
        return x * 2

    with pytest.raises(nt.UnsupportedError, match="writes to argument 0"):
        made(lambda x: (x * 2, None), lambda r, c: (c,), f)(X.copy())


def test_forward_mode_of_a_rule_for_reverse_mode():
    with pytest.raises(nt.NestorError, match="forward mode needs"):
        nt.jvp(lambda x: sine(x, 1.0), (X,), (X,))


def test_a_value_from_outside_that_is_differentiated():
    def outer(x):
        def scaled(v):
            return v * x  # x is differentiated, and no argument

        return inner(scaled, x).sum()

    inner = nt.custom_vjp(lambda function, v: function(v), (0,))
    inner.defvjp(lambda function, v: (inner(function, v), None), lambda function, r, c: (c,))
    refused(nt.grad(outer), "uses a value from outside.*differentiated", nt.NestorError)


def test_under_vmap_and_jacobians():
    rows = np.outer(np.arange(1.0, 4.0), X)
    np.testing.assert_allclose(nt.vmap(nt.grad(lambda x: sine(x, 2.0).sum()))(rows), 20 * np.cos(rows))
    shared = nt.grad(lambda w: nt.vmap(lambda r: sine(r * w, 2.0))(rows).sum())(X)
    np.testing.assert_allclose(shared, (20 * np.cos(rows * X) * rows).sum(axis=0))
    np.testing.assert_allclose(
        nt.vmap(lambda r: nt.jvp(lambda x: power(x, 2.0), (r,), (r,))[1])(rows), 7 * rows**2
    )
    np.testing.assert_allclose(nt.jacrev(lambda x: sine(x, 1.0))(X), np.diag(10 * np.cos(X)))
    np.testing.assert_allclose(nt.hessian(lambda x: power(x, 2.0).sum())(X), 7 * np.eye(5))


def test_in_loops_and_branches():
    def many(x):
        for _ in range(20):
            x = sine(x, 0.1)
        return x.sum()

    expected, x = np.ones(5), X
    for _ in range(20):
        expected, x = expected * np.cos(x), 0.1 * np.sin(x)
    np.testing.assert_allclose(nt.grad(many)(X), expected)

    def either(x):
        y = sine(x, 1.0) if x.sum() > 0 else power(x, 2.0)
        return y.sum()

    positive = np.abs(X)
    np.testing.assert_allclose(nt.grad(either)(positive), 10 * np.cos(positive))
    np.testing.assert_allclose(nt.grad(either)(-positive), -7 * positive)

    def elements(x):
        s = 0.0
        for i in range(len(x)):
            s += sine(x[i], 1.0)
        return s

    np.testing.assert_allclose(nt.grad(elements)(X), 10 * np.cos(X))
    assert nt.jit(elements)(X) == pytest.approx(np.sin(X).sum())


def test_several_results_and_extents():
    both = nt.custom_vjp(lambda x: (x * 2, x * 3))
    both.defvjp(lambda x: (both(x), len(x)), lambda n, c: (n * (c[0] * 2 + c[1] * 3),))

    def product(x):
        a, b = both(x)
        return (a * b).sum()

    for n in (5, 3):
        np.testing.assert_allclose(nt.grad(product)(X[:n]), n * 12 * X[:n])
        np.testing.assert_allclose(nt.grad(lambda x: both(x)[0].sum())(X[:n]), np.full(n, 2.0 * n))
    g = nt.jit(nt.grad(product), dynamic=True)
    for n in (5, 3, 1):
        np.testing.assert_allclose(g(X[:n]), n * 12 * X[:n])


def test_a_rule_that_applies_its_own_function_to_tangents():
    """Forward mode does what the rule says; reverse mode would need the rule to find the derivative of the rule."""
    g = nt.custom_jvp(lambda x: np.sin(x))
    g.defjvp(lambda primals, tangents: (g(primals[0]), g(tangents[0]) * np.cos(primals[0])))
    _, tangent = nt.jvp(g, (X,), (np.ones(5),))
    np.testing.assert_allclose(tangent, np.sin(1) * np.cos(X))
    refused = r"(?s)applies its own function to tangents.*write the tangent without the function"
    for derivative in (
        nt.grad(lambda x: g(x).sum()),
        nt.grad(lambda x: nt.grad(lambda v: g(v).sum())(x).sum()),
    ):
        with pytest.raises(nt.NestorError, match=refused):
            derivative(X)


def test_a_rule_that_applies_its_own_function_to_other_primals():
    g = nt.custom_jvp(lambda x: np.sin(x))
    g.defjvp(lambda primals, tangents: (g(primals[0]), g(primals[0] + np.pi / 2) * tangents[0]))
    first = nt.grad(lambda x: g(x).sum())
    np.testing.assert_allclose(first(X), np.cos(X))
    np.testing.assert_allclose(nt.grad(lambda x: first(x).sum())(X), -np.sin(X), atol=1e-12)
