"""Tiles of sums on a GPU: what products (cuda/products.py) and convolutions (cuda/convolutions.py) have in common.

    nest.for "i" ... { nest.for "j" ... { ... %c is set } }
    nest.for "i.1" ... { nest.for "j.1" ... { nest.for "k" ... {
      nest.accumulate "c" add %p, %c[%i, %j]                      // of %x[%i, %k] and %y[%k, %j]
    ... %c is used, element by element
  becomes
    nest.for "i.o" ... bind "block.y" {
      nest.for "j.o" ... bind "block.x" {
        %sums = nest.alloc ... : memref<8x2x16x8x2x4xf32, 5>      // in registers: 8 x 8 of 128 x 128 for each of 256 threads
        ... a thread sets its sums
        nest.for "k.o" ... {
          ... threads copy tiles of %x and %y to shared memory, with zeros where these end
          nest.for "z" ... bind "thread.z" { nest.for "y" ... bind "thread.y" { nest.for "x" ... bind "thread.x" {
            nest.for "k.i" ... unrolled { ... nest.accumulate "c" add %p, %sums[...]
        ... a thread uses its sums
        ... and stores them

The tile's loops are taken apart: `Part`s of a loop are shared out over threads, or stay in the thread. The copies are
shared out over the same threads, so that neighbours read adjacent elements, and as the tile is read later without
bank conflicts. Each step is a primitive, which checks it; all of them are tried on a copy first. After V. Volkov, "Better
performance at lower occupancy" (2010), and the tiles of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside, loops_in
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ...nest.loops.flatten import flatten, why_not_flatten
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split, why_not_split
from ...nest.loops.unmask import unmask
from ...nest.mapping.annotate import annotate
from ...nest.mapping.bind import bind
from ...nest.memory.cache_write import cache_write
from ...nest.memory.pipeline import pipeline, why_not_pipeline
from ...nest.memory.resize_buffer import resize_buffer, why_not_resize_buffer
from ...nest.memory.set_memory import set_memory
from ...nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ...nest.memory.stage_factors import stage_factors
from ...nest.memory.transform_layout import transform_layout
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import copies
from .grid import blocks_of, grid_axes
from .grid import make_perfect as make_perfect_nest
from .sum_neighbours import axis_along, loops_over, make_perfect, neighbours_of
from .tile_copies import (
    AXES,
    bind_threads,
    by_axis,
    mark_vector,
    may_be_ahead,
    share_copy,
)

__all__ = [
    "Part",
    "Parts",
    "SumTile",
    "axis_along",
    "loops_over",
    "make_perfect",
    "parts",
    "size_of",
    "tile_sum",
]

REGISTER, VECTOR = "r", "v"
"""Parts of a loop that stay in the thread; adjacent elements go to vectors."""


@dataclass(frozen=True)
class Part:
    """A part of a loop of the tile: `size` iterations along an axis of the threads ("x", "y", "z"), or in the thread."""

    axis: str
    size: int


Parts = tuple[Part, ...]


def size_of(text: str) -> int:
    """Iterations of all parts of a loop together."""
    return prod(part.size for part in parts(text))


def parts(text: str) -> Parts:
    """Parts of a loop, outermost first.

    >>> parts("z8 r4"), prod(part.size for part in parts("z8 r4"))
    ((Part(axis='z', size=8), Part(axis='r', size=4)), 32)
    """
    return tuple(Part(word[0], int(word[1:])) for word in text.split() if word[1:] != "1" or word[0] == "x")


@dataclass(eq=False)
class SumTile:
    """A sum and its tile: loops of one iteration a block, loops with their parts, and those over terms."""

    sums: AccumulateOp
    outer: list[ForOp]
    tiled: list[tuple[ForOp, Parts]]
    terms: list[ForOp]
    depth: int | None
    inner_terms: int = 1
    """How many of the last terms' loops are in the tile; the first of these is split by `depth`, if that is not None."""
    uses: list[ForOp] = field(default_factory=list)
    around: int = 0
    """How many loops around the nest are those of a kernel already: the tiles are then done one after the other."""
    stages: int = 1
    """In how many parts the tiles of the factors are in shared memory: one in use, the others being copied."""
    results: int = 0
    """Bytes that there are in shared memory for a tile of results, to store them in larger pieces."""

    @property
    def result(self) -> SSAValue:
        return self.sums.memrefs[0]

    @property
    def nest(self) -> ForOp:
        return enclosing_loops(self.sums)[self.around]

    @property
    def threads(self) -> dict[str, int]:
        """How many threads the block has along each axis."""
        return {part.axis: part.size for _, own in self.tiled for part in own if part.axis in AXES}

    def moved(self, copy_of: dict[Operation, Operation]) -> SumTile:
        """The same of a copy of the function."""

        def of(loops: Sequence[ForOp]) -> list[ForOp]:
            return [copy_of[loop] for loop in loops]  # pyright: ignore[reportReturnType]

        tiled = [(copy_of[loop], own) for loop, own in self.tiled]
        sums = copy_of[self.sums]
        return SumTile(
            sums,  # pyright: ignore[reportArgumentType]
            of(self.outer),
            tiled,  # pyright: ignore[reportArgumentType]
            of(self.terms),
            self.depth,
            self.inner_terms,
            of(self.uses),
            self.around,
            self.stages,
            self.results,
        )


