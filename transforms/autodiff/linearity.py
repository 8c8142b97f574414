"""Whether a function is linear in some of its arguments: what reverse mode asks of a rule of nt.custom_jvp.

    func.func private @f.jvp(%x: T, %t: T) -> (T, T) {
      %y = nt.sin %x : T                       // without %t
      %c = nt.cos %x : T                       // without %t
      %d = nt.multiply %c, %t : T              // linear in %t
      %e = nt.multiply %t, %t : T              // not linear: not_linear gives this operation
      ...

Reverse mode transposes the rule at tangents of zero. Of a rule that is not linear that is something else than the
derivative, and nothing would tell. Only what is certain is refused: of loops, branches and calls nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ...dialects.nt.elementwise_ops import ElementwiseOp
from ...dialects.nt.ops import (
    BroadcastOp,
    CastOp,
    ConstantOp,
    DimOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    TransposeOp,
    WindowOp,
)


class _Kind(Enum):
    WITHOUT = "does not depend on the arguments"
    LINEAR = "is linear in them"
    OTHER = "is neither"
    UNKNOWN = "may be any of these"


_VIEWS = (BroadcastOp, CastOp, ReshapeOp, SliceOp, TransposeOp, WindowOp)
_SUMS = ("add", "subtract")
_LINEAR = ("negative", "positive", "real", "imag", "conjugate", "copy")


def not_linear(function: func.FuncOp, arguments: Sequence[int], results: Sequence[int]) -> Operation | None:
    """An operation that makes one of some results no linear function of some arguments; None where none is known."""
    block = function.body.block
    kinds: dict[SSAValue, _Kind] = {block.args[k]: _Kind.LINEAR for k in arguments}
    reasons: dict[SSAValue, Operation] = {}
    for op in block.ops:
        kind = _kind_of(op, [kinds.get(v, _Kind.WITHOUT) for v in op.operands])
        for result in op.results:
            kinds[result] = kind
            if kind is _Kind.OTHER:
                reasons[result] = next((reasons[v] for v in op.operands if v in reasons), op)
    assert block.last_op is not None
    ends = [block.last_op.operands[k] for k in results]
    return next((reasons[v] for v in ends if kinds.get(v) is _Kind.OTHER), None)


def _kind_of(op: Operation, kinds: Sequence[_Kind]) -> _Kind:
    if isinstance(op, DimOp) or all(kind is _Kind.WITHOUT for kind in kinds):
        return _Kind.WITHOUT
    if op.regions or _Kind.UNKNOWN in kinds:
        return _Kind.UNKNOWN
    if isinstance(op, _VIEWS) or (isinstance(op, ReduceOp | ScanOp) and op.combiner.data == "add"):
        return kinds[0]
    if not isinstance(op, ElementwiseOp):
        return _Kind.UNKNOWN
    if _Kind.OTHER in kinds:
        return _Kind.OTHER
    return _elementwise(op, kinds)


def _elementwise(op: ElementwiseOp, kinds: Sequence[_Kind]) -> _Kind:
    name = op.ROW.name
    if name in _LINEAR:
        return kinds[0]
    if name in _SUMS:
        return _together(op.operands, kinds)
    if name == "select":
        return _together(op.operands[1:], kinds[1:]) if kinds[0] is _Kind.WITHOUT else _Kind.OTHER
    if name == "multiply":
        return _Kind.OTHER if kinds[0] is kinds[1] is _Kind.LINEAR else _Kind.LINEAR
    if name == "divide":
        return _Kind.LINEAR if kinds[1] is _Kind.WITHOUT else _Kind.OTHER
    return _Kind.OTHER


def _together(values: Sequence[SSAValue], kinds: Sequence[_Kind]) -> _Kind:
    """Of linear values, and others that may be zero; a constant that is not makes something else of them."""
    others = [v for v, kind in zip(values, kinds, strict=True) if kind is _Kind.WITHOUT]
    return _Kind.OTHER if any(_is_not_zero(v) for v in others) else _Kind.LINEAR


def _is_not_zero(value: SSAValue) -> bool:
    """Whether a value is known to be a number other than zero."""
    op = value.owner
    while isinstance(op, _VIEWS):
        op = op.operands[0].owner
    return isinstance(op, ConstantOp) and op.splat is not None and op.splat != 0
