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
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import enclosing_loops, functions
from ....analysis.nest.sets.accesses import accesses_in, may_alias, root_of
from ....dialects.nest import AccumulateOp, LoadOp, StoreOp

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


def _raise(store: StoreOp) -> None:
    combined = store.value.owner
    if not isinstance(combined, Operation) or not store.value.has_one_use() or _has_own_elements(store):
        return
    if isinstance(combined, arith.SubiOp):
        loads = [(combined.lhs, combined.rhs)]
        combiner = COMBINERS[arith.AddiOp]
    elif (known := COMBINERS.get(type(combined))) is not None:
        a, b = combined.operands
        loads, combiner = [(a, b), (b, a)], known
    else:
        return
    found = next(((load, value) for load, value in loads if _is_old(load, store)), None)
    if found is None:
        return
    load, value = found
    if isinstance(combined, arith.SubiOp):
        value = _negated(value, store)
    update = AccumulateOp(
        combiner,
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
    assert isinstance(load.owner, LoadOp)
    for op in (store, combined, load.owner):
        op.detach()
        op.erase()


def _has_own_elements(store: StoreOp) -> bool:
    """Whether each iteration of the loops around a store has an element of its own."""
    moving = {store.indices[axis].single_value() for axis in range(len(store.indices))}
    return all(loop.iv in moving for loop in enclosing_loops(store))


def _is_old(value: SSAValue, store: StoreOp) -> bool:
    """Whether a value is the element that a store overwrites, as it is then, and nobody else uses it."""
    load = value.owner
    if not isinstance(load, LoadOp) or not value.has_one_use() or load.parent is not store.parent:
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
