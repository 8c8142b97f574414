"""The cotangent of a tensor from those of its slices: each is added, or stored, where the slice was.

    %0 = nt.slice %x[0] strides [1] : tensor<8xf32> -> tensor<4xf32>      // its cotangent is %c0
    %1 = nt.slice %x[4] strides [1] : tensor<8xf32> -> tensor<4xf32>      // %c1
  gives
    %e = nt.empty : tensor<8xf32>
    %cx = nt.loops ins(%c0, %c1 ...) outs(%e : tensor<8xf32>) {...}       // stores both: together they are all of %x

Slices that leave elements out, or overlap, are added to zeros (or to the rest of the cotangent).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.ops import SliceOp, shape_of
from ..builder import Builder
from ..loops import Island, empty_like, extents_of, shifted

Piece = tuple[SliceOp, SSAValue]


def put_together(
    builder: Builder, source: SSAValue, total: SSAValue | None, pieces: Sequence[Piece]
) -> SSAValue:
    """The sum of `total` (None: zero) and of the pieces, a tensor of the type of `source`."""
    exact = total is None and tile(source, [op for op, _ in pieces])
    if exact:
        start = empty_like(builder, source)
    else:
        start = builder.zeros(source) if total is None else total
    island = Island(builder, [cotangent for _, cotangent in pieces], [start])
    extents = [extents_of(builder, cotangent) for _, cotangent in pieces]
    for (op, _), buffer, counts in zip(pieces, island.ins, extents, strict=True):
        indices = island.loops(counts)
        from_piece = island.load(buffer, AffineList.of(*indices))
        write = island.store if exact else island.accumulate
        write(from_piece, island.outs[0], shifted(op.offsets, op.stride_values, indices))
        island.close()
    return island.done()[0]


def tile(source: SSAValue, slices: Sequence[SliceOp]) -> bool:
    """Whether slices, without steps, are all of `source` side by side along one axis."""
    shape = shape_of(source)
    starts = [op.offsets.constants() for op in slices]
    if DYNAMIC_INDEX in shape or any(s is None for s in starts):
        return False
    if any(stride != 1 for op in slices for stride in op.stride_values):
        return False
    sizes = [shape_of(op.result) for op in slices]
    cut = [k for k, extent in enumerate(shape) if any(size[k] != extent for size in sizes)]
    if len(cut) > 1 or (len(slices) == 1 and cut):
        return False
    if not cut:
        return len(slices) == 1
    axis = cut[0]
    spans = sorted((start[axis], start[axis] + size[axis]) for start, size in zip(starts, sizes, strict=True))  # pyright: ignore
    return (
        spans[0][0] == 0
        and spans[-1][1] == shape[axis]
        and all(one[1] == other[0] for one, other in pairwise(spans))
    )
