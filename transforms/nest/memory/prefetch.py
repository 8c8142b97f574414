"""nest-prefetch: fetch now what a later iteration of a loop reads or writes.

    nest.for "i" %i = 0 to %n {
      %v = nest.load %x[%i, 0] : memref<?x64xf32>
      nest.store "y" %v, %y[%i] : memref<?xf32>
    }

becomes with buffer=x distance=8, and then with buffer=y distance=64

    nest.for "i" %i = 0 to %n {
      nest.prefetch %x[%i + 8, 0] : memref<?x64xf32>
      %v = nest.load %x[%i, 0] : memref<?x64xf32>
      nest.prefetch %y[%i + 64] {nestor.write} : memref<?xf32>
      nest.store "y" %v, %y[%i] : memref<?xf32>
    }

A hint that changes no value, for access that the machine does not foresee by itself: long strides, many streams, lines that
are only written. It is before each load and store whose element differs from iteration to iteration; those of one
cache line share one, to be written if one of them writes. With at=j only accesses in that loop inside get one, so that
several passes over a row fetch the next row once. In the last iterations the element lies past the buffer, which is
harmless: no address is too far for a prefetch. In a vectorized loop it is one a cache line of the vector, kernels of a
GPU leave it out. LLVM vectorizes no loop that holds one: vectorize the loop first, or prefetch in a loop around it.

With `whole`, everything that an iteration loads or adds to, through loops inside of it as well, is fetched at the start
of the iteration so many before, a prefetch per line: of tiles whose loops are unrolled and vectorized, where each element
would be fetched once per row otherwise.

    nest.for "k" %k = 0 to %n {                          nest.for "k" %k = 0 to %n {
      nest.for "i" %i = 0 to 6 unrolled {                  nest.prefetch %x[%k + 8, 0] : memref<?x32xf32>
        nest.for "j" %j = 0 to 32 vectorized(32) {         nest.prefetch %x[%k + 8, 16] : memref<?x32xf32>
          ... nest.load %x[%k, %j]             becomes     nest.for "i" ...

Refused when no load of the buffer can be known ahead, when the iterations run together, when the loop ends before,
and for buffers in the memory of a kernel. `prefetch` in Halide; TVM, Exo and NNC have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.dialects.builtin import MemRefType, NoneAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.machine import LINE_BYTES
from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.accesses import accesses_of, is_defined_outside, root_of
from ....analysis.nest.sets.regions import NoWindow, Window, window_of
from ....dialects.affine import AffineList
from ....dialects.attributes import WRITE
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, AccumulateOp, ForOp, LoadOp, PrefetchOp, StoreOp

MOST_AHEAD = 1 << 20
"""Maximum distance in iterations; what was fetched earlier is gone when it is read."""


MOST_LINES = 64
"""Maximum number of lines that an iteration loads for all of them to be prefetched."""


def why_not_prefetch(
    buffer: SSAValue, loop: ForOp, distance: int, whole: bool = False, at: str | None = None
) -> NestorError | None:
    """The diagnostic that refuses, None when there is something to fetch."""
    if not 1 <= distance <= MOST_AHEAD:
        return _refusal(buffer, loop, f"the distance is a number of iterations from 1 to {MOST_AHEAD}")
    if loop.kind == "vectorized" or loop.kind in BIND_AXES:
        return _refusal(buffer, loop, "its iterations run together", hint="prefetch in a loop around it")
    if not is_defined_outside(buffer, loop):
        reason = "each iteration makes a buffer of its own"
        return _refusal(buffer, loop, reason, notes=[(buffer.owner, "the buffer is made here")])
    assert isinstance(buffer.type, MemRefType)
    if not isinstance(buffer.type.memory_space, NoneAttr):
        return _refusal(buffer, loop, "it lies in the memory of a kernel, which is no slower than a cache")
    trips = loop.constant_trip_count()
    if trips is not None and trips <= distance:
        return _refusal(buffer, loop, f"the loop has {trips} iterations, none is {distance} after another")
    if whole and at is not None:
        return _refusal(
            buffer, loop, "what a whole iteration loads is fetched at its start, not in a loop inside of it"
        )
    if at is not None and not any(inner.label == at for inner in loops_in(loop)):
        return _refusal(buffer, loop, f'there is no loop "{at}" in it')
    accesses = [*_accesses(buffer, loop, at), *(_updates(buffer, loop) if whole else ())]
    if not accesses:
        where = "there" if at is None else f'in the loop "{at}"'
        return _refusal(buffer, loop, f"nothing {where} loads from it or stores to it")
    found = [(op, _why_not_ahead(op, loop)) for op in accesses]
    if any(why is None for _, why in found):
        return _why_not_whole(buffer, loop) if whole else None
    notes = [(op, why) for op, why in found if why is not None]
    return _refusal(buffer, loop, "what later iterations access is not known ahead", notes=notes)


def _accesses(buffer: SSAValue, loop: ForOp, at: str | None) -> list[LoadOp | StoreOp]:
    """The loads and stores of `buffer` in `loop`, or in that loop inside of it."""
    places = [loop] if at is None else [inner for inner in loops_in(loop) if inner.label == at]
    return [
        op
        for place in places
        for op in place.walk()
        if isinstance(op, LoadOp | StoreOp) and root_of(op.memref) is buffer
    ]


def _updates(buffer: SSAValue, loop: ForOp) -> list[AccumulateOp]:
    """The reductions in `loop` into `buffer`."""
    return [op for op in loop.walk() if isinstance(op, AccumulateOp) and buffer in op.memrefs]


def _refusal(
    buffer: SSAValue,
    loop: ForOp,
    reason: str,
    hint: str | None = None,
    notes: Sequence[tuple[Operation | Block, str]] = (),
) -> NestorError:
    message = f'cannot prefetch "{buffer_name(buffer)}" in the loop "{loop.label}": {reason}'
    return fail(
        loop, message, hint=hint, notes=[(op, text) for op, text in notes if isinstance(op, Operation)]
    )


def _why_not_ahead(access: LoadOp | StoreOp | AccumulateOp, loop: ForOp) -> str | None:
    """Why the element that a later iteration accesses is not another one that can be named now."""
    if isinstance(access.parent_op(), AccumulateOp):
        return "it belongs to the combiner of a reduction"
    used = access.indices.canonical().operands
    if any(isinstance(v.owner, Operation) and not is_defined_outside(v, loop) for v in used):
        return "its index is computed inside of the loop"
    if loop.iv in used:
        return None
    verb = {LoadOp: "loads", StoreOp: "stores to"}.get(type(access), "updates")
    return f"it {verb} one element in all iterations"


def _why_not_whole(buffer: SSAValue, loop: ForOp) -> NestorError | None:
    """Why the lines that an iteration loads cannot be counted, or are too many."""
    if not _reads_ahead(buffer, loop):
        return _refusal(buffer, loop, "nothing there loads from it what is known ahead")
    window = _window(buffer, loop)
    if isinstance(window, NoWindow):
        return _refusal(buffer, loop, window.reason, notes=[(window.access.op, "this load")])
    lines = _lines(buffer, window)
    if lines is None:
        return _refusal(buffer, loop, "how much an iteration loads is not constant")
    if len(lines) > MOST_LINES:
        reason = f"an iteration loads more than {MOST_LINES} lines"
        return _refusal(buffer, loop, reason, hint="prefetch in a loop inside of it")
    return None


def _window(buffer: SSAValue, loop: ForOp) -> Window | NoWindow:
    """What an iteration loads of the buffer, as far as that can be known ahead."""
    reads = _reads_ahead(buffer, loop)
    return window_of(loop, [access for op in reads for access in accesses_of(op) if access.buffer is buffer])


def _reads_ahead(buffer: SSAValue, loop: ForOp) -> list[LoadOp | AccumulateOp]:
    """The loads from the buffer, and reductions into it, whose elements in a later iteration can be named now."""
    loads = [op for op in loop.walk() if isinstance(op, LoadOp) and op.memref is buffer]
    return [op for op in (*loads, *_updates(buffer, loop)) if _why_not_ahead(op, loop) is None]


def _lines(buffer: SSAValue, window: Window) -> list[tuple[int, ...]] | None:
    """Where the lines of the window start, counted from its origin; None when that is not constant."""
    assert isinstance(buffer.type, MemRefType)
    numbers = [window.extents[axis].constants() for axis in range(len(window.extents))]
    if any(n is None for n in numbers):
        return None
    extents = [n[0] for n in numbers if n is not None]
    steps = [1] * len(extents)
    steps[-1:] = [LINE_BYTES // element_bytes(buffer.type.element_type)] if steps else []
    if prod(-(-n // step) for n, step in zip(extents, steps, strict=True)) > MOST_LINES:
        return [()] * (MOST_LINES + 1)
    return list(product(*(range(0, n, step) for n, step in zip(extents, steps, strict=True))))


def prefetch(
    buffer: SSAValue, loop: ForOp, distance: int, whole: bool = False, at: str | None = None
) -> None:
    """Fetch what `loop` loads of `buffer`, or stores to it, so many iterations ahead.

    Raises the diagnostic of `why_not_prefetch`.
    """
    if (refusal := why_not_prefetch(buffer, loop, distance, whole, at)) is not None:
        raise refusal
    ahead = AffineList.of(loop.iv).add(distance * loop.step_value)
    if whole:
        return _fetch_window(buffer, loop, ahead)
    placed: list[PrefetchOp] = [op for op in loop.walk() if isinstance(op, PrefetchOp)]
    for access in _accesses(buffer, loop, at):
        if _why_not_ahead(access, loop) is not None:
            continue
        op = PrefetchOp(access.memref, access.indices.substitute(loop.iv, ahead))
        same = next((other for other in placed if _shares_line(op, access.parent, other)), op)
        if isinstance(access, StoreOp):
            same.attributes[WRITE] = UnitAttr()
        if same is not op:
            op.erase()  # else the buffer kept a use that stands nowhere
            continue
        assert access.parent is not None
        op.location = access.location
        access.parent.insert_op_before(op, access)
        placed.append(op)


def _fetch_window(buffer: SSAValue, loop: ForOp, ahead: AffineList) -> None:
    window, first = _window(buffer, loop), loop.body.block.first_op
    assert isinstance(window, Window) and first is not None
    origin = window.origin.substitute(loop.iv, ahead)
    is_written = bool(_updates(buffer, loop))
    for place in _lines(buffer, window) or ():
        entries = [origin[axis].add(offset) for axis, offset in enumerate(place)]
        op = PrefetchOp(buffer, AffineList.of(*entries).canonical())
        op.location = loop.location
        if is_written:
            op.attributes[WRITE] = UnitAttr()
        loop.body.block.insert_op_before(op, first)


def _shares_line(op: PrefetchOp, block: Block | None, other: PrefetchOp) -> bool:
    """Whether an earlier prefetch in the same block brings the element of `op` too, except for a line's edge."""
    if other.parent is not block or other.memref is not op.memref:
        return False
    apart = op.indices.minus(other.indices).constants()
    if apart is None or any(apart[:-1]):
        return False
    assert isinstance(op.memref.type, MemRefType)
    return not apart or abs(apart[-1]) * element_bytes(op.memref.type.element_type) < LINE_BYTES
