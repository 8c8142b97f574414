"""Tiles that the matrix unit of a CPU multiplies (part of convert-nest-to-scf): sums stay in registers while a loop runs.

    nest.for "k.o" %k = 0 to 16 attributes {nestor.amx} { ... }          (see amx_tiles.py)

becomes

    %0 = amx.tile_load %s[%c0, %c0] : memref<32x32xi32> into !amx.tile<16x16xi32>     // %1 to %3 in the same way
    %4:4 = scf.for %k = %c0 to %c16 step %c1 iter_args(%5 = %0, ...) {
      %b0 = amx.tile_load %y[%k, %c0, %c0, %c0] : ... into !amx.tile<16x64xi8>
      %b1 = amx.tile_load %y[%k, %c1, %c0, %c0] : ... into !amx.tile<16x64xi8>
      %a0 = amx.tile_load %x[%k, %c0, %c0] : memref<16x32x64xi8> into !amx.tile<16x64xi8>
      %9 = amx.tile_muli %a0, %b0, %5 : ...
      ...
      scf.yield %9, %10, %11, %12
    }
    amx.tile_store %s[%c0, %c0], %4#0 : memref<32x32xi32>, !amx.tile<16x16xi32>
    ...

A nest right before it that sets all sums to zero is not done: the tiles are made of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Attribute, SSAValue

from ...analysis.nest.kernels.amx_tiles import AMX, AmxTile, Factor, amx_tile, zeroed_by
from ...dialects.ext import amx
from ...dialects.nest import ForOp
from .byte_tiles import annotated_tile, carried_sums

if TYPE_CHECKING:
    from .convert import CpuBody


def is_amx(loop: ForOp) -> bool:
    """Whether a loop is annotated."""
    return AMX in loop.attributes


def is_zeroing(loop: ForOp) -> bool:
    """Whether a nest sets sums to zero that the annotated loop behind it makes of zeros."""
    behind = loop.next_op
    return isinstance(behind, ForOp) and is_amx(behind) and zeroed_by(behind) is loop


def lower_amx_tile(body: CpuBody, loop: ForOp) -> None:
    """Lower an annotated loop."""
    tile = annotated_tile(loop, amx_tile, "tiles for the matrix unit")
    _Tile(body, loop, tile).lower()


class _Tile:
    def __init__(self, body: CpuBody, loop: ForOp, tile: AmxTile):
        self.body, self.builder, self.loop, self.tile = body, body.builder, loop, tile
        self.rows, self.columns = (_range(tiles) for tiles in (tile.row_tiles, tile.column_tiles))
        counts = [inner.constant_trip_count() or 0 for inner in tile.inner]
        r, c, g, v = counts
        self.a_type = amx.TileType.of(r, g * v, tile.a.load.result.type)
        self.b_type = amx.TileType.of(g, c * v, tile.b.load.result.type)
        self.sum_type = amx.TileType.of(r, c, tile.form.total)

    def lower(self) -> None:
        for inner in self.tile.inner:
            self.body.values[inner.iv] = 0
        places = [(m, n) for m in self.rows for n in self.columns]
        self.builder.location = self.tile.sums.location
        start = [self._start(m, n) for m, n in places]
        for (m, n), total in zip(places, carried_sums(self.body, self.loop, start, self._step), strict=True):
            buffer, indices = self._place(self.tile.sums.memrefs[0], self.tile.sums.indices, m, n)
            self.builder.emit(amx.TileStoreOp.of(buffer, indices, total))

    def _start(self, m: int, n: int) -> SSAValue:
        if zeroed_by(self.loop) is not None:
            return self.builder.value(amx.TileZeroOp, (), self.sum_type)
        buffer, indices = self._place(self.tile.sums.memrefs[0], self.tile.sums.indices, m, n)
        return self.builder.emit(amx.TileLoadOp.of(buffer, indices, self.sum_type)).results[0]

    def _step(self, totals: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums with the terms of an iteration."""
        tile, found = self.tile, list[SSAValue]()
        right = [self._factor(tile.b, self.b_type, 0, n) for n in self.columns]
        for m in self.rows:
            left = self._factor(tile.a, self.a_type, m, 0)
            for n in self.columns:
                found.append(self._product(left, right[n], totals[len(found)]))
        return found

    def _factor(self, factor: Factor, type_: amx.TileType, m: int, n: int) -> SSAValue:
        self.builder.location = factor.load.location
        buffer, indices = self._place(factor.load.memref, factor.load.indices, m, n)
        return self.builder.emit(amx.TileLoadOp.of(buffer, indices, type_)).results[0]

    def _product(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        tile = self.tile
        self.builder.location = tile.sums.location
        properties: dict[str, Attribute] = {}
        for name, factor in (("isZextLhs", tile.a), ("isZextRhs", tile.b)):
            if factor.is_unsigned:
                properties[name] = UnitAttr()
        return self.builder.value(amx.TileMulIOp, (left, right, total), self.sum_type, properties)

    def _place(self, buffer: SSAValue, indices, m: int, n: int) -> tuple[SSAValue, Sequence[SSAValue]]:
        """The first element of a tile."""
        for tiles, at in ((self.tile.row_tiles, m), (self.tile.column_tiles, n)):
            if tiles is not None:
                self.body.values[tiles.iv] = at
        new = self.body.value(buffer)
        assert isinstance(new.type, MemRefType)
        return new, self.body.index_values(indices)


def _range(tiles: ForOp | None) -> range:
    return range(1 if tiles is None else tiles.constant_trip_count() or 0)
