"""Sums that have one term are stores: the cotangent of what is copied is a copy.

    nest.for "i" %i = 0 to %n {                            nest.for "i" %i = 0 to %n {
      %g = nest.load %c[%i + 4]                              %g = nest.load %c[%i + 4]
      nest.accumulate add %g, %x[%i]   // zeros before  ->   nest.store %g, %x[%i]
    }                                                      }

Where an accumulate is the first one of each of its elements it is a store; where such stores are to all elements, the
zeros before them are not needed.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.nest.sets.accesses import Access
from ....analysis.nest.sets.coverage import covers
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.nest import AccumulateOp, StoreOp


def first_are_stores(function: FuncOp, buffer: SSAValue) -> bool:
    """Make the accumulates into zeros that are the first ones of their elements stores; whether they fill the buffer."""
    dependences = Dependences(function)
    accesses = [a for a in dependences.accesses if a.buffer is buffer]
    firsts = [a for a in accesses if _is_first(a, accesses, dependences)]
    stores: list[Access] = []
    for access in firsts:
        op = access.op
        assert isinstance(op, AccumulateOp) and op.parent is not None
        store = StoreOp(op.values[0], op.memrefs[0], op.indices, where=op.where, mask=op.mask)
        store.location = op.location
        op.parent.insert_op_before(store, op)
        op.parent.erase_op(op)
        stores.append(Access(store, "write", buffer, store.indices, store.where))
    return bool(stores) and covers(buffer, stores)


def _is_first(access: Access, others: list[Access], dependences: Dependences) -> bool:
    """Whether nothing adds to an element before `access` does, and no loop has it among other updates of the element."""
    for other in others:
        if dependences.distance(other.op, access.op):
            return False
        if other is not access and any(
            any(entry != 0 for entry in vector) for vector in dependences.distance(access.op, other.op)
        ):
            return False
    return True
