"""The error for an operation that has no derivative."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.diagnostic import NestorError, fail
from ...dialects.nt.ops import CustomCallOp, ReduceOp


def missing(op: Operation) -> NestorError:
    """The error for an operation that has no rule."""
    hint = "give the function around it one with nt.custom_vjp, or take its result as a constant: nt.stop_gradient"
    if isinstance(op, CustomCallOp) and not op.target.data.startswith("numpy."):
        hint += "; an nt.custom_op has .def_vjp, .def_jvp and decomposition="
    return fail(op, f"{described(op)} has no derivative", hint=hint)


def described(op: Operation) -> str:
    """The operation, in words."""
    target = op.properties.get("target") or op.properties.get("label")
    if isinstance(op, ReduceOp):
        target = op.combiner
    return f"'{op.name}'" if target is None else f"'{op.name} {target}'"
