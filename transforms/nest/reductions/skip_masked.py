"""nest-skip-masked: blocks of a running softmax in which a mask leaves nothing are left out; of their product, zeros stay.

    nest.for "o" %o = 0 to 16 {
      ... the scores of 64 columns to %t
      nest.for "i" %i = 0 to 32 {                            // as nest-online-softmax makes them
        nest.for "j" %j = 0 to 64 {
          %c = arith.cmpi sge, %i, (64 * %o + %j)
          %x = arith.select %c, %a, -inf
          nest.accumulate "maximum" maximum %x, %m[%i]
        }
        ... what scales the sums, to %scale[%i]
        nest.for "j.1" ... { ... exponentials of what the mask selects, to %t, and their sum, to %s[%i] }
      }
      nest.for "i.1" ... { nest.for "l" ... { %y[%i, %l] times %scale[%i] } }
      nest.for "i.2" ... { nest.for "l" ... { nest.for "j.2" ... {
        %v = nest.load %b[64 * %o + %j, %l]
        ... nest.accumulate "y" add (%t[%i, %j] * %v), %y[%i, %l]

with side=above becomes

    nest.for "o" %o = 0 to 1 { the same }                    // 31 - 64 * %o >= 0
    %none = nest.alloc "none" : memref<64xf32>
    nest.for "l.none" %l = 0 to 64 { 0 to %none[%l] }
    nest.for "l.rest" %l = 0 to 64 { nest.for "o.rest" %o = 1 to 16 { nest.for "j.rest" %j = 0 to 64 {
      %v = nest.load %b[64 * %o + %j, %l]
      ... nest.accumulate "none" add (%v * 0), %none[%l]
    nest.for "i.added" ... { nest.for "l.added" ... { nest.accumulate "y" add %none[%l], %y[%i, %l] } }

A block of scores that are all -inf changes no maximum; its exponentials are 0, and it scales by 1, or sums that are 0. What
is left of it is 0 times the other factor, which is 0, or NaN where that is infinite or NaN: so much is added up, once for
all rows. Bounds are computed from what the mask compares (`mask_conditions.py`), for the rows of the nest: of conditions
that all hold where the mask is true, one that grows or falls with the blocks. side=below leaves out the first blocks.

Refused unless the body of the loop is such a block, with scores that are its own, and sums that start from 0; unless both
loops over its columns select -inf by the same affine conditions; and where no condition bounds the loop on that side. In
FlashAttention kernels this is "causal block skipping", without the zeros; TVM, Halide, Exo and NNC have nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Literal

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineDimExpr

from ....analysis.nest.loop_structure import is_inside, loops_in, perfect_band
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.producers import top_in
from ....analysis.nest.values.mask_conditions import conditions_of
from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names

Side = Literal["above", "below"]

_CASTS = (arith.ExtFOp, arith.TruncFOp)

_OTHER = "a block does not just compute a running softmax of rows and its product"
_PRODUCT = "the product is none of rows and a known number of columns, with terms of their own bounds"


class _NotSuch(Exception):
    def __init__(self, reason: str, at: Operation | None = None):
        super().__init__(reason)
        self.at = at


@dataclass(frozen=True, eq=False)
class _Plan:
    bound: AffineList
    """Where the loop ends (begins), if that is before (behind) its own bound."""
    product: list[ForOp]
    columns: list[ForOp]
    """The loops of the product that its other factor has, without its terms."""
    terms: list[ForOp]
    sums: AccumulateOp
    factor: SSAValue
    """What exponentials are multiplied by."""


def why_not_skip_masked(loop: ForOp, side: Side = "above") -> NestorError | None:
    """The diagnostic that refuses to leave out blocks, None when it is legal."""
    plan = _plan(loop, side)
    return plan if isinstance(plan, NestorError) else None


def skip_masked(loop: ForOp, side: Side = "above") -> tuple[ForOp, ForOp, ForOp]:
    """Leave out the last (first) blocks: the loops that set zeros, add up those of the rest, and add these to the sums.

    Raises the diagnostic of `why_not_skip_masked`.
    """
    plan = _plan(loop, side)
    if isinstance(plan, NestorError):
        raise plan
    made = _rest(loop, plan, side)
    if side == "above":
        loop.set_bounds(loop.lower, _with(loop.upper, plan.bound, min))
    else:
        loop.set_bounds(_with(loop.lower, plan.bound, max), loop.upper)
    return made


def _with(bounds: AffineList, bound: AffineList, of: Callable[[int, int], int]) -> AffineList:
    """Bounds and one more, of which the least (the largest) counts."""
    numbers, more = bounds.constants(), bound.constants()
    if numbers is None or more is None or len(numbers) != 1:
        return bounds.concat(bound).canonical()
    return AffineList.of(of(numbers[0], more[0]))


def _plan(loop: ForOp, side: Side) -> _Plan | NestorError:
    action = f'cannot skip masked blocks of the loop "{loop.label}"'
    try:
        if loop.kind != "serial" or loop.step_value != 1 or loop.lower.constants() is None:
            raise _NotSuch("it does not count blocks from a constant on", loop)
        return _match(loop, side)
    except _NotSuch as reason:
        notes = [] if reason.at is None else [(reason.at, "here")]
        return fail(loop, f"{action}: {reason}", notes=notes)


# ---- what it is -------------------------------------------------------------------------------------


def _match(loop: ForOp, side: Side) -> _Plan:
    nests = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    for op in loop.body.block.ops:
        if not isinstance(op, ForOp | AllocOp | LoadOp) and not is_computation(op):
            raise _NotSuch(_OTHER, op)
    rows = [nest for nest in nests if _updates(nest, "maximum", loop)]
    if len(rows) != 1:
        raise _NotSuch(_OTHER, loop)
    masks, state, weights, scale = _check_rows(rows[0], loop)
    product = next((one for one in nests if one is not rows[0] and _is_product(one, weights)), None)
    if product is None:
        raise _NotSuch(_OTHER, rows[0])
    sums = _sole_update(product)
    for nest in nests:
        if nest not in (rows[0], product):
            _check_other(nest, loop, sums.memrefs[0], scale)
    for nest in nests:
        for op in nest.walk():
            if isinstance(op, LoadOp) and op.memref in state and nest is not rows[0]:
                raise _NotSuch(_OTHER, op)
    for buffer, number in ((state[0], -inf), (state[1], 0.0), (sums.memrefs[0], 0.0)):
        _check_start(buffer, number, loop)
    bounds = [_bound(mask, loop, side) for mask in masks]
    if bounds[0] is None or bounds[1] != bounds[0]:
        raise _NotSuch(f"no affine condition of its mask leaves out blocks {side} others", rows[0])
    band = perfect_band(product)
    factor = _other_factor(sums, weights)
    inside = _variables_of(factor, band)
    terms = [one for one in band if one.iv not in sums.indices.operands]
    columns = [one for one in band if one.iv in inside and one not in terms]
    if any(one.iv in inside for one in band if one not in (*terms, *columns)):
        raise _NotSuch(_PRODUCT, sums)
    others = {one.iv for one in band if one not in (*terms, *columns)}
    for k in range(len(sums.where or ())):
        values = sums.where[k].canonical().operands  # pyright: ignore[reportOptionalSubscript]
        if others.intersection(values) and {loop.iv, *(one.iv for one in terms)}.intersection(values):
            raise _NotSuch(_PRODUCT, sums)
    for one in (*columns, *terms):
        if one.lower.constants() != (0,) or one.step_value != 1 or not _may_be_alone(one, band):
            raise _NotSuch(_PRODUCT, one)
    if any(one.constant_trip_count() is None for one in columns):
        raise _NotSuch(_PRODUCT, sums)
    return _Plan(bounds[0], band, columns, terms, sums, factor)


def _may_be_alone(one: ForOp, band: Sequence[ForOp]) -> bool:
    return not any(other.iv in one.upper.operands for other in band)


def _check_start(buffer: SSAValue, number: float, loop: ForOp) -> None:
    """Before the loop maxima are -inf and sums 0: what scales these as long as they are, exp(-inf), changes nothing."""
    alloc, block = buffer.owner, loop.parent
    if not isinstance(alloc, AllocOp) or alloc.parent is not block or block is None:
        raise _NotSuch("its maxima do not start from -inf, or its sums not from 0", loop)
    for use in buffer.uses:
        op, top = use.operation, top_in(block, use.operation)
        if isinstance(op, LoadOp) or top is loop or loop.is_before_in_block(top):
            continue
        if not isinstance(op, StoreOp) or not _is_number(op.value, number):
            raise _NotSuch("its maxima do not start from -inf, or its sums not from 0", op)


def _check_rows(nest: ForOp, loop: ForOp) -> tuple[list[SSAValue], list[SSAValue], SSAValue, SSAValue]:
    """The masks of the two passes, the running maximum and sum, and where exponentials and scales go."""
    row = perfect_band(nest)[-1]
    ops = list(row.body.block.ops)
    passes = [op for op in ops if isinstance(op, ForOp)]
    if len(passes) != 2 or any(len(loops_in(one)) != 1 for one in passes):
        raise _NotSuch(_OTHER, nest)
    largest, exponents = passes
    maximum, total = (_sole_update(one) for one in passes)
    if maximum.combiner.data != "maximum" or total.combiner.data != "add":
        raise _NotSuch(_OTHER, nest)
    m, s = maximum.memrefs[0], total.memrefs[0]
    first = _selected(maximum.values[0])
    stores = [op for op in exponents.body.block.ops if isinstance(op, StoreOp)]
    e = _uncast(total.values[0])
    shifted = e.owner.operands[0].owner if isinstance(e.owner, math.ExpOp) else None
    if len(stores) != 1 or _uncast(stores[0].value) is not e or not isinstance(shifted, arith.SubfOp):
        raise _NotSuch(_OTHER, exponents)
    second, shift = _selected(_uncast(shifted.lhs)), shifted.rhs
    if not _is_shift(shift, m, largest):
        raise _NotSuch(_OTHER, shifted)
    scale = _check_scale(ops, shift, m, s, largest)
    if any(
        isinstance(op, AccumulateOp) or (isinstance(op, StoreOp) and op.memref not in (s, scale))
        for op in ops
    ):
        raise _NotSuch(_OTHER, row)
    for op in (maximum, total):
        if op.order_name != "any" or any(one.iv in op.indices.operands for one in passes):
            raise _NotSuch(_OTHER, op)
    if _domain_in(largest, maximum) != _domain_in(exponents, total, largest.iv):
        raise _NotSuch(_OTHER, nest)
    weights = stores[0].memref
    if any(isinstance(op, StoreOp) for op in largest.walk()):
        raise _NotSuch(_OTHER, largest)
    if not _is_own(weights, loop):
        raise _NotSuch("exponentials are used behind their block", stores[0])
    return [first, second], [m, s], weights, scale


def _domain_in(one: ForOp, op: AccumulateOp, variable: SSAValue | None = None) -> tuple[AffineList, ...]:
    """Where a pass updates: its bounds and the domain, of the variable of another pass if that is given."""
    where = AffineList((), ()) if op.where is None else op.where
    where = where if variable is None else where.substitute(one.iv, variable)
    return one.lower.canonical(), one.upper.canonical(), where.canonical()


def _check_scale(
    ops: Sequence[Operation], shift: SSAValue, m: SSAValue, s: SSAValue, largest: ForOp
) -> SSAValue:
    """Where the scale goes: exp(the maximum before, less the shift), by which the sum is multiplied, too."""
    scaled = [op for op in ops if isinstance(op, StoreOp) and op.memref is s]
    others = [op for op in ops if isinstance(op, StoreOp) and op.memref is not s]
    if len(scaled) != 1 or len(others) != 1 or not isinstance(scaled[0].value.owner, arith.MulfOp):
        raise _NotSuch(_OTHER, largest)
    factor = others[0].value
    old, by = scaled[0].value.owner.operands
    difference = factor.owner.operands[0].owner if isinstance(factor.owner, math.ExpOp) else None
    is_scaled = isinstance(old.owner, LoadOp) and old.owner.memref is s and by is factor
    if not is_scaled or not isinstance(difference, arith.SubfOp):
        raise _NotSuch(_OTHER, scaled[0])
    before, now = _uncast(difference.lhs), _uncast(difference.rhs)
    is_before = isinstance(before.owner, LoadOp) and before.owner.memref is m
    if not is_before or not before.owner.is_before_in_block(largest) or now is not shift:  # pyright: ignore
        raise _NotSuch(_OTHER, others[0])
    return others[0].memref


def _is_shift(shift: SSAValue, m: SSAValue, largest: ForOp) -> bool:
    """Whether it is the running maximum behind the first pass, or 0 where that is -inf."""
    op = shift.owner
    if not isinstance(op, arith.SelectOp) or not isinstance(op.cond.owner, arith.CmpfOp):
        return False
    compared, found = op.cond.owner, op.rhs
    if compared.predicate.value.data != 1 or compared.lhs is not found or not _is_number(compared.rhs, -inf):
        return False
    load = found.owner
    is_load = isinstance(load, LoadOp) and load.memref is m and largest.is_before_in_block(load)
    return is_load and _is_number(op.lhs, 0.0)


def _selected(value: SSAValue) -> SSAValue:
    """The mask where it is false the value is -inf."""
    op = value.owner
    if not isinstance(op, arith.SelectOp) or not _is_number(op.rhs, -inf):
        raise _NotSuch(
            "its scores are not those that a mask selects, or -inf", op if isinstance(op, Operation) else None
        )
    return op.cond


def _check_other(nest: ForOp, loop: ForOp, sums: SSAValue, scale: SSAValue) -> None:
    """A nest sets what is the block's own, or scales the sums."""
    written = [op for op in nest.walk() if isinstance(op, StoreOp | AccumulateOp)]
    if all(_is_own(b, loop) for op in written for b in _targets(op)):
        return
    if len(written) == 1 and isinstance(op := written[0], StoreOp) and op.memref is sums:
        product = op.value.owner
        loads = [v.owner for v in product.operands] if isinstance(product, arith.MulfOp) else []
        read = [one.memref for one in loads if isinstance(one, LoadOp)]
        if read == [sums, scale] and loads[0].indices == op.indices:  # pyright: ignore
            return
    raise _NotSuch("a nest in it writes what is not the block's own", written[0])


