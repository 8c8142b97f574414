"""Products of bytes that vectors of a CPU do four at a time in each lane: which nests they are (`nestor.vnni`).

    nest.for "k.o" %k = 0 to 64 attributes {nestor.vnni} {
      nest.for "r" %r = 0 to 12 {                                    // rows
        nest.for "n" %n = 0 to 2 {                                   // vectors of 16 columns
          nest.for "c" %c = 0 to 16 {
            nest.for "g" %g = 0 to 4 {
              nest.for "v" %v = 0 to 4 {                             // the terms of 4 bytes
                %a = nest.load %x[%k, %r, 4 * %g + %v]
                %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v]
                ... nest.accumulate "s" add %p, %s[%r, 16 * %n + %c]                  // %p is %a * %b

is, for each k, g, r and n, one vpdpbusd: four bytes of %x in all lanes, times those that 16 columns of %y have side by
side. The nests are those of amx_tiles.py, with rows in registers of their own; both operands without a sign are none.
"""

from __future__ import annotations

from ....dialects.attributes import VNNI
from ....dialects.nest import ForOp
from .amx_tiles import AmxTile, Unit, byte_tile
from .matrix_tiles import NoTile

__all__ = ["VNNI", "VNNI_UNIT", "vnni_tile"]

VNNI_UNIT = Unit(rows=14, columns=16, groups=16, registers=32, is_for_tiles=False)


def vnni_tile(loop: ForOp) -> AmxTile:
    """What a nest multiplies. Raises NoTile."""
    tile = byte_tile(loop, VNNI_UNIT)
    if tile.a.is_unsigned and tile.b.is_unsigned:
        raise NoTile(tile.sums, "one of the operands has signs, and both of these have none")
    return tile
