"""nest-hoist: loads and computations that are the same in all iterations of a loop are done once, before it.

    nest.for "i" %i = 0 to 8 {
      nest.for "k" %k = 0 to 4 {
        %a = nest.load %x[%i]
        %b = math.exp %a : f32
        %c = nest.load %y[%k]
        %d = arith.mulf %b, %c : f32
        nest.store "z" %d, %z[%i, %k]
      }
    }

becomes with loop=k

    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i]
      %b = math.exp %a : f32
      nest.for "k" %k = 0 to 4 {
        %c = nest.load %y[%k]
        %d = arith.mulf %b, %c : f32
        nest.store "z" %d, %z[%i, %k]
      }
    }

All that is directly in the body is moved that can be: what it is computed from is the same in all iterations,
no iteration writes the element that is loaded, and it ran before, too. Where the loop may be empty, or a domain that
is not known before the loop guards the load, the element must be one of an argument that is in bounds all the same;
a division must have a constant divisor. Refused when nothing can be moved, and for loops bound to a GPU axis.
`hoist_loop_invariant_value` in TVM; Halide does it by itself; Exo binds the expression and lifts the allocation.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.accesses import (
    accesses_of,
    argument_attribute,
    buffer_name,
    may_overlap,
    root_of,
)
from ....analysis.nest.sets.accesses import is_defined_outside as defined_outside
from ....analysis.nest.sets.conflicts import can_meet
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.domains import DIVISIONS, LoadGuards, is_computation, may_be_undefined
from ....analysis.nest.sets.integer_sets import holds_at
from ....analysis.nest.values.extent_keys import extent_key
from ....dialects.affine import AffineList
from ....dialects.attributes import ROLE
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, ForOp, LoadOp
from ....dialects.nest.common import INDEX

Note = tuple[Operation, str]


def why_not_hoist(loop: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to hoist, None when something can be moved."""
    if loop.kind in BIND_AXES:
        return refuse_marked(loop, "hoist from")
    found = _Search(loop, dependences or analyse(loop))
    if found.invariant:
        return None
    return fail(
        loop,
        f'cannot hoist from the loop "{loop.label}": nothing directly in it can be moved',
        notes=found.notes,
    )


def hoist(loop: ForOp, dependences: Dependences | None = None) -> tuple[Operation, ...]:
    """Move what is the same in all iterations before `loop`: the operations moved, in their order."""
    if (refusal := why_not_hoist(loop, dependences)) is not None:
        raise refusal
    block = loop.parent
    assert block is not None
    moved = _Search(loop, dependences or analyse(loop)).invariant
    for op in moved:
        op.detach()
        block.insert_op_before(op, loop)
    return tuple(moved)


class _Search:
    """What can be moved out of a loop, and notes on what is the same in all iterations and cannot."""

    def __init__(self, loop: ForOp, dependences: Dependences):
        self.loop = loop
        self.invariant: list[Operation] = []
        self.notes: list[Note] = []
        self._writes = [access for access in dependences.accesses_in(loop) if access.writes]
        self._guards = LoadGuards()
        for op in loop.body.block.ops:
            if not isinstance(op, LoadOp) and not is_computation(op):
                continue
            if not all(self._is_invariant(value) for value in op.operands):
                continue
            reasons = self._why_not(op)
            self.notes += reasons
            if not reasons:
                self.invariant.append(op)

    def _is_invariant(self, value: SSAValue) -> bool:
        return defined_outside(value, self.loop) or value.owner in self.invariant

    def _why_not(self, op: Operation) -> list[Note]:
        if isinstance(op, LoadOp):
            [load] = accesses_of(op)
            for write in self._writes:
                if may_overlap(load, write) and can_meet([self.loop], load, write):
                    name = buffer_name(op.memref)
                    return [(op, f"loads an element of {name}"), (write.op, "which this may write")]
            if self._runs_as_before(op):
                return []
            reason = self._why_not_always(op)
            return [(op, f"this load does not always run, and {reason}")] if reason is not None else []
        if type(op) in DIVISIONS and may_be_undefined(op) and not self._runs_as_before(op):
            return [(op, "this division does not always run, and the divisor may be zero")]
        return []

    def _runs_as_before(self, op: Operation) -> bool:
        """Whether `op` runs before the loop only where it ran inside: the loop is not empty, and guards stay."""
        lower, upper = self.loop.lower, self.loop.upper
        for j in range(len(lower)):
            for k in range(len(upper)):
                if not holds_at(self.loop, upper[k].minus(lower[j]).add(-1)):
                    return False
        for domain in self._guards.of(op) or ():
            values = [value for constraint in domain.constraints for value in constraint.operands]
            if domain.mask is not None:
                values.append(domain.mask)
            if not all(self._is_invariant(value) for value in values):
                return False
        return True

    def _why_not_always(self, op: LoadOp) -> str | None:
        """Why the element cannot be loaded before the loop whether or not it is needed."""
        root = root_of(op.memref)
        if not isinstance(root.owner, Block) or argument_attribute(root, ROLE) == StringAttr("out"):
            return "the element may not have been written"
        for axis in range(len(op.indices)):
            extent, made = _extent(op.memref, axis)
            index = op.indices[axis]
            inside = AffineList.of(index, extent.minus(index).add(-1))
            is_inside = holds_at(self.loop, inside)
            for new in reversed(made):
                new.erase()
            if not is_inside:
                return "the element may be out of bounds"
        return None


def _extent(buffer: SSAValue, axis: int) -> tuple[AffineList, list[Operation]]:
    """The extent of an axis, and what was made (in no block) to name it."""
    key = extent_key(buffer, axis)
    if isinstance(key, int):
        return AffineList.of(key), []
    number = arith.ConstantOp(IntegerAttr(axis, INDEX))
    extent = memref.DimOp(buffer, number.result)
    return AffineList.of(extent.results[0]), [number, extent]
