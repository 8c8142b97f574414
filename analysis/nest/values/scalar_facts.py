"""What is known about integers that `arith` computes, as constraints that isl reads.

A fact relates the name of a result to the names of its operands; an operation without a fact may give any
number. Conditions are formulas: what certainly follows from a truth value, `true` where nothing does.
`%r = arith.minsi %a, %b` says `r <= a and r <= b and (r = a or r = b)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.affine import constant_of

Namer = Callable[[SSAValue], str]
"""Gives the variable (or the number) that stands for a value."""


def is_wide(value: SSAValue) -> bool:
    """Whether arithmetic on `value` is that of integers: narrower types wrap around."""
    return isinstance(value.type, IndexType) or value.type == i64


class _Fact(Protocol):
    def __call__(self, op: Operation, result: str, name: Namer) -> str: ...


def fact_of(op: Operation, result: str, name: Namer) -> str | None:
    """The constraint that `op`, which computes integers of 64 bits, puts on its result; None when unknown."""
    fact = _FACTS.get(type(op))
    return None if fact is None else fact(op, result, name)


def is_choice(op: Operation) -> bool:
    """Whether the constraint of `op` is a disjunction: a system is to be solved for each combination of these."""
    return isinstance(op, arith.MinSIOp | arith.MaxSIOp | arith.SelectOp)


def bounds_of_choice(op: Operation, result: str, name: Namer) -> str:
    """What is certain of the result of an operation that chooses, without a disjunction."""
    if isinstance(op, arith.SelectOp):
        return "true"
    a, b = map(name, op.operands)
    relation = "<=" if isinstance(op, arith.MinSIOp) else ">="
    return f"{result} {relation} {a} and {result} {relation} {b}"


def _sum(op: Operation, result: str, name: Namer) -> str:
    return f"{result} = {name(op.operands[0])} + {name(op.operands[1])}"


def _difference(op: Operation, result: str, name: Namer) -> str:
    return f"{result} = {name(op.operands[0])} - ({name(op.operands[1])})"


def _product(op: Operation, result: str, name: Namer) -> str:
    for factor, other in (op.operands, op.operands[::-1]):
        if (number := constant_of(factor)) is not None:
            return f"{result} = {number} * {name(other)}"
    return "true"


def _minimum(op: Operation, result: str, name: Namer) -> str:
    a, b = map(name, op.operands)
    return f"{result} <= {a} and {result} <= {b} and ({result} = {a} or {result} = {b})"


def _maximum(op: Operation, result: str, name: Namer) -> str:
    a, b = map(name, op.operands)
    return f"{result} >= {a} and {result} >= {b} and ({result} = {a} or {result} = {b})"


def _floor_division(op: Operation, result: str, name: Namer) -> str:
    divisor = constant_of(op.operands[1])
    if divisor is None or divisor <= 0:
        return "true"
    return f"{result} = floor(({name(op.operands[0])})/{divisor})"


def _shift_right(op: Operation, result: str, name: Namer) -> str:
    """A shift to the right by a constant: division by a power of two, rounded down."""
    count = constant_of(op.operands[1])
    if count is None or not 0 <= count < 63:
        return "true"
    return f"{result} = floor(({name(op.operands[0])})/{1 << count})"


def _low_bits(op: Operation, result: str, name: Namer) -> str:
    """The low bits of an integer: its remainder by a power of two, with the sign of the divisor."""
    mask = constant_of(op.operands[1])
    if mask is None or mask < 0 or mask & (mask + 1):
        return "true"
    value = name(op.operands[0])
    return f"{result} = {value} - {mask + 1} * floor(({value})/{mask + 1})"


def _quotient(op: Operation, result: str, name: Namer) -> str:
    """C's division by a positive constant: towards zero."""
    divisor = constant_of(op.operands[1])
    if divisor is None or divisor <= 0:
        return "true"
    value = name(op.operands[0])
    down, up = f"floor(({value})/{divisor})", f"floor(({value} + {divisor - 1})/{divisor})"
    return f"(({value} >= 0 and {result} = {down}) or ({value} < 0 and {result} = {up}))"


def _remainder(op: Operation, result: str, name: Namer) -> str:
    """C's remainder: smaller than the divisor, and between zero and the dividend."""
    a, b = map(name, op.operands)
    towards_zero = f"(({a} >= 0 and 0 <= {result} <= {a}) or ({a} < 0 and {a} <= {result} <= 0))"
    return (
        f"(({b} > 0 and -({b}) < {result} < {b}) or ({b} < 0 and {b} < {result} < -({b}))) and {towards_zero}"
    )


def _select(op: Operation, result: str, name: Namer) -> str:
    condition, first, second = op.operands
    taken = f"({formula(condition, True, name)} and {result} = {name(first)})"
    other = f"({formula(condition, False, name)} and {result} = {name(second)})"
    return f"({taken} or {other})"


_FACTS: dict[type[Operation], _Fact] = {
    arith.AddiOp: _sum,
    arith.SubiOp: _difference,
    arith.MuliOp: _product,
    arith.MinSIOp: _minimum,
    arith.MaxSIOp: _maximum,
    arith.FloorDivSIOp: _floor_division,
    arith.DivSIOp: _quotient,
    arith.ShRSIOp: _shift_right,
    arith.AndIOp: _low_bits,
    arith.RemSIOp: _remainder,
    arith.SelectOp: _select,
}


# ---- conditions -------------------------------------------------------------------------------------


def formula(condition: SSAValue, holds: bool, name: Namer) -> str:
    """What follows when an `i1` value is true (or false, when `holds` is False)."""
    op = condition.owner
    if isinstance(op, arith.CmpiOp):
        return _comparison(op, holds, name)
    if isinstance(op, arith.ConstantOp):
        return "true" if bool(constant_of(condition)) == holds else "1 = 0"
    if isinstance(op, (arith.AndIOp, arith.OrIOp)):
        first, second = (formula(operand, holds, name) for operand in op.operands)
        joint = isinstance(op, arith.AndIOp) == holds
        return f"({first} {'and' if joint else 'or'} {second})"
    if isinstance(op, arith.XOrIOp) and (flip := constant_of(op.operands[1])) is not None:
        return formula(op.operands[0], holds != bool(flip), name)
    return "true"


_RELATIONS = {0: ("=", "!="), 1: ("!=", "="), 2: ("<", ">="), 3: ("<=", ">"), 4: (">", "<="), 5: (">=", "<")}
"""By the number of the predicate: the relation, and the one that holds otherwise. Signed and equality only."""


def _comparison(op: arith.CmpiOp, holds: bool, name: Namer) -> str:
    relation = _RELATIONS.get(op.predicate.value.data)
    if relation is None or not is_wide(op.lhs):
        return "true"
    if (signs := _different_signs(op, name)) is not None:
        return signs[0] if holds else signs[1]
    return f"({name(op.lhs)} {relation[0] if holds else relation[1]} {name(op.rhs)})"


def _different_signs(op: arith.CmpiOp, name: Namer) -> tuple[str, str] | None:
    """`(a xor b) < 0`, which asks whether the signs differ (Python's `%` does)."""
    pair = op.lhs.owner
    if op.predicate.value.data != 2 or constant_of(op.rhs) != 0 or not isinstance(pair, arith.XOrIOp):
        return None
    a, b = map(name, pair.operands)
    return (
        f"(({a} < 0 and {b} >= 0) or ({a} >= 0 and {b} < 0))",
        f"(({a} < 0 and {b} < 0) or ({a} >= 0 and {b} >= 0))",
    )
