"""Convolutions on a GPU (part of nest-schedule-cuda): implicit products of matrices, in tiles (sum_tiles.py).

    nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
      nest.for "u" ... nest.for "v" ... nest.for "c" ...
        nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %x[%b, %c, %i + %u, %j + %v] and %w[%k, %c, %u, %v]
  becomes
    blocks of 8 x 16 pixels and 32 channels, in steps of 16 input channels for each element of the window

A tile is over two loops of the image (rows and columns of pixels, or images and pixels where there is one axis) and over the
channels of the result. A step has all of the window for some channels, and the part of the image that it needs is in
shared memory once (cuda/windows.py); where windows are of one element, or of unknown size, it has the terms of the longest
of the loops over them, or of all where these are few, copied by pixels and terms. Strides and gaps of the window are
looked up once per element that is copied, and never in the inner loop. Neighbouring threads take neighbouring pixels where
the result is stored with pixels side by side (NCHW), else neighbouring channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....analysis.machine import Gpu, gpu
from ....analysis.nest.loop_structure import enclosing_loops
from ....analysis.nest.sets.access_patterns import INVARIANT, UNIT
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.nest import ForOp, StoreOp
from ....dialects.remarks import remark
from ...nest.rewrite.steps import Steps
from ..patterns.convolutions import Convolution, convolution_in
from ..patterns.tiles import pattern_in
from .sum_tiles import SumTile, loops_over, make_perfect, neighbours_of, parts, size_of, tile_sum
from .windows import WindowTiling, window_terms

MOST_TERMS = 32
"""Maximum number of terms of a step that has all loops over terms."""

DEPTH = 16
"""Terms of a step where one loop over terms is longer."""

_DEFAULT = gpu()

UNKNOWN_EXTENT = 64
"""Assumed value of an extent that is known at run time only."""


@dataclass(frozen=True)
class Shape:
    """A tile: rows of pixels, pixels of a row, channels; and how busy it keeps a multiprocessor."""

    rows: str
    pixels: str
    channels: str
    rate: float

    @property
    def extents(self) -> list[int]:
        """Iterations of each of the three loops."""
        return [size_of(text) for text in (self.rows, self.pixels, self.channels)]


BY_PIXELS = (
    Shape("r2 y4", "r2 x8", "z4 r8", 0.75),
    Shape("y4", "r4 x8", "z4 r8", 0.75),
    Shape("r4 y4", "x8", "z4 r8", 0.75),
    Shape("y4", "r2 x8", "z4 r4", 0.4),
    Shape("r2 y4", "x8", "z4 r4", 0.4),
    Shape("y4", "x8", "z4 r4", 0.25),
)
BY_CHANNELS = (
    Shape("z4", "r8 y2", "r4 x16", 0.75),
    Shape("z4 r2", "r4 y2", "r4 x16", 0.75),
    Shape("z4", "r4 y2", "r2 x16", 0.4),
    Shape("z4", "r2 y2", "x16", 0.25),
)


def shape_for(extents: list[int | None], batch: int, by_pixels: bool, gpu: Gpu = _DEFAULT) -> Shape:
    """The tile with the least time for this many rows, pixels of a row and channels: edges count as much as the rest.

    >>> shape_for([56, 56, 64], 32, True).extents, shape_for([7, 7, 512], 32, False).extents
    ([8, 16, 32], [8, 8, 64])
    """

    def time(shape: Shape) -> float:
        tiles = [
            -(-(UNKNOWN_EXTENT if extent is None else extent) // size)
            for extent, size in zip(extents, shape.extents, strict=True)
        ]
        return -(-batch * prod(tiles) // gpu.multiprocessors) * prod(shape.extents) / shape.rate

    return min(BY_PIXELS if by_pixels else BY_CHANNELS, key=time)


def schedule_convolution(nest: ForOp, gpu: Gpu, steps: Steps) -> bool:
    """Tile a convolution with the nests around it; False, and nothing changed, where it is none or a step is refused."""
    found = convolution_in(nest)
    if found is None or found.sums.combiner.data != "add":
        return False
    rows = _second_loop_of_pixels(found)
    if rows is None:
        return False
    make_perfect(nest, steps)
    outer = [loop for loop in found.outer if loop is not rows]
    tiled = [rows, found.row, found.column]
    windows = window_terms(found)
    tile = SumTile(found.sums, outer, [(loop, parts("x1")) for loop in tiled], *(windows or _terms(found)))
    batch = prod(extent_of(loop) or UNKNOWN_EXTENT for loop in outer)
    shape = shape_for([extent_of(loop) for loop in tiled], batch, _stores_pixels(tile), gpu)
    texts = (shape.rows, shape.pixels, shape.channels)
    tile.tiled = [(loop, parts(text)) for loop, text in zip(tiled, texts, strict=True)]
    label = nest.label
    refusal = tile_sum(tile, steps, WindowTiling if windows else None)
    if refusal is not None:
        remark(nest, f'the convolution "{label}" is not computed in tiles: {refusal.diagnostic.message}')
        return False
    size = " x ".join(map(str, shape.extents))
    remark(
        enclosing_loops(tile.sums)[0],
        f'the convolution "{label}" is computed in tiles of {size} (pixels, channels)',
    )
    return True


def _second_loop_of_pixels(found: Convolution) -> ForOp | None:
    """The innermost outer loop along which the image moves and the weights do not."""
    for loop in reversed(found.outer):
        still = all(pattern_in(load, load.memref, loop) == INVARIANT for load in found.panels)
        if still and any(pattern_in(load, load.memref, loop) != INVARIANT for load in found.images):
            return loop
    return None


def _terms(found: Convolution) -> tuple[list[ForOp], int, int]:
    """The loops over terms, the longest last; the terms of a step along the first one in the tile; how many are in it."""
    extents = [extent_of(loop) for loop in found.terms]
    if None not in extents and prod(n for n in extents if n is not None) <= MOST_TERMS:
        return found.terms, extents[0] or 1, len(found.terms)
    last = extents[-1]
    depth = DEPTH if last is None else min(DEPTH, max(4, power_above(last)))
    return found.terms, depth, 1


def _stores_pixels(tile: SumTile) -> bool:
    """Whether what uses the result stores pixels side by side."""
    for use in neighbours_of(tile)[1]:
        loops = loops_over(use, tile)
        stores = [op for op in use.walk() if isinstance(op, StoreOp) and op.memref is not tile.result]
        if loops is not None and stores:
            return pattern_in(stores[-1], stores[-1].memref, loops[len(tile.outer) + 1]) == UNIT
    return False
