"""nest-exact-sum: sums of floating-point numbers at indices are sums of integers, which are the same in any order.

    nest.for "i" %i = 0 to %n {
      %k = ... from %idx[%i]
      %a = nest.load %v[%i] : memref<?xf32>
      nest.accumulate "y" add %a, %y[%k] : memref<100xf32>
    }

becomes

    %y_largest = nest.alloc "y_largest" : memref<100xi32>         // bits of the largest |%a| of an element
    %y_high, %y_low = nest.alloc ... : memref<100xi64>            // its sum, in units of 2^-27 and 2^-55 of that
    nest.for "y.start.ax0" ... { 0 to all of them }
    nest.for "i.largest" %i = 0 to %n {
      ... nest.accumulate "largest" maxui (bits of |%a|), %y_largest[%k]
    }
    nest.for "i" %i = 0 to %n {
      ... %s is %a by the power of two that makes |%s| at most 2^28, from %y_largest[%k]
      ... nest.accumulate "high" add (%s rounded), %y_high[%k]
      ... nest.accumulate "low" add (2^28 (%s - %s rounded), rounded), %y_low[%k]
    }
    nest.for "y.end.ax0" %a = 0 to 100 {
      ... nest.accumulate "y" add (what the sums are), %y[%a] mask %is_summed
    }

so that threads may add up in any order (`nest-atomic`), and the bits are the same in each run. Of f64 there are three
sums. The error of a sum of n numbers is at most n 2^-56 of the largest (f32), n 2^-84 (f64), and one rounding: below that
of a sum by pairs for all n that a loop can have. Infinities and NaN give what they give in a sum: they are counted
instead.

Refused unless the loop does one such reduction of f32 or f64, in any order, and nothing else that is seen; and what it
reads is not what it adds to. J. Demmel and H. D. Nguyen, "Parallel Reproducible Summation" (2015), pre-round numbers
likewise; here each element has a unit of its own. Without a name in TVM, Halide, Exo and NNC.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    f64,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.kernels.combiners import NO_FASTMATH
from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import loops_in, may_fail
from ....analysis.nest.sets.accesses import is_defined_outside, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, YieldOp
from ..rewrite.elements import Elements, shared_among
from ..rewrite.loops import fresh_names

VERB = "add up integers in"

LIMB = 28
"""Bits of a part of a sum: 2^35 of them fit into 64 bits."""

MOST = 1 << 34
"""Maximum number of iterations."""

_LIMBS = {Float32Type: ("high", "low"), Float64Type: ("high", "middle", "low")}


@dataclass(frozen=True)
class _Format:
    """A floating-point format."""

    type: AnyFloat
    bits: int
    fraction: int
    bias: int

    @property
    def integer(self) -> IntegerType:
        return IntegerType(self.bits)

    @property
    def infinity(self) -> int:
        """The bits of infinity: all of the exponent."""
        return (1 << (self.bits - 1)) - (1 << self.fraction)


_FORMATS = {
    Float32Type: _Format(Float32Type(), 32, 23, 127),
    Float64Type: _Format(Float64Type(), 64, 52, 1023),
}

# ---- legality ----------------------------------------------------------------------------------------


def why_not_exact_sum(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to add up integers instead, None when it is legal."""
    if (refusal := refuse_marked(loop, VERB) or refuse_in_vector(loop, VERB)) is not None:
        return refusal
    found = _update_of(loop)
    return found if isinstance(found, NestorError) else None


def _update_of(loop: ForOp) -> AccumulateOp | NestorError:
    def refuse(reason: str, at: Operation | None = None) -> NestorError:
        message = f'cannot {VERB} the loop "{loop.label}": {reason}'
        return fail(loop, message, notes=[] if at is None else [(at, "here")])

    if (check := may_fail(loop)) is not None:
        return refuse("an error in it would come at another time", check)
    updates = [op for op in loop.walk() if isinstance(op, AccumulateOp)]
    if len(updates) != 1:
        return refuse("it does not have exactly one reduction")
    (update,) = updates
    if update.combiner.data != "add" or type(update.values[0].type) not in _FORMATS:
        return refuse("it does not add up f32 or f64 numbers", update)
    if update.order_name != "any":
        return refuse("the numbers are added up in an order", update)
    if not is_defined_outside(update.memrefs[0], loop) or not len(update.indices):
        return refuse("it has no element for each of some indices", update)
    if (outer := shared_among(update.memrefs[0], loop)) is not None:
        return refuse(f'iterations of the loop "{outer.label}" would touch each other\'s elements', outer)
    for op in loop.walk():
        if isinstance(op, ForOp) and op.kind != "serial":
            return refuse(f'the loop "{op.label}" in it is marked {op.kind}', op)
        if op is not update and not isinstance(op, ForOp | LoadOp | YieldOp) and not is_computation(op):
            return refuse("it does something beside the reduction", op)
        if isinstance(op, LoadOp) and may_alias(root_of(op.memref), root_of(update.memrefs[0])):
            return refuse("it reads what it adds to, or what may share memory with it", op)
    count = 1
    for one in loops_in(loop):
        count *= one.constant_trip_count() or 1
    if count > MOST:
        return refuse(f"there are {count} numbers, and the integers have room for {MOST}")
    return update


