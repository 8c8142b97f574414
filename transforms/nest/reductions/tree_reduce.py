"""nest-tree-reduce: the values of a reduction go to a buffer, and are combined there in pairs, again and again.

    nest.for "k" %k = 0 to 8 {
      nest.accumulate "s" add %x, %s[]
    }

with loop=k becomes

    %s_tree = nest.alloc "s_tree" : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      nest.store "s" %x, %s_tree[%k]
    }
    nest.for "k.tree" %j = 0 to 4 {
      %v = nest.load %s_tree[%j + 4]
      nest.accumulate "s" add %v, %s_tree[%j]
    }
    nest.for "k.tree.1" %j = 0 to 2 { ... %s_tree[%j + 2] ... }
    nest.for "k.tree.2" %j = 0 to 1 { ... %s_tree[%j + 1] ... }
    %t = nest.load %s_tree[0]
    nest.accumulate "s" add %t, %s[]

None of these loops carries a dependence: there are log2 steps instead of 8, and each may be a vector, or the threads
of a block. Of an odd number of values the one in the middle waits for the next step. What is updated under a domain or
in loops inside starts at the identity and is accumulated; where the element changes within the loop (the sum of columns
`%s[%j]`) there is such a tree for each that there is, in one buffer.

Refused unless the loop has a constant number of iterations, carries reductions that may run in any order (a custom combiner
says so by stating its identity), nothing else in it uses their buffers, nothing in it can fail, and the totals touch no
element that the loop itself might not: one out of the buffer, never written, or of another thread. The cross-thread
reductions of TVM and NNC are such trees; in Halide it is `rfactor` of each step; no name in Exo.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import trip_count
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp, StoreOp
from ..rewrite.loops import fresh_names
from ..rewrite.private_accumulators import Slots, groups_of, why_not_private

MAX_VALUES = 1 << 16
"""Maximum number of values of a tree: its buffer has as many elements."""


def why_not_tree_reduce(loop: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to reduce the values of `loop` by a tree, None when it is legal."""
    refusal = refuse_marked(loop, "tree-reduce") or refuse_in_vector(loop, "tree-reduce")
    if refusal is not None:
        return refusal
    count = _values_of(loop)
    if count is None:
        return _refuse(
            loop, "its number of iterations is not constant", hint="split it, or use nest-privatise first"
        )
    if count < 1:
        return _refuse(loop, "it has no iterations")
    if count > MAX_VALUES:
        return _refuse(loop, f"it has {count} iterations, more than {MAX_VALUES}", hint="split it first")
    return why_not_private(loop, "tree-reduce", dependences or analyse(loop))


def _refuse(loop: ForOp, reason: str, hint: str | None = None) -> NestorError:
    return fail(loop, f'cannot tree-reduce the loop "{loop.label}": {reason}', hint=hint)


def _values_of(loop: ForOp) -> int | None:
    trips = trip_count(loop)
    numbers = None if trips is None else trips.constants()
    return None if numbers is None else max(0, min(numbers))


def tree_reduce(loop: ForOp, dependences: Dependences | None = None) -> tuple[ForOp, ...]:
    """Combine what `loop` accumulates by a tree after it: the loops of its steps, the widest first.

    Raises the diagnostic of `why_not_tree_reduce`.
    """
    dependences = dependences or analyse(loop)
    if (refusal := why_not_tree_reduce(loop, dependences)) is not None:
        raise refusal
    count = _values_of(loop)
    assert count is not None and loop.parent is not None
    slots = [Slots(group, loop, count, "tree") for group in groups_of(loop, dependences)]
    position = (
        AffineList.of(loop.iv)
        .minus(loop.lower)
        .divided(AffineBinaryOpKind.FloorDiv, loop.step_value)
        .canonical()
    )
    for one in slots:
        one.redirect(position)
        if not _store_once(one, loop):
            first = loop.body.block.first_op
            assert first is not None
            one.start(position, f"{loop.label}.init", lambda op, at=first: _insert_before(op, at), loop)
    after = loop.next_op
    block = loop.parent

    def append(op: Operation) -> None:
        if after is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, after)

    steps: list[ForOp] = []
    while count > 1:
        half = -(-count // 2)
        name = fresh_names(loop, f"{loop.label}.tree")[0]
        step = ForOp(name, 0, count - half)
        step.location, step.iv.name_hint = loop.location, "j"
        append(step)
        near = AffineList.of(step.iv)
        for one in slots:
            one.combine(near.add(half), near, name, step.body.block.add_op)
        steps.append(step)
        count = half
    for one in slots:
        one.combine(AffineList.of(0), None, f"{loop.label}.total", append)
    for one in slots:
        one.finish()
    return tuple(steps)


def _insert_before(op: Operation, at: Operation) -> None:
    assert at.parent is not None
    at.parent.insert_op_before(op, at)


def _store_once(slots: Slots, loop: ForOp) -> bool:
    """Store the value of an iteration, where it has one and no more."""
    group = slots.group
    op = group.first
    if group.free or len(group.updates) > 1 or op.parent is not loop.body.block:
        return False
    if op.where is not None or op.mask is not None or op.combiner.data == "custom":
        return False
    store = StoreOp(op.values[0], op.memrefs[0], op.indices, label=op.statement)
    store.location = op.location
    store.attributes.update(op.attributes)
    _insert_before(store, op)
    op.detach()
    op.erase()
    return True
