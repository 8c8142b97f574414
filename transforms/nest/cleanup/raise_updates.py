"""nest-raise-updates: what reads an element, combines it with a value and writes it back is the update of a reduction.

    %a = nest.load %h[%k] : memref<256xi32>
    %b = arith.addi %a, %one : i32
    nest.store "h" %b, %h[%k] : memref<256xi32>

becomes

    nest.accumulate "h" add %one, %h[%k] : memref<256xi32>

so that loops over such updates are reductions: `h[b[i]] += 1` in a loop. Only what is the same in any order: integers, and
the larger and smaller ones of floating-point numbers; sums and products of these, written as a loop, keep their order.
Left as it is where each iteration has an element of its own, where the element that was read, or the combined one, is used
elsewhere, and where something in between may write to the buffer.

Python's `best = max(best, v)` is a comparison and a selection (analysis/nest/values/extrema.py), of which the result has the
bits of the loop's:

    %c = arith.cmpf ogt, %v, %old                  %d = arith.cmpf ord, %v, %v
    %m = arith.select %c, %v, %old       becomes   %e = arith.select %d, %v, %lowest
    nest.store "best" %m, %best[]                  nest.accumulate "best" maximum %e, %best[]

where `%v` is never -0.0; and where %best is at first a constant that is 0.0 or more, to which 0.0 is added then: it stays.

What is selected from an update and what was there (`if a[i] > 0: n += 1`, nest-if-to-select) is an update by a number
that changes nothing where the condition does not hold.

What a loop carries from iteration to iteration has a variable of its own in each loop. One that begins as an element, is
updated and is stored back is the element:

    %old = nest.load %best[]
    %own = nest.alloc "best" : memref<i64>
    nest.store "best" %old, %own[]
    nest.for "j" ... { nest.accumulate "best" maxsi %v, %own[] }       becomes     nest.for "j" ... {
    %new = nest.load %own[]                                                          nest.accumulate "best" maxsi %v, %best[]
    nest.store "best" %new, %best[]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.kernels.combiners import identity, zero
from ....analysis.nest.loop_structure import enclosing_loops, functions, is_check
from ....analysis.nest.sets.accesses import accesses_in, argument_attribute, may_alias, root_of
from ....analysis.nest.values.extrema import extremum_of, is_never_negative_zero
from ....dialects.attributes import ROLE
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp

OUT = StringAttr("out")

COMBINERS: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.MuliOp: "mul",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.MaxSIOp: "maxsi",
    arith.MinSIOp: "minsi",
    arith.MaxUIOp: "maxui",
    arith.MinUIOp: "minui",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
}
"""The combiner that an operation is, of those whose updates may come in any order."""


def raise_updates(function: FuncOp) -> None:
    """Write updates of elements as reductions, in place."""
    for store in [op for op in function.walk() if isinstance(op, StoreOp)]:
        _raise(store)
    for own in reversed([op for op in function.walk() if isinstance(op, AllocOp)]):
        _unite(own)


@dataclass(frozen=True, eq=False)
class _Update:
    """What is combined with an element: `done` computes that of what was `load`ed, users first."""

    combiner: str
    value: SSAValue
    load: LoadOp
    done: list[Operation]


def _raise(store: StoreOp) -> None:
    if not store.value.has_one_use() or _has_own_elements(store):
        return
    found = _update(store.value, store) or _update_of_some(store)
    if found is None:
        return
    value = _value_of(found, store)
    if value is None:
        return
    update = AccumulateOp(
        found.combiner,
        [value],
        [store.memref],
        store.indices,
        label=store.statement,
        where=store.where,
        mask=store.mask,
    )
    update.location = store.location
    update.attributes.update(store.attributes)
    assert store.parent is not None
    store.parent.insert_op_before(update, store)
    for op in (store, *found.done, found.load):
        op.detach()
        op.erase()


def _update(combined: SSAValue, store: StoreOp, also: Sequence[Operation] = ()) -> _Update | None:
    """The update that `combined` is of the element that a store overwrites, which else only `also` may use."""
    op = combined.owner
    if not isinstance(op, Operation):
        return None
    done = [op]
    if isinstance(op, arith.SubiOp):
        combiner, pairs = COMBINERS[arith.AddiOp], [(op.lhs, op.rhs)]
    elif (known := COMBINERS.get(type(op))) is not None:
        combiner, pairs = known, [(op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])]
    elif (extremum := extremum_of(combined)) is not None and op.operands[0].has_one_use():
        a, b = extremum.values
        combiner, pairs = extremum.combiner, [p for p in ((a, b), (b, a)) if extremum.keeps in (None, p[0])]
        compared = op.operands[0].owner
        assert isinstance(compared, Operation)
        done.append(compared)
    else:
        return None
    for old, value in pairs:
        if _is_old(old, store, {*done, *also}):
            assert isinstance(old.owner, LoadOp)
            return _Update(combiner, value, old.owner, [*also, *done])
    return None


def _update_of_some(store: StoreOp) -> _Update | None:
    """An update where a condition holds: the selection of an update, or of what was there."""
    select = store.value.owner
    if not isinstance(select, arith.SelectOp):
        return None
    for combined in (select.lhs, select.rhs):
        if combined.has_one_use() and (found := _update(combined, store, [select])) is not None:
            kept = select.rhs if combined is select.lhs else select.lhs
            return found if kept is found.load.result else None
    return None


def _value_of(found: _Update, store: StoreOp) -> SSAValue | None:
    """What is combined, by operations before the store; None where the order would make a difference."""
    value, first = found.value, found.done[0]
    if any(isinstance(op, arith.SubiOp) for op in found.done):
        value = _negated(value, store)
    elif any(isinstance(op, arith.CmpfOp) for op in found.done):
        value = _in_any_order(found.combiner, value, store)
    if value is None or not isinstance(first, arith.SelectOp) or extremum_of(first.result) is not None:
        return value
    assert store.parent is not None
    neutral = arith.ConstantOp(identity(found.combiner, value.type))
    kept_last = first.rhs is found.load.result
    sides = (value, neutral.result) if kept_last else (neutral.result, value)
    chosen = arith.SelectOp(first.cond, *sides)
    for op in (neutral, chosen):
        op.location = store.location
        store.parent.insert_op_before(op, store)
    return chosen.result


def _has_own_elements(store: StoreOp) -> bool:
    """Whether each iteration of the loops around a store has an element of its own."""
    moving = {store.indices[axis].single_value() for axis in range(len(store.indices))}
    return all(loop.iv in moving for loop in enclosing_loops(store))


def _is_old(value: SSAValue, store: StoreOp, combined: set[Operation | Block]) -> bool:
    """Whether a value is the element that a store overwrites, as it is then, and nothing but `combined` uses it."""
    load = value.owner
    if not isinstance(load, LoadOp) or load.parent is not store.parent:
        return False
    users = [use.operation for use in value.uses]
    if len(users) != len(combined) or set(users) != combined:
        return False
    if load.memref is not store.memref or load.indices.canonical() != store.indices.canonical():
        return False
    root, op = root_of(store.memref), load.next_op
    while op is not None and op is not store:
        for access in accesses_in(op):
            if access.writes and (access.root is None or may_alias(access.root, root)):
                return False
        op = op.next_op
    return op is store


def _in_any_order(combiner: str, value: SSAValue, store: StoreOp) -> SSAValue | None:
    """What is combined so that the order makes no difference; None where zeros of both signs would."""
    element = value.type
    assert isinstance(element, AnyFloat) and store.parent is not None
    made: list[Operation] = []
    ordered = arith.CmpfOp(value, value, "ord")
    neutral = arith.ConstantOp(identity(combiner, element))
    chosen = arith.SelectOp(ordered.result, value, neutral.result)
    made += [ordered, neutral, chosen]
    found = chosen.result
    if not is_never_negative_zero(value):
        if not _starts_beyond_zero(store, combiner == "maximum"):
            return None
        zero_of_sign = arith.ConstantOp(zero(element))  # pyright: ignore[reportArgumentType]
        summed = arith.AddfOp(found, zero_of_sign.result)
        made += [zero_of_sign, summed]
        found = summed.result
    for op in made:
        op.location = store.location
        store.parent.insert_op_before(op, store)
    return found


def _starts_beyond_zero(store: StoreOp, largest: bool) -> bool:
    """Whether all that the element ever is follows by such updates from constants that no -0.0 wins over.

    It may be handed on between variables of one element.
    """
    pending, seen = [store.memref], set[SSAValue]()
    while pending:
        buffer = pending.pop()
        if buffer in seen:
            continue
        seen.add(buffer)
        if not _is_set_here(buffer):
            return False
        for use in buffer.uses:
            op = use.operation
            if isinstance(op, LoadOp):
                continue
            if not isinstance(op, StoreOp) or op.memref is not buffer:
                return False
            value = op.value
            if (found := extremum_of(value)) is not None and found.keeps is not None:
                if (found.combiner == "maximum") != largest:
                    return False
                value = found.keeps
            if isinstance(value.owner, LoadOp) and not len(value.owner.indices):
                pending.append(value.owner.memref)
            elif not _is_beyond_zero(value, largest):
                return False
    return True


def _is_set_here(buffer: SSAValue) -> bool:
    """Whether a buffer of one element has only what the function stores to it."""
    assert isinstance(buffer.type, MemRefType)
    if buffer.type.get_num_dims():
        return False
    return isinstance(buffer.owner, AllocOp) or argument_attribute(buffer, ROLE) == OUT


def _is_beyond_zero(value: SSAValue, largest: bool) -> bool:
    """Whether a value is a constant: 0.0, or one on the far side of it."""
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp) or not isinstance(constant.value, FloatAttr):
        return False
    number = constant.value.value.data
    return copysign(1, number) > 0 if number == 0 else (number > 0) == largest


# ---- variables that loops carry ---------------------------------------------------------------------


def _unite(own: AllocOp) -> None:
    """Update the element itself that a variable begins as and is stored back to."""
    uses = [use.operation for use in own.memref.uses]
    stores = [op for op in uses if isinstance(op, StoreOp)]
    loads = [op for op in uses if isinstance(op, LoadOp)]
    updates = [op for op in uses if isinstance(op, AccumulateOp)]
    if len(stores) != 1 or len(loads) != 1 or not updates or len(uses) != 2 + len(updates):
        return
    (first,), (last,) = stores, loads
    start, back = first.value.owner, [use.operation for use in last.result.uses]
    if not isinstance(start, LoadOp) or len(back) != 1 or not isinstance(back[0], StoreOp):
        return
    end = back[0]
    if len({op.combiner.data for op in updates}) > 1 or any(len(op.memrefs) > 1 for op in updates):
        return
    if own.memref.type != end.memref.type or len(end.indices) or start.memref is not end.memref:
        return
    if any(op.where is not None or op.mask is not None for op in (first, end)):
        return
    if not _is_alone(start, first, last, end):
        return
    for op in updates:
        op.operands[len(op.values)] = end.memref
    for op in (end, last, first):
        op.detach()
        op.erase()
    if not start.result.uses:
        start.detach()
        start.erase()
    own.detach()
    own.erase()


def _is_alone(start: LoadOp, first: StoreOp, last: LoadOp, end: StoreOp) -> bool:
    """Whether these come in one block in this order, with updates between the second and third, and nothing else touches
    the element from the first to the last."""
    root, order, op = root_of(start.memref), [start, first, last, end], start.next_op
    if any(one.parent is not start.parent for one in order):
        return False
    passed: list[Operation] = [start]
    while op is not None and op is not end:
        if op in order:
            passed.append(op)
            op = op.next_op
            continue
        roots = [access.root for access in accesses_in(op)]
        if any(map(is_check, op.walk())) or any(one is None or may_alias(one, root) for one in roots):
            return False
        if len(passed) != 2 and first.memref in roots:
            return False
        op = op.next_op
    return op is end and passed == order[:-1]


# ---- reductions --------------------------------------------------------------------------------------


def _negated(value: SSAValue, before: Operation) -> SSAValue:
    assert before.parent is not None and isinstance(value.type, IntegerType)
    zero = arith.ConstantOp(IntegerAttr(0, value.type))
    difference = arith.SubiOp(zero.result, value)
    for op in (zero, difference):
        op.location = before.location
        before.parent.insert_op_before(op, before)
    return difference.result


@dataclass(frozen=True)
class NestRaiseUpdatesPass(ModulePass):
    """Write loads, combinations and stores of one element as the updates of reductions."""

    name = "nest-raise-updates"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            raise_updates(function)
