"""What derivatives are refused of, and what the message says: what, where, why, and what to do."""

import functools

import nestor as nt
import numpy as np
import pytest

X = np.linspace(0.5, 2, 4)


def refused(function, *args, match, error=Exception, hint=None):
    with pytest.raises(error, match=match) as caught:
        function(*args)
    diagnostic = caught.value.diagnostic
    if hint is not None:
        assert hint in (diagnostic.hint or "")
    return diagnostic


def square(x):
    return (x * x).sum()


@pytest.mark.parametrize("value", [3, True, np.int32(4), np.arange(3), np.array([True, False])])
def test_integers_and_bools(value):
    refused(nt.grad(lambda x: x * 1.5), value, match="x is .*only floats", error=TypeError, hint="argnums")


def test_a_structure_names_the_leaf():
    params = {"w": X, "steps": [X, 3]}
    refused(nt.grad(lambda p: p["w"].sum()), params, match=r"p\['steps'\]\[1\] is", error=TypeError)


def test_what_is_no_number():
    refused(
        nt.grad(lambda mode, x: x.sum()), "mean", X, match="mode is 'mean'", error=TypeError, hint="argnums"
    )


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argnums_out_of_range(argnums):
    refused(
        nt.grad(lambda x, y: (x * y).sum(), argnums=argnums),
        X,
        X,
        match="argnums names argument",
        error=ValueError,
    )


@pytest.mark.parametrize("argnums", ["x", 1.5, (0, None), True])
def test_argnums_that_are_no_integers(argnums):
    refused(nt.grad(lambda x, y: (x * y).sum(), argnums=argnums), X, X, match="argnums", error=TypeError)


def test_an_unknown_argname():
    diagnostic = refused(
        nt.grad(lambda x, y: (x * y).sum(), argnames="z"), X, X, match="no parameter 'z'", error=ValueError
    )
    assert diagnostic.hint == "its parameters: x, y"


def test_an_argument_named_twice():
    refused(
        nt.grad(lambda x, y: (x * y).sum(), argnums=0, argnames="x"),
        X,
        X,
        match="named twice",
        error=ValueError,
    )


def test_a_loss_that_is_an_array():
    diagnostic = refused(
        nt.grad(lambda x: x * x), X, match=r"shape \(4,\) and dtype float64", error=ValueError
    )
    assert "nt.vjp" in diagnostic.hint


def test_a_loss_of_shape_one():
    refused(nt.grad(lambda x: (x * x).sum(keepdims=True)), X, match=r"shape \(1,\)", error=ValueError)


def test_a_complex_loss():
    refused(nt.grad(lambda x: (x * 1j).sum()), X, match="complex", error=TypeError, hint="nt.vjp")


def test_a_complex_argument():
    refused(nt.grad(lambda z: np.abs(z).sum()), X * 1j, match="z is", error=TypeError, hint="nt.vjp")


def test_holomorphic_is_of_complex_numbers():
    refused(nt.grad(square), X * 1j, match="x is", error=TypeError, hint="holomorphic=True")
    g = nt.grad(square, holomorphic=True)
    refused(g, X, match="x is .*of complex numbers", error=TypeError, hint="leave holomorphic=True out")
    real = nt.value_and_grad(lambda z: np.abs(z).sum(), holomorphic=True)
    refused(real, X * 1j, match="that of a holomorphic function is complex", error=TypeError, hint="nt.vjp")


def test_a_loss_that_is_none():
    def f(x):
        x.sum()

    refused(nt.grad(f), X, match="returns None", error=TypeError)


def test_a_loss_that_is_an_integer():
    refused(nt.grad(lambda x: x.shape[0]), X, match="not a floating-point number", error=TypeError)


def test_aux_without_has_aux():
    refused(nt.grad(lambda x: (x.sum(), x)), X, match="returns a tuple", error=TypeError, hint="has_aux")


def test_has_aux_without_aux():
    refused(nt.grad(square, has_aux=True), X, match=r"returns \(loss, aux\)", error=TypeError)


def test_a_function_that_writes_to_its_argument():
    def f(x):
        x[0] = 1.0
        return (x * x).sum()

    refused(nt.grad(f), X.copy(), match="f writes to x", hint="x.copy()")


def test_a_function_that_changes_an_object():
    def f(x):
        seen = []

        def g(v):
            seen.append(v)
            return v.sum()

        return nt.grad(g)(x), len(seen)

    refused(nt.jit(f), X, match="is changed by g")


def test_a_result_that_is_no_value():
    refused(nt.grad(lambda x: (x.sum(), range(3)), has_aux=True), X, match=r"result\[1\] of lambda")


def test_what_is_no_function():
    refused(nt.jit(lambda x: nt.grad(x)(x)), X, match="nt.grad takes a function", error=TypeError)


@pytest.mark.parametrize("transform", [nt.jvp, nt.hvp])
def test_primals_that_are_no_tuple(transform):
    refused(transform, square, X, X, match="primals is a ndarray", error=TypeError, hint="(x,)")


