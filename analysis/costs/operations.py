"""What one operation on scalars costs: floating-point operations, transcendental functions, integer operations.

    arith.addf, mulf, divf, maximumf, ...   1 floating-point operation      math.fma   2
    math.exp, sin, powf, tanh, ...          1 transcendental function
    arith.addi, muli, ... on elements       1 integer operation             on indices: none

Comparisons, selects, conversions, rounding and changes of sign are none: they cost no arithmetic unit. Complex numbers are
pairs at the nest level, so that a product of them is 6.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from ...dialects.nest import AccumulateOp


class Work(NamedTuple):
    """Numbers of operations."""

    flops: int = 0
    transcendentals: int = 0
    integer_operations: int = 0

    def plus(self, other: Work) -> Work:
        """Both."""
        return Work(*map(int.__add__, self, other))

    def times(self, count: int) -> Work:
        """The same, `count` times."""
        return Work(*(count * one for one in self))

    def least(self, other: Work) -> Work:
        """What both have in any case."""
        return Work(*map(min, self, other))


NOTHING = Work()
_FLOATS = {
    f"arith.{name}": 1 for name in ("addf", "subf", "mulf", "divf", "remf")
} | {
    f"arith.{name}": 1 for name in ("maximumf", "minimumf", "maxnumf", "minnumf")
} | {"math.sqrt": 1, "math.fma": 2}  # fmt: skip
_INTEGERS = {
    f"arith.{name}"
    for name in (
        "addi", "subi", "muli", "divsi", "divui", "floordivsi", "ceildivsi", "remsi", "remui", "maxsi", "minsi",
        "maxui", "minui", "andi", "ori", "xori", "shli", "shrsi", "shrui",
    )
}  # fmt: skip
_FREE = {
    f"math.{name}" for name in ("absf", "copysign", "ceil", "floor", "round", "roundeven", "trunc", "absi")
} | {f"math.{name}" for name in ("isnan", "isinf", "isfinite", "isnormal")}
_COMPLEX = {"add": 2, "mul": 6, "maximum": 0, "minimum": 0}


def work_of(op: Operation) -> Work:
    """The work of one execution of `op`, without what is in its regions but for the combiner of an accumulation."""
    if isinstance(op, AccumulateOp):
        return _combined(op)
    flops = _FLOATS.get(op.name)
    if flops is not None:
        return Work(flops=flops)
    if op.name in _INTEGERS:
        kind = op.results[0].type
        is_number = isinstance(kind, IntegerType) and kind.width.data > 1
        return Work(integer_operations=1) if is_number else NOTHING
    dialect = op.name.partition(".")[0]
    if dialect in ("math", "special") and op.name not in _FREE and op.results:
        return Work(transcendentals=1) if isinstance(op.results[0].type, AnyFloat) else NOTHING
    return NOTHING


def _combined(op: AccumulateOp) -> Work:
    if op.combine is not None:
        total = NOTHING
        for inner in op.combine.block.ops:
            total = total.plus(work_of(inner))
        return total
    total = NOTHING
    for value in op.values:
        total = total.plus(_named(op.combiner.data, value.type))
    return total


def _named(combiner: str, element: Attribute) -> Work:
    if isinstance(element, ComplexType):
        return Work(flops=_COMPLEX[combiner])
    if isinstance(element, AnyFloat):
        return Work(flops=1)
    is_flag = isinstance(element, IntegerType) and element.width.data == 1
    return NOTHING if is_flag or isinstance(element, IndexType) else Work(integer_operations=1)
