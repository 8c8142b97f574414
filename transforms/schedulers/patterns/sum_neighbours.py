"""Sums of several loops and what is around them: the nests that fill their results, read them, and make borders.

What convolutions (convolutions.py) and windows (windows.py) have in common; these facts change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, loops_in, perfect_band, sole_inner_loop
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.flatten import flatten
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.parallel import why_not_parallel
from ...nest.rewrite.steps import Steps
from .tiles import axes_of

SHARES = (2, 4)
"""Numbers of threads among which iterations, or blocks of rows, are to come out even."""

MOST_IDLE = 0.1
"""Maximum fraction of the time that a thread may wait for the others."""

FEW = 32
"""Iterations below which a thread that is slower has not enough left that others could do for it."""


def outermost_of(sums: AccumulateOp) -> ForOp:
    """The nest of a sum."""
    return enclosing_loops(sums)[0]


def borders_of(sums: AccumulateOp, images: Sequence[LoadOp]) -> list[AllocOp]:
    """The buffers that are written right before, in one nest each, and that only this sum reads."""
    block, found = outermost_of(sums).parent, list[AllocOp]()
    for load in images:
        alloc = load.memref.owner
        if isinstance(alloc, AllocOp) and alloc not in found and alloc.parent is block:
            found.append(alloc)
    return found


def initial_nest(sums: AccumulateOp, loops: Sequence[ForOp]) -> list[ForOp] | None:
    """The nest that stores the first values: its loops over what `loops`, those of the sum's result, are over."""
    nest, own = outermost_of(sums), axes_of(sums.indices)
    used = [use.operation for use in sums.memrefs[0].uses]
    stores = [op for op in used if isinstance(op, StoreOp) and not _is_after(op, nest)]
    if len(stores) != 1 or own is None:
        return None
    around, axes = enclosing_loops(stores[0]), axes_of(stores[0].indices)
    if axes is None or not around or around[0].parent is not nest.parent or perfect_band(around[0]) != around:
        return None
    if any(op is not stores[0] for op in around[-1].body.block.ops):
        return None
    wanted = [axes[own.index(loop.iv)] for loop in loops]
    found = [next((loop for loop in around if loop.iv is variable), None) for variable in wanted]
    return [loop for loop in found if loop] if None not in found and len(found) == len(around) else None


def reading_nest(nest: ForOp, buffer: SSAValue) -> ForOp | None:
    """The nest that is all that reads a buffer besides the nest that makes it."""
    block = nest.parent
    readers: list[Operation] = []
    for use in buffer.uses:
        op: Operation = use.operation
        if not isinstance(op, (LoadOp, StoreOp, AccumulateOp)):
            return None
        while op.parent is not block:
            if (parent := op.parent_op()) is None:
                return None  # it is used in another branch, or behind the one that the nest is in
            op = parent
        if isinstance(use.operation, LoadOp) and op is not nest and op not in readers:
            readers.append(op)
    return readers[0] if len(readers) == 1 and isinstance(readers[0], ForOp) else None


def reading_band(nest: ForOp, buffer: SSAValue) -> list[ForOp] | None:
    """The perfect nest of unmarked loops that is all that reads a buffer besides the nest that makes it."""
    reader = reading_nest(nest, buffer)
    if reader is None:
        return None
    band = perfect_band(reader)
    is_plain = all(loop.kind == "serial" and loop.step_value == 1 for loop in band)
    if (
        not is_plain
        or len(loops_in(reader)) != len(band)
        or any(op.regions for op in band[-1].body.block.ops)
    ):
        return None
    return band


def in_blocks(loop: ForOp, rows: int, steps: Steps) -> tuple[ForOp, ForOp]:
    """Blocks of `rows` iterations, and the loop in them: the loop itself where a block is one iteration."""
    if rows == 1:
        return loop, loop
    tail = "perfect" if why_not_split(loop, rows, "perfect") is None else "clamp"
    blocks, inner = steps.do(split, loop, factor=rows, tail=tail)
    return blocks, inner


def in_tiles(loop: ForOp, factor: int, steps: Steps) -> tuple[ForOp, ForOp]:
    """Blocks of `factor` iterations, without a domain where they divide the loop."""
    tail = "perfect" if why_not_split(loop, factor, "perfect") is None else "mask"
    outer, inner = steps.do(split, loop, factor=factor, tail=tail)
    return outer, inner


def even_shares(loop: ForOp, tiles: Sequence[ForOp], steps: Steps) -> ForOp:
    """The loop to be given to threads: a few iterations are made one loop with the next.

    Three images on two threads are two on one of them; of three images in seven blocks each has half. And of eight
    images a thread that is slower would do one on its own in the end. Loops over `tiles` stay.
    """
    while _idle(loop) > MOST_IDLE or (largest_extent(loop) or FEW) < FEW:
        inner = sole_inner_loop(loop)
        if inner is None or loop in tiles or inner in tiles or why_not_parallel(inner) is not None:
            break
        flat = steps.attempt(flatten, loop, inner)
        if flat is None:
            break
        loop = flat
    return loop


def _idle(loop: ForOp) -> float:
    """The part of the time that threads wait for the last one of them."""
    extent = largest_extent(loop)
    if not extent:
        return 0
    return max(1 - extent / (-(-extent // threads) * threads) for threads in SHARES)


def _is_after(op: Operation, nest: ForOp) -> bool:
    """Whether `op` is in the block of `nest`, or below an operation of it, and behind."""
    top: Operation | None = op
    while top is not None and top.parent is not nest.parent:
        top = top.parent_op()
    return top is not None and nest.is_before_in_block(top)
