"""Derivatives that the user gives: functions of the module that a composite names.

    %y = nt.composite "f"(%x : tensor<4xf32>) attributes {nt.vjp_rule = @f.vjp} -> tensor<4xf32> {...}
  has the cotangent
    %cx = func.call @f.vjp(%x, %cy) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

and with nt.jvp_rule = @f.jvp the tangent %ty of %_, %ty = func.call @f.jvp(%x, %tx). A rule of one mode serves the other
where it is linear: tangents are, in f.jvp, so that reverse mode is its nt.vjp with respect to them. The calls, and
derivatives in the rules, are put in place by `nt-differentiate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import SSAValue

from ....dialects.attributes import NT_JVP_RULE, NT_RULE_INPUTS, NT_VJP_RULE
from ....dialects.diagnostic import fail
from ....dialects.nt.composite_op import CompositeOp
from ....dialects.nt.derivative_ops import VjpOp, is_differentiable

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse


def has_rule(op: CompositeOp) -> bool:
    """Whether the user gave a derivative."""
    return NT_VJP_RULE in op.attributes or NT_JVP_RULE in op.attributes


def _rule(op: CompositeOp, name: str) -> str | None:
    rule = op.attributes.get(name)
    return rule.string_value() if isinstance(rule, SymbolRefAttr) else None


def reverse(op: CompositeOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    b = to.builder
    inputs = [v for v in op.inputs if is_differentiable(v.type)]
    results = [r for r in op.results_ if is_differentiable(r.type)]
    known = dict(zip(op.results_, cotangents, strict=True))
    full = [b.zeros(r) if (c := known[r]) is None else c for r in results]
    name = _rule(op, NT_VJP_RULE)
    if name is not None:
        given = b.add(CallOp(name, [*op.inputs, *full], [v.type for v in inputs])).results
    else:
        name = _rule(op, NT_JVP_RULE)
        assert name is not None
        count, first = len(op.results_), len(op.inputs)
        given = b.add(
            VjpOp(
                name,
                [*op.inputs, *[b.zeros(v) for v in inputs]],
                full,
                range(first, first + len(inputs)),
                range(count, count + len(results)),
                [r.type for r in (*op.results_, *results)],
                replay=True,
            )
        ).results
    _refuse_others(op, to.wants)
    for value, cotangent in zip(inputs, given, strict=True):
        to.add(value, cotangent)


def _refuse_others(op: CompositeOp, is_active: Callable[[SSAValue], bool]) -> None:
    """Raise where an input has a derivative that is no argument of the function."""
    own = op.attributes.get(NT_RULE_INPUTS)
    if not isinstance(own, IntegerAttr):
        return
    for value in op.inputs[own.value.data :]:
        if is_active(value):
            raise fail(
                op,
                f"'{op.label.data}' has a derivative of its own, and uses a value from outside that is differentiated",
                hint="make it an argument of the function",
            )


def forward(op: CompositeOp, by: Forward) -> Sequence[SSAValue | None]:
    _refuse_others(op, lambda value: by.of(value) is not None)
    name = _rule(op, NT_JVP_RULE)
    if name is None:
        raise fail(
            op,
            f"'{op.label.data}' has nt.custom_vjp, and forward mode needs nt.custom_jvp",
            hint="use reverse mode (nt.grad, nt.vjp, nt.jacrev), or give the function its tangents with nt.custom_jvp",
        )
    inputs = [v for v in op.inputs if is_differentiable(v.type)]
    results = [r for r in op.results_ if is_differentiable(r.type)]
    types = [r.type for r in (*op.results_, *results)]
    given = by.builder.add(CallOp(name, [*op.inputs, *[by.full(v) for v in inputs]], types)).results
    tangents = dict(zip(results, given[len(op.results_) :], strict=True))
    return [tangents.get(r) for r in op.results_]
