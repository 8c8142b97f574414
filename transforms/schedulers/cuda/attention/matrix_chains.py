"""Chains of products of 16-bit floats by tensor cores (part of nest-schedule-cuda): factors stay in registers.

    nest.for "b" ... bind "block.y" { nest.for "i.o" ... bind "block.x" {
      %y_sums                                                                    // in registers
      ... rows of the first factor of each product: copied once
      nest.for "j.o" ... {                                                       // a tile of 64 columns after the other
        ... the next tiles are on their way                                      // nest-pipeline, cp.async
        ... the products of few terms: mma.sync, in registers
        ... what is computed of them, two neighbours at a time, is what the readers multiply, as it is in registers
        ... %y_sums += ... : mma.sync
      ... %y_sums to %y

What lanes have of the sums of a tensor core is what the next product takes from them as its rows (matrix_attention.py).
Where a factor is read along its other axis, its rows and columns change places before, and with them those of what it is
computed of: no tile is transposed.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from .....analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS
from .....analysis.nest.loop_structure import perfect_band
from .....analysis.nest.values.trip_counts import extent_of
from .....dialects.diagnostic import fail
from .....dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp
from ....nest.memory.set_memory import set_memory
from ....nest.memory.transform_layout import transform_layout
from ..sum_tiles import SumTile, Tiling
from .chains import ChainTiling
from .matrix_attention import (
    DEPTH,
    WARPS,
    FragmentsInRegisters,
    FragmentsOfKeys,
    FragmentsOfScores,
    copy_ahead,
    form_in,
    room_of_block,
)

WIDE = 64
"""Maximum number of features where a tile has 64 columns; it has half as many where there are more."""


class MatrixChain(ChainTiling):
    """The steps; any of them may be refused."""

    def __init__(self, chain, gpu, steps):
        super().__init__(chain, gpu, steps)
        counts = [extent_of(reader.product.column) or 0 for reader in chain.readers]
        self.width = WIDE if max(counts) <= WIDE else WIDE // 2
        self.of_warp = ROWS
        """Rows of a warp."""
        self.height = WARPS * self.of_warp

    # ---- products ----

    def _tile(
        self, rows: list[ForOp], products: list[ForOp], others: list[list[ForOp]], factors: list[AllocOp]
    ) -> tuple[list[Tiling], list[AllocOp]]:
        wide = {op.memrefs[0] for row in rows for op in row.walk() if isinstance(op, AccumulateOp)}
        read = [_factor_of(row, factors) for row in products]
        if any(buffer.memref in wide for buffer in read):
            raise fail(products[0], "its factor is a sum of 32 bits")
        tilings = self._tile_scores(rows)
        for row, nests, factor in zip(products, others, read, strict=True):
            tiling = FragmentsOfKeys(self._tile_of_reader(row), nests, factor, self.steps)
            tiling.run()
            tilings.append(tiling)
        return tilings, []

    def _keep(self, tilings: list[Tiling], sums: list[AllocOp], factors: list[AllocOp]) -> None:
        local = [self._of_lanes(buffer) for buffer in factors if buffer.parent is not None]
        for tiling in tilings:
            tiling.keep_sums()
        for buffer in local:
            self.steps.do(set_memory, buffer, space="local")

    def _copy_ahead(self, keys: ForOp, block: ForOp) -> None:
        copy_ahead(keys, block, room_of_block(self.gpu), self.steps)

    def _tiling(self, tile: SumTile, start: ForOp | None) -> Tiling:
        return (FragmentsOfScores if self._is_whole(tile.terms[0]) else FragmentsInRegisters)(
            tile, start, self.steps
        )

    def _is_whole(self, term: ForOp) -> bool:
        """Whether the terms of a product are copied as a whole."""
        terms = extent_of(term)
        return terms is not None and terms % ROWS == 0

    @property
    def _rows_of_warp(self) -> str:
        return f"y{WARPS} r{self.of_warp // ROWS} r2 l8"

    def _tile_of_scores(self, row: ForOp) -> SumTile:
        term = perfect_band(row)[2]
        depth = extent_of(term) if self._is_whole(term) else DEPTH
        assert depth is not None
        return self._tile_of(row, self._rows_of_warp, f"r{self.width // COLUMNS} l4 v2", depth)

    def _tile_of_reader(self, row: ForOp) -> SumTile:
        features = extent_of(perfect_band(row)[1])
        assert features is not None
        columns = -(-features // LANES) * LANES
        return self._tile_of(row, self._rows_of_warp, f"r{columns // COLUMNS} l4 v2", self.width)

    def _of_lanes(self, buffer: AllocOp) -> AllocOp:
        """A buffer of rows and columns with axes for the warp and the lanes that have an element."""
        names = [f"d{k}" for k in range(buffer.memref.type.get_num_dims())]
        row, column = (names[-1], names[-2]) if self.chain.turned else (names[-2], names[-1])
        own = [f"{row}%{self.of_warp}/{ROWS}"] if self.of_warp > ROWS else []
        layout = [f"{row}/{self.of_warp}", f"{row}%8", f"{column}%8/2", *own]
        layout += [f"{column}/8", f"{row}%{ROWS}/8", f"{column}%2"]
        return self.steps.do(transform_layout, buffer, layout=f"{' '.join(names)} -> {' '.join(layout)}")


def _factor_of(row: ForOp, factors: list[AllocOp]) -> AllocOp:
    """The computed factor that a reader loads."""
    loads: set[SSAValue] = {op.memref for op in row.walk() if isinstance(op, LoadOp)}
    (found,) = [buffer for buffer in factors if buffer.memref in loads]
    form_in(found)
    return found
