"""Stacks: a value of each iteration of a loop, along a new first axis.

%s = nt.empty : tensor<20x4xf64>                        // before the loop, which carries it
%s1 = nt.loops ins(%h) outs(%s0) {...}                  // in iteration k: s[k, :] = h, in place
%0 = nt.slice %s[%k, 0] strides [1, 1] ; nt.reshape     // in the reversed loop
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.ops import EmptyOp, ReshapeOp, SliceOp, element_of, shape_of
from ..builder import Builder
from ..loops import Island
from .outer_extents import Extent


def unknown_of(extents: Sequence[Extent]) -> AffineList:
    """The extents that are values, in order."""
    return AffineList.of(*[e for e in extents if not isinstance(e, int)])


def _shape(extents: Sequence[Extent]) -> list[int]:
    return [e if isinstance(e, int) else DYNAMIC_INDEX for e in extents]


def empty_stack(builder: Builder, value: SSAValue, length: Extent, extents: Sequence[Extent]) -> SSAValue:
    """A stack for `length` values of the type of `value`, whose extents are `extents`."""
    whole = [length, *extents]
    stack = builder.value(EmptyOp(TensorType(element_of(value), _shape(whole)), unknown_of(whole)))
    stack.name_hint = f"{value.name_hint}s" if value.name_hint else "kept"
    return stack


def put(
    builder: Builder, stack: SSAValue, value: SSAValue, place: AffineList, extents: Sequence[Extent]
) -> SSAValue:
    """The stack in which the value at `place` is `value`."""
    island = Island(builder, [value], [stack])
    indices = AffineList.of(*island.loops(list(extents)))
    island.store(island.load(island.ins[0], indices), island.outs[0], AffineList.of(place, indices))
    result = island.done()[0]
    result.name_hint = stack.name_hint
    return result


def get(
    builder: Builder, stack: SSAValue, place: AffineList, value: SSAValue, extents: Sequence[Extent]
) -> SSAValue:
    """What is at `place`, of the type of `value`."""
    sizes, element = unknown_of(extents), element_of(stack)
    shape = _shape(extents)
    offsets = AffineList.of(place, *[0] * len(extents))
    one = builder.value(
        SliceOp(stack, offsets, [1] * (len(extents) + 1), TensorType(element, [1, *shape]), sizes)
    )
    result = builder.value(ReshapeOp(one, TensorType(element, shape_of(value)), sizes))
    result.name_hint = value.name_hint
    return result


def part(
    builder: Builder, stack: SSAValue, first: int, length: Extent, extents: Sequence[Extent]
) -> SSAValue:
    """`length` values of a stack, from the one at place `first` on."""
    whole = [length, *extents]
    kind = TensorType(element_of(stack), _shape(whole))
    offsets = AffineList.of(first, *[0] * len(extents))
    return builder.value(SliceOp(stack, offsets, [1] * len(whole), kind, unknown_of(whole)))
