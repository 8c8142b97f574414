"""nt.grad and its kin at the nt level: operations beside private functions, whose operands are all that these use."""

import re
from typing import NamedTuple

import nestor as nt
import numpy as np
import pytest

SCALE = 2.5


def loss(w, x, scale=1.0):
    y = np.tanh(x @ w) * SCALE * scale
    return (y * y).sum()


def text(function, *args, **options):
    function = function if hasattr(function, "lower") else nt.jit(function, **options)
    return function.lower(*args).as_text("nt")


def functions(module):
    return re.findall(r"func\.func (?:private )?@([\w.]+)", module)


def operations(module):
    return re.findall(r"(nt\.[vj]p|nt\.vjp|nt\.jvp)( replay)? @([\w.]+)\(", module)


W, X = nt.spec((4,), "f4"), nt.spec((3, 4), "f4")


def test_a_gradient_is_a_vjp_of_one():
    module = text(nt.grad(loss), W, X)
    assert functions(module) == ["loss", "grad_of_loss"]
    assert (
        "nt.vjp @loss(%w, %x : tensor<4xf32>, tensor<3x4xf32>) cotangents(%0 : tensor<f32>) wrt [0] of [0]"
        in module
    )
    assert "%0 = nt.constant dense<1.000000e+00> : tensor<f32>" in module


def test_what_the_function_uses_from_outside_is_an_operand():
    def outer(x, k):
        h = x * k
        return nt.grad(lambda v: (v * h).sum() * k)(x)

    module = text(outer, W, 3.0)
    assert (
        "func.func private @lambda(%v: tensor<4xf32>, %h: tensor<4xf32>, %0: tensor<f64>) -> tensor<f32>"
        in module
    )


def test_extents_of_the_run_are_operands():
    module = text(lambda x: nt.grad(lambda v: (v * np.arange(len(v))).sum())(x), nt.spec(("n",), "f8"))
    private = re.search(r"@lambda\(([^)]*)\)", module)
    assert private is not None and "index" in private[1]


def test_extents_that_only_the_function_knows_are_results():
    def outer(x):
        return nt.value_and_grad(lambda v: ((v * v).sum(), v[v > 0]), has_aux=True)(x)

    module = text(outer, nt.spec((5,), "f8"))
    assert re.search(r"@lambda\(.*\) -> \(tensor<f64>, tensor<\?xf64>, index\)", module)


def test_derivatives_of_derivatives_are_beside_functions_that_hold_derivatives():
    def outer(x):
        return nt.grad(lambda v: (nt.grad(lambda u: (u**3).sum())(v) * v).sum())(x)

    module = text(outer, nt.spec((4,), "f8"))
    assert [name for _, _, name in operations(module)] == ["lambda", "lambda.1"]
    assert functions(module) == ["lambda", "lambda.1", "outer"]


def test_a_standalone_gradient_of_a_gradient_is_the_same():
    inner = nt.grad(lambda x: x**4)
    module = text(nt.grad(inner), 3.0)
    assert len(operations(module)) == 2


def test_the_pullback_replays_with_the_operands_of_the_call():
    def outer(x, c):
        y, pullback = nt.vjp(lambda v: np.sin(v) * 2, x)
        first = pullback(c)
        x[0] = 3.0
        return y, first, pullback(2 * c)

    module = text(outer, nt.spec((4,), "f8"), nt.spec((4,), "f8"))
    assert [(op, name) for op, _, name in operations(module)] == [("nt.vjp", "lambda")] * 2
    assert module.count("nt.vjp replay @lambda(%x : tensor<4xf64>)") == 2


def test_linearize_and_jvp():
    def outer(x, t):
        y, derivative = nt.linearize(np.sin, x)
        return y, derivative(t), nt.jvp(np.sin, (x,), (t,))

    module = text(outer, nt.spec((4,), "f8"), nt.spec((4,), "f8"))
    assert [(op, replay) for op, replay, _ in operations(module)] == [("nt.jvp", " replay"), ("nt.jvp", "")]


def test_a_product_with_the_hessian_is_a_jvp_of_a_gradient():
    module = text(
        lambda x, v: nt.hvp(lambda u: (u**3).sum(), (x,), (v,)), nt.spec((4,), "f8"), nt.spec((4,), "f8")
    )
    assert [(op, name) for op, _, name in operations(module)] == [
        ("nt.vjp", "lambda"),
        ("nt.jvp", "hvp_of_lambda"),
    ]


class Layer(NamedTuple):
    weights: np.ndarray
    bias: np.ndarray


def test_gradients_have_the_structure_of_the_argument():
    def outer(p, x):
        return nt.grad(lambda p: ((x @ p["a"].weights + p["a"].bias) * p["b"][0]).sum())(p)

    params = {"a": Layer(nt.spec((4, 2), "f4"), nt.spec((2,), "f4")), "b": [nt.spec((), "f4"), None]}
    module = text(outer, params, X)
    assert "wrt [0, 1, 2] of [0]" in module
    assert "%d_p_a_weights" in module


def test_stop_gradient_is_an_operation():
    module = text(lambda x: nt.stop_gradient({"a": x, "n": 3})["a"] + x, nt.spec((4,), "f8"))
    assert "nt.stop_gradient %x : tensor<4xf64>" in module


def test_what_the_function_writes_outside_is_a_result():
    def outer(x, log):
        def f(v):
            log[0] = v.sum()
            return (v * v).sum()

        return nt.grad(f)(x)

    module = text(outer, nt.spec((4,), "f8"), nt.spec((2,), "f8"))
    assert re.search(
        r"private @f\(%v: tensor<4xf64>, %log: tensor<2xf64>\) -> \(tensor<f64>, tensor<2xf64>\)", module
    )
    assert "nt.writes_arg" in module


@pytest.mark.parametrize("argnums, wrt", [(0, "[0]"), (1, "[0]"), ((1, 0), "[0, 1]"), (-1, "[0]")])
def test_argnums_choose_what_comes_first(argnums, wrt):
    module = text(nt.grad(lambda w, x: (x @ w).sum(), argnums=argnums), W, X)
    assert f"wrt {wrt} of [0]" in module


def test_nothing_is_left_of_a_loop_that_was_tried():
    def outer(xs):
        total = np.zeros(3)
        for x in xs:
            total = total + nt.grad(lambda v: (v**2).sum())(x)
        return total

    module = text(outer, nt.spec((20, 3), "f8"))
    assert functions(module).count("outer") == 1 and len(functions(module)) == 2
    assert "scf.for" in module
