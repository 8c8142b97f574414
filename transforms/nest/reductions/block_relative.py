"""nest-block-relative: a reduction, and the sum of functions of what its terms differ by, part by part of the terms.

    nest.for "i" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    ... %mean from %s
    nest.for "i.1" %i = 0 to 1000 {
      %a = nest.load %x[%i] : memref<1000xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[] : memref<f32>
    }

with bases=i, sums=i.1, parts=8 becomes

    nest.for "i.p" %p = 0 to 8 {
      nest.store "s" %zero, %s_parts[%p]
      nest.for "i" %i = 125 * %p to 125 * %p + 125 { ... nest.accumulate "s" add %a, %s_parts[%p] }
      ... 0 to %q_parts[%p] and %q_power[%p], %s_parts[%p] / 125 to %base[%p]
      nest.for "i.1" %i = 125 * %p to 125 * %p + 125 {
        ... %d = %a - %base[%p]
        nest.accumulate "power" add %d, %q_power[%p]
        nest.accumulate "q" add (%d * %d), %q_parts[%p]
      }
    }
    ... what sets %s, where this is a loop of its own
    nest.for "i.combine" %c = 0 to 8 { ... nest.accumulate "s" add %s_parts[%c], %s[] }
    ... %mean from %s
    nest.for "i.1.combine" %c = 0 to 8 {
      ... %shift = %s_parts[%c] / 125 - %mean
      nest.accumulate "q" add (%q_parts[%c] + %shift * (2 * %q_power[%c] + 125 * %shift)), %q[]
    }

so that the terms of a part, which registers or caches keep, are looked at twice, and memory is read once. This holds for
every function f of a difference d for which f(d + g) is a sum of products of functions of d and of g
(`analysis.nest.values.relative_terms.py`): of powers (moments), for which the lower powers are summed up, too, and of
exponentials (a softmax), where "i.1.combine" adds %q_parts[%c] * exp(%shift). It is exact for whatever is
subtracted, and for any base of a part; up to rounding it is right because of the bases:

- A sum's part has the mean of its terms. So each power of a difference from it, and of a shift, adds up to no more than
  such powers of the differences in the program, times a constant.
- A maximum's or minimum's part has its own, or the finite number that is next to it. So no exponential is above 1, and
  infinities and NaN give what they gave: with -inf for x, and in a part of nothing else, it is 0; +inf remains it.

What the second nest stores beside its sum is computed again, from what the program subtracts, in a last nest "i.1.rest".
Sums may have an element for each iteration of inner loops (of columns, say). As each part is on its own, "i.p" can be
parallel. The last part may have fewer terms: their number is then chosen in the loop.

Refused unless the second nest adds up such a function of what the first one reduces, less a number that is the same for all
terms of an element: powers behind a sum, exponentials that grow to a maximum or a minimum behind that; unless both run
in any order, to elements alike, in the same iterations, of which each part has some; and where what they read is written in
between. T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979);
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018). A rewrite of this kind has no name in TVM,
Halide, Exo and NNC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.kernels.combiners import largest_finite
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.accesses import accesses_of, may_alias, root_of
from ....analysis.nest.sets.domains import is_computation
from ....analysis.nest.sets.same_values import is_same_value
from ....analysis.nest.values.extent_keys import extent_key, value_key
from ....analysis.nest.values.relative_terms import (
    Exponential,
    Form,
    NoForm,
    Power,
    differences_in,
    form_of,
)
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..loops.fuse import fuse
from ..rewrite.buffers import erase_unused, fresh_buffer_name
from ..rewrite.loops import fresh_names
from .privatise import privatise, why_not_privatise

_GROWS = {"maximum": 1, "minimum": -1}
"""The sign of the rate with which exponentials of differences from an extreme are at most 1."""


@dataclass(frozen=True, eq=False)
class RelativePair:
    """Two reductions, and what the second one is of the first."""

    base: AccumulateOp
    total: AccumulateOp
    difference: arith.SubfOp
    side: int
    """Which operand of the difference is what is subtracted from a term, or it from that."""
    form: Form
    band: list[ForOp]
    """The loops around the second reduction."""
    axes: dict[SSAValue, int]
    """The axis of the second reduction that a loop goes along, by the variable of the loop."""

    @property
    def subtracted(self) -> SSAValue:
        return self.difference.operands[self.side]

    @property
    def powers(self) -> range:
        """The lower powers of differences that are summed up, too."""
        return range(1, self.form.degree if isinstance(self.form, Power) else 1)


@dataclass(frozen=True, eq=False)
class _Relative(RelativePair):
    """Such a pair in parts."""

    count: int
    """How many terms of a part an element has."""
    parts: int
    last: int
    """How many terms of the last part an element has."""
    start: ForOp | None
    """The loop that sets what the first reduction goes to, and does nothing else; None where there is none."""


# ---- legality ---------------------------------------------------------------------------------------


def why_not_block_relative(bases: ForOp, sums: ForOp, parts: int) -> NestorError | None:
    """The diagnostic that refuses to do parts of the two nests, None when it is legal."""
    plan = relative_plan(bases, sums, parts)
    return plan if isinstance(plan, NestorError) else None


def relative_plan(bases: ForOp, sums: ForOp, parts: int) -> _Relative | NestorError:
    """What the two nests are, or the diagnostic that refuses to do parts of them."""
    for loop in (bases, sums):
        if (refusal := why_not_privatise(loop, parts)) is not None:
            return refusal
    try:
        plan = _match(bases, sums, parts)
        check_reads(bases, sums, plan)
    except NoForm as reason:
        message = f'cannot do parts of "{bases.label}" with "{sums.label}", relative to it: {reason}'
        return fail(bases, message, notes=[(reason.at, "here")])
    return plan


def _match(bases: ForOp, sums: ForOp, parts: int) -> _Relative:
    _check_order(bases, sums)
    first, band = perfect_band(bases), perfect_band(sums)
    extents = [loop.constant_trip_count() or 0 for loop in band]
    if 0 in extents or not _are_alike(first, band):
        raise NoForm("they are not known to run through the same iterations, a constant number of them", sums)
    size = -(-extents[0] // parts)
    last = extents[0] - (parts - 1) * size
    if last <= 0:
        raise NoForm(f"of {parts} parts of {extents[0]} iterations not each has one", bases)
    pair = relative_pair(bases, sums)
    each = prod(n for n, loop in zip(extents[1:], band[1:], strict=True) if loop.iv not in pair.axes)
    start = _start_of(pair.base, first[0])
    known = {one.name: getattr(pair, one.name) for one in fields(pair)}
    return _Relative(**known, count=size * each, parts=parts, last=last * each, start=start)


def relative_pair(bases: ForOp, sums: ForOp) -> RelativePair:
    """A reduction and the sum relative to it that two nests make, of any number of iterations. Raises NoForm."""
    _check_order(bases, sums)
    first, band = perfect_band(bases), perfect_band(sums)
    if not _are_alike(first, band):
        raise NoForm("they are not known to run through the same iterations", sums)
    one, two = _sole_update(first), _sole_update(band)
    _check_first(one, first)
    if two.combiner.data != "add" or not isinstance(two.values[0].type, Float32Type | Float64Type):
        raise NoForm("what follows is not a sum of f32 or f64 numbers", two)
    variables = {a.iv: b.iv for a, b in zip(first, band, strict=True)}
    difference, side = _difference(one, two, variables, first[-1], band[-1])
    form = form_of(two.values[0], difference.result, two)
    _check_form(form, one, two, difference, side)
    own, axes = _axes_of(one, first), _axes_of(two, band)
    if [variables[iv] for iv in own] != list(axes):
        raise NoForm("the two reductions go to elements that are not known to correspond", two)
    _check_subtracted(difference.operands[side], axes, band)
    return RelativePair(one, two, difference, side, form, band, axes)


def _check_order(bases: ForOp, sums: ForOp) -> None:
    if bases.parent is not sums.parent or not bases.is_before_in_block(sums):
        raise NoForm("the sums do not follow in the same body", sums)


def _are_alike(first: list[ForOp], band: list[ForOp]) -> bool:
    """Whether two nests run through the same iterations."""
    return [*map(_iterations, first)] == [*map(_iterations, band)]


def _iterations(loop: ForOp) -> tuple[AffineList, AffineList, int]:
    return loop.lower.canonical(), loop.upper.canonical(), loop.step_value


def _sole_update(band: list[ForOp]) -> AccumulateOp:
    """The one reduction that a nest does, in any order; beside it the nest computes and stores."""
    update: AccumulateOp | None = None
    for op in band[-1].body.block.ops:
        if isinstance(op, AccumulateOp) and update is None:
            update = op
        elif not isinstance(op, LoadOp | StoreOp) and not is_computation(op):
            raise NoForm("a nest does something else than one reduction", op)
    if update is None or len(update.memrefs) != 1 or update.order_name != "any":
        raise NoForm("a nest has no reduction of numbers, in any order", update or band[-1])
    if update.where is not None or update.mask is not None:
        raise NoForm("a reduction has a domain", update)
    return update


def _check_first(update: AccumulateOp, band: list[ForOp]) -> None:
    is_sum = update.combiner.data == "add" and isinstance(update.values[0].type, Float32Type | Float64Type)
    is_extreme = update.combiner.data in _GROWS and isinstance(update.values[0].type, AnyFloat)
    if not is_sum and not is_extreme:
        raise NoForm("the first reduction is no sum of f32 or f64 numbers, and no maximum or minimum", update)
    stores = [op for op in band[-1].body.block.ops if isinstance(op, StoreOp)]
    if stores:
        raise NoForm("the first nest stores something", stores[0])


def _difference(
    one: AccumulateOp, two: AccumulateOp, variables: Mapping[SSAValue, SSAValue], first: ForOp, second: ForOp
) -> tuple[arith.SubfOp, int]:
    """The difference of a term of the first reduction from something, and which of its sides is the latter."""
    for op in differences_in(two.values[0]):
        for side in (1, 0):
            if is_same_value(one.values[0], op.operands[1 - side], variables, first, second):
                return op, side
    raise NoForm("what is added up is not of differences from the terms of the first reduction", two)


def _check_form(
    form: Form, one: AccumulateOp, two: AccumulateOp, difference: arith.SubfOp, side: int
) -> None:
    """The base that a part has bounds what is added up."""
    grows = _GROWS.get(one.combiner.data)
    if isinstance(form, Power):
        if grows is not None:
            raise NoForm("differences from a maximum or minimum cancel where they are shifted", two)
        if difference.result.type != two.values[0].type:
            raise NoForm("the differences are of another type than what is added up", two)
    elif grows is None or form.rate * (1 if side else -1) * grows < 0:
        raise NoForm("the exponentials are not bounded by what the first nest reduces to", two)


def _axes_of(update: AccumulateOp, band: list[ForOp]) -> dict[SSAValue, int]:
    """The variables of the band that are indices of a reduction, each of a loop over all of an axis, and the axes."""
    loops = {loop.iv: loop for loop in band}
    type_ = update.memrefs[0].type
    assert isinstance(type_, MemRefType)
    axes: dict[SSAValue, int] = {}
    for axis in range(type_.get_num_dims()):
        index = update.indices[axis].canonical()
        value = index.single_value()
        if not any(loop.iv in index.operands for loop in band):
            continue
        loop = loops.pop(value, None) if value is not None else None
        if loop is None or not _is_along(loop, update.memrefs[0], axis):
            raise NoForm("an index of a reduction is not that of a loop over all of its elements", update)
        axes[loop.iv] = axis
    return axes


def _is_along(loop: ForOp, buffer: SSAValue, axis: int) -> bool:
    """Whether a loop goes along all of an axis."""
    extent = extent_key(buffer, axis)
    if loop.lower.constants() != (0,) or loop.step_value != 1:
        return False
    if isinstance(extent, int):
        return loop.constant_trip_count() == extent
    upper = loop.upper.canonical().single_value()
    return upper is not None and value_key(upper) == extent


def _check_subtracted(value: SSAValue, axes: Mapping[SSAValue, int], band: list[ForOp]) -> None:
    """What is subtracted is the same for all terms of an element."""
    moving = [loop.iv for loop in band if loop.iv not in axes]
    if value in moving:
        raise NoForm("what is subtracted is not the same for all terms of an element", band[-1])
    for op in computed([value], band):
        operands = op.indices.operands if isinstance(op, LoadOp) else op.operands
        if any(iv in operands for iv in moving):
            raise NoForm("what is subtracted is not the same for all terms of an element", op)


def computed(
    values: Iterable[SSAValue], band: list[ForOp], without: SSAValue | None = None
) -> list[Operation]:
    """The operations of the nest that compute values, in their order; not what only `without` is computed by."""
    found: set[Operation] = set()
    work = list(values)
    while work:
        if (value := work.pop()) is without:
            continue
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent_op() is band[-1] and owner not in found:
            found.add(owner)
            work += owner.operands
    return [op for op in band[-1].body.block.ops if op in found]


def _start_of(update: AccumulateOp, nest: ForOp) -> ForOp | None:
    """The loop that sets the elements of a reduction, where it can be moved down to the nest and does nothing else."""
    root = root_of(update.memrefs[0])
    before = nest.prev_op
    while before is not None and not isinstance(before, ForOp):
        if any(access.root is root or access.root is None for access in accesses_of(before)):
            return None
        before = before.prev_op
    if not isinstance(before, ForOp):
        return None
    inner = perfect_band(before)[-1].body.block
    is_start = all(isinstance(op, StoreOp) and op.memref is update.memrefs[0] for op in inner.ops)
    return before if is_start else None


def check_reads(bases: ForOp, sums: ForOp, plan: RelativePair) -> None:
    """The parts of the second nest may run where the first one does: it reads what is not written from there on.

    Raises NoForm where that is not known."""
    needed = computed(plan.total.values, plan.band, plan.subtracted)
    reads = [root_of(op.memref) for op in needed if isinstance(op, LoadOp)]
    op: Operation | None = bases
    while op is not None and op is not sums.next_op:
        for inner in op.walk():
            for access in accesses_of(inner):
                root = access.root
                if access.writes and (root is None or any(may_alias(root, read) for read in reads)):
                    raise NoForm("what they read may be written from the first nest on", inner)
        op = op.next_op


# ---- rewriting --------------------------------------------------------------------------------------


def block_relative(bases: ForOp, sums: ForOp, parts: int) -> tuple[ForOp, ForOp, ForOp, ForOp | None]:
    """Do `parts` parts of both nests: the loop over the parts, those that take them together, and what is stored.

    `bases` and `sums` stay, inside the loop over the parts; the last nest is None where the second one stores nothing.
    Raises the diagnostic of `why_not_block_relative`.
    """
    plan = relative_plan(bases, sums, parts)
    if isinstance(plan, NestorError):
        raise plan
    block = bases.parent
    assert block is not None
    rest = stored_apart(sums, plan)
    _move_constants(plan, bases)
    outer, combine = privatise(bases, parts)
    before = set(block.ops)
    inner, total = privatise(sums, parts)
    for op in [op for op in block.ops if op not in before and op is not total]:
        if op is inner or isinstance(op, AllocOp | arith.ConstantOp):
            op.detach()
            block.insert_op_before(op, combine)
    _Rewriting(plan, inner, total).run()
    fuse(outer, inner)
    if plan.start is not None:
        plan.start.detach()
        block.insert_op_before(plan.start, combine)
    return outer, combine, total, rest


def _move_constants(plan: _Relative, bases: ForOp) -> None:
    """Constants that the second nest uses are made before the first one."""
    block = bases.parent
    assert block is not None
    for op in (*computed(plan.total.values, plan.band), *plan.band):
        for owner in [value.owner for value in op.operands]:
            if not isinstance(owner, arith.ConstantOp) or owner.parent is not block:
                continue
            if not owner.is_before_in_block(bases):
                owner.detach()
                block.insert_op_before(owner, bases)


def stored_apart(sums: ForOp, plan: RelativePair) -> ForOp | None:
    """Move what the second nest stores to a nest of its own behind it, with what it is computed from."""
    if not any(isinstance(op, StoreOp) for op in plan.band[-1].body.block.ops):
        return None
    rest = sums.clone()
    assert isinstance(rest, ForOp) and sums.parent is not None
    for op, copy in zip(sums.walk(), rest.walk(), strict=True):
        copy.location = op.location  # pyright: ignore
    sums.parent.insert_op_after(rest, sums)
    band = perfect_band(rest)
    for loop in band:
        loop.set_label(fresh_names(sums, f"{loop.label}.rest")[0])
    for own, kind in ((plan.band[-1], StoreOp), (band[-1], AccumulateOp)):
        ops = list(own.body.block.ops)
        for op in ops:
            if isinstance(op, kind):
                op.detach()
                op.erase()
        erase_unused([op for op in ops if op.parent is not None and op.results])
    return rest


class _Rewriting:
    """What is left once both nests are in parts: bases of the parts, and sums of all from those of the parts."""

    def __init__(self, plan: _Relative, inner: ForOp, total: ForOp):
        self.plan = plan
        self.inner = inner
        self.total = total
        self.subtracted = plan.subtracted
        self.update = next(op for op in total.walk() if isinstance(op, AccumulateOp))
        self.slots = plan.total.memrefs[0]
        element = plan.base.values[0].type
        assert isinstance(element, AnyFloat)
        self.element = element
        self.powers: dict[int, SSAValue] = {}

    def run(self) -> None:
        plan = self.plan
        base = self._like(self.slots, "base", self.element)
        start = next(op for op in self.inner.walk() if isinstance(op, StoreOp) and op.memref is self.slots)
        for power in plan.powers:
            self.powers[power] = buffer = self._like(self.slots, power_label(power))
            insert(start, StoreOp(start.value, buffer, start.indices, label=power_label(power)))
        own = self._base_of_part(start, start.indices, self.inner.iv)
        insert(start, StoreOp(own, base, start.indices, label="base"))
        value = self._total()
        make_relative_to(base, plan, self.powers)
        self.update.operands[0] = value

    def _like(self, buffer: SSAValue, name: str, element: AnyFloat | None = None) -> SSAValue:
        """A new buffer of the shape of `buffer`."""
        assert isinstance(buffer.type, MemRefType) and self.inner.parent is not None
        name = fresh_buffer_name(self.inner, f"{buffer_name(self.update.memrefs[0])}_{name}")
        type_ = MemRefType(element or buffer.type.element_type, buffer.type.get_shape())
        alloc = AllocOp(name, type_)
        alloc.location = self.inner.location
        self.inner.parent.insert_op_before(alloc, self.inner)
        return alloc.memref

    # ---- what follows from the parts ----

    def _base_of_part(self, at: Operation, indices, part: SSAValue) -> SSAValue:
        found = made(at, LoadOp(self.plan.base.memrefs[0], indices))
        return base_from(self.plan.base, found, lambda: self._count(at, part, self.element), at)

    def _count(self, at: Operation, part: SSAValue, element: AnyFloat) -> SSAValue:
        """How many terms of part `part` an element has."""
        plan = self.plan
        count = made(at, arith.ConstantOp(FloatAttr(float(plan.count), element)))
        if plan.last == plan.count:
            return count
        fewer = made(at, arith.ConstantOp(FloatAttr(float(plan.last), element)))
        last = made(at, arith.ConstantOp(IntegerAttr(plan.parts - 1, IndexType())))
        is_last = made(at, arith.CmpiOp(part, last, "eq"))
        return made(at, arith.SelectOp(is_last, fewer, count))

    def _total(self) -> SSAValue:
        """What the sum of a part is relative to what the program subtracts."""
        form, at = self.plan.form, self.update
        sums = at.values[0]
        load = sums.owner
        assert isinstance(load, LoadOp) and isinstance(sums.type, AnyFloat)
        own = self._base_of_part(at, load.indices, self.total.iv)
        shift = shift_of(self.plan, own, self._subtracted_again(), at)
        powers = {k: made(at, LoadOp(buffer, load.indices)) for k, buffer in self.powers.items()}
        if isinstance(form, Power):
            powers[0] = self._count(at, self.total.iv, sums.type)
        return shifted(form, sums, powers, shift, at)

    def _subtracted_again(self) -> SSAValue:
        """What the program subtracts, where the parts are taken together."""
        variables: dict[SSAValue, SSAValue] = {}
        for iv, axis in self.plan.axes.items():
            now = self.update.indices[axis].single_value()
            assert now is not None
            variables[iv] = now
        return computed_again(self.subtracted, self.plan.band, variables, self.update)


# ---- the formulas -----------------------------------------------------------------------------------


def make_relative_to(base: SSAValue, pair: RelativePair, powers: Mapping[int, SSAValue]) -> None:
    """Let the second nest subtract the elements of a buffer, and sum up powers of the differences in others."""
    update = pair.total
    old = computed([pair.subtracted], pair.band)
    load = LoadOp(base, update.indices)
    insert(pair.difference, load)
    pair.difference.operands[pair.side] = load.result
    value = difference = pair.difference.result
    for power, buffer in powers.items():
        if power > 1:
            value = made(update, arith.MulfOp(value, difference))
        insert(update, AccumulateOp("add", [value], [buffer], update.indices, label=power_label(power)))
    erase_unused(old)


def base_from(
    update: AccumulateOp, found: SSAValue, count: Callable[[], SSAValue], at: Operation
) -> SSAValue:
    """What sums of a part are relative to, in front of `at`: the mean of its `count` terms, whose sum is found, or its
    extreme; in place of an infinite one (or of NaN) a finite number."""
    if update.combiner.data == "add":
        return made(at, arith.DivfOp(found, count()))
    element = found.type
    assert isinstance(element, AnyFloat)
    largest = largest_finite(element)
    for kind, number in ((arith.MaxnumfOp, -largest.value.data), (arith.MinnumfOp, largest.value.data)):
        found = made(at, kind(found, made(at, arith.ConstantOp(FloatAttr(number, element)))))
    return found


def shift_of(pair: RelativePair, own: SSAValue, new: SSAValue, at: Operation) -> SSAValue:
    """What is added to differences, where they become relative to `new` in place of `own`."""
    sides = [own, new] if pair.side == 1 else [new, own]
    if sides[0].type != (sums := pair.total.values[0].type):
        sides = [made(at, arith.ExtFOp(side, sums)) for side in sides]  # pyright: ignore[reportArgumentType]
    shift = made(at, arith.SubfOp(sides[0], sides[1]))
    shift.name_hint = "shift"
    return shift


def shifted(
    form: Form, sums: SSAValue, powers: Mapping[int, SSAValue], shift: SSAValue, at: Operation
) -> SSAValue:
    """The sum of a form of d + `shift`, in front of `at`, where `sums` is that of d, and `powers` are the sums of the lower
    powers of d, that of 0 being the number of terms."""
    if isinstance(form, Exponential):
        argument = _times(shift, form.rate, at)
        scale = made(at, form.kind.create(operands=[argument], result_types=[sums.type]))
        scale.name_hint = "scale"
        return made(at, arith.MulfOp(sums, scale))
    value = _times(powers[0], form.of_shift(form.degree), at)
    for power in range(form.degree - 1, 0, -1):
        term = _times(powers[form.degree - power], form.of_shift(power), at)
        value = made(at, arith.AddfOp(term, made(at, arith.MulfOp(shift, value))))
    return made(at, arith.AddfOp(sums, made(at, arith.MulfOp(shift, value))))


def _times(value: SSAValue, factor: float, at: Operation) -> SSAValue:
    if factor == 1:
        return value
    if factor == 2:
        return made(at, arith.AddfOp(value, value))
    assert isinstance(value.type, AnyFloat)
    constant = made(at, arith.ConstantOp(FloatAttr(factor, value.type)))
    return made(at, arith.MulfOp(value, constant))


def computed_again(
    value: SSAValue, band: list[ForOp], variables: Mapping[SSAValue, SSAValue], at: Operation
) -> SSAValue:
    """What a nest computes, once more in front of `at`, with these loop variables."""
    copies: dict[SSAValue, SSAValue] = dict(variables)
    for op in computed([value], band):
        if isinstance(op, LoadOp):
            copy: Operation = LoadOp(op.memref, op.indices.substitute_all(copies))
        else:
            copy = op.clone(value_mapper=dict(copies))
        copies |= dict(zip(op.results, copy.results, strict=True))
        insert(at, copy)
    return copies.get(value, value)


def power_label(number: int) -> str:
    return "power" if number == 1 else f"power{number}"


def made(before: Operation, op: Operation) -> SSAValue:
    """The result of an operation, in front of another one."""
    insert(before, op)
    return op.results[0]


def insert(before: Operation, op: Operation) -> None:
    """An operation in front of another one, from its place in the source."""
    assert before.parent is not None
    op.location = before.location
    before.parent.insert_op_before(op, before)
