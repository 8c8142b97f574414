"""Big arrays on the CPU: what nest-schedule-cpu does where memory is the limit.

    nest.for "i.o" %o = 0 to %n floordiv 64 parallel {
      nest.for "i.i" %v = 0 to 64 vectorized(64) {
        %a = nest.load %x[64 * %o + %v] : memref<10000000xf32>
        nest.store "y" %b, %y[64 * %o + %v] : memref<10000000xf32>
  becomes
    nest.for "i.o" %o = 0 to %n floordiv 64 parallel {
      nest.for "i.i" %v = 0 to 64 vectorized(64) {
        nest.prefetch %x[64 * %o + %v + 512] : memref<10000000xf32>
        %a = nest.load %x[64 * %o + %v] : memref<10000000xf32>
        nest.prefetch %y[64 * %o + %v + 512] {nestor.write} : memref<10000000xf32>
        nest.store "y" %b, %y[64 * %o + %v] : memref<10000000xf32>

A core has few requests to memory in flight unless it is told what comes; a line to be written is what it foresees least.
Non-temporal stores need no such requests, but wait for each other: which is faster depends on the machine
(`non_temporal`). Where they are not the faster, they are still for loops that read much for each line, and for lines
that are written apart (cpu/transposes.py). Figures: docs/decisions/0023-memory-streams.md.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.machine import Cpu
from ....analysis.nest.buffers import buffers_in, element_bytes
from ....analysis.nest.loop_structure import loops_in, parent_loop
from ....analysis.nest.sets.access_patterns import UNIT, pattern_of, varying_values
from ....analysis.nest.sets.accesses import FRESH, root_of
from ....dialects.affine import dims_of, linear_terms
from ....dialects.attributes import NONTEMPORAL
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...nest.rewrite.steps import Steps
from ..patterns.costs import is_streamed

BIG = 4
"""An array is big from this many second-level caches on: it is rarely in one when it is read from its beginning."""

MANY = 4
"""Arrays read for each one written, from which on non-temporal stores are faster on any machine."""

AHEAD, MORE_AHEAD = 4096, 16384
"""Bytes prefetched in all, shared by the arrays that are read: what is in flight is bounded. The second on machines
where non-temporal stores are faster, which follow more streams."""

LEAST_AHEAD, MOST_AHEAD = 512, 2048
"""Minimum and maximum number of bytes prefetched of each array."""


def stream_results(loop: ForOp, cpu: Cpu, steps: Steps) -> None:
    """Make stores to results larger than the caches non-temporal: where the machine is faster so (`non_temporal`), and
    else in a loop that reads many arrays for one result.
    """
    much_is_read = len(_arrays(loop, loop, LoadOp, cpu)) >= MANY
    if not (much_is_read or cpu.non_temporal):
        return
    stores = [op for op in loop.body.block.ops if isinstance(op, StoreOp) and is_streamed(op, cpu)]
    wanted = [op for op in stores if much_is_read or _has_whole_lines(op.memref, cpu)]
    if not wanted:
        return
    from ...nest.memory.stream import stream, why_not_stream

    for buffer in dict.fromkeys(root_of(op.memref) for op in wanted):
        if why_not_stream(buffer, loop) is None:
            steps.do(stream, buffer, loop)


def _has_whole_lines(buffer: SSAValue, cpu: Cpu) -> bool:
    """Whether each row of a buffer starts at a cache line, as the buffer does: other stores are not made non-temporal."""
    assert isinstance(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    return len(shape) < 2 or shape[-1] * element_bytes(buffer.type.element_type) % cpu.line == 0


def fetch_ahead(lanes: ForOp, cpu: Cpu, steps: Steps) -> None:
    """Fetch what later iterations of the loop around a loop of lanes read, and what they write, of big arrays."""
    inner = [loop for loop in loops_in(lanes) if loop is not lanes and loop.kind == "serial"]
    if not inner and (around := parent_loop(lanes)) is not None:
        _fetch_ahead(lanes, lanes, around, cpu, steps)
    for loop in inner:
        _fetch_ahead(loop, lanes, loop, cpu, steps)


def _fetch_ahead(body: ForOp, lanes: ForOp, around: ForOp, cpu: Cpu, steps: Steps) -> None:
    """Fetch what is in `body` and moves along `lanes`, iterations of `around` ahead."""
    reads = _arrays(body, lanes, LoadOp, cpu)
    arrays = {**_arrays(body, lanes, StoreOp, cpu), **reads}
    if not arrays:
        return
    from ...nest.memory.prefetch import prefetch, why_not_prefetch

    in_all = MORE_AHEAD if cpu.non_temporal else AHEAD
    each = min(MOST_AHEAD, max(LEAST_AHEAD, in_all // max(1, len(reads))))
    for root, accesses in arrays.items():
        if any(NONTEMPORAL in op.attributes for op in accesses):
            continue
        steps_bytes = {advance_of(op, around) for op in accesses}
        advance = steps_bytes.pop()
        if steps_bytes or not is_dense(lanes, accesses[0].memref, advance):
            continue
        distance = max(1, each // advance)
        if why_not_prefetch(root, around, distance) is None:
            steps.do(prefetch, root, around, distance=distance)


def _arrays(
    body: ForOp, lanes: ForOp, kind: type[LoadOp | StoreOp], cpu: Cpu
) -> dict[SSAValue, list[LoadOp | StoreOp]]:
    """The big arrays of known size that `body` reads or writes element by element along the lanes, and where."""
    varying = varying_values(lanes)
    found: dict[SSAValue, list[LoadOp | StoreOp]] = {}
    for op in body.body.block.ops:
        if isinstance(op, kind) and pattern_of(op.indices, op.memref, lanes, varying) == UNIT:
            root = root_of(op.memref)
            if is_big(root, cpu) and not isinstance(root.owner, FRESH):
                found.setdefault(root, []).append(op)
    return found


def big_arrays(lanes: ForOp, cpu: Cpu) -> list[SSAValue]:
    """The big arrays that a loop of lanes goes through, without those that are written by non-temporal stores."""
    arrays = {**_arrays(lanes, lanes, LoadOp, cpu), **_arrays(lanes, lanes, StoreOp, cpu)}
    return [root for root, ops in arrays.items() if not any(NONTEMPORAL in op.attributes for op in ops)]


def bytes_of(buffer: SSAValue) -> int:
    """The size of a row-major buffer of static extents, else 0."""
    assert isinstance(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    if DYNAMIC_INDEX in shape or not isinstance(buffer.type.layout, NoneAttr):
        return 0
    return prod(shape) * element_bytes(buffer.type.element_type)


def is_big(buffer: SSAValue, cpu: Cpu) -> bool:
    """Whether an array is rarely in a core's own caches."""
    return bytes_of(buffer) >= BIG * cpu.l2_bytes


