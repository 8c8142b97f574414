"""Composites with derivatives of the user's: their rules are what is computed, in both modes and twice."""

import numpy as np
import pytest
from derivative_programs import run_passes
from nestor.dialects.registry import make_context
from nestor.runtime.interp.run import run_nest
from xdsl.dialects import func
from xdsl.parser import Parser

# The region computes sin(x) * w; the rules say what it is not, so that they are seen: x' = c * x * w, w' = 2 * c * x.
RULES = """
func.func private @f.vjp(%x: V, %w: V, %c: V) -> (V, V) {
  %0 = nt.multiply %c, %x : V
  %1 = nt.multiply %0, %w : V
  %2 = nt.add %0, %0 : V
  func.return %1, %2 : V, V
}
func.func private @f.jvp(%x: V, %w: V, %tx: V, %tw: V) -> (V, V) {
  %y = nt.multiply %x, %w : V
  %0 = nt.multiply %tx, %y : V
  %1 = nt.multiply %tw, %x : V
  %2 = nt.add %1, %1 : V
  %3 = nt.add %0, %2 : V
  func.return %y, %3 : V, V
}
func.func private @g(%x: V, %w: V) -> V {
  %y = nt.composite "f"(%x, %w : V, V) attributes {RULE} -> V {
  ^bb0(%a: V, %b: V):
    %s = nt.sin %a : V
    %p = nt.multiply %s, %b : V
    nt.yield %p : V
  }
  func.return %y : V
}
"""
X, W, C = np.random.default_rng(3).standard_normal((3, 4))
VJP, JVP = "nt.vjp_rule = @f.vjp", "nt.jvp_rule = @f.jvp"


def run(main: str, rule: str, arguments, results: int) -> list[np.ndarray]:
    text = (RULES.replace("RULE", rule) + main).replace("V", "tensor<4xf64>")
    module = Parser(make_context(), text).parse_module()
    module.verify()
    run_passes(module, "to-nest")
    functions = [o for o in module.ops if isinstance(o, func.FuncOp)]
    names = [f.sym_name.data for f in functions]
    assert not [n for n in names if f"@{n}" in rule or n == "g"], "what was put in place is gone"
    outs = [np.full(4, 77.0) for _ in range(results)]
    run_nest(functions[names.index("main")], [*map(np.copy, arguments), *outs])
    return outs


REVERSE = """
func.func @main(%x: V, %w: V, %c: V) -> (V, V, V) {
  %y, %a, %b = nt.vjp @g(%x, %w : V, V) cotangents(%c : V) wrt [0, 1] of [0] -> (V, V, V)
  func.return %y, %a, %b : V, V, V
}
"""
FORWARD = """
func.func @main(%x: V, %w: V, %t: V) -> (V, V) {
  %y, %a = nt.jvp @g(%x, %w : V, V) tangents(%t : V) wrt [0] of [0] -> (V, V)
  func.return %y, %a : V, V
}
"""


@pytest.mark.parametrize("rule", [VJP, JVP, f"{VJP}, {JVP}"])
def test_reverse_mode(rule):
    y, gx, gw = run(REVERSE, rule, [X, W, C], 3)

    np.testing.assert_allclose(y, np.sin(X) * W)
    np.testing.assert_allclose(gx, C * X * W)
    np.testing.assert_allclose(gw, 2 * C * X)


@pytest.mark.parametrize("rule", [JVP, f"{VJP}, {JVP}"])
def test_forward_mode(rule):
    y, t = run(FORWARD, rule, [X, W, C], 2)

    np.testing.assert_allclose(y, np.sin(X) * W)
    np.testing.assert_allclose(t, C * X * W)


def test_a_derivative_of_a_derivative_is_one_of_the_rule():
    main = """
func.func private @h(%x: V, %w: V, %c: V) -> V {
  %a = nt.vjp replay @g(%x, %w : V, V) cotangents(%c : V) wrt [0] of [0] -> (V)
  func.return %a : V
}
func.func @main(%x: V, %w: V, %c: V, %t: V) -> V {
  %a = nt.jvp replay @h(%x, %w, %c : V, V, V) tangents(%t : V) wrt [0] of [0] -> (V)
  func.return %a : V
}
"""
    for rule in (VJP, JVP):
        (t,) = run(main, rule, [X, W, C, X + 1], 1)
        np.testing.assert_allclose(t, C * W * (X + 1))


def test_a_rule_may_hold_derivatives():
    rules = """
func.func private @q(%x: V, %w: V) -> V {
  %0 = nt.multiply %x, %x : V
  %1 = nt.multiply %0, %w : V
  func.return %1 : V
}
func.func private @h.vjp(%x: V, %w: V, %c: V) -> (V, V) {
  %a, %b = nt.vjp replay @q(%x, %w : V, V) cotangents(%c : V) wrt [0, 1] of [0] -> (V, V)
  func.return %a, %b : V, V
}
"""
    gradients = run(rules + REVERSE, "nt.vjp_rule = @h.vjp", [X, W, C], 3)[1:]

    np.testing.assert_allclose(gradients[0], 2 * X * W * C)
    np.testing.assert_allclose(gradients[1], X * X * C)


@pytest.mark.parametrize("rule", [VJP, JVP])
def test_a_stack_keeps_its_rules(rule):
    main = """
func.func private @each(%x: S, %w: V) -> S {
  %y = nt.batch @g(%x, %w : S, V) along [0, -1] -> (S)
  func.return %y : S
}
func.func @main(%x: S, %w: V, %c: S) -> (S, V) {
  %y, %a, %b = nt.vjp @each(%x, %w : S, V) cotangents(%c : S) wrt [0, 1] of [0] -> (S, S, V)
  func.return %a, %b : S, V
}
"""
    stack, cotangents = np.random.default_rng(4).standard_normal((2, 3, 4))
    text = (RULES.replace("RULE", rule) + main).replace("V", "tensor<4xf64>").replace("S", "tensor<3x4xf64>")
    module = Parser(make_context(), text).parse_module()
    run_passes(module, "to-nest")
    functions = {o.sym_name.data: o for o in module.ops if isinstance(o, func.FuncOp)}
    outs = [np.full((3, 4), 77.0), np.full(4, 77.0)]
    run_nest(functions["main"], [stack, W, cotangents, *outs])

    np.testing.assert_allclose(outs[0], cotangents * stack * W)
    np.testing.assert_allclose(outs[1], (2 * cotangents * stack).sum(axis=0))