def _is_own(buffer: SSAValue, loop: ForOp) -> bool:
    return isinstance(buffer.owner, AllocOp) and loop.is_ancestor(buffer.owner)


def _targets(op: Operation) -> Sequence[SSAValue]:
    return (op.memref,) if isinstance(op, StoreOp) else op.memrefs  # pyright: ignore


def _updates(nest: ForOp, combiner: str, loop: ForOp) -> bool:
    return any(
        isinstance(op, AccumulateOp) and op.combiner.data == combiner and not _is_own(op.memrefs[0], loop)
        for op in nest.walk()
    )


def _is_product(nest: ForOp, weights: SSAValue) -> bool:
    loads = [op for op in nest.walk() if isinstance(op, LoadOp)]
    return any(op.memref is weights for op in loads) and any(
        isinstance(op, AccumulateOp) for op in nest.walk()
    )


def _sole_update(nest: ForOp) -> AccumulateOp:
    found = [op for op in nest.walk() if isinstance(op, AccumulateOp)]
    if len(found) != 1 or len(found[0].memrefs) != 1 or found[0].mask is not None:
        raise _NotSuch(_OTHER, nest)
    return found[0]


def _other_factor(sums: AccumulateOp, weights: SSAValue) -> SSAValue:
    product = sums.values[0].owner
    if sums.combiner.data != "add" or sums.order_name != "any" or not isinstance(product, arith.MulfOp):
        raise _NotSuch(_OTHER, sums)
    sides = list(product.operands)
    of_weights = [_is_load_of(_uncast(side), weights) for side in sides]
    if of_weights.count(True) != 1:
        raise _NotSuch(_OTHER, sums)
    return sides[1 - of_weights.index(True)]


