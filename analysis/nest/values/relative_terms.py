"""Terms of a sum that are relative to a base: how the sum relative to one base follows from sums relative to another.

    %d = arith.subf %x, %c : f32                  %c is the base
    %e = arith.mulf %d, %d : f32                  the term is f(%d): of a variance the square, of a softmax exp(%d)

For another base c', with d = x - c' and g = c' - c, a term is f(d + g). Of a power that is a polynomial of g, whose factors
are powers of d, and of an exponential a product:

    (d + g)^2 = d^2 + g (2 d + g)                 exp(r (d + g)) = exp(r d) exp(r g)

So sums over the elements follow, for any c', from sums of powers of d (of d^0 it is how many there are), or of exp(r d),
and g needs no element: that is all that there is to combining summaries of parts. What is no such function is refused, and
so is a sum of several powers: (d - 1)^2 may be small where each of them is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import comb, isfinite
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue

MOST_POWERS = 8
"""The highest power of a difference: each has a sum of its own."""

EXPONENTIALS = (math.ExpOp, math.Exp2Op)
_TRANSPARENT = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.ExtFOp, *EXPONENTIALS)


@dataclass(frozen=True)
class Power:
    """`factor` times d^`degree`."""

    degree: int
    factor: float

    def of_shift(self, power: int) -> float:
        """What d^(degree - `power`) is multiplied by in what g^`power` is multiplied by."""
        return self.factor * comb(self.degree, power)


@dataclass(frozen=True)
class Exponential:
    """The function `kind` of `rate` d."""

    kind: type[Operation]
    rate: float


Form: TypeAlias = Power | Exponential


class NoForm(Exception):
    """The term is no such function of the difference; `at` computes what is none."""

    def __init__(self, reason: str, at: Operation):
        super().__init__(reason)
        self.at = at


def differences_in(term: SSAValue) -> Iterator[arith.SubfOp]:
    """The differences that a term is made of by what `form_of` knows, from the term inwards."""
    op = term.owner
    if isinstance(op, arith.SubfOp):
        yield op
    if isinstance(op, _TRANSPARENT):
        for operand in dict.fromkeys(op.operands):
            yield from differences_in(operand)


def form_of(term: SSAValue, difference: SSAValue, at: Operation) -> Form:
    """What function of a difference the term is that `at` adds up. Raises NoForm."""
    value = term
    while isinstance(value.owner, arith.ExtFOp):
        value = value.owner.input
    op = value.owner
    if isinstance(op, EXPONENTIALS):
        first, *rates = _polynomial(op.operands[0], difference, at)
        if first or len(rates) != 1 or not isfinite(rates[0]):
            raise NoForm("the exponential is not of a multiple of the difference", op)
        return Exponential(type(op), rates[0])
    *lower, factor = _polynomial(term, difference, at)
    if not lower:
        raise NoForm("what is added up is the same for all elements", at)
    if any(lower):
        raise NoForm("what is added up has several powers of the difference, which may cancel", at)
    return Power(len(lower), factor)


def _polynomial(value: SSAValue, difference: SSAValue, at: Operation) -> list[float]:
    """The factors of a value's powers of the difference, the last of which is not 0. Raises NoForm."""
    if value is difference:
        return [0.0, 1.0]
    op = value.owner
    match op:
        case arith.ConstantOp() if isinstance(op.value, FloatAttr):
            return [op.value.value.data]
        case arith.ExtFOp():
            return _polynomial(op.input, difference, at)
        case arith.NegfOp():
            return [-k for k in _polynomial(op.operand, difference, at)]
        case arith.AddfOp() | arith.SubfOp() | arith.MulfOp():
            one, other = (_polynomial(operand, difference, at) for operand in op.operands)
        case _:
            where = op if isinstance(op, Operation) else at
            raise NoForm("what is added up is no power of the difference, and no exponential", where)
    if isinstance(op, arith.MulfOp):
        made = [0.0] * (len(one) + len(other) - 1)
        for i, a in enumerate(one):
            for k, b in enumerate(other):
                made[i + k] += a * b
    else:
        sign = -1.0 if isinstance(op, arith.SubfOp) else 1.0
        made = [a + sign * b for a, b in zip_longest(one, other, fillvalue=0.0)]
    while len(made) > 1 and not made[-1]:
        made.pop()
    if len(made) > MOST_POWERS + 1:
        raise NoForm(f"what is added up has a power above {MOST_POWERS}", op)
    return made
