"""What reads an element, adds to it and stores it becomes an accumulate: its cotangent depends on no other iteration.

%a = nest.load %s[] : memref<f64>                       nest.accumulate "s" add %e, %s[] : memref<f64>
%b = arith.addf %a, %e : f64                       ->
nest.store "s" %b, %s[] : memref<f64>
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.sets.accesses import accesses_in
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, LoadOp, StoreOp


def updates_to_accumulates(function: Operation) -> None:
    """Rewrite the updates of floats in a function."""
    for op in [o for o in function.walk() if isinstance(o, StoreOp)]:
        if isinstance(op.value.type, AnyFloat):
            _rewrite(op)


def _rewrite(store: StoreOp) -> None:
    chain: list[tuple[Operation, SSAValue, bool]] = []
    value, negative = store.value, False
    load = None
    # The sum may have several terms: ((a[i] + x) - y) + z
    while True:
        owner = value.owner
        if not isinstance(owner, arith.AddfOp | arith.SubfOp) or owner.parent is not store.parent:
            return
        if sum(1 for _ in value.uses) != 1:
            return
        chain.append((owner, value, negative))
        sides = list(owner.operands)
        if isinstance(owner, arith.SubfOp):
            sides = sides[:1]
        found = next((s for s in sides if _is_old(s, store)), None)
        if found is not None:
            load = found
            break
        deeper = [s for s in sides if isinstance(s.owner, arith.AddfOp | arith.SubfOp) and _holds(s, store)]
        if not deeper:
            return
        value = deeper[0]
    assert load is not None
    total: SSAValue | None = None
    old = load
    location, parent = store.location, store.parent
    assert parent is not None

    def insert(op: Operation) -> SSAValue:
        op.location = location
        parent.insert_op_before(op, store)
        return op.results[0]

    for owner, result, _ in reversed(chain):
        other = owner.operands[1] if owner.operands[0] is old else owner.operands[0]
        if isinstance(owner, arith.SubfOp):
            total = insert(arith.NegfOp(other) if total is None else arith.SubfOp(total, other))
        else:
            total = other if total is None else insert(arith.AddfOp(total, other))
        old = result
    assert total is not None
    new = AccumulateOp(
        "add",
        [total],
        [store.memref],
        store.indices,
        label=store.statement,
        where=store.where,
        mask=store.mask,
    )
    insert_op = new
    insert_op.location = location
    parent.insert_op_before(insert_op, store)
    parent.erase_op(store)
    for owner, _, _ in chain:
        parent.erase_op(owner)
    assert isinstance(load.owner, Operation)
    parent.erase_op(load.owner)


def _holds(value: SSAValue, store: StoreOp) -> bool:
    """Whether the old contents are a term of the sum `value`."""
    owner = value.owner
    if _is_old(value, store):
        return True
    if not isinstance(owner, arith.AddfOp | arith.SubfOp) or owner.parent is not store.parent:
        return False
    if sum(1 for _ in value.uses) != 1:
        return False
    sides = owner.operands if isinstance(owner, arith.AddfOp) else owner.operands[:1]
    return any(_holds(s, store) for s in sides)


def _is_old(value: SSAValue, store: StoreOp) -> bool:
    """Whether `value` is what the store overwrites, and nothing else needs it."""
    load = value.owner
    if not isinstance(load, LoadOp) or load.parent is not store.parent or load.memref is not store.memref:
        return False
    if _canonical(load.indices) != _canonical(store.indices) or sum(1 for _ in value.uses) != 1:
        return False
    op = load.next_op
    while op is not None and op is not store:
        if any(a.writes and a.buffer in (None, store.memref) for a in accesses_in(op)):
            return False
        op = op.next_op
    return op is store


def _canonical(indices: AffineList) -> AffineList:
    return indices.canonical()