# ---- rewriting ---------------------------------------------------------------------------------------


def exact_sum(loop: ForOp) -> tuple[ForOp, ForOp, ForOp, ForOp]:
    """Add up integers: the loops that start, that find the largest numbers, that add up, and that end.

    Raises the diagnostic of `why_not_exact_sum`.
    """
    if (refusal := why_not_exact_sum(loop)) is not None:
        raise refusal
    update = _update_of(loop)
    assert isinstance(update, AccumulateOp) and loop.parent is not None
    format_ = _FORMATS[type(update.values[0].type)]
    elements = Elements(update.memrefs[0], loop)
    largest = elements.beside(format_.integer, "largest")
    sums = [elements.beside(i64, name) for name in _LIMBS[type(format_.type)]]
    start = elements.over("start")
    ivs = AffineList.of(*(one.iv for one in start))
    at_start = _Emitter(start[-1].body.block, None, update)
    for buffer in (largest, *sums):
        zero = at_start.integer(0, buffer.memref.type.element_type)  # pyright: ignore
        at_start.insert(StoreOp(zero, buffer.memref, ivs, label=buffer.label.data))
    first = _looking(loop, update, largest, format_)
    end = elements.over("end", is_behind=True)
    _add_up(update, largest, sums, format_)
    _end(end, update, largest, sums, format_)
    update.detach()
    update.erase()
    elements.finish()
    return start[0], first, loop, end[0]


def _looking(loop: ForOp, update: AccumulateOp, largest: AllocOp, format_: _Format) -> ForOp:
    """A copy of the loop that finds the largest number of each element, as bits, in front of it."""
    copy = loop.clone()
    pairs = list(zip(loop.walk(), copy.walk(), strict=True))
    for op, other in pairs:
        other.location = op.location
    assert isinstance(copy, ForOp) and loop.parent is not None
    loop.parent.insert_op_before(copy, loop)
    for one in loops_in(copy):
        one.set_label(fresh_names(loop, f"{one.label}.largest")[0])
    old = next(other for op, other in pairs if op is update)
    assert isinstance(old, AccumulateOp) and old.parent is not None
    emit = _Emitter(old.parent, old, update)
    emit.insert(_like(old, "maxui", emit.magnitude(old.values[0], format_), largest, "largest"))
    old.detach()
    old.erase()
    return copy


def _like(update: AccumulateOp, combiner: str, value: SSAValue, buffer: AllocOp, label: str) -> AccumulateOp:
    """An update of another buffer where `update` is done."""
    return AccumulateOp(
        combiner,
        [value],
        [buffer.memref],
        update.indices,
        label=label,
        where=update.where,
        mask=update.mask,
    )


def _add_up(update: AccumulateOp, largest: AllocOp, sums: list[AllocOp], format_: _Format) -> None:
    """Parts of each number go to the sums; of elements with an infinity or NaN, the infinities are counted."""
    assert update.parent is not None
    emit = _Emitter(update.parent, update, update)
    value = update.values[0]
    top = emit.insert(LoadOp(largest.memref, update.indices))
    top.name_hint = "largest"
    is_special = emit.compare("uge", top, emit.integer(format_.infinity, format_.integer))
    zero = emit.float(0.0, format_.type)
    rest = emit.select(is_special, zero, value)
    for factor in emit.powers_of_two(emit.unit(top, format_, -1), format_):
        rest = emit.multiply(rest, factor)
    rest.name_hint = "scaled"
    next_limb = emit.float(float(1 << LIMB), format_.type)
    signs = (float("inf"), float("-inf"))
    for k, buffer in enumerate(sums):
        if k:
            rest = emit.multiply(rest, next_limb)
        rounded = emit.insert(math.RoundEvenOp(rest))
        part = emit.insert(arith.FPToSIOp(rounded, i64))
        if k + 1 < len(sums):
            rest = emit.insert(arith.SubfOp(rest, rounded))
        if k < len(signs):
            is_this = emit.insert(arith.CmpfOp(value, emit.float(signs[k], format_.type), "oeq"))
            part = emit.select(is_special, emit.insert(arith.ExtUIOp(is_this, i64)), part)
        emit.insert(_like(update, "add", part, buffer, buffer.label.data))


