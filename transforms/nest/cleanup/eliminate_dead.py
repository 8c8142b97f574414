"""nest-eliminate-dead: what no one reads is not computed, and what does nothing is not there.

    %t = nest.alloc "t" : memref<8xf32>
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i]
      %b = math.exp %a : f32
      nest.store "t" %b, %t[%i]
      nest.store "y" %a, %y[%i]
    }

becomes

    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i]
      nest.store "y" %a, %y[%i]
    }

Statements on buffers made here that nothing loads go, with the loads and computations that only they needed; then
loops and branches without a body, and buffers without a use. A buffer that is read for dead buffers only, or for itself,
is dead as well. Arguments are read by the caller, checked indices and assertions may stop the kernel, an
operation that is not known may read a buffer: these stay. It refuses nothing. `remove_no_op` and dead-code
elimination in TVM, `delete_pass` and `delete_buffer` in Exo, `eliminateDeadStores` in NNC; Halide always does it.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.domains import is_computation
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, IfOp, LoadOp, StoreOp


def eliminate_dead(scope: Operation) -> None:
    """Remove from a function what has no effect on what the caller sees."""
    needed = needed_operations(scope)
    for op in reversed(list(scope.walk())):
        if op is not scope and op not in needed:
            op.detach()
            op.erase()


def needed_operations(scope: Operation) -> set[Operation]:
    """The operations below `scope` that have an effect, and those that they need."""
    needed: set[Operation] = set()
    waiting = [op for op in scope.walk() if op is not scope and not isinstance(op.parent_op(), AccumulateOp)]
    found = True
    while found:
        first, waiting = waiting, []
        for op in first:
            if op in needed:
                continue
            if _has_effect(op, needed):
                _need(op, scope, needed)
            else:
                waiting.append(op)
        found = len(waiting) < len(first)
    return needed


def _has_effect(op: Operation, needed: set[Operation]) -> bool:
    """Whether `op` does something by itself: it writes what is not known to be dead, or is not known."""
    if isinstance(op, (StoreOp, AccumulateOp)):
        targets = [op.memref] if isinstance(op, StoreOp) else op.memrefs
        return any(not isinstance(o := root_of(t).owner, AllocOp) or o in needed for t in targets)
    if isinstance(op, (LoadOp, AllocOp, ForOp, IfOp)):
        return False
    return not (op.results and is_computation(op))


def _need(op: Operation, scope: Operation, needed: set[Operation]) -> None:
    """Add `op` with what it is computed from, what is inside it, and the loops and branches around it."""
    work: list[Operation] = [op]
    while work:
        one = work.pop()
        if one in needed or one is scope:
            continue
        needed.add(one)
        work += [value.owner for value in one.operands if isinstance(value.owner, Operation)]
        if not isinstance(one, (ForOp, IfOp)):
            work += [inner for inner in one.walk() if inner is not one]
        if (parent := one.parent_op()) is not None:
            work.append(parent)