def has_big_arrays(function: FuncOp, cpu: Cpu) -> bool:
    """Whether an array of a function is rarely in a core's own caches."""
    return any(is_big(buffer, cpu) for buffer in buffers_in(function))


def advance_of(op: LoadOp | StoreOp | AccumulateOp, loop: ForOp) -> int:
    """Bytes from an iteration of `loop` to the next; 0 where that is not a constant."""
    memref = op.memrefs[0] if isinstance(op, AccumulateOp) else op.memref
    assert isinstance(memref.type, MemRefType)
    shape, indices = memref.type.get_shape(), op.indices
    stride, total = element_bytes(memref.type.element_type), 0
    for axis in range(len(indices) - 1, -1, -1):
        index = indices[axis].canonical()
        for atom, factor in linear_terms(index.exprs[0])[0].items():
            used = [index.operands[k] for k in dims_of(atom)]
            if loop.iv in used:
                if not stride or not isinstance(atom, AffineDimExpr):
                    return 0
                total += factor * stride
        stride *= 0 if shape[axis] == DYNAMIC_INDEX else shape[axis]
    return total * loop.step_value


def is_dense(lanes: ForOp, buffer: SSAValue, advance: int) -> bool:
    """Whether each iteration of the loop around goes on where the lanes of the last one ended."""
    assert isinstance(buffer.type, MemRefType)
    width = lanes.constant_trip_count() if lanes.width is None else lanes.width.value.data
    return width is not None and advance == width * element_bytes(buffer.type.element_type)
