"""Derivatives of scalar operations (`arith`, `math`, `special`), by the rows of the elementwise table.

    %r = math.tanh %x : f64      is the row `tanh`, whose partial derivative is t * (1 - r * r)

Which operation is which row the rows say themselves: one whose expansion is a single operation of its operands. What a row
expands to in several operations is differentiated as those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType, f64, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.nt.elementwise import ELEMENTWISE, Elementwise
from ....dialects.nt.expand import Emitter
from ..builder import Formula
from ..masks import CHOOSING, Mask, is_finite_constant, is_masked
from ..missing import missing
from .complex_parts import OF_PARTS

_CASTS = (arith.ExtFOp, arith.TruncFOp)


class Scalars:
    """Makes scalar operations, at the place where `insert` puts them; `Formula`s of scalars are made of it."""

    def __init__(self, insert: Callable[[Operation], object], location: Any):
        self.insert = insert
        self.emitter = Emitter(insert, location)

    def elementwise(self, name: str, *operands: SSAValue) -> SSAValue:
        """The expansion of a row."""
        return ELEMENTWISE[name].expansions[_kind(operands[-1].type)](self.emitter, *operands)

    def uniform(self, number: complex, like: SSAValue) -> SSAValue:
        """A constant of the type of `like`."""
        return self.emitter.const(number, like.type)

    def formula(self, value: SSAValue) -> Formula:
        """`value`, with operators."""
        return Formula(self, value)  # pyright: ignore[reportArgumentType]


def _kind(type: Attribute) -> str:
    if type == i1:
        return "b"
    if isinstance(type, IntegerType):
        return "i"
    return "c" if isinstance(type, ComplexType) else "f"


def carries_scalar(type: Attribute) -> bool:
    """Whether scalars of a type carry derivatives."""
    return isinstance(type, AnyFloat | ComplexType)


class Late(Formula):
    """A formula of a value that is made when it is needed."""

    __slots__ = ("_made",)

    def __init__(self, scalars: Scalars, make: Callable[[], SSAValue]):
        self.builder, self._made = scalars, make  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def value(self) -> SSAValue:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._made()


def product(
    op: Operation, k: int, tangent: SSAValue, values: Sequence[Formula], by: Scalars, masked: Mask = Mask.NONE
) -> SSAValue | None:
    """The tangent of operand k (or the cotangent of the result) times the partial derivative; None: it is zero.

    `values` are the operands and the result; `masked` says where a tangent of zero gives zero, whatever the derivative is.
    """
    if isinstance(op, _CASTS):
        source, target = op.operands[0].type, op.results[0].type
        return _cast(tangent, target if tangent.type == source else source, by)
    if op.name in OF_PARTS:
        return OF_PARTS[op.name](k, tangent, values, by)
    row = row_of(op)
    if row is None or row.partials is None:
        raise missing(op)
    t = by.formula(tangent)
    result = row.partials[k](t, *values)
    if result is None:
        return None
    if is_masked(masked, row, k, lambda j: is_finite_constant(op.operands[j])):
        result = t.equals(0.0).where(0.0, result)
    return result.value


def is_choice(op: Operation) -> bool:
    """Whether an operation leaves operands out: zeros of their cotangents say so."""
    row = row_of(op)
    return row is not None and row.name in CHOOSING


def _cast(value: SSAValue, type: Attribute, by: Scalars) -> SSAValue:
    if value.type == type:
        return value
    assert isinstance(value.type, AnyFloat) and isinstance(type, AnyFloat)
    wider = type.bitwidth > value.type.bitwidth
    return by.emitter.op(arith.ExtFOp if wider else arith.TruncFOp, (value,), type)


def row_of(op: Operation) -> Elementwise | None:
    """The row of the elementwise table that a scalar operation is."""
    return _rows().get((type(op), _kind(op.results[0].type))) if op.results else None


@cache
def _rows() -> dict[tuple[type[Operation], str], Elementwise]:
    found: dict[tuple[type[Operation], str], Elementwise] = {}
    for row in ELEMENTWISE.values():
        for kind, type_ in (("f", f64), ("c", ComplexType(f64))):
            op_type = _sole_operation(row, kind, type_)
            if op_type is not None:
                found.setdefault((op_type, kind), row)
    return found


def _sole_operation(row: Elementwise, kind: str, type_: Attribute) -> type[Operation] | None:
    """The operation that the row is for operands of a type; None where it takes several, or gives another type."""
    if row.partials is None or kind not in row.expansions:
        return None
    block = Block(arg_types=[i1 if row.condition_first and not k else type_ for k in range(row.arity)])
    made: list[Operation] = []
    try:
        result = row.expansions[kind](Emitter(made.append), *block.args)
    except (AssertionError, TypeError, KeyError, AttributeError):
        return None  # the operands of this row are of several types (`ldexp`)
    if len(made) != 1 or tuple(made[0].operands) != tuple(block.args) or made[0].results[0] is not result:
        return None
    return type(made[0]) if result.type == type_ else None
