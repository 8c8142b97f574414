"""Which numbers an operation on integers computes, where those of its operands are known (value_ranges.py).

arith.addi    [0, n] + [1, 3]       [1, n + 3]
arith.remsi   [0, n] mod 4          [0, 3]
arith.andi    anything and 15       [0, 15]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from .symbolic_ranges import ANY, Bound, Leasts, Range, exactly, of_width

Rule = Callable[[Operation, Sequence[Range], Leasts], Range]
"""The result of an operation, given the ranges of its operands, as if there were no overflow."""


def bits_of(type_: Attribute) -> int:
    """The width of an integer type, 0 for others."""
    if isinstance(type_, IndexType):
        return 64
    return type_.width.data if isinstance(type_, IntegerType) and type_.width.data <= 64 else 0


def range_of_type(type_: Attribute) -> Range:
    """All numbers of a type."""
    bits = bits_of(type_)
    return of_width(bits) if bits else ANY


def range_of_element(buffer: SSAValue) -> Range:
    """All numbers of the type of a buffer's elements."""
    assert isinstance(buffer.type, MemRefType)
    return range_of_type(buffer.type.element_type)


def range_of_constant(op: arith.ConstantOp) -> Range:
    """The number of a constant, with its sign."""
    if not isinstance(op.value, IntegerAttr):
        return ANY
    number, bits = op.value.value.data, bits_of(op.result.type)
    return exactly(number - (1 << bits) if number >> (bits - 1) == 1 else number)


def _sum(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    return operands[0].plus(operands[1])


def _difference(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    return operands[0].plus(operands[1].negated())


def _product(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    a, b = operands
    for factor, other in ((a.number, b), (b.number, a)):
        if factor is not None:
            return other.times(factor)
    return ANY


def _shifted(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    count = operands[1].number
    return operands[0].over(1 << count) if count is not None and 0 <= count < 63 else ANY


def _quotient(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    value, divisor = operands[0], operands[1].number
    if divisor is None or divisor <= 0:
        return ANY
    rounds_down = isinstance(op, arith.FloorDivSIOp) or (value.low is not None and value.low >= 0)
    return value.over(divisor) if rounds_down else ANY


def _remainder(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    value, divisor = operands[0], operands[1].number
    if divisor is None or divisor <= 0:
        return ANY
    low = 0 if value.low is not None and value.low >= 0 else 1 - divisor
    return Range(low, Bound(divisor - 1))


def _masked(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    masks = [range_.number for range_ in operands if range_.number is not None and range_.number >= 0]
    return Range(0, Bound(min(masks))) if masks else ANY


def _least(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    a, b = operands
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return Range(low, leasts.smaller(a.high, b.high))


def _greatest(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    a, b = operands
    lows = [low for low in (a.low, b.low) if low is not None]
    return Range(max(lows, default=None), leasts.larger(a.high, b.high))


def _same(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    return operands[0]


def _zero_extended(op: Operation, operands: Sequence[Range], leasts: Leasts) -> Range:
    value, width = operands[0], bits_of(op.operands[0].type)
    if value.low is not None and value.low >= 0:
        return value
    if value.number is not None:
        return exactly(value.number + (1 << width))
    return of_width(width, signed=False)


RULES: dict[type[Operation], Rule] = {
    arith.AddiOp: _sum,
    arith.SubiOp: _difference,
    arith.MuliOp: _product,
    arith.ShRSIOp: _shifted,
    arith.FloorDivSIOp: _quotient,
    arith.DivSIOp: _quotient,
    arith.RemSIOp: _remainder,
    arith.AndIOp: _masked,
    arith.MinSIOp: _least,
    arith.MaxSIOp: _greatest,
    arith.IndexCastOp: _same,
    arith.ExtSIOp: _same,
    arith.TruncIOp: _same,
    arith.ExtUIOp: _zero_extended,
}
