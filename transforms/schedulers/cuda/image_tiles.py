"""Tiles of pixels that tensor cores compute (part of cuda/matrix_convolutions.py): rows of the product are two loops.

    nest.for "i" %i = 0 to %h { nest.for "j" %j = 0 to %w { ... { nest.accumulate "t" add %s, %t[%b, %i, %j, %k]
  becomes
    ... blocks of 8 x 16 pixels: a warp has 4 rows of them, and an instruction the 16 pixels of a row

for images of which only the run time knows the extents: their loops cannot be one, for nothing divides by an unknown number.
In shared memory the pixels of a tile are one axis again, so that all else is done as for other products (matrix_tiles.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....analysis.nest.loop_structure import loops_in
from ....dialects.nest import AllocOp, ForOp
from ...nest.loops.flatten import flatten
from ...nest.memory.transform_layout import transform_layout
from .matrix_tiles import MatrixTiling
from .sum_tiles import Parts, parts, size_of

OF_PIXELS = 2
"""Parts of a tile's rows that are pixels of one row of the image: what an instruction has."""


def pixel_parts(rows: str) -> tuple[Parts, Parts]:
    """The parts of the rows of a product as those of rows of an image, and of the pixels of one.

    >>> [size_of(" ".join(f"{p.axis}{p.size}" for p in own)) for own in pixel_parts("y2 r4 r2 l8")]
    [8, 16]
    """
    words = rows.split()
    return parts(" ".join(words[:-OF_PIXELS])), parts(" ".join(words[-OF_PIXELS:]))


class ContractionTiling(MatrixTiling):
    """The steps, where an element is copied from an index that takes some divisions: fewer of these side by side."""

    most_unrolled = 8


class ImageTiling(ContractionTiling):
    """The steps, for a tile whose first two loops are over pixels, and whose third one is over columns."""

    def _stage(self, step: ForOp) -> list[tuple[AllocOp, ForOp]]:
        return [self._with_one_axis(*copy) for copy in super()._stage(step)]

    def _with_one_axis(self, buffer: AllocOp, copy: ForOp) -> tuple[AllocOp, ForOp]:
        """The pixels of a copy as one axis, and as one loop."""
        term, *others = loops_in(copy)
        if len(others) < 2:
            return buffer, copy
        width = others[1].constant_trip_count()
        buffer = self.steps.do(transform_layout, buffer, layout=f"d0 d1 d2 -> d0 {width}*d1+d2")
        self.steps.do(flatten, *others)
        return buffer, term

    def _rows_and_columns(self, tiles: Sequence[ForOp]) -> list[list[ForOp]]:
        rows, pixels, columns = self._pieces(tiles)
        return [[*rows, *pixels], columns]

    def _row_and_column(self, axes: Sequence[int]) -> tuple[str, str]:
        width = size_of(" ".join(f"{part.axis}{part.size}" for part in self.tile.tiled[1][1]))
        return f"({width}*d{axes[0]}+d{axes[1]})", f"d{axes[2]}"
