"""Tiles of pixels that tensor cores compute (part of cuda/matrix_convolutions.py): rows of the product are two loops.

    nest.for "i" %i = 0 to %h { nest.for "j" %j = 0 to %w { ... { nest.accumulate "t" add %s, %t[%b, %i, %j, %k]
  becomes
    ... blocks of 8 x 16 pixels: a warp has 4 rows of them, and an instruction the 16 pixels of a row

for images of which only the run time knows the extents: their loops cannot be one, for nothing divides by an unknown number.
In shared memory the pixels of a tile are one axis again, so that all else is done as for other products (matrix_tiles.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import UNIT
from ....dialects.diagnostic import fail
from ....dialects.nest import LANES, AllocOp, ForOp, LoadOp
from ...nest.loops.flatten import flatten
from ...nest.loops.rename import rename_freely
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.mapping.annotate import annotate
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_write import cache_write
from ...nest.memory.transform_layout import transform_layout
from ..patterns.tiles import pattern_in
from .matrix_tiles import MatrixTiling, form_in, rotation
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


IN_FLIGHT = 32
"""Bits of the smallest element that can be copied by itself while its thread continues."""


class ContractionTiling(MatrixTiling):
    """The steps, where an element is copied from an index that takes some divisions: fewer of these side by side."""

    most_unrolled = 8

    def _share_copy(self, buffer: AllocOp, copy: ForOp) -> None:
        if self._is_by_pixels(buffer, copy):
            self._share_by_pixels(buffer, copy)
        else:
            super()._share_copy(buffer, copy)

    def _is_by_pixels(self, buffer: AllocOp, copy: ForOp) -> bool:
        """Whether pixels, not terms, are beside each other in memory, elements are too small to be in flight, and all
        warps have some of them.
        """
        row, column, load = self._loops_of_copy(buffer, copy)
        if form_in(buffer).bits >= IN_FLIGHT or pattern_in(load, load.memref, column) == UNIT:
            return False
        of_rows, of_terms = (_neighbours(load, loop) for loop in (row, column))
        return of_rows >= of_terms and self._warps_of_copy(buffer, row, column) is not None

    def _warps_of_copy(self, buffer: AllocOp, row: ForOp, column: ForOp) -> list[tuple[int, int]] | None:
        """How many parts of the rows, and of the pieces of a row, warps along rows and along columns have."""
        rows, terms = (loop.constant_trip_count() or 1 for loop in (row, column))
        size = form_in(buffer).contiguous
        if rows % LANES or terms % size:
            return None
        left, pieces, found = rows // LANES, terms // size, list[tuple[int, int]]()
        for warps in self.warps:
            of_rows = gcd(left, warps)
            if pieces % (warps // of_rows):
                return None
            found.append((of_rows, warps // of_rows))
            left, pieces = left // of_rows, pieces // (warps // of_rows)
        return found

    def _share_by_pixels(self, buffer: AllocOp, copy: ForOp) -> None:
        """Lanes have neighbouring pixels, and of each all terms that the warp copies, stored 16 bytes at a time."""
        steps, size = self.steps, form_in(buffer).contiguous
        row, column, _ = self._loops_of_copy(buffer, copy)
        shares = self._warps_of_copy(buffer, row, column)
        assert shares is not None
        rotated = rotation(loops_in(copy), row, column.constant_trip_count() or size, size)
        piece, element = steps.do(split, column, factor=size, tail="perfect")
        row, lane = steps.do(split, row, factor=LANES, tail="perfect")
        warps: list[list[ForOp]] = []
        for of_rows, of_pieces in shares:
            own: list[ForOp] = []
            if of_rows > 1:
                row, part = steps.do(split, row, factor=of_rows, tail="perfect")
                own.append(part)
            if of_pieces > 1:
                piece, part = steps.do(split, piece, factor=of_pieces, tail="perfect")
                own.append(part)
            warps.append(own)
        steps.do(reorder, [*warps[0], *warps[1], lane, row, piece, element])
        warps = [[steps.do(flatten, *own)] if len(own) > 1 else own for own in warps]
        self._bind(warps[0], warps[1], lane)
        name = f"{buffer_name(buffer.memref)}_piece"
        _, _, back = steps.do(cache_write, buffer, piece, space="local", name=name)
        if back is None:
            raise fail(piece, "the elements of a piece are not kept together")
        steps.do(transform_layout, buffer, layout=rotated)
        steps.do(vectorize, back, width=size)
        for loop in (row, piece):
            rename_freely(steps, loop, "turn")
        for loop in (row, piece, element):
            steps.do(annotate, loop, mark="unrolled")


def _neighbours(load: LoadOp, loop: ForOp) -> int:
    """How many of the first iterations of a loop load from one row of a buffer, at equal distances."""
    count = min(LANES, loop.constant_trip_count() or 1)
    operands = load.indices.operands
    places = [
        [expr.eval([n if value is loop.iv else 0 for value in operands], []) for expr in load.indices.exprs]
        for n in range(count)
    ]
    first, *others = places
    steps = [place[-1] - before[-1] for before, place in pairwise(places)]
    alike = [
        place[:-1] == first[:-1] and step == steps[0] != 0 for place, step in zip(others, steps, strict=True)
    ]
    return 1 + (alike.index(False) if False in alike else len(alike))


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
