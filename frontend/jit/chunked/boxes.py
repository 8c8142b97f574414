"""How a box is computed from the chunks of its sources: which numbers a program gets, which parts, and in which pieces.

A box needs a part of each source, which may lie in several chunks. Most of it needs one chunk alone, and
no border of an array:

    rows of x    | ... chunk 1 | chunk 2                    | chunk 3 ... |
    box                        [ a |          middle        | b ]            of y = (x[:-2] + x[1:-1] + x[2:]) / 3

The middle reads its chunk where it is, and is computed by the program for boxes inside of the array, which is simpler. Of
`a` and `b`, a few rows each, parts are put together, and computed by the program for any box. All of this is plain data: it
is looked up when a graph is made (which chunks a box needs), and used by workers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from ...interface.errors import DTypeError, ShapeError
from .chunk_program import ChunkProgram
from .memory import Memory

LEAST_ELEMENTS = 1 << 15
"""Boxes of fewer elements are computed as one piece: a call costs as much as what is gained."""

MOST_COMBINED = 1 / 16
"""Elements of partial results that a piece has for each that it reads, at most: they are combined."""

CACHED_BYTES = 1 << 22
"""Bytes of sources that one call reads, where it looks at them twice: caches keep them in between."""

LEAST_SHARE = 0.5
"""The least part of a box that is computed by itself, without what is at its borders."""

SPLIT_EVERY = 8
"""Partial results that one task combines."""

Ends = tuple[tuple[int, int], ...]
"""A box: where it begins and ends, by cut. A cut is along an axis of the results or along a loop of a reduction."""


@dataclass(frozen=True)
class Linear:
    """A number that depends on a box: a constant, and a factor of where each cut begins, and of where it ends."""

    terms: tuple[tuple[int, int, int], ...] = ()
    """The number of a cut, 0 for its begin or 1 for its end, and the factor."""
    constant: int = 0

    def of(self, box: Ends) -> int:
        total = self.constant
        for cut, end, factor in self.terms:
            total += factor * box[cut][end]
        return total

    @property
    def cuts(self) -> frozenset[int]:
        """The cuts that it depends on."""
        return frozenset(cut for cut, _, _ in self.terms)


@dataclass(frozen=True)
class PartForm:
    """A part of a source: between which indices, by axis (None: all), of an array of these extents and this dtype."""

    shape: tuple[int, ...]
    dtype: str
    axes: tuple[tuple[Linear, Linear] | None, ...]

    def along(self, axis: int, box: Ends) -> tuple[int, int]:
        """Where the part that a box needs begins and ends along an axis."""
        limits, extent = self.axes[axis], self.shape[axis]
        if limits is None:
            return 0, extent
        low = min(max(limits[0].of(box), 0), extent)
        return low, max(low, min(limits[1].of(box), extent))

    def where(self, box: Ends) -> Ends:
        return tuple(self.along(axis, box) for axis in range(len(self.shape)))


@dataclass(frozen=True)
class First:
    """Where the part of a numbered source begins along an axis."""

    part: int
    axis: int


@dataclass(frozen=True)
class BoxProgram:
    """A compiled program, and its arguments: numbers, `First`s, other scalars (in tuples), None for arrays."""

    program: ChunkProgram
    arguments: tuple[Linear | First | tuple[Any] | None, ...]
    parts: tuple[PartForm, ...]
    takes: tuple[tuple[int, ...], ...]
    """The numbers of what there is of the source that each part is of: boxes may need several parts of one."""

    def run(self, box: Ends, sources: Sequence[Source], results: Sequence[Any]) -> None:
        """Compute the results of a box."""
        where = [part.where(box) for part in self.parts]
        numbers = [self._number(one, box, where) for one in self.arguments]
        parts = [
            next(sources[k] for k in these if sources[k].has(ends)).part(ends)
            for these, ends in zip(self.takes, where, strict=True)
        ]
        self.program.run(numbers, parts, results)

    def fits(self, box: Ends, sources: Sequence[Source]) -> bool:
        """Whether what there is of sources is enough for a box."""
        return all(
            any(sources[k].has(part.where(box)) for k in these)
            for these, part in zip(self.takes, self.parts, strict=True)
        )

    def _number(self, argument: Linear | First | tuple[Any] | None, box: Ends, where: Sequence[Ends]) -> Any:
        if isinstance(argument, Linear):
            return argument.of(box)
        if isinstance(argument, First):
            return where[argument.part][argument.axis][0]
        return None if argument is None else argument[0]


Chunk = tuple[int, int, int]
"""A chunk along an axis: the index at which it begins, and where what is there of it begins and ends in it."""


class Borders(dict):
    """Parts of a chunk that boxes need, by where they begin and end along each axis."""


class Source:
    """What there is of a source: the arrays between these indices along each axis, in order of their places."""

    def __init__(
        self, form: PartForm, chunks: Sequence[Sequence[Chunk]], blocks: Iterator[Any], memory: Memory
    ):
        self.form = form
        self._memory = memory
        self.segments = [[(begin + first, begin + last) for begin, first, last in one] for one in chunks]
        self._arrays: dict[tuple[int, ...], Any] = {}
        for place in product(*(range(len(one)) for one in chunks)):
            block = next(blocks)
            if isinstance(block, Borders):
                block = block[tuple(one[k][1:] for one, k in zip(chunks, place, strict=True))]
            self._arrays[place] = self._checked(memory.taken(block), place)

    def _checked(self, array: Any, place: tuple[int, ...]) -> Any:
        """The array. Raises ShapeError and DTypeError where it is not what its Dask array says: machine code would read
        beside it."""
        shape = tuple(one[k][1] - one[k][0] for one, k in zip(self.segments, place, strict=True))
        if array.shape != shape:
            raise ShapeError(
                f"chunks of a Dask array are {list(array.shape)} where it says {list(shape)}",
                hint="say what map_blocks and from_delayed make: chunks=, shape=",
            )
        if str(array.dtype) != self.form.dtype:
            raise DTypeError(
                f"chunks of a Dask array are {array.dtype} where it says {self.form.dtype}",
                hint="say what map_blocks and from_delayed make: dtype=",
            )
        return array

    def has(self, where: Ends) -> bool:
        """Whether there are the elements between these indices."""
        return any(low >= high for low, high in where) or all(
            segments and segments[0][0] <= low and high <= segments[-1][1]
            for segments, (low, high) in zip(self.segments, where, strict=True)
        )

    def part(self, where: Ends) -> Any:
        """The elements between these indices: where they are, or, from several arrays, put together."""
        if any(low >= high for low, high in where):
            shape = [max(high - low, 0) for low, high in where]
            whole = self._memory.empty([max(extent, 1) for extent in shape], np.dtype(self.form.dtype))
            return whole[tuple(map(slice, shape))]  # an array made without elements has no strides
        chosen = [overlaps(one, *ends) for one, ends in zip(self.segments, where, strict=True)]
        if all(len(one) == 1 for one in chosen):
            return self._arrays[tuple(one[0][0] for one in chosen)][*(one[0][1] for one in chosen), ...]
        made = self._memory.empty([high - low for low, high in where], np.dtype(self.form.dtype))
        for pieces in product(*chosen):
            source = self._arrays[tuple(k for k, _, _ in pieces)]
            made[tuple(to for _, _, to in pieces)] = source[tuple(of for _, of, _ in pieces)]
        return made


def overlaps(segments: Sequence[tuple[int, int]], low: int, high: int) -> list[tuple[int, slice, slice]]:
    """The segments that have some of the indices from `low` to `high`: number, which of it, and where that is in these."""
    found = []
    for k, (begin, end) in enumerate(segments):
        first, last = max(low, begin), min(high, end)
        if first < last:
            found.append((k, slice(first - begin, last - begin), slice(first - low, last - low)))
    return found or [(0, slice(0, 0), slice(0, 0))]


def chunks_between(ends: Sequence[int], low: int, high: int) -> list[tuple[int, int, int]]:
    """The chunks that have some of the indices from `low` to `high`: number, and where they begin and end in it.

    `ends` are where chunks begin, and where the last one ends. For no indices there are none."""
    found = []
    if low < high:
        for k in range(bisect_right(ends, low) - 1, bisect_left(ends, high)):
            first, last = max(low, ends[k]), min(high, ends[k + 1])
            if first < last:
                found.append((k, first - ends[k], last - ends[k]))
    return found


@dataclass(frozen=True)
class Recipe:
    """How each box of a step is computed.

    `cuts` are where boxes begin and end along each cut (some have two ends only: one box); `axes` says which axis of the
    results each cut is along, None for a loop. `inner` is for boxes within `inside`; `any_box` for any.
    """

    any_box: BoxProgram
    inner: BoxProgram | None
    inside: Ends
    cuts: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    sources: tuple[tuple[tuple[int, ...], ...], ...]
    """By source and axis, where chunks begin and where the last one ends."""
    combine: ChunkProgram | None = None
    is_running: bool = False
    """Whether each partial result is combined with those before it, and stays: what is before each chunk."""
    is_read_twice: bool = False
    """Whether its programs read sources twice: boxes are then reduced a few iterations at a time (`CACHED_BYTES`)."""

    def box(self, index: Sequence[int]) -> Ends:
        """A box by its place along each cut."""
        return tuple((ends[k], ends[k + 1]) for ends, k in zip(self.cuts, index, strict=True))

    def compute(self, index: Sequence[int], blocks: Sequence[Any]) -> Any:
        """The results of a box: an array, or a tuple. `blocks` are the chunks that it needs, or slices of them, in the order
        of `chunks_along`: source by source, the last axis first."""
        with self.memory.on(blocks):
            return self._computed(self.box(index), iter(blocks))

    @property
    def memory(self) -> Memory:
        """Where chunks and results are."""
        return self.any_box.program.memory

    def _computed(self, box: Ends, given: Iterator[Any]) -> Any:
        sources = []
        for k, form in enumerate(self.any_box.parts):
            ends = self.sources[k]
            chunks = [
                [(ends[axis][chunk], first, last) for chunk, first, last in self.chunks_along(k, axis, box)]
                for axis in range(len(form.shape))
            ]
            sources.append(Source(form, chunks, given, self.memory))
        middle = self._middle(box, sources)
        if self.axes and None in self.axes:
            return self._reduced(box, middle, sources)
        results = self._empty(box)
        if middle is None:
            self.any_box.run(box, sources, results)
        else:
            for piece, is_middle in _pieces(box, middle):
                self._run_in(self._program(is_middle), piece, box, sources, results)
        return results[0] if len(results) == 1 else tuple(results)

    def chunks_along(self, source: int, axis: int, box: Ends) -> list[tuple[int, int, int]]:
        """The chunks of a source along an axis that a box needs: number, and where what it needs begins and ends in it."""
        ends = self.sources[source][axis]
        return chunks_between(ends, *self.any_box.parts[source].along(axis, box))

    @property
    def dtypes(self) -> list[np.dtype]:
        """The dtypes of what it makes."""
        return list(self.any_box.program.results.values())

    def _program(self, is_middle: bool) -> BoxProgram:
        return self.inner if is_middle and self.inner is not None else self.any_box

    def _empty(self, box: Ends) -> list[Any]:
        return [self.memory.empty(self._shape(k, box), dtype) for k, dtype in enumerate(self.dtypes)]

    def _shape(self, k: int, box: Ends) -> tuple[int, ...]:
        extents = list(self.shapes[k])
        for axis, (low, high) in zip(self.axes, box, strict=True):
            if axis is not None:
                extents[axis] = high - low
        return tuple(extents)

    def _run_in(
        self,
        program: BoxProgram,
        piece: Ends,
        box: Ends,
        sources: Sequence[Source],
        results: Sequence[Any],
    ) -> None:
        """Compute a piece of a box, into its place in the results."""
        views = []
        for array in results:
            place = [slice(None)] * array.ndim
            for axis, (low, high), (first, _) in zip(self.axes, piece, box, strict=True):
                if axis is not None:
                    place[axis] = slice(low - first, high - first)
            views.append(array[*place, ...])
        program.run(piece, sources, views)

    def _reduced(self, box: Ends, middle: Ends | None, sources: Sequence[Source]) -> Any:
        """The partial results of some iterations."""
        pieces = [(box, False)] if middle is None else _pieces(box, middle)
        partials = []
        for piece, is_middle in pieces:
            for few in self._few_iterations(piece):
                results = self._empty(few)
                self._program(is_middle).run(few, sources, results)
                partials.append(results[0] if len(results) == 1 else tuple(results))
        assert self.combine is not None or len(partials) == 1
        return partials[0] if len(partials) == 1 else self.combine.combined(partials)  # pyright: ignore

    def _few_iterations(self, piece: Ends) -> list[Ends]:
        """A piece of iterations in parts of which caches of a CPU keep what they read, where it is read twice."""
        if not self.is_read_twice or self.combine is None or self.memory.is_device:
            return [piece]
        reads = [
            prod(high - low for low, high in form.where(piece)) * np.dtype(form.dtype).itemsize
            for form in self.any_box.parts
        ]
        makes = [prod(self._shape(k, piece)) * dtype.itemsize for k, dtype in enumerate(self.dtypes)]
        loop = max(
            (k for k, axis in enumerate(self.axes) if axis is None), key=lambda k: piece[k][1] - piece[k][0]
        )
        low, high = piece[loop]
        count = min(
            sum(reads) // CACHED_BYTES, int(sum(reads) * MOST_COMBINED) // max(sum(makes), 1), high - low
        )
        if count < 2:
            return [piece]
        ends = [low + (high - low) * k // count for k in range(count + 1)]
        return [(*piece[:loop], ends_of, *piece[loop + 1 :]) for ends_of in pairwise(ends)]

    def _middle(self, box: Ends, sources: Sequence[Source]) -> Ends | None:
        """What of a box is away from borders, and needs one chunk of what it moves along; None where that is little."""
        reads = sum(prod(high - low for low, high in form.where(box)) for form in self.any_box.parts)
        if reads < LEAST_ELEMENTS:
            return None
        made = sum(prod(self._shape(k, box)) for k in range(len(self.shapes)))
        found, left = [], 1.0
        for cut, (low, high) in enumerate(box):
            first, last = max(low, self.inside[cut][0]), min(high, self.inside[cut][1])
            for source in sources:
                first, last = self._in_one_chunk(cut, source, first, last)
            if self.axes[cut] is not None and None in self.axes and (first, last) != (low, high):
                return None
            if first >= last:
                return None
            found.append((first, last))
            left *= (last - first) / (high - low)
        middle = tuple(found)
        if self.inner is not None and not self.inner.fits(middle, sources):
            return None
        if left < LEAST_SHARE or (None in self.axes and middle != box and made > MOST_COMBINED * reads):
            return None
        return middle

    def _in_one_chunk(self, cut: int, source: Source, first: int, last: int) -> tuple[int, int]:
        """The indices from `first` to `last` of a cut whose part of a source is in one array along each axis."""
        for limits, segments in zip(source.form.axes, source.segments, strict=True):
            if limits is None or len(segments) < 2:
                continue
            lower, upper = limits
            if lower.terms != ((cut, 0, 1),) or upper.terms != ((cut, 1, 1),):
                continue
            begin, end = max(segments, key=lambda one: one[1] - one[0])
            first, last = max(first, begin - lower.constant), min(last, end - upper.constant)
        return first, last


def _pieces(box: Ends, middle: Ends) -> list[tuple[Ends, bool]]:
    """The middle of a box, and what is beside it along each cut in turn; whether it is the middle."""
    found: list[tuple[Ends, bool]] = []
    rest = list(box)
    for cut, (first, last) in enumerate(middle):
        low, high = rest[cut]
        for piece in ((low, first), (last, high)):
            if piece[0] < piece[1]:
                found.append(((*rest[:cut], piece, *rest[cut + 1 :]), False))
        rest[cut] = (first, last)
    return [*found, (middle, True)]


# ---- tasks --------------------------------------------------------------------------------------------


def compute_box(recipe: Recipe, index: Sequence[int], *blocks: Any) -> Any:
    """The task of a box."""
    return recipe.compute(index, blocks)


def take_borders(chunk: Any, parts: Sequence[Ends]) -> Borders:
    """The task of the parts of a chunk that other boxes need."""
    return Borders((part, chunk[*(slice(*ends) for ends in part), ...]) for part in parts)


def first_before(partials: Any) -> Any:
    """The task of what is before the first chunk of a running result: what some results are of nothing, with an axis before
    the others."""
    return tuple(one[None] for one in partials) if isinstance(partials, tuple) else partials[None]


def next_before(combine: ChunkProgram, before: Any, partials: Any) -> Any:
    """The task of what is before another chunk: what is before the one before it, and the results of that."""
    so_far = tuple(one[0, ...] for one in before) if isinstance(before, tuple) else before[0, ...]
    return first_before(combine.combined([so_far, partials]))


def combine_parts(combine: ChunkProgram, *partials: Any) -> Any:
    """The task of partial results of a reduction: they become one."""
    return combine.combined(partials)
