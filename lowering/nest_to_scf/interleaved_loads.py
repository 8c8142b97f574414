"""Loads of every second, third or fourth element: whole vectors and shuffles (part of convert-nest-to-scf).

    nest.for "i" %i = 0 to 8 vectorized(8) {
      %a = nest.load %x[2 * %i + 1] : memref<16xf32>

becomes

    %0 = vector.load %x[%c1] : memref<16xf32>, vector<8xf32>           // elements 1 to 8
    %1 = vector.load %x[%c8] : memref<16xf32>, vector<8xf32>           // elements 8 to 15, and none after the last lane's
    %a = vector.shuffle %0, %1 [0, 2, 4, 6, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>

The last vector ends where the last lane's element does, so that nothing is read that is not between two elements of the
row. Under a mask of the first lanes each vector is masked by the elements up to the last lane's; under another mask,
and for steps that leave most of what is loaded unused, the lanes are gathered.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nest.common import INDEX
from .lanes import Lanes

MOST = 4
"""Maximum distance between lanes: beyond, most lines hold one element that is needed."""


@functools.cache
def pieces(width: int, growth: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Vectors of `width` elements that hold the elements 0, growth, ... of `width` lanes, and how they are put together.

    For each vector where it starts, and which lanes of what is there so far, followed by this vector, make the next.

    >>> pieces(4, 2)
    ((0, (0, 2, 0, 0)), (3, (0, 1, 5, 7)))
    """
    found: list[tuple[int, tuple[int, ...]]] = []
    done = 0
    for k in range(growth):
        start = min(k * width, (growth - 1) * (width - 1))
        last = (start + width - 1) // growth
        lanes = list(range(width)) if found else [0] * width
        for lane in range(done, last + 1):
            lanes[lane] = growth * lane - start + (width if found else 0)
        found.append((start, tuple(lanes)))
        done = last + 1
    return tuple(found)


def is_gathered(growth: int | None, is_contiguous: bool, mask: SSAValue | None) -> bool:
    """Whether lanes that move by `growth` elements are gathered one by one."""
    is_known = mask is None or isinstance(mask.owner, vector.CreateMaskOp)
    return growth is None or not 2 <= growth <= MOST or not is_contiguous or not is_known


def interleaved_load(
    lanes: Lanes, where: Sequence[SSAValue], growth: int, mask: SSAValue | None, element: Attribute
) -> SSAValue:
    """The elements at `where` (a buffer and indices), `growth` apart along its last axis."""
    builder, result = lanes.builder, lanes.type(element)
    total: SSAValue | None = None
    for start, order in pieces(lanes.width, growth):
        place = [*where]
        if start:
            place[-1] = builder.value(arith.AddiOp, (place[-1], builder.constant(start)), INDEX, NO_OVERFLOW)
        if mask is None:
            piece = builder.value(vector.LoadOp, place, result)
        else:
            on = _elements_on(lanes, mask, growth, start)
            piece = builder.value(vector.MaskedLoadOp, (*place, on, lanes.zeros(element)), result)
        both = (piece, piece) if total is None else (total, piece)
        total = builder.value(
            vector.ShuffleOp, both, result, {"mask": DenseArrayBase.from_list(i64, list(order))}
        )
    assert total is not None
    return total


def _elements_on(lanes: Lanes, mask: SSAValue, growth: int, start: int) -> SSAValue:
    """The mask of the elements from `start` up to the one of the last lane that is on."""
    assert isinstance(mask.owner, vector.CreateMaskOp)
    builder, [count] = lanes.builder, mask.owner.operands

    def make() -> SSAValue:
        # growth * (count - 1) + 1 elements, none where no lane is on
        scaled = builder.value(arith.MuliOp, (count, builder.constant(growth)), INDEX, NO_OVERFLOW)
        less = builder.value(arith.SubiOp, (scaled, builder.constant(growth - 1 + start)), INDEX, NO_OVERFLOW)
        return builder.value(vector.CreateMaskOp, (less,), VectorType(i1, [lanes.width]))

    return builder.once(("elements", mask, growth, start), make)