def _is_load_of(value: SSAValue, buffer: SSAValue) -> bool:
    return isinstance(value.owner, LoadOp) and value.owner.memref is buffer


def _variables_of(factor: SSAValue, band: Sequence[ForOp]) -> set[SSAValue]:
    """What the factor is computed from, as far as it is computed in the nest."""
    return {v for op in _chain(factor, band[-1]) for v in op.operands}


def _chain(value: SSAValue, inner: ForOp) -> list[Operation]:
    """The operations of the innermost loop that a value is computed by, in order."""
    found, pending = set[Operation](), [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is inner.body.block and owner not in found:
            if not isinstance(owner, LoadOp) and not is_computation(owner):
                raise _NotSuch(_PRODUCT, owner)
            found.add(owner)
            pending += owner.operands
    return [op for op in inner.body.block.ops if op in found]


def _uncast(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, _CASTS):
        value = value.owner.operands[0]
    return value


def _is_number(value: SSAValue, number: float) -> bool:
    op = value.owner
    return (
        isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.value.data == number
    )


# ---- bounds -----------------------------------------------------------------------------------------


def _bound(mask: SSAValue, loop: ForOp, side: Side) -> AffineList | None:
    """Behind (before) which blocks the mask leaves nothing, by the first of its conditions that says so."""
    for condition in conditions_of(mask):
        terms, constant = linear_terms(condition.exprs[0])
        own, rest = 0, AffineList.of(constant)
        for atom, factor in terms.items():
            values = [condition.operands[k] for k in dims_of(atom)]
            if all(is_defined_outside(v, loop) for v in values):
                rest = rest.plus(AffineList((atom,), condition.operands).times(factor))
                continue
            most = None if not isinstance(atom, AffineDimExpr) else _largest(values[0], factor, loop)
            if values == [loop.iv] and isinstance(atom, AffineDimExpr):
                own = factor
            elif most is not None:
                rest = rest.add(most)
            else:
                break
        else:
            if side == "above" and own < 0:
                return rest.divided(AffineBinaryOpKind.FloorDiv, -own).add(1).canonical()
            if side == "below" and own > 0:
                return rest.times(-1).divided(AffineBinaryOpKind.CeilDiv, own).canonical()
    return None


def _largest(variable: SSAValue, factor: int, loop: ForOp) -> int | None:
    """The largest multiple by `factor` of a variable of a loop inside, None where it has no constant bound."""
    around = variable.owner.parent_op() if not isinstance(variable.owner, Operation) else None
    if not isinstance(around, ForOp) or not is_inside(around, loop) or around.lower.constants() != (0,):
        return None
    ends = [
        number[0] for k in range(len(around.upper)) if (number := around.upper[k].constants()) is not None
    ]
    if not ends or around.step_value != 1:
        return None
    return factor * (min(ends) - 1) if factor > 0 else 0


# ---- what is left -----------------------------------------------------------------------------------


def _rest(loop: ForOp, plan: _Plan, side: Side) -> tuple[ForOp, ForOp, ForOp]:
    block, sums = loop.parent, plan.sums
    assert block is not None
    element = sums.values[0].type
    assert isinstance(element, AnyFloat)
    shape = [one.constant_trip_count() for one in plan.columns]
    alloc = AllocOp(fresh_buffer_name(loop, "none"), MemRefType(element, [n or 0 for n in shape]), [])
    alloc.memref.name_hint = alloc.label.data
    location = sums.location
    zeros, ivs = _loops(loop, plan.columns, "none")
    zero = arith.ConstantOp(FloatAttr(0.0, element))
    _fill(zeros[-1], location, zero, StoreOp(zero.result, alloc.memref, ivs, label="none"))
    rest = _terms(loop, plan, side, alloc.memref)
    rows = [one for one in plan.product if one not in plan.terms]
    added, ivs = _loops(loop, rows, "added")
    mapping = {old.iv: new.iv for old, new in zip(rows, added, strict=True)}
    at = AffineList.of(*(mapping[one.iv] for one in plan.columns))
    load = LoadOp(alloc.memref, at)
    where = _domain(sums, {one.iv for one in plan.terms} | {loop.iv})
    update = AccumulateOp(
        "add",
        [load.result],
        [sums.memrefs[0]],
        sums.indices.substitute_all(mapping),
        label=sums.statement,
        where=None if where is None else where.substitute_all(mapping),
    )
    _fill(added[-1], location, load, update)
    for op in (alloc, zeros[0], rest, added[0]):
        op.location = location
    block.insert_ops_after([alloc, zeros[0], rest, added[0]], loop)
    return zeros[0], rest, added[0]


def _terms(loop: ForOp, plan: _Plan, side: Side, none: SSAValue) -> ForOp:
    """The nest that adds up zeros times the other factor in the blocks that are left out."""
    sums, inner = plan.sums, plan.product[-1]
    columns, at = _loops(loop, plan.columns, "rest")
    (name,) = fresh_names(loop, f"{loop.label}.rest")
    blocks = ForOp(name, 0, 0)
    if side == "above":
        blocks.set_bounds(_with(loop.lower, plan.bound, max), loop.upper)
    else:
        blocks.set_bounds(loop.lower, _with(loop.upper, plan.bound, min))
    blocks.iv.name_hint = loop.iv.name_hint
    columns[-1].body.block.add_op(blocks)
    mapping: dict[SSAValue, SSAValue] = {loop.iv: blocks.iv}
    mapping |= {old.iv: new.iv for old, new in zip(plan.columns, columns, strict=True)}
    around = blocks
    for old in plan.terms:
        (name,) = fresh_names(loop, f"{old.label}.rest")
        one = ForOp(name, 0, 0)
        one.set_bounds(old.lower.substitute_all(mapping), old.upper.substitute_all(mapping))
        one.iv.name_hint = old.iv.name_hint
        mapping[old.iv] = one.iv
        around.body.block.add_op(one)
        around = one
    values = dict(mapping)
    ops: list[Operation] = []
    for op in _chain(plan.factor, inner):
        copy = op.clone(values)
        ops.append(copy)
    element = sums.values[0].type
    assert isinstance(element, AnyFloat)
    zero = arith.ConstantOp(FloatAttr(0.0, element))
    product = arith.MulfOp(values.get(plan.factor, plan.factor), zero.result)
    where = _domain(sums, {one.iv for one in plan.product if one not in (*plan.terms, *plan.columns)})
    update = AccumulateOp(
        "add",
        [product.result],
        [none],
        at,
        label="none",
        where=None if where is None else where.substitute_all(mapping),
    )
    _fill(around, sums.location, *ops, zero, product, update)
    return columns[0]


def _domain(sums: AccumulateOp, without: set[SSAValue]) -> AffineList | None:
    """The constraints of the product that do not speak of some variables."""
    found = AffineList((), ())
    for k in range(len(sums.where or ())):
        assert sums.where is not None
        constraint = sums.where[k].canonical()
        if without.isdisjoint(constraint.operands):
            found = found.concat(constraint)
    return found.canonical() if len(found) else None


def _loops(loop: ForOp, like: Sequence[ForOp], what: str) -> tuple[list[ForOp], AffineList]:
    """A nest of loops like these, and its variables."""
    names = fresh_names(loop, *(f"{one.label}.{what}" for one in like))
    loops = [ForOp(name, 0, one.upper) for name, one in zip(names, like, strict=True)]
    for outer, inner in pairwise(loops):
        outer.body.block.add_op(inner)
    for new, old in zip(loops, like, strict=True):
        new.location, new.iv.name_hint = old.location, old.iv.name_hint
    return loops, AffineList.of(*(new.iv for new in loops))


def _fill(loop: ForOp, location, *ops: Operation) -> None:
    for op in ops:
        op.location = location
        loop.body.block.add_op(op)


__all__ = ["skip_masked", "why_not_skip_masked"]
