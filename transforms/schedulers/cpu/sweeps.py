"""Big arrays that several nests go through on the CPU: nest-schedule-cpu lets every second sweep turn back.

    nest.for "i.p" %p = 0 to 64 parallel { ... %x[%i] ... }             // sums of x, from its beginning to its end
    nest.for "i.1.o" %o = 0 to 156250 parallel {                        // x again
      ... %x[64 * %o + %v] ...
  becomes
    nest.for "i.p" %p = 0 to 64 parallel { ... %x[%i] ... }
    nest.for "i.1.o" %o = 0 to 156250 parallel attributes {nestor.descending = 512 : i64} {
      ... %x[64 * %o + %v] ...

What a thread read last is in the caches. A sweep that starts at the beginning again drives it out before it comes to it; one
that does the thread's share from its end finds it there. Stretches are forward, so that what is prefetched is what comes
next. It brings next to nothing where results are stored into the caches and take the room. Figures:
docs/decisions/0023-memory-streams.md.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.attributes import DESCENDING, NONTEMPORAL
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...nest.mapping.annotate import annotate, why_not_annotate
from ...nest.rewrite.steps import Steps
from .streams import bytes_of, has_big_arrays, is_big

STRETCH_SHARE = 8
"""The part of the second-level cache that is gone through forward: many times what is prefetched."""

FEWEST_STRETCHES = 16
"""Minimum number of stretches of all threads together; with fewer the order hardly matters."""


def turn_back(function: FuncOp, cpu: Cpu, steps: Steps) -> None:
    """Let threads go backwards through their shares where the nest before went forward through the same big arrays."""
    if not has_big_arrays(function, cpu):
        return
    ended: dict[SSAValue, bool] = {}
    """Of the arrays that the last loop to touch them went through: whether it ended at the end of the shares."""
    for loop in [op for op in function.walk() if isinstance(op, ForOp) and op.kind == "parallel"]:
        strides = _strides(loop, cpu)
        votes = 0
        for buffer, (stride, is_read) in strides.items():
            if stride and is_read and buffer in ended:
                votes += bytes_of(buffer) if ended[buffer] else -bytes_of(buffer)
        is_back = votes > 0 and _descend(loop, max(stride for stride, _ in strides.values()), cpu, steps)
        for buffer, (stride, _) in strides.items():
            ended.pop(buffer, None)
            if stride:
                ended[buffer] = not is_back


def _descend(loop: ForOp, stride: int, cpu: Cpu, steps: Steps) -> bool:
    stretch, extent = max(1, cpu.l2_bytes // STRETCH_SHARE // stride), largest_extent(loop)
    if extent is None or extent < FEWEST_STRETCHES * stretch:
        return False
    if why_not_annotate(loop, DESCENDING, stretch) is not None:
        return False
    steps.do(annotate, loop, mark=DESCENDING, value=stretch)
    return True


def _strides(loop: ForOp, cpu: Cpu) -> dict[SSAValue, tuple[int, bool]]:
    """The big buffers that a loop touches: bytes from one iteration to the next, and whether they are read.

    0 where the loop does not go through the buffer once, from its beginning.
    """
    found: dict[SSAValue, tuple[int, bool]] = {}
    extent = largest_extent(loop) or 0
    for op in loop.body.walk():
        if isinstance(op, (LoadOp, StoreOp)):
            accessed = [op.memref]
        elif isinstance(op, AccumulateOp):
            accessed = list(op.memrefs)
        else:
            continue
        passes = NONTEMPORAL in op.attributes
        for memref in accessed:
            buffer = root_of(memref)
            if not is_big(buffer, cpu):
                continue
            stride = 0 if passes else _stride(op.indices, memref, loop)
            if 2 * stride * extent < bytes_of(buffer):
                stride = 0
            known, is_read = found.get(buffer, (stride, False))
            found[buffer] = (min(known, stride), is_read or not isinstance(op, StoreOp))
    return found


def _stride(indices: AffineList, memref: SSAValue, loop: ForOp) -> int:
    """Bytes from what an iteration of `loop` accesses to what the next one does; 0 where that is not a constant."""
    assert isinstance(memref.type, MemRefType)
    shape = memref.type.get_shape()
    if DYNAMIC_INDEX in shape[1:]:
        return 0
    stride, total = element_bytes(memref.type.element_type), 0
    for axis in range(len(indices) - 1, -1, -1):
        factor = _factor(indices[axis], loop)
        if factor is None:
            return 0
        total += factor * stride
        stride *= shape[axis]
    return total * loop.step_value


def _factor(index: AffineList, loop: ForOp) -> int | None:
    """By how much an index grows with the variable of `loop`, in itself or through where inner loops begin."""
    index = index.canonical()
    total = 0
    for atom, factor in linear_terms(index.exprs[0])[0].items():
        for operand in (index.operands[k] for k in dims_of(atom)):
            inner = operand.owner.parent_op() if isinstance(operand.owner, Block) else None
            own: int | None = 1 if inner is loop else 0
            if isinstance(inner, ForOp) and inner is not loop and loop.is_ancestor(inner):
                own = _factor(inner.lower, loop) if len(inner.lower) == 1 else None
            if own is None:
                return None
            if own and not isinstance(atom, AffineDimExpr):
                return None
            total += own * factor
    return total