def tile_sum(tile: SumTile, steps: Steps, tiling: type[Tiling] | None = None) -> NestorError | None:
    """Do a sum in tiles, with the nests that set and use its elements; the refusal, and nothing changed, if a step is.

    Nests that use the elements stay kernels of their own where they cannot be part of it. `tiling` does the steps.
    """
    way = tiling or Tiling
    start, uses = neighbours_of(tile)
    refusal: NestorError | None = None
    for some in dict.fromkeys((tuple(uses), ())):
        tile.uses = list(some)
        try:
            copy_of = copies(tile.nest)
            way(tile.moved(copy_of), None if start is None else copy_of[start], UNRECORDED).run()
        except NestorError as error:
            refusal = refusal or error
            continue
        way(tile, start, steps).run()
        return None
    return refusal


# ---- tiling -----------------------------------------------------------------------------------------


class Tiling:
    """The steps; any of them may be refused."""

    def __init__(self, tile: SumTile, start: ForOp | None, steps: Steps):
        self.tile = tile
        self.steps = steps
        self.start = start
        self.threads = tile.threads
        places = [axis_along(tile.sums, loop) for loop, _ in tile.tiled]
        self.order = sorted(range(len(places)), key=places.__getitem__)
        """The tiled loops in the order of the result's axes."""
        self.order_of_axes = sorted(places)
        self.sums: AllocOp | None = None
        """The buffer of the sums, when they have one."""
        self.is_ahead = False
        """Whether what a step multiplies is copied while the one before is added up."""
        self.by_loop: set[ForOp] = set()
        """Loops over the tile that were made of the nests' own."""

    def run(self) -> None:
        """Do it."""
        tile, steps = self.tile, self.steps
        nests = [*([self.start] if self.start is not None else []), tile.nest, *tile.uses]
        over = [self._loops_of(nest) for nest in nests]
        blocks: list[ForOp] = []
        insides: list[tuple[list[ForOp], list[ForOp]]] = []
        for nest, (outer, tiled) in zip(nests, over, strict=True):
            own, tiles, terms = self._into_tiles(nest, outer, tiled)
            blocks = (
                [steps.do(fuse, one, other) for one, other in zip(blocks, own, strict=True)]
                if blocks
                else own
            )
            insides.append((tiles, terms))
            self.by_loop.update(tiles)
        (terms,) = [terms for _, terms in insides if terms]
        step = terms[-1 - tile.inner_terms]
        copies = self._stage(step)
        for tiles, _ in insides:
            steps.attempt(unmask, tiles[0])
        sums, back = self._registers(blocks[-1])
        if back is not None:
            insides.append((loops_in(back), []))
        for tiles, _ in insides:
            steps.attempt(unmask, tiles[0])
        results = self._stage_results(blocks[-1], insides[-1][0])
        for tiles, terms in insides:
            self._share(tiles, terms[-tile.inner_terms :] if terms else [], is_sum=bool(terms))
        self.is_ahead = tile.stages > 1 and all(self._may_be_ahead(*copy) for copy in copies)
        for buffer, copy in copies:
            self._share_copy(buffer, copy)
        for buffer, copy in results:
            self._share_copy(buffer, copy)
        self.sums = steps.do(transform_layout, sums, layout=self._layout(sums.memref.type.get_num_dims()))
        if tile.around:
            for loop in blocks:
                if loop.constant_trip_count() == 1 and why_not_remove_unit_loop(loop) is None:
                    steps.do(remove_unit_loop, loop)
            return
        self._bind_blocks(blocks)
        self.keep_sums()
        if self.is_ahead:
            self._copy_ahead(step)

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        """Copies of what a step multiplies in shared memory, and the loops that make them."""
        left, left_copy, right, right_copy = self.steps.do(stage_factors, step, space="shared")
        return [(left, left_copy), (right, right_copy)]

    def _stage_results(self, block: ForOp, tiles: Sequence[ForOp]) -> list[tuple[AllocOp, ForOp]]:
        """Copies in shared memory of what `tiles` stores, and the loops that store them in larger pieces."""
        return []

    def _may_be_ahead(self, buffer: AllocOp, copy: ForOp) -> bool:
        """Whether a copy may be in flight while the threads add up what they have."""
        return may_be_ahead(buffer, copy)

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        """Share a copy out over the threads."""
        share_copy(buffer, copy, self.threads, self.is_ahead, self.steps)

    def keep_sums(self) -> None:
        """The sums go to registers, when all loops are bound."""
        self.steps.do(set_memory, self.sums, space="local")

    def _copy_ahead(self, step: ForOp) -> None:
        """The factors of the next steps are copied while one is added up."""
        stages = self.tile.stages
        if (step.constant_trip_count() or stages) < stages or why_not_pipeline(step, stages) is not None:
            return
        for loop in self.steps.do(pipeline, step, stages=stages):
            if loop.constant_trip_count() == 1 and why_not_remove_unit_loop(loop) is None:
                self.steps.do(remove_unit_loop, loop)

    def _loops_of(self, nest: ForOp) -> tuple[list[ForOp], list[ForOp]]:
        """The loops of a nest over blocks, and those over the tile."""
        tile = self.tile
        if nest is tile.nest:
            return tile.outer, [loop for loop, _ in tile.tiled]
        loops = loops_over(nest, tile)
        assert loops is not None
        return loops[: len(tile.outer)], loops[len(tile.outer) :]

    def _into_tiles(
        self, nest: ForOp, outer: list[ForOp], tiled: list[ForOp]
    ) -> tuple[list[ForOp], list[ForOp], list[ForOp]]:
        """The loops over blocks, over the tile, and over terms (for the nest of the sum)."""
        tile = self.tile
        is_sum = nest is tile.nest
        pairs = [
            self._split(loop, prod(part.size for part in own))
            for loop, (_, own) in zip(tiled, tile.tiled, strict=True)
        ]
        blocks, tiles = [*outer, *(a for a, _ in pairs)], [b for _, b in pairs]
        terms: list[ForOp] = []
        if is_sum:
            terms = list(tile.terms)
            at = len(terms) - tile.inner_terms
            if tile.depth is not None:
                terms[at : at + 1] = self._split(terms[at], tile.depth)
        count = len(terms) - tile.inner_terms if is_sum else 0
        self._reorder([*blocks, *terms[:count], *tiles, *terms[count:]])
        return blocks, tiles, terms

    def _reorder(self, loops: list[ForOp]) -> None:
        """Reorder a band. What splitting left between its loops (a variable that is a value) goes into them."""
        make_perfect_nest(min(loops, key=lambda loop: len(enclosing_loops(loop))), self.steps)
        self.steps.do(reorder, loops)

    def _split(self, loop: ForOp, factor: int) -> tuple[ForOp, ForOp]:
        """Blocks of `factor` iterations, without a domain where they divide the loop."""
        tail = "perfect" if why_not_split(loop, factor, "perfect") is None else "mask"
        outer, inner = self.steps.do(split, loop, factor=factor, tail=tail)
        return outer, inner

    def _registers(self, block: ForOp) -> tuple[AllocOp, ForOp | None]:
        """The sums of a block in a buffer of their own; what stores them to the result where there is something else to."""
        result, steps = self.tile.result, self.steps
        alloc = result.owner
        is_used_here = all(is_inside(use.operation, block) for use in result.uses)
        if isinstance(alloc, AllocOp) and is_used_here and why_not_sink_alloc(alloc, block) is None:
            sunk = steps.do(sink_alloc, alloc, block)
            for axis in range(len(sunk.memref.type.get_shape())):
                if why_not_resize_buffer(sunk, axis) is None:
                    sunk = steps.do(resize_buffer, sunk, dimension=axis)
            return sunk, None
        init = "identity" if self.start is None else "load"
        sums, first, back = steps.do(cache_write, result, block, init=init, name="sums", tail="mask")
        if first is not None and init == "load":
            raise fail(block, "a tile would be loaded first")
        if first is not None:
            self._share(loops_in(first), [], is_sum=False)
        return sums, back

    # ---- threads ----

    def _share(self, tiles: Sequence[ForOp], terms: Sequence[ForOp], is_sum: bool) -> None:
        """Share a nest over the tile out over the threads, and put the rest of it side by side."""
        steps = self.steps
        found: list[tuple[Part, ForOp]] = []
        for loop, own in zip(tiles, self._parts_of(tiles), strict=True):
            rest, pieces = loop, []
            for part in reversed(own[1:]):
                rest, inner = steps.do(split, rest, factor=part.size, tail="perfect")
                pieces.append((part, inner))
            found += [(own[0], rest), *reversed(pieces)]
        threads = sorted(((part.axis, loop) for part, loop in found if part.axis in AXES), key=by_axis)
        vectors = [loop for part, loop in found if part.axis == VECTOR]
        others = [loop for part, loop in found if part.axis == REGISTER]
        self._reorder([*(loop for _, loop in threads), *terms, *others, *vectors])
        bind_threads(threads, steps)
        self._mark_terms(terms)
        for loop in others:
            steps.do(annotate, loop, mark="unrolled")
        for loop in vectors:
            mark_vector(loop, not is_sum, steps)

    def _mark_terms(self, terms: Sequence[ForOp]) -> None:
        """All terms of a step side by side."""
        for loop in terms:
            self.steps.do(annotate, loop, mark="unrolled")

    def _parts_of(self, tiles: Sequence[ForOp]) -> list[Parts]:
        """The parts of loops that are over the tile in the order of the sum's loops, or of the result's axes."""
        own = [entry for _, entry in self.tile.tiled]
        return own if self.by_loop.issuperset(tiles) else [own[k] for k in self.order]

    def _layout(self, rank: int) -> str:
        """The layout of the sums: whose they are first, then the thread's own."""
        axes = self.order_of_axes if rank > len(self.tile.tiled) else range(rank)
        threads: list[tuple[str, str]] = []
        own: list[str] = []
        for axis, k in zip(axes, self.order, strict=True):
            pieces = self.tile.tiled[k][1]
            for place, part in enumerate(pieces):
                inner = prod(p.size for p in pieces[place + 1 :])
                text = f"d{axis}" if place == 0 else f"(d{axis}%{inner * part.size})"
                text = text if inner == 1 else f"{text}/{inner}"
                if part.axis in AXES:
                    threads.append((part.axis, text))
                else:
                    own.append(text)
        threads.sort(key=by_axis)
        old = " ".join(f"d{k}" for k in range(rank))
        return f"{old} -> {' '.join([text for _, text in threads] + own)}"

    def _bind_blocks(self, blocks: Sequence[ForOp]) -> None:
        steps, loops = self.steps, list(blocks)
        while len(loops) > 3:
            pair = next(
                (k for k in reversed(range(len(loops) - 1)) if why_not_flatten(*loops[k : k + 2]) is None),
                None,
            )
            if pair is None:
                break
            loops[pair : pair + 2] = [steps.do(flatten, *loops[pair : pair + 2])]
        if (
            len(loops) > 3
        ):  # of unknown extents: a block does the tiles of all iterations of the outermost ones
            steps.do(reorder, [*loops[-3:], *loops[:-3]])
            loops = loops[-3:]
        axes = grid_axes([blocks_of(loop) for loop in loops])
        if axes is None:
            raise fail(blocks[0], "a grid has three axes, and only one of them is long")
        for loop, axis in zip(loops, axes, strict=True):
            steps.do(bind, loop, axis=axis)
