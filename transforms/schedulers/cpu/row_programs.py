"""Programs on whole rows on the CPU: while one row is computed, the next ones come into the cache.

    nest.for "i" %i = 0 to 4096 parallel {
      nest.for "j.o" ... { ... %x[%i, 64 * %o + %v] ... }             the largest of the row
      nest.for "j.1.o" ... {                                            exponentials, and their sum
        nest.for "j.1.i" ... vectorized(32) {
          nest.prefetch %x[%i + 1, 32 * %o + %v]                        put in here
          ...
      nest.for "j.2.o" ... {                                            the quotients
        nest.for "j.2.i" ... vectorized(64) {
          nest.prefetch %y[%i + 1, 64 * %o + %v] {nestor.write}       and here

A machine foresees accesses within a page. A row is about as long: its first pass waits for memory, the others find it
in the cache and leave memory idle. So the later passes fetch the next row, which is worth a fifth of softmax. Rows shorter
than a page are fetched several rows ahead; long ones (`ROW_SHARE`) stay as they are, and so do buffers that fit into the
cache of a core. Where only the run time knows how long rows are, a pass fetches what is a page ahead of it,

          nest.prefetch %x[%i, 32 * %o + %v + 1024]

which is the next row, several rows on, or part of this one: the cache has it then, and it costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.loop_structure import loops_in, parent_loop
from ....analysis.nest.sets.access_patterns import buffer_accesses
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.values.extent_keys import bound_key, extent_key
from ....dialects.affine import AffineList
from ....dialects.attributes import NONTEMPORAL
from ....dialects.nest import ForOp, LoadOp, StoreOp
from ...nest.memory.prefetch import prefetch, why_not_prefetch
from ...nest.rewrite.steps import Steps
from .streams import advance_of, is_dense

AHEAD = 1 << 12
"""Minimum number of bytes to prefetch: a page."""

ROW_SHARE = 8
"""The part of the second-level cache for a row of all buffers together: of longer ones the next row would not stay."""


def rows_of(loop: ForOp, cpu: Cpu) -> dict[SSAValue, int]:
    """The big arguments of which each iteration of `loop` passes several times over a row, and the bytes of a row; 0 where
    only the run time knows them.

    Nothing where it makes one pass, or where rows are too long.
    """
    passes = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    if len(passes) < 2:
        return {}
    rows = {
        buffer: size
        for buffer in dict.fromkeys(_buffers_of(passes))
        if (size := _row_bytes(buffer, loop, passes, cpu)) is not None
    }
    return rows if sum(rows.values()) <= cpu.l2_bytes // ROW_SHARE else {}


def fetch_rows(loop: ForOp, rows: dict[SSAValue, int], steps: Steps) -> None:
    """Let the later passes over a row, which is an iteration of `loop`, fetch what the next rows read and write."""
    passes = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    for buffer, size in rows.items():
        reading = _passes_with(LoadOp, buffer, passes)
        writing = _passes_with(StoreOp, buffer, passes)
        if not (reading or writing) or _is_streamed(buffer, writing):
            continue
        at = writing[-1] if writing else reading[min(1, len(reading) - 1)]
        if not size:
            _fetch_along(buffer, at, steps)
            continue
        distance = max(1, AHEAD // size)
        if why_not_prefetch(buffer, loop, distance, at=at.label) is None:
            steps.do(prefetch, buffer, loop, distance=distance, at=at.label)


def _fetch_along(buffer: SSAValue, passing: ForOp, steps: Steps) -> None:
    """Let a pass over a row fetch what lies a page ahead of it in memory."""
    for lanes in loops_in(passing):
        around = parent_loop(lanes)
        found = [op for op, other in buffer_accesses(lanes) if other is buffer]
        if lanes.kind != "vectorized" or lanes is passing or around is None or not found:
            continue
        advance = advance_of(found[0], around)
        if is_dense(lanes, buffer, advance):
            distance = max(1, AHEAD // advance)
            if why_not_prefetch(buffer, around, distance) is None:
                steps.do(prefetch, buffer, around, distance=distance)
        return


def _buffers_of(passes: list[ForOp]) -> Iterator[SSAValue]:
    for loop in passes:
        for _, buffer in buffer_accesses(loop):
            yield buffer


def _row_bytes(buffer: SSAValue, loop: ForOp, passes: list[ForOp], cpu: Cpu) -> int | None:
    """The bytes from one iteration's row of a big argument to the next one's; None for any other buffer."""
    type_ = buffer.type
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    if not isinstance(root_of(buffer).owner, Block) or not isinstance(type_.layout, NoneAttr):
        return None
    size = element_bytes(type_.element_type)
    if DYNAMIC_INDEX not in shape and prod(shape) * size <= cpu.l2_bytes:
        return None
    places = {
        _axis_of(op.indices, loop) for p in passes for op, other in buffer_accesses(p) if other is buffer
    }
    places.discard(None)
    if len(places) != 1:
        return None
    (axis,) = places
    assert axis is not None
    if DYNAMIC_INDEX in shape[axis + 1 :]:
        return 0 if axis == len(shape) - 2 and _spans_rows(buffer, passes) else None
    row = prod(shape[axis + 1 :]) * size * loop.step_value
    return row if row >= cpu.line else None


def _spans_rows(buffer: SSAValue, passes: list[ForOp]) -> bool:
    """Whether passes go through whole rows of a matrix, so that what is ahead in memory is what comes next."""
    last = len(buffer.type.get_shape()) - 1  # pyright: ignore[reportAttributeAccessIssue]
    key = extent_key(buffer, last)
    whole = {one.iv for p in passes for one in loops_in(p) if bound_key(one.upper) == key}
    return all(
        op.indices[last].single_value() in whole
        for p in passes
        for op, other in buffer_accesses(p)
        if other is buffer
    )


def _axis_of(indices: AffineList, loop: ForOp) -> int | None:
    """The axis along which an access moves by one element a step of `loop`, None where there is no such axis."""
    found = [k for k in range(len(indices)) if loop.iv in indices[k].canonical().operands]
    if len(found) != 1:
        return None
    index = indices[found[0]].canonical()
    is_plain = isinstance(index.exprs[0], AffineDimExpr) and len(index.operands) == 1
    return found[0] if is_plain else None


def _passes_with(kind: type, buffer: SSAValue, passes: list[ForOp]) -> list[ForOp]:
    """The passes with such an access to a buffer; what is left over of a row is none where there is more."""
    found = [
        loop
        for loop in passes
        if any(isinstance(op, kind) and other is buffer for op, other in buffer_accesses(loop))
    ]
    return [loop for loop in found if loop.kind == "serial"] or found


def _is_streamed(buffer: SSAValue, passes: list[ForOp]) -> bool:
    """Whether stores to a buffer are non-temporal, so that its lines should not be fetched."""
    return any(
        NONTEMPORAL in op.attributes
        for loop in passes
        for op, other in buffer_accesses(loop)
        if other is buffer
    )
