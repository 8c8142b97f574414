"""Tiles of products of bytes in vectors (part of convert-nest-to-scf): sums stay in registers while a loop runs.

    nest.for "k.o" %k = 0 to 64 attributes {nestor.vnni} { ... }         (see vnni_tiles.py)

becomes, for 12 rows and 32 columns,

    %0 = vector.load %s[%c0, %c0] : memref<12x32xi32>, vector<16xi32>                // %1 to %23 in the same way
    %24:24 = scf.for %k = %c0 to %c64 step %c1 iter_args(%25 = %0, ...) {
      %b0 = vector.load %y[%k, %c0, %c0] : memref<64x4x128xi8>, vector<64xi8>        // for each of 4 groups of terms
      %b1 = vector.load %y[%k, %c0, %c64] : ...
      %a = vector.load %x[%k, %c0, %c0] : memref<64x12x16xi8>, vector<4xi8>          // for each of 12 rows
      %a0 = ... vector.broadcast of these 32 bits, vector<64xi8>
      %49 = vnni.dot %a0, %b0, %25
      ...
      scf.yield ...
    }
    vector.store ...

The instruction takes a left operand without signs. Where neither has none, the left one is x + 128, which is its bits with
the first one turned; 128 times the sums of %y are added up beside, and subtracted at the end: exact modulo 2^32. A nest
right before it that sets all sums to zero is not done: they start as zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import SSAValue

from ...analysis.nest.kernels.amx_tiles import AmxTile, zeroed_by
from ...analysis.nest.kernels.vnni_tiles import VNNI, VNNI_UNIT, vnni_tile
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.ext.vnni import BYTES, SUMS, TOGETHER, DotOp
from ...dialects.nest import ForOp
from .byte_tiles import annotated_tile, carried_sums, word_in_lanes, word_of

if TYPE_CHECKING:
    from .convert import CpuBody

_I8 = IntegerType(8)
FOUR = VectorType(_I8, [TOGETHER])

SIGN = -128
"""The first bit of a byte: 128 without a sign."""


def is_zeroing(loop: ForOp) -> bool:
    """Whether a nest sets sums to zero that the annotated loop behind it starts as zeros."""
    behind = loop.next_op
    return isinstance(behind, ForOp) and VNNI in behind.attributes and zeroed_by(behind, VNNI_UNIT) is loop


def lower_vnni_tile(body: CpuBody, loop: ForOp) -> None:
    """Lower an annotated loop."""
    tile = annotated_tile(loop, vnni_tile, "products of bytes in vectors")
    _Tile(body, loop, tile).lower()


class _Tile:
    def __init__(self, body: CpuBody, loop: ForOp, tile: AmxTile):
        self.body, self.builder, self.loop, self.tile = body, body.builder, loop, tile
        self.rows, self.groups = (range(one.constant_trip_count() or 0) for one in (tile.r, tile.g))
        tiles = tile.column_tiles
        self.columns = range(1 if tiles is None else tiles.constant_trip_count() or 0)
        self.is_signed = not tile.a.is_unsigned and not tile.b.is_unsigned
        self.sign = self._splat(SIGN, BYTES) if self.is_signed else None

    def lower(self) -> None:
        tile, builder = self.tile, self.builder
        for inner in tile.inner:
            self.body.values[inner.iv] = 0
        places = [(r, n) for r in self.rows for n in self.columns]
        builder.location = tile.sums.location
        start = [self._start(r, n) for r, n in places]
        beside = [self._splat(0, SUMS) for _ in self.columns] if self.is_signed else []
        totals = carried_sums(self.body, self.loop, [*start, *beside], self._step)
        for k, (r, n) in enumerate(places):
            total = totals[k]
            if self.is_signed:
                less = totals[len(places) + n]
                total = builder.value(arith.SubiOp, (total, less), SUMS, NO_OVERFLOW)
            buffer, indices = self._place(tile.sums.memrefs[0], tile.sums.indices, r, n)
            builder.emit(vector.StoreOp(total, buffer, indices))

    def _splat(self, number: int, type_: VectorType) -> SSAValue:
        value = DenseIntOrFPElementsAttr.from_list(type_, [number])  # pyright: ignore
        return self.builder.value(arith.ConstantOp, (), type_, {"value": value})

    def _start(self, r: int, n: int) -> SSAValue:
        if zeroed_by(self.loop, VNNI_UNIT) is not None:
            return self._splat(0, SUMS)
        buffer, indices = self._place(self.tile.sums.memrefs[0], self.tile.sums.indices, r, n)
        return self.builder.emit(vector.LoadOp(buffer, indices, SUMS)).results[0]

    def _step(self, totals: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums with the terms of an iteration."""
        tile, found = self.tile, list(totals)
        count = len(self.columns)
        for g in self.groups:
            self.body.values[tile.g.iv] = g
            right = [self._columns(n) for n in self.columns]
            if self.sign is not None:
                for n in self.columns:
                    at = len(self.rows) * count + n
                    found[at] = self._product(self.sign, right[n], found[at])
            for r in self.rows:
                left = self._row(r)
                for n in self.columns:
                    pair = (right[n], left) if tile.b.is_unsigned else (left, right[n])
                    found[r * count + n] = self._product(*pair, found[r * count + n])
        self.body.values[tile.g.iv] = 0
        return found

    def _columns(self, n: int) -> SSAValue:
        factor = self.tile.b
        self.builder.location = factor.load.location
        buffer, indices = self._place(factor.load.memref, factor.load.indices, 0, n)
        return self.builder.emit(vector.LoadOp(buffer, indices, BYTES)).results[0]

    def _row(self, r: int) -> SSAValue:
        """Four terms of a row, in all lanes."""
        factor, builder = self.tile.a, self.builder
        builder.location = factor.load.location
        buffer, indices = self._place(factor.load.memref, factor.load.indices, r, 0)
        four = builder.emit(vector.LoadOp(buffer, indices, FOUR)).results[0]
        row = word_in_lanes(builder, word_of(builder, four), BYTES)
        return row if self.sign is None else builder.value(arith.XOrIOp, (row, self.sign), BYTES)

    def _product(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        self.builder.location = self.tile.sums.location
        return self.builder.value(DotOp, (left, right, total), SUMS)

    def _place(self, buffer: SSAValue, indices, r: int, n: int) -> tuple[SSAValue, Sequence[SSAValue]]:
        """The first element of a vector."""
        self.body.values[self.tile.r.iv] = r
        if self.tile.column_tiles is not None:
            self.body.values[self.tile.column_tiles.iv] = n
        return self.body.value(buffer), self.body.index_values(indices)
