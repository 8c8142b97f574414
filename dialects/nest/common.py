"""What the nest operations share: checks of affine fields, small parsers, names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, IndexType, MemRefType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList, dims_of
from ..limits import is_index

INDEX = IndexType()


arith.ExtSIOp.traits.add_trait(Pure())
"""xDSL does not say that a sign extension computes and does no more: analyses would take it for a write of any memory."""


def verify_affine(op: Operation, what: str, expressions: AffineMapAttr, operands: Sequence[SSAValue]) -> None:
    """Every expression is affine and has one dimension an operand; `what` names the field in errors."""
    affine_map = expressions.data
    if affine_map.num_symbols or affine_map.num_dims != len(operands):
        raise VerifyException(
            f"{op.name}: {what} has {len(operands)} operands but its map takes {affine_map.num_dims} "
            f"dimensions and {affine_map.num_symbols} symbols; expected one dimension an operand"
        )
    for expr in affine_map.results:
        _verify_pure_affine(op, what, expr)


def _verify_pure_affine(op: Operation, what: str, expr: AffineExpr) -> None:
    if isinstance(expr, AffineConstantExpr) and not is_index(expr.value):
        raise VerifyException(f"{op.name}: {what} has the number {expr.value}, which does not fit in 64 bits")
    if not isinstance(expr, AffineBinaryOpExpr):
        return
    _verify_pure_affine(op, what, expr.lhs)
    _verify_pure_affine(op, what, expr.rhs)
    if expr.kind is AffineBinaryOpKind.Add:
        return
    if expr.kind is AffineBinaryOpKind.Mul and not (dims_of(expr.lhs) and dims_of(expr.rhs)):
        return
    if isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value > 0:
        return
    needed = (
        "a constant on one side"
        if expr.kind is AffineBinaryOpKind.Mul
        else "a positive constant on its right"
    )
    raise VerifyException(f"{op.name}: {what} is not affine: '{expr.kind.name.lower()}' needs {needed}")


def parse_memref(parser: Parser) -> MemRefType:
    """A memref type, or an error that says what stood there."""
    pos = parser.pos
    memref_type = parser.parse_type()
    if not isinstance(memref_type, MemRefType):
        parser.raise_error(f"expected a memref type, not {memref_type}", pos)
    return memref_type


def as_list(bound: AffineList | SSAValue | int) -> AffineList:
    """A bound given as a list, a value or a number, as a list."""
    return bound if isinstance(bound, AffineList) else AffineList.of(bound)


def name_hint_of(name: str) -> str | None:
    """An SSA name for a loop or buffer name: `i.o` -> `i_o`; `k.1.1` -> `k`, for the printer numbers equal names."""
    cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    while (shorter := cleaned.rstrip("0123456789")) != cleaned and shorter.endswith("_"):
        cleaned = shorter.rstrip("_")
    return cleaned if cleaned and not cleaned[0].isdigit() else None


def segments(*sizes: int) -> DenseArrayBase:
    """The operand segment sizes of an op with several groups of operands."""
    return DenseArrayBase.from_list(i32, list(sizes))
