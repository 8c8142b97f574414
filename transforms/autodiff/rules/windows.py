"""nt.window: an element is in several windows, whose cotangents are added up where it is.

    %w = nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>
  has the cotangent of %x
    %cx = nt.loops ins(%cw) outs(%zeros) { cx[i, j + k] += cw[i, j, k] }

Of windows that only slices read (every second one, as pooling does), only those are gone through; where these lie side by
side and are all of %x, their cotangents are stored, not added to zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.ops import SliceOp, WindowOp, shape_of
from ..loops import Island, empty_like, extents_of, shifted

if TYPE_CHECKING:
    from ..reverse import Reverse


def window_reverse(op: WindowOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    cotangent = cotangents[0]
    assert cotangent is not None
    rank = len(shape_of(op.result))
    _add_up(op, [(AffineList.of(*[0] * rank), (1,) * rank, cotangent)], to)


def slices_reverse(op: WindowOp, pieces: Sequence[tuple[SliceOp, SSAValue]], to: Reverse) -> None:
    """The same from the cotangents of slices of the windows."""
    _add_up(op, [(piece.offsets, piece.stride_values, cotangent) for piece, cotangent in pieces], to)


def _add_up(op: WindowOp, parts: Sequence[tuple[AffineList, Sequence[int], SSAValue]], to: Reverse) -> None:
    b = to.builder
    exact = len(parts) == 1 and _tile(op, *parts[0])
    start = empty_like(b, op.source) if exact else b.zeros(op.source)
    island = Island(b, [cotangent for *_, cotangent in parts], [start])
    rank = len(shape_of(op.source))
    for (offsets, strides, cotangent), buffer in zip(parts, island.ins, strict=True):
        indices = island.loops(extents_of(b, cotangent))
        of_window = shifted(offsets, strides, indices)
        at = AffineList.of()
        for k in range(rank):
            place = of_window[k]
            if k in op.dims:
                both = place.concat(of_window[rank + op.dims.index(k)])
                place = AffineList((both.exprs[0] + both.exprs[1],), both.operands).canonical()
            at = at.concat(place)
        write = island.store if exact else island.accumulate
        write(island.load(buffer, AffineList.of(*indices)), island.outs[0], at)
        island.close()
    to.add(op.source, island.done()[0])


def _tile(op: WindowOp, offsets: AffineList, strides: Sequence[int], cotangent: SSAValue) -> bool:
    """Whether the windows of a slice lie side by side and are all of the source."""
    source, taken, starts = shape_of(op.source), shape_of(cotangent), offsets.constants()
    if starts is None or any(starts) or DYNAMIC_INDEX in (*source, *taken):
        return False
    rank = len(source)
    windows = {d: shape_of(op.result)[rank + k] for k, d in enumerate(op.dims)}
    if any(strides[rank + k] != 1 or taken[rank + k] != windows[d] for k, d in enumerate(op.dims)):
        return False
    steps = [strides[k] == windows.get(k, 1) for k in range(rank)]
    return all(steps) and all(taken[k] * windows.get(k, 1) == source[k] for k in range(rank))
