"""Pairs of products of bfloat16 in the lanes of a vectorized loop (part of convert-nest-to-scf).

    nest.for "j" %j = 0 to 32 vectorized(32) {
      nest.for "k.i" %v = 0 to 2 attributes {nestor.bf16_pairs} { ... }        (see analysis/nest/kernels/bf16_pairs.py)

becomes

    %a = vector.load %x[%k, %c0] : memref<150x26xbf16>, vector<2xbf16>
    ... vector.broadcast of these 32 bits, %a0 : vector<32xbf16>
    %b = vector.load %y[%k, %c0] : memref<150x64xbf16>, vector<64xbf16>
    %s = vector.load %sums[%c0, %c0] : memref<13x32xf32>, vector<32xf32>
    %b0 = vector.shuffle %b, %b [0, 1, ..., 31]        %s0 = vector.shuffle %s, %s [0, ..., 15]      // by 16 lanes
    %0 = x86vector.avx512.dot %s0, %a0, %b0 : vector<32xbf16> -> vector<16xf32>
    ... the other 16 lanes, and both together
    vector.store %1, %sums[%c0, %c0] : memref<13x32xf32>, vector<32xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import vector
from xdsl.dialects.builtin import BFloat16Type, DenseArrayBase, Float32Type, VectorType, i32, i64
from xdsl.ir import SSAValue

from ...analysis.nest.kernels.bf16_pairs import BF16_PAIRS, Bf16Pairs, bf16_pairs
from ...analysis.nest.sets.domains import domain_of
from ...dialects.ext.x86vector import FACTORS, LANES, SUMS, TOGETHER, DotOp
from ...dialects.nest import ForOp
from .byte_tiles import annotated_tile, word_in_lanes, word_of

if TYPE_CHECKING:
    from .vectors import VectorLoop

__all__ = ["BF16_PAIRS", "lower_pairs"]

_BF16, _F32 = BFloat16Type(), Float32Type()
_PAIR = VectorType(_BF16, [TOGETHER])


def lower_pairs(around: VectorLoop, loop: ForOp) -> None:
    """Lower an annotated loop in the lanes of another one."""
    _Pairs(around, annotated_tile(loop, bf16_pairs, "pairs of bf16"), loop).lower()


class _Pairs:
    def __init__(self, around: VectorLoop, pairs: Bf16Pairs, loop: ForOp):
        self.around, self.body, self.builder = around, around.body, around.builder
        self.pairs, self.loop = pairs, loop

    def lower(self) -> None:
        around, builder, sums = self.around, self.builder, self.pairs.sums
        self.body.values[self.loop.iv] = 0
        left, right = self._uniform(), self._moving()
        builder.location = sums.location
        mask = around.lanes.mask(domain_of(sums)).vector()
        buffer = self.body.value(sums.memrefs[0])
        old = around.access.load(sums, buffer, sums.indices, mask)
        count = around.lanes.width // LANES
        parts = [
            builder.value(DotOp, (self._part(old, k, SUMS), left, self._part(right, k, FACTORS)), SUMS)
            for k in range(count)
        ]
        around.access.store(sums, self._joined(parts), buffer, sums.indices, mask)

    def _uniform(self) -> SSAValue:
        """A pair of elements in all lanes."""
        load, builder = self.pairs.uniform, self.builder
        builder.location = load.location
        condition = self.around.needed(load).any_lane()

        def read() -> Sequence[SSAValue]:
            where = (self.body.value(load.memref), *self.body.index_values(load.indices))
            return [word_of(builder, builder.value(vector.LoadOp, where, _PAIR))]

        (word,) = read() if condition is None else self.body.branch(condition, [i32], read)
        return word_in_lanes(builder, word, FACTORS)

    def _moving(self) -> SSAValue:
        """The pairs of the lanes: all of them are there."""
        load = self.pairs.moving
        self.builder.location = load.location
        self.body.values[self.around.loop.iv] = 0
        where = (self.body.value(load.memref), *self.body.index_values(load.indices))
        self.body.values[self.around.loop.iv] = self.around.lanes.iv
        return self.builder.value(
            vector.LoadOp, where, VectorType(_BF16, [TOGETHER * self.around.lanes.width])
        )

    def _part(self, whole: SSAValue, k: int, part: VectorType) -> SSAValue:
        """The lanes of instruction k."""
        size = part.get_shape()[0]
        if whole.type == part:
            return whole
        mask = DenseArrayBase.from_list(i64, list(range(size * k, size * (k + 1))))
        return self.builder.value(vector.ShuffleOp, (whole, whole), part, {"mask": mask})

    def _joined(self, parts: Sequence[SSAValue]) -> SSAValue:
        while len(parts) > 1:
            parts = [self._concatenated(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        return parts[0]

    def _concatenated(self, first: SSAValue, second: SSAValue | None = None) -> SSAValue:
        if second is None:
            return first
        sizes = [value.type.get_shape()[0] for value in (first, second)]  # pyright: ignore
        mask = DenseArrayBase.from_list(i64, list(range(sum(sizes))))
        return self.builder.value(
            vector.ShuffleOp, (first, second), VectorType(_F32, [sum(sizes)]), {"mask": mask}
        )