def test_another_number_of_tangents():
    refused(nt.jvp, square, (X,), (X, X), match="1 primals, and 2 tangents", error=TypeError)


@pytest.mark.parametrize(
    "tangent, error, match",
    [
        (np.ones(3), ValueError, r"shape \(3,\) instead of \(4,\)"),
        (np.ones(4, "f4"), ValueError, "float32 instead of float64"),
        ({"a": np.ones(4)}, ValueError, "a dict of 1 with a instead of a number"),
    ],
)
def test_tangents_that_do_not_fit(tangent, error, match):
    refused(nt.jvp, square, (X,), (tangent,), match=match, error=error)


def test_results_without_derivatives():
    refused(
        nt.jvp,
        lambda x: (x, x > 0),
        (X,),
        (X,),
        match=r"result\[1\] is bool",
        error=TypeError,
        hint="has_aux",
    )


def test_the_place_is_that_of_the_call():
    def outer(x):
        return nt.grad(lambda v: v * 2)(x)

    with pytest.raises(ValueError, match="loss is an array") as caught:
        nt.jit(outer)(X)
    assert f"{__file__}:" in str(caught.value)
    assert "return nt.grad(lambda v: v * 2)(x)\n               ^" in str(caught.value)


def test_of_a_derivative_by_itself_the_place_is_that_of_the_function():
    for call in (
        lambda: nt.grad(square)(np.arange(3)),
        lambda: nt.grad(nt.grad(nt.jit(square)))(np.arange(3)),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert "test_face_errors.py:" in str(caught.value)
        assert "def square(x):" in str(caught.value)
    with pytest.raises(ValueError, match="tangent 0 has") as caught:
        nt.jvp(square, (X,), (X[:2],))
    assert "def square(x):" in str(caught.value)


class Called:
    def __call__(self, x):
        return x * 2.0

    def method(self, x):
        return x * 2.0


def steps(x):
    yield x


@pytest.mark.parametrize(
    "function, line",
    [
        (Called(), "    def __call__(self, x):"),
        (Called().method, "    def method(self, x):"),
        (functools.partial(Called.method, None), "    def method(self, x):"),
        (nt.custom_vjp(square), "def square(x):"),
        (steps, "def steps(x):"),
    ],
)
def test_the_place_is_the_line_of_the_function_alone(function, line):
    with pytest.raises(nt.NestorError) as caught:
        nt.grad(function)(X)
    text = str(caught.value)
    assert text.startswith(__file__) and text.splitlines()[1] == line
    assert "<nt." not in text and text.count("^") == 1


@pytest.mark.parametrize("function, x", [(np.sin, X), (np.sum, np.arange(3))])
def test_a_function_without_a_source_shows_the_place_of_the_call(function, x):
    with pytest.raises(nt.NestorError, match=f"nt.grad of {function.__name__}: ") as caught:
        nt.grad(function)(x)
    assert str(caught.value).startswith(f"{__file__}:") and "<nt." not in str(caught.value)


def test_missing_arguments_show_the_function():
    def f(x, *, n):
        return (x * n).sum()

    for call in (lambda: nt.grad(f)(X), lambda: nt.vjp(f, X), lambda: nt.hessian(f)(X)):
        diagnostic = refused(call, match="missing a required argument: 'n'", error=TypeError)
        assert diagnostic.location.file == __file__
    refused(nt.grad(square), X, X, match="too many positional arguments", error=TypeError)


@pytest.mark.parametrize("transform", [nt.grad, nt.jacrev, nt.vmap, nt.hessian])
def test_the_result_in_the_place_of_the_function(transform):
    refused(
        transform, square(X), match="takes a function, and is given a float64", error=TypeError, hint="(f)(x)"
    )
    refused(nt.vjp, X, X, match="takes a function, and is given a ndarray", error=TypeError)


def test_a_pullback_of_python_is_no_function_of_compiled_code():
    _, pullback = nt.vjp(lambda x: x * 2, X)
    refused(nt.vmap, pullback, match="called from Python", error=nt.UnsupportedError, hint="make it inside")
    with pytest.raises(TypeError, match="takes the cotangent by position"):
        pullback(cotangent=X)


@pytest.mark.parametrize("call", [nt.jvp, nt.linearize])
def test_integers_say_which_call_would_do(call):
    name = call.__name__
    primals = ((X, 3), (X, 0)) if call is nt.jvp else (X, 3)
    refused(
        call, lambda x, n: x * n, *primals, match="only floats", error=TypeError, hint=f"nt.{name}(lambda x:"
    )


def test_a_hessian_is_of_the_function():
    refused(nt.hessian(square), np.arange(3), match="nt.hessian of square: x is", error=TypeError)


def test_a_pullback_cannot_be_returned():
    def outer(x):
        _, pullback = nt.vjp(square, x)
        return pullback

    refused(nt.jit(outer), X, match="returning a Callee")
