"""Pass `expand-division`: vectors divided by a number that is the same all through a loop are multiplied by its inverse.

    scf.for %i = ... {
      %d = vector.broadcast %s : f32 to vector<64xf32>
      %q = arith.divf %a, %d : vector<64xf32>
    }

becomes

    %y = arith.divf 1.0, %s : f32
    scf.for %i = ... {
      %q = scf.if %unusual -> vector<64xf32> {          // zero, denormal, huge, infinite or NaN in a lane, or such a %s
        the division as it was
      } else {
        %p = arith.mulf %a, %y
        %r = math.fma -%s, %p, %a                       // what %p lacks, times %s
        math.fma %r, %y, %p
      }
    }

The quotient is the same to the last bit (Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point
division when the divisor is known in advance", 2004, algorithm 1), as long as nothing overflows or leaves the normal
numbers. For let 1 <= %a, %s < 2, and u be the unit in the last place of the quotient. The errors of %y and of %p are at
most half a unit each of theirs, so that %p is off by less than u where %a >= %s, and by less than (1 + %a) u / 2
elsewhere. Within u, %r is exact and the last step rounds correctly (Markstein 1990). Beyond u, and below 3 u / 2, the
neighbour of %p is the quotient rounded: %r may miss by its last bit, which moves the sum by less than what is left up
to 3 u / 2.

A dividend between 2^-63 and 2^65 and a divisor between 2^-60 and 2^60 stay in range in single precision, 2^-511 to 2^513 and
2^-500 to 2^500 in double. Of a dividend, two bits of the exponent say whether it lies there: they differ. A division
occupies the divider of a machine several times as long as these steps take.

Divisions that may be inexact already (fast-math `arcp`), of narrower types, in loops of few iterations and of scalars
stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerType,
    ModuleOp,
    VectorType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import constant_of
from ...dialects.walk import walk

if TYPE_CHECKING:
    from ..math.builder import FormBuilder

FEWEST = 4
"""Iterations below which the inverse costs more than it saves."""


class ExpandDivisionPass(ModulePass):
    """Divide by what stays the same in a loop as multiplications, to the same bits."""

    name = "expand-division"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_division(op)


def expand_division(module: ModuleOp) -> None:
    """Replace the divisions of a module for which that pays."""
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and function.body.blocks:
            _expand_in(function)


@dataclass(frozen=True, eq=False)
class _Inverse:
    """What is known of a divisor before a loop: scalars. `window` has the one bit that usual dividends set, or none."""

    divisor: SSAValue
    inverse: SSAValue
    window: SSAValue


def _expand_in(function: func.FuncOp) -> None:
    entry = function.body.blocks[0]
    constants: dict = {}
    inverses: dict[tuple[SSAValue, Operation], _Inverse] = {}
    for op in walk(function):
        if not isinstance(op, arith.DivfOp) or (found := _divisor_of(op)) is None:
            continue
        from ..math.builder import FormBuilder

        divisor, loop = found
        if isinstance(divisor, FloatAttr):
            divisor = FormBuilder(loop, entry, constants).constant(divisor.value.data, divisor.type)
        if (divisor, loop) not in inverses:
            inverses[divisor, loop] = _invert(FormBuilder(loop, entry, constants), divisor)
        result = _divide(FormBuilder(op, entry, constants), op, inverses[divisor, loop])
        result.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(result)
        op.detach()
        op.erase()


def _divisor_of(op: arith.DivfOp) -> tuple[SSAValue | FloatAttr, Operation] | None:
    """The number that all lanes of all iterations of a loop are divided by, and the outermost such loop."""
    type_ = op.result.type
    if not isinstance(type_, VectorType) or not isinstance(type_.element_type, Float32Type | Float64Type):
        return None
    if op.fastmath is not None and FastMathFlag.ALLOW_RECIP in op.fastmath.data:
        return None
    divisor = _repeated(op.rhs)
    loop: Operation | None = None
    trips: int | None = 1
    around = op.parent_op()
    while divisor is not None and isinstance(around, scf.ForOp | scf.ParallelOp | scf.IfOp):
        if isinstance(divisor, SSAValue) and _is_inside(divisor, around):
            break
        if not isinstance(around, scf.IfOp):
            count = _trip_count(around)
            trips = None if trips is None or count is None else trips * count
            loop = around
        around = around.parent_op()
    if divisor is None or loop is None or (trips is not None and trips < FEWEST):
        return None
    return divisor, loop


def _repeated(value: SSAValue) -> SSAValue | FloatAttr | None:
    """The number that all lanes of a vector have, None where they may differ."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        source = owner.source
        return None if isinstance(source.type, VectorType) else source
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, DenseIntOrFPElementsAttr):
        if not owner.value.is_splat():
            return None
        return FloatAttr(owner.value.get_values()[0], owner.value.get_element_type())  # pyright: ignore
    return None


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is made inside of `op`."""
    return op.is_ancestor(value.owner)


def _trip_count(loop: scf.ForOp | scf.ParallelOp) -> int | None:
    """The number of iterations, None where it is not a constant."""
    if isinstance(loop, scf.ParallelOp):
        bounds = (loop.lowerBound[0], loop.upperBound[0], loop.step[0])
    else:
        bounds = (loop.lb, loop.ub, loop.step)
    lower, upper, step = (constant_of(bound) for bound in bounds)
    return None if lower is None or upper is None or step is None else -(-(upper - lower) // step)


def _ranges(x: SSAValue) -> tuple[int, int, float]:
    """Of the type of `x`: what to add to the bits of a dividend, the bit that then says "usual", the largest divisor."""
    from ..math.builder import format_of

    return (1 << 61, 1 << 62, 2.0**500) if format_of(x).width == 64 else (1 << 29, 1 << 30, 2.0**60)


def _invert(b: FormBuilder, divisor: SSAValue) -> _Inverse:
    from ..math.builder import format_of

    _, bit, largest = _ranges(divisor)
    inverse = b.div(1.0, divisor)
    size = b.abs(divisor)
    is_usual = b.both(b.compare("oge", size, 1 / largest), b.compare("ole", size, largest))
    integer = IntegerType(format_of(divisor).width)
    window = b.select(is_usual, b.constant(bit, integer), b.constant(0, integer))
    return _Inverse(divisor, inverse, window)


def _divide(b: FormBuilder, op: arith.DivfOp, by: _Inverse) -> SSAValue:
    dividend = op.lhs
    type_ = dividend.type
    integers = b.retype(type_, by.window.type)
    offset, _, _ = _ranges(dividend)

    def repeat(value: SSAValue, type_: Attribute) -> SSAValue:
        return b.emit(vector.BroadcastOp, [value], type_)

    bits = b.integer(arith.AddiOp, b.bits(dividend), offset)
    window = b.integer(arith.AndIOp, bits, repeat(by.window, integers))
    unusual = b.any_lane(b.compare_integers("eq", window, 0))
    divisor, inverse = repeat(by.divisor, type_), repeat(by.inverse, type_)
    (quotient,) = b.branch(
        unusual,
        lambda: [b.div(dividend, op.rhs)],
        lambda: [_quotient(b, dividend, divisor, inverse)],
        [type_],
    )
    return quotient


def _quotient(b: FormBuilder, dividend: SSAValue, divisor: SSAValue, inverse: SSAValue) -> SSAValue:
    near = b.mul(dividend, inverse)
    return b.fma(b.fma(b.neg(divisor), near, dividend), inverse, near)