def _end(
    end: list[ForOp], update: AccumulateOp, largest: AllocOp, sums: list[AllocOp], format_: _Format
) -> None:
    """Each element that something was added to is increased by its sum."""
    ivs = AffineList.of(*(one.iv for one in end))
    emit = _Emitter(end[-1].body.block, None, update)
    top = emit.insert(LoadOp(largest.memref, ivs))
    parts = [emit.insert(LoadOp(buffer.memref, ivs)) for buffer in sums]
    for value, name in zip((top, *parts), ("largest", *_LIMBS[type(format_.type)]), strict=True):
        value.name_hint = name
    is_summed = emit.compare("ne", top, emit.integer(0, format_.integer))
    carried = list(parts)
    mask, shift = emit.integer((1 << LIMB) - 1, i64), emit.integer(LIMB, i64)
    for k in range(len(parts) - 1, 0, -1):
        carry = emit.insert(arith.ShRSIOp(carried[k], shift))
        carried[k] = emit.insert(arith.AndIOp(carried[k], mask))
        carried[k - 1] = emit.insert(arith.AddiOp(carried[k - 1], carry))
    total: SSAValue | None = None
    for part in reversed(carried):
        number = emit.insert(arith.SIToFPOp(part, f64))
        if total is not None:
            less = emit.multiply(total, emit.float(2.0**-LIMB, f64))
            number = emit.insert(arith.AddfOp(number, less))
        total = number
    assert total is not None
    for factor in emit.powers_of_two(emit.unit(top, format_, 1), _FORMATS[Float64Type]):
        total = emit.multiply(total, factor)
    finite = total if format_.type == f64 else emit.insert(arith.TruncFOp(total, format_.type))
    none = emit.integer(0, i64)
    has_plus, has_minus = (emit.compare("ne", part, none) for part in parts[:2])
    is_nan = emit.insert(
        arith.OrIOp(
            emit.insert(arith.AndIOp(has_plus, has_minus)),
            emit.compare("ugt", top, emit.integer(format_.infinity, format_.integer)),
        )
    )
    signed = emit.select(
        has_plus, emit.float(float("inf"), format_.type), emit.float(float("-inf"), format_.type)
    )
    special = emit.select(is_nan, emit.float(float("nan"), format_.type), signed)
    is_special = emit.compare("uge", top, emit.integer(format_.infinity, format_.integer))
    # What nothing was added to need not have been written: it is not read.
    more = emit.select(is_special, special, finite)
    emit.insert(AccumulateOp("add", [more], update.memrefs, ivs, label=update.statement, mask=is_summed))


class _Emitter:
    """Puts operations in front of another one, or at the end of a block."""

    def __init__(self, block: Block, before: Operation | None, like: Operation):
        self.block, self.before, self.like = block, before, like

    def insert(self, op: Operation) -> SSAValue:
        op.location = self.like.location
        if self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)
        return op.results[0] if op.results else None  # pyright: ignore[reportReturnType]

    def integer(self, value: int, type_: IntegerType) -> SSAValue:
        return self.insert(arith.ConstantOp(IntegerAttr(value, type_)))

    def float(self, value: float, type_: AnyFloat) -> SSAValue:
        return self.insert(arith.ConstantOp(FloatAttr(value, type_)))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.CmpiOp(a, b, predicate))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.SelectOp(condition, a, b))

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        op = arith.MulfOp.create(operands=[a, b], result_types=[a.type], properties=NO_FASTMATH)
        return self.insert(op)

    def magnitude(self, value: SSAValue, format_: _Format) -> SSAValue:
        """The bits of |value|, by which numbers are ordered: those of NaN are the largest."""
        bits = self.insert(arith.BitcastOp(value, format_.integer))
        return self.insert(arith.AndIOp(bits, self.integer((1 << (format_.bits - 1)) - 1, format_.integer)))

    def unit(self, top: SSAValue, format_: _Format, sign: int) -> SSAValue:
        """`sign` times the power of two that the unit of the first part is: 2^(1 - LIMB) of the exponent of `top`."""
        exponent = self.insert(arith.ShRUIOp(top, self.integer(format_.fraction, format_.integer)))
        if format_.bits != 64:
            exponent = self.insert(arith.ExtUIOp(exponent, i64))
        exponent = self.insert(
            arith.MaxSIOp(exponent, self.integer(1, i64))
        )  # a subnormal number's is that of 1
        offset = self.integer(format_.bias + LIMB - 1, i64)
        operands = (exponent, offset) if sign > 0 else (offset, exponent)
        return self.insert(arith.SubiOp(*operands))

    def powers_of_two(self, exponent: SSAValue, format_: _Format) -> list[SSAValue]:
        """Two powers of two, neither too large nor too small, whose product is 2^exponent."""
        one = self.integer(1, i64)
        half = self.insert(arith.ShRSIOp(exponent, one))
        halves = (half, self.insert(arith.SubiOp(exponent, half)))
        found = []
        for part in halves:
            biased = self.insert(arith.AddiOp(part, self.integer(format_.bias, i64)))
            if format_.bits != 64:
                biased = self.insert(arith.TruncIOp(biased, format_.integer))
            bits = self.insert(arith.ShLIOp(biased, self.integer(format_.fraction, format_.integer)))
            found.append(self.insert(arith.BitcastOp(bits, format_.type)))
        return found


__all__ = ["exact_sum", "why_not_exact_sum"]
