"""Pooling and convolutions of separate channels on the GPU (part of nest-schedule-cuda): windows in shared memory.

    ... %p, the image with a border, is written
    nest.for "b" ... nest.for "i" ... nest.for "j" ... {
      ... %s is set
      nest.for "u" %u = 0 to 3 { nest.for "v" %v = 0 to 3 {
        nest.accumulate "s" maximum %e, %s[]                 // of %p[%b, 2 * %i + %u, 2 * %j + %v]
      }}
      ... %y[%b, %i, %j] is computed from %s
  becomes
    nest.for "b" ... bind "block.z" { nest.for "i.o" ... bind "block.y" { nest.for "j.o" ... bind "block.x" {
      %p = nest.alloc "p" : memref<65x2x48xf32, 3>           // what a tile of %y needs of it
      ... threads write it, neighbours what is side by side in memory
      nest.for "i.i.o" ... 0 to 8 bind "thread.y" { nest.for "j.i" ... 0 to 32 bind "thread.x" {
        nest.for "i.i.i" ... 0 to 4 unrolled {               // rows of a thread: their windows have rows in common
          ... %s, %y

patterns/windows.py says what a reduction over windows is. An element of the image is read once per tile, not once for
each window that it is in, and an image with a border is never in memory. Neighbouring threads take neighbours of the
result. They read every second element of a row where the windows are two elements apart: such rows of the tile are kept
as one row for each remainder, so that all of these are in different banks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import NoneAttr

from ....analysis.machine import BANK_BYTES, BANKS
from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.kernels.barriers import change_with_places
from ....analysis.nest.loop_structure import enclosing_function, enclosing_loops, sole_inner_loop, trip_count
from ....analysis.nest.sets.access_patterns import UNIT, buffer_accesses, growth_of, varying_values
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.remarks import remark
from ...nest.loops.flatten import flatten, why_not_flatten
from ...nest.loops.normalise import normalise, remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.mapping.annotate import annotate
from ...nest.mapping.bind import bind
from ...nest.memory.cache_read import cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.resize_buffer import resize_buffer
from ...nest.memory.set_memory import set_memory
from ...nest.memory.transform_layout import transform_layout
from ...nest.producers.compute_at import compute_at
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.sum_neighbours import borders_of, in_tiles
from ..patterns.tiles import pattern_in
from ..patterns.windows import Windows, one_nest, slides, windows_in
from .grid import grid_axes, joined, row_width
from .tile_copies import bind_threads, by_axis
from .transposes import whole_loop

THREADS = 256
"""Threads of a block."""

ROWS_OF_THREAD = 4
"""Results of a thread, one below the other."""

COLUMNS_OF_THREAD = 2
"""Results of a thread along a row, 32 apart, where a row is long enough."""

CHANNELS = 16
"""Threads side by side where windows do not overlap along the innermost loop: the channels of a pixel."""

TILE_BYTES = 28 << 10
"""Maximum size of the tile of the image, in bytes: several blocks share the memory of a multiprocessor."""

SHORTEST = 8
"""Elements of a row of a copy below which its rows are one after the other, without axes."""

MOST_TERMS = 64
"""Maximum number of terms of a window to unroll."""


def schedule_windows(nest: ForOp, steps: Steps) -> bool:
    """Tile a reduction over windows; False, and nothing changed, where a nest is none or a step is refused."""
    if not _reads_windows(nest):
        return False
    _remove_units(nest, steps)
    found = windows_in(nest, is_staged=True)
    if found is None or not any(slides(loop, found.terms, found.moving) for loop in found.results):
        return False
    try:
        trial(_try, nest)
    except NestorError as refusal:
        reason = refusal.diagnostic.message
        remark(nest, f'the windows of "{nest.label}" are not staged in shared memory: {reason}')
        return False
    Tiling(found, steps).run()
    return True


def _reads_windows(nest: ForOp) -> bool:
    """Whether a nest reduces, and an index of what it reads moves with several of its loops."""
    ops = list(nest.walk())
    if not any(isinstance(op, AccumulateOp) for op in ops):
        return False
    loops = {loop.iv for loop in ops if isinstance(loop, ForOp)}
    loads = [op for op in ops if isinstance(op, LoadOp)]
    return any(
        len(loops.intersection(load.indices[axis].operands)) > 1
        for load in loads
        for axis in range(len(load.indices))
    )


def _remove_units(nest: ForOp, steps: Steps) -> None:
    """Remove loops of one iteration from a nest, and from those that set or use what it reduces into, or reads."""
    buffers = dict.fromkeys(buffer for _, buffer in buffer_accesses(nest))
    users = dict.fromkeys(use.operation for buffer in buffers for use in buffer.uses)
    found = dict.fromkeys(loop for op in users for loop in enclosing_loops(op) if extent_of(loop) == 1)
    for loop in found:
        if loop is not nest:
            steps.attempt(remove_unit_loop, loop)


def _try(nest: ForOp) -> None:
    found, function = windows_in(nest, is_staged=True), enclosing_function(nest)
    assert found is not None
    change_with_places(function, Tiling(found, UNRECORDED).run)


@dataclass(frozen=True, eq=False)
class Share:
    """How the iterations of a loop over results that are in a tile are shared out: threads of an axis, results of each."""

    axis: str
    threads: int
    each: int = 1

    @property
    def size(self) -> int:
        return self.threads * self.each


def shares_of(windows: Windows) -> dict[ForOp, Share]:
    """How a tile of results is shared out: the loops that are in it. Others have one iteration a block."""
    column = windows.column
    others = [loop for loop in windows.results if loop is not column]
    sliding = [loop for loop in others if slides(loop, windows.terms, windows.moving)]
    width = extent_of(column)
    if slides(column, windows.terms, windows.moving):
        rows, each = sliding[-1:] or others[-1:], ROWS_OF_THREAD
        share = Share("x", row_width(width, LANES), COLUMNS_OF_THREAD if has_more(column, LANES) else 1)
    else:
        rows, each = sliding[-2:], ROWS_OF_THREAD * len(sliding[-2:])
        share = Share("x", row_width(width, CHANNELS))
    found, left = {column: share}, THREADS // share.threads
    for axis, loop in zip("yz", reversed(rows), strict=False):
        count = extent_of(loop)
        own = 1 if loop is not rows[0] else each if count is None else min(each, power_above(count))
        threads = row_width(None if count is None else -(-count // own), left)
        found[loop] = Share(axis, threads, own)
        left //= threads
    axes = [axis for axis in "yz" if axis not in [one.axis for one in found.values()]]
    rest = [loop for loop in others if loop not in found]
    if rest and axes and left > 1:
        found[rest[-1]] = Share(axes[0], row_width(extent_of(rest[-1]), left))
    return _within(windows, found)


def _within(windows: Windows, shares: dict[ForOp, Share]) -> dict[ForOp, Share]:
    """Fewer results of a thread, and fewer threads in the end, where the tile of the image is too large."""
    while _tile_bytes(windows, shares) > TILE_BYTES:
        loop = max(shares, key=lambda one: (shares[one].each, shares[one].axis != "x", shares[one].threads))
        share = shares[loop]
        if share.each > 1:
            shares[loop] = replace(share, each=share.each // 2)
        elif share.threads > 1:
            shares[loop] = replace(share, threads=share.threads // 2)
        else:
            break
    return shares


def _tile_bytes(windows: Windows, shares: dict[ForOp, Share]) -> int:
    """What a tile of the image takes, about."""
    total = 0
    counts = {loop: share.size for loop, share in shares.items()}
    counts |= {term: extent_of(term) or 1 for term in windows.terms}
    for load in windows.moving:
        size = element_bytes(load.memref.type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
        for axis in range(len(load.indices)):
            grows = {loop: growth_of(load.indices[axis], loop.iv, {loop.iv}) or 0 for loop in counts}
            size *= 1 + sum(abs(grows[loop]) * (count - 1) for loop, count in counts.items())
        total += size
    return total


def has_more(loop: ForOp, count: int) -> bool:
    """Whether a loop may have more iterations."""
    extent = extent_of(loop)
    return extent is None or extent > count


class Tiling:
    """The steps; any of them may be refused."""

    def __init__(self, windows: Windows, steps: Steps):
        self.windows = windows
        self.steps = steps
        self.shares = shares_of(windows)
        self.threads = {share.axis: share.threads for share in self.shares.values() if share.threads > 1}

    def run(self) -> None:
        """Tiles of results, their windows staged, all bound."""
        steps, windows = self.steps, self.windows
        borders = borders_of(windows.sums, windows.moving)
        loads = list(dict.fromkeys(load.memref for load in windows.loads))
        blocks = self._tiles()
        at = blocks[-1]
        for alloc in borders:
            copy, _ = steps.do(compute_at, alloc, at, storage="here")
            self._share_copy(copy)
        for buffer in loads:
            if buffer not in [alloc.memref for alloc in borders]:
                name = f"{buffer_name(buffer)}_tile"
                _, copy = steps.do(cache_read, buffer, at, space="shared", name=name)
                if copy is not None:
                    self._share_copy(copy)
        outer, blocks = blocks[:-2], blocks[-2:]
        blocks = [*joined(outer, steps), *blocks]
        axes = grid_axes([extent_of(loop) for loop in blocks])
        if axes is None:
            raise fail(at, "the grid would have more than 65535 blocks along two axes")
        for loop, axis in zip(blocks, axes, strict=True):
            steps.do(bind, loop, axis=axis)

    # ---- tiles ----

    def _tiles(self) -> list[ForOp]:
        """Tiles of results, shared out over the threads; the loops over the tiles."""
        steps, windows = self.steps, self.windows
        order = [loop for loop in windows.results if loop is not windows.column]
        results = one_nest(windows, steps)
        if results is None:
            raise fail(windows.column, "no nest sets what the windows are reduced into")
        blocks: list[ForOp] = []
        threads: list[tuple[str, ForOp]] = []
        inside: list[ForOp] = []
        for loop, old in zip(results, [*order, windows.column], strict=True):
            share = self.shares.get(old)
            if share is None:
                blocks.append(loop)
                continue
            is_column = old is windows.column
            loop, own, copies = self._parts(loop, share, is_column)
            blocks.append(loop)
            inside += copies
            if own is not None:
                threads.append((share.axis, own))
        threads.sort(key=by_axis)
        steps.do(reorder, [*blocks, *(loop for _, loop in threads), *inside])
        for loop in inside:
            steps.do(annotate, loop, mark="unrolled")
        self._unroll_terms()
        bind_threads(threads, steps)
        for loop in list(blocks):
            if len(blocks) > 1 and extent_of(loop) == 1:
                steps.do(remove_unit_loop, loop)
                blocks.remove(loop)
        return blocks

    def _parts(self, loop: ForOp, share: Share, is_column: bool) -> tuple[ForOp, ForOp | None, list[ForOp]]:
        """A loop over results as one over tiles, one over threads, and those over the results of a thread.

        Rows of a thread are below each other; where all threads have as many, only threads are masked.
        """
        steps, copies = self.steps, list[ForOp]()
        if share.threads == 1:
            tiles, copy = in_tiles(loop, share.each, steps)
            return tiles, None, [copy]
        if share.each > 1 and not is_column and (extent_of(loop) or 1) % share.each == 0:
            loop, copy = steps.do(split, loop, factor=share.each, tail="perfect")
            tiles, own = in_tiles(loop, share.threads, steps)
            return tiles, own, [copy]
        tiles, own = in_tiles(loop, share.size, steps)
        if share.each > 1 and is_column:
            copy, own = steps.do(split, own, factor=share.threads, tail="perfect")
            copies = [copy]
        elif share.each > 1:
            own, copy = steps.do(split, own, factor=share.each, tail="perfect")
            copies = [copy]
        return tiles, own, copies

    def _unroll_terms(self) -> None:
        """The terms of a window side by side, as far as that is not too much code."""
        count = 1
        for loop in reversed(enclosing_loops(self.windows.sums)):
            count *= loop.constant_trip_count() or MOST_TERMS + 1
            if loop not in self.windows.terms or count > MOST_TERMS:
                return
            self.steps.do(annotate, loop, mark="unrolled")

    # ---- copies ----

    def _share_copy(self, copy: ForOp) -> None:
        """Share a copy out over the threads: neighbours take adjacent elements. It is in shared memory then."""
        steps = self.steps
        band = self._whole_band(copy)
        alloc = _target(band[-1])
        load = next(op for op in band[-1].walk() if isinstance(op, LoadOp) and len(op.indices))
        along = next((loop for loop in band if pattern_in(load, load.memref, loop) == UNIT), band[-1])
        order = [*(loop for loop in band if loop is not along), along]
        if order != band:
            steps.do(reorder, order)
        alloc = self._laid_out(alloc, along)
        if isinstance(alloc.memref.type.memory_space, NoneAttr):
            alloc = steps.do(set_memory, alloc, space="shared")
        threads: list[tuple[str, ForOp]] = []
        rounds: list[ForOp] = []
        left = self._as_one(order) if len(alloc.memref.type.get_shape()) == 1 else order
        for axis, count in sorted(self.threads.items()):
            if not left:
                break
            loop = left.pop()
            if loop.constant_trip_count() != count:
                outer, loop = in_tiles(loop, count, steps)
                if outer.constant_trip_count() == 1:
                    steps.do(remove_unit_loop, outer)
                else:
                    (rounds if left else left).append(outer)
            threads.append((axis, loop))
        rounds += reversed(left)
        threads.sort(key=by_axis)
        steps.do(reorder, [*(loop for _, loop in threads), *reversed(rounds)])
        bind_threads(threads, steps)
        for loop in rounds:
            steps.do(annotate, loop, mark="unrolled")

    def _as_one(self, loops: list[ForOp]) -> list[ForOp]:
        """The loops of a copy without axes, as far as memory lets them be one."""
        *outer, along = loops
        while outer and why_not_flatten(outer[-1], along) is None:
            along = self.steps.do(flatten, outer.pop(), along)
        return [*outer, along]

    def _whole_band(self, copy: ForOp) -> list[ForOp]:
        """The loops of a copy, each of as many iterations as the copy has elements along an axis, that are several.

        Raises a diagnostic where there are none, as in a copy of one element.
        """
        steps = self.steps
        band: list[ForOp] = []
        loop: ForOp | None = copy
        while loop is not None:
            trips = trip_count(loop)
            if trips is not None and trips.constants() == (1,):
                inner = _loop_behind_constants(loop)
                steps.do(remove_unit_loop, loop)
            else:
                inner = sole_inner_loop(loop)
                band.append(loop)
            loop = inner
        if not band:
            raise self._refuse_copy()
        stores = [op for op in band[-1].walk() if isinstance(op, StoreOp)]
        if len(stores) > 1:
            steps.do(cache_write, stores[0].memref, band[-1], space="local", name="element")
        whole = []
        for loop in band:
            if loop.lower.constants() != (0,):
                steps.do(normalise, loop)
            (axis,) = [k for k, index in enumerate(_indices(band[-1])) if loop.iv in index.operands]
            size = _target(band[-1]).memref.type.get_shape()[axis]
            count = loop.constant_trip_count()
            if count is not None and count < size:
                steps.attempt(resize_buffer, _target(band[-1]), dimension=axis, size=count)
                size = _target(band[-1]).memref.type.get_shape()[axis]
            loop = whole_loop(loop, size, steps)
            if size == 1:
                steps.do(remove_unit_loop, loop)
            else:
                whole.append(loop)
        if not whole:
            raise self._refuse_copy()
        return whole

    def _refuse_copy(self) -> NestorError:
        return fail(self.windows.sums, "the image of the windows has no loops to share out over the threads")

    def _laid_out(self, alloc: AllocOp, along: ForOp) -> AllocOp:
        """A copy without the axes of one element, that along which memory is contiguous last: one row for each remainder.

        Neighbouring threads that read every n-th element are then in different banks, and so are those that write them.
        """
        element = alloc.memref.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        shape = alloc.memref.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        (last,) = [k for k, index in enumerate(_indices(along)) if along.iv in index.operands]
        names = [f"d{k}" for k in range(len(shape))]
        if shape[last] < SHORTEST and last == len(shape) - 1:
            terms = [f"{prod(shape[k + 1 :])}*d{k}" for k in range(last)]
            layout = f"{' '.join(names)} -> {'+'.join([*terms, f'd{last}'])}"
            return self.steps.do(transform_layout, alloc, layout=layout)
        order = [*(k for k in range(len(shape)) if k != last and shape[k] > 1), last]
        banks = BANKS * BANK_BYTES // max(4, element_bytes(element))
        axes: list[str] = []
        pad: list[int] = []
        for axis in order:
            apart = self._elements_apart(alloc, axis, "thread.x" if axis == last else "thread.y")
            is_row = axis in order[-2:-1] and self.threads.get("x", 1) * 2 == banks == shape[last] * 2
            if apart == 1 or not (axis == last or is_row):
                axes.append(names[axis])
                pad.append(0)
                continue
            length = -(-shape[axis] // apart)
            axes += [f"{names[axis]}%{apart}", f"{names[axis]}/{apart}"]
            pad += [0, 1 - length % 2 if is_row else (-(-banks // apart) - length) % banks]
        if axes == names:
            return alloc
        layout = f"{' '.join(names)} -> {' '.join(axes)}"
        return self.steps.do(transform_layout, alloc, layout=layout, pad=tuple(pad) if any(pad) else ())

    def _elements_apart(self, alloc: AllocOp, axis: int, threads: str) -> int:
        """How many elements along an axis of a copy neighbouring threads are apart in what they read, 1 at least."""
        found: set[int] = set()
        for use in alloc.memref.uses:
            if isinstance(load := use.operation, LoadOp):
                loops = [loop for loop in enclosing_loops(load) if loop.kind == threads]
                found |= {growth_of(load.indices[axis], loop.iv, varying_values(loop)) or 1 for loop in loops}
        return found.pop() if len(found) == 1 else 1


def _loop_behind_constants(loop: ForOp) -> ForOp | None:
    """The loop that is all of the body of `loop` but for constants before it, else None."""
    ops = list(loop.body.block.ops)
    while ops and isinstance(ops[0], ConstantOp):
        ops = ops[1:]
    return ops[0] if len(ops) == 1 and isinstance(ops[0], ForOp) else None


def _store_to_copy(loop: ForOp) -> StoreOp:
    """The store of a copy, behind what it stores. Raises a diagnostic where a nest is none: a sum, say."""
    ops = list(loop.walk())
    if any(isinstance(op, AccumulateOp) for op in ops):
        raise fail(loop, "the image of the windows is the result of a reduction, not a copy")
    return [op for op in ops if isinstance(op, StoreOp)][-1]


def _target(loop: ForOp) -> AllocOp:
    alloc = _store_to_copy(loop).memref.owner
    assert isinstance(alloc, AllocOp)
    return alloc


def _indices(loop: ForOp) -> list[AffineList]:
    indices = _store_to_copy(loop).indices
    return [indices[k] for k in range(len(indices))]
