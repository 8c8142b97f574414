"""Convolutions on a GPU by windows of the image (part of nest-schedule-cuda): what a step reads is in shared memory once.

    nest.for "c.o" ... {                                        // a step: some channels, and all of the window
      nest.for "k.i" ... nest.for "l.i" ... nest.for "j.i" ... {  // rows of pixels, pixels, channels of the result
        nest.for "c.i" ... nest.for "u" ... nest.for "v" ... {
          nest.accumulate "t" add %p, %sums[...]              // of %x[%b, %c, %k + %u, %l + %v] and %w[%j, %c, %u, %v]
  becomes
    nest.for "c.o" ... {
      %x_tile = nest.alloc "x_tile" : memref<80x24xf32, 3>    // pixels of a tile, and as far as windows reach
      %w_tile = nest.alloc "w_tile" : memref<72x36xf32, 3>    // the channels of the result side by side
      ... threads copy them, neighbours what is side by side in memory
      ... the sums, of elements in shared memory only

An element of the image is read once per step, not once for each element of the window. Rows of the copies are made
longer, so that the lanes of a warp, some of them on one row and some on the next ones, are in all banks. Steps have
a number of channels that divides theirs: no term has a condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import enclosing_loops, loops_in
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import fail
from ....dialects.nest import LANES, AllocOp, ForOp, LoadOp
from ...nest.loops.flatten import flatten, why_not_flatten
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split, why_not_split
from ...nest.loops.unmask import unmask
from ...nest.mapping.annotate import annotate
from ...nest.memory.cache_read import cache_read
from ...nest.memory.transform_layout import transform_layout
from ..patterns.convolutions import Convolution
from ..patterns.tiles import pattern_in
from .sum_tiles import Tiling
from .tile_copies import bind_threads

MOST_TERMS = 72
"""Maximum number of terms of a step: channels times the window."""

UNROLLED_TERMS = 16
"""Maximum number of terms to unroll."""


def window_terms(found: Convolution) -> tuple[list[ForOp], int, int] | None:
    """The loops over terms, channels before windows; the channels of a step; how many of the loops are in the tile.

    None where no window is known to reach over several elements.
    """
    channels: list[ForOp] = []
    for load in found.images:
        alone = [load.indices[k].canonical() for k in range(len(load.indices))]
        channels += [loop for loop in found.terms if any(a.single_value() is loop.iv for a in alone)]
    windows = [loop for loop in enclosing_loops(found.sums) if loop in found.terms and loop not in channels]
    extents = [extent_of(loop) for loop in windows]
    size = prod(n for n in extents if n is not None)
    if None in extents or size < 2 or size > MOST_TERMS or len(set(channels)) > 1:
        return None
    if not channels:
        return windows, extents[0] or 1, len(windows)
    count = extent_of(channels[0]) or 1
    depth = max(n for n in range(1, max(1, MOST_TERMS // size) + 1) if count % n == 0)
    return [channels[0], *windows], depth, 1 + len(windows)


class WindowTiling(Tiling):
    """The steps of a sum in tiles with windows of the image."""

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        copies: list[tuple[AllocOp, ForOp]] = []
        loads = [op for op in loops_in(step)[-1].body.block.ops if isinstance(op, LoadOp)]
        buffers = list(dict.fromkeys(load.memref for load in loads))
        if len(buffers) != len(loads) or len(buffers) != 2:
            raise fail(step, "the terms are not products of an element of an image and one of a window")
        for load in loads:
            name = f"{buffer_name(load.memref)}_tile"
            order = self._order(load, step)
            tile, copy = self.steps.do(
                cache_read, load.memref, step, space="shared", name=name, axes=order, tail="zero"
            )
            if copy is None:
                raise fail(step, "a step reads one element only")
            copies.append((tile, copy))
        return copies

    def _order(self, load: LoadOp, step: ForOp) -> tuple[int, ...]:
        """The axes of a copy: of a window's, the one along which lanes move, channels of the result, is the last."""
        inside = {loop.iv for loop in loops_in(step)[1:]}
        terms = {loop.iv for loop in loops_in(step)[-self.tile.inner_terms :]}
        moves = [inside.intersection(load.indices[k].canonical().operands) for k in range(len(load.indices))]
        if any(values & terms and values - terms for values in moves):
            return ()
        last = [k for k, values in enumerate(moves) if values - terms]
        return tuple([k for k in range(len(moves)) if k not in last] + last)

    def _mark_terms(self, terms: Sequence[ForOp]) -> None:
        """The innermost loops over terms side by side, as far as that is not too much code."""
        count = 1
        for loop in reversed(terms):
            count *= loop.constant_trip_count() or UNROLLED_TERMS + 1
            if count > UNROLLED_TERMS:
                return
            self.steps.do(annotate, loop, mark="unrolled")

    # ---- copies ----

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        """Share a copy out over the threads: their fastest axis along memory, the next ones over the loops outward."""
        steps = self.steps
        band = loops_in(copy)
        load = next(op for op in band[-1].walk() if isinstance(op, LoadOp) and len(op.indices))
        moving = [loop for loop in band if pattern_in(load, load.memref, loop) == UNIT]
        along = moving[-1] if moving else band[-1]
        buffer = self._as_rows(buffer)
        place = band.index(along)
        while place and along is not band[-1] and why_not_flatten(band[place - 1], along) is None:
            along = steps.do(flatten, band[place - 1], along)
            place -= 1
            band[place : place + 2] = [along]
        left, last = list(band), band[-1]
        threads: list[tuple[str, ForOp]] = []
        taken: list[ForOp] = []
        lanes = 1
        of_last = 1
        for axis, size in sorted(self.threads.items()):
            others = [loop for loop in left if loop is not along]
            free = [loop for loop in others if loop not in taken]
            loop = along if not threads or not others else free[-1] if free else max(others, key=_length)
            is_of_last = loop is last
            tail = "perfect" if why_not_split(loop, size, "perfect") is None else "mask"
            outer, inner = steps.do(split, loop, factor=size, tail=tail)
            left[left.index(loop)] = outer
            taken.append(outer)
            along = outer if loop is along else along
            last = outer if is_of_last else last
            threads.insert(0, (axis, inner))
            if lanes < LANES:
                share = min(size, LANES // lanes)
                lanes *= share
                of_last *= share if is_of_last else 1
        steps.do(reorder, [*(loop for _, loop in threads), *left])
        bind_threads(threads, self.steps)
        for loop in left:
            steps.do(annotate, loop, mark="unrolled")
        self._pad(buffer, of_last)
        steps.attempt(unmask, threads[0][1])

    def _as_rows(self, buffer: AllocOp) -> AllocOp:
        """A buffer whose axes but the last are one."""
        *outer, _ = shape = buffer.memref.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        if len(outer) < 2:
            return buffer
        terms = [f"{prod(outer[k + 1 :])}*d{k}" for k in range(len(outer))]
        names = [f"d{k}" for k in range(len(shape))]
        layout = f"{' '.join(names)} -> {'+'.join(terms)} {names[-1]}"
        return self.steps.do(transform_layout, buffer, layout=layout)

    def _pad(self, buffer: AllocOp, lanes: int) -> None:
        """Rows of an odd number of times so many elements: then neighbouring rows are in other banks."""
        shape = buffer.memref.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        length = (-(-shape[-1] // lanes) | 1) * lanes
        if lanes < LANES and length > shape[-1] and len(shape) > 1:
            names = " ".join(f"d{k}" for k in range(len(shape)))
            pad = (*(0 for _ in shape[1:]), length - shape[-1])
            self.steps.do(transform_layout, buffer, layout=f"{names} -> {names}", pad=pad)


def _length(loop: ForOp) -> int:
    return loop.constant_trip_count() or 1
