"""nt-fuse-quantised: products of what was integers of 8 bits are computed with the integers.

    %x_1 = nt.composite "dequantise"(%q, %s, %z : tensor<8x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x4xf32> {...}
    %w_1 = nt.composite "dequantise"(%p, %t, %y : tensor<4x5xi8>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xf32> {...}
    %0 = nt.dot %x_1, %w_1 contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  becomes, where %y is 0
    %1 = nt.dot %q, %p contract [1] x [0] : tensor<8x4xui8>, tensor<4x5xi8> -> tensor<8x5xi32>
    %2 = nt.cast %p : tensor<4x5xi8> -> tensor<4x5xi32>
    %3 = nt.reduce add %2 over [0] : tensor<4x5xi32> -> tensor<5xi32>
    ... %4 = %1 - %z * %3, and %0 = f32(%4) * (%s * %t)

A "fake_quantise" (nt-quantise, nt.quant.fake_quantise) that a product uses becomes a "quantise" for it. Both are seen
through transposes, reshapes, slices, windows, what repeats elements, `np.maximum` with 0, and maxima of windows: these
are done to the integers. A "quantise" of a "dequantise" with the same scale and zero point is the integers themselves.
All else that is left is decomposed: it rounds in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.nt import (
    BroadcastOp,
    CompositeOp,
    DotOp,
    OptimizationBarrierOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    WindowOp,
)
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS
from ...dialects.nt.ops import shape_of
from ...dialects.nt.types import with_element
from ..autodiff.builder import Builder
from .integer_products import Integers, may_multiply, multiplied
from .quantised_forms import Form, Spread, form_of, outside, quantised, repeated

VIEWS = (TransposeOp, ReshapeOp, SliceOp, WindowOp, BroadcastOp)


class _Fuser:
    """Finds what stands for integers, and makes the integers."""

    def __init__(self) -> None:
        self._quantised: dict[CompositeOp, Integers] = {}
        """Of a "fake_quantise" its integers."""
        self._barriers: dict[SSAValue, SSAValue] = {}

    def multiply(self, op: DotOp) -> bool:
        """Compute a product with integers, where both operands are some."""
        seen = [_seen(value) for value in op.operands]
        if seen[0] is None or seen[1] is None or not may_multiply(op, seen[0], seen[1]):
            return False
        left, right = (self._made(value, op) for value in op.operands)
        assert op.parent is not None
        result = multiplied(Builder(op.parent, op, op.location), op, left, right)
        result.name_hint = op.result.name_hint
        _replace(op, result)
        return True

    def cancel(self, op: CompositeOp, form: Form) -> None:
        """Take the integers for a "quantise" of what they stand for."""
        seen = _seen(form.source)
        if seen is None or seen.element != form.element:
            return
        if not (seen.scale.is_as(form.scale) and seen.zero.is_as(form.zero)):
            return
        scale = form.scale.number()
        if scale is not None and SMALLEST <= scale <= LARGEST:
            _replace(op, self._made(form.source, op).q)

    def _made(self, value: SSAValue, user: Operation) -> Integers:
        """The integers that a value stands for, as `_seen` says, before `user`."""
        op = value.owner
        assert isinstance(op, Operation) and user.parent is not None
        form = form_of(op)
        if form is not None and form.label == "dequantise":
            b = Builder(user.parent, user, user.location)
            scale, zero = outside(b, form.scale), outside(b, form.zero)
            return Integers(self._stored(form.source, op), scale, zero, form.element)
        if form is not None:
            assert isinstance(op, CompositeOp)
            if op not in self._quantised:
                assert op.parent is not None
                b = Builder(op.parent, op, op.location)
                scale, zero = outside(b, form.scale), outside(b, form.zero)
                q = quantised(b, form.source, scale, zero, form.element)
                self._quantised[op] = Integers(self._stored(q, op), scale, zero, form.element)
            return self._quantised[op]
        source = self._made(op.operands[0], user)
        inner = _through(op, source)
        assert inner is not None
        others = list(op.operands[1:])
        b = Builder(user.parent, user, user.location)
        if isinstance(op, MAXIMUM):  # with 0, which is the zero point
            others = [repeated(b, source.zero, source.q, source.element)]
        if isinstance(op, ReduceOp):
            q = b.value(ReduceOp("maximum", [source.q], list(op.reduced)))
        else:
            types = [
                with_element(r.type, source.element) for r in op.results if isinstance(r.type, TensorType)
            ]
            new = type(op).create(
                operands=[source.q, *others],
                result_types=types,
                properties=op.properties,
                attributes=op.attributes,
            )
            q = b.value(new)
        return replace(inner, q=q)

    def _stored(self, q: SSAValue, before: Operation) -> SSAValue:
        """Integers that are stored as such: what reads them again and again neither rounds again nor reads wider ones."""
        if isinstance(q.owner, Block):
            return q
        if q not in self._barriers:
            assert before.parent is not None
            b = Builder(before.parent, before, before.location)
            self._barriers[q] = b.value(OptimizationBarrierOp([q]))
        return self._barriers[q]


MAXIMUM = ELEMENTWISE_OPS["maximum"]

SMALLEST, LARGEST = 2.0**-100, 2.0**100
"""Scales between which a product with an integer, divided by the scale again, is rounded to that integer."""


def _seen(value: SSAValue) -> Integers | None:
    """What a value stands for, if it does for integers; the integers themselves, `q`, are not those of a view yet."""
    op = value.owner
    if isinstance(op, Block):
        return None
    form = form_of(op)
    if form is not None:
        return (
            None if form.label == "quantise" else Integers(form.source, form.scale, form.zero, form.element)
        )
    if not isinstance(op, (*VIEWS, ReduceOp, MAXIMUM)) or not op.operands:
        return None
    source = _seen(op.operands[0])
    return None if source is None else _through(op, source)


def _through(op: Operation, source: Integers) -> Integers | None:
    """The same after an operation that can be done to the integers; None where it cannot."""
    if isinstance(op, ReduceOp):
        is_one = len(op.inputs) == 1 and op.combiner.data == "maximum"
        if not is_one or not _grows(source):
            return None
        kept = [k for k in range(len(shape_of(op.inputs[0]))) if k not in op.reduced]
        return _moved(source, lambda axis: kept.index(axis) if axis in kept else None)
    if isinstance(op, MAXIMUM):
        is_zero = Spread(op.operands[1]).number() == 0
        return source if is_zero and _grows(source) else None
    assert isinstance(op, VIEWS)
    return _moved(source, lambda axis: _place(op, axis))


def _grows(source: Integers) -> bool:
    """Whether the larger integer is the larger number: the scale is known to be positive."""
    number = source.scale.number()
    return number is not None and number > 0


def _moved(source: Integers, place: Callable[[int], int | None]) -> Integers | None:
    """With the axes of scales and zero points where they are afterwards; None where one is there no more."""
    spreads: list[Spread] = []
    for spread in (source.scale, source.zero):
        places = [place(axis) for axis in spread.along]
        if None in places:
            return None
        spreads.append(Spread(spread.value, tuple(places)))  # pyright: ignore
    return Integers(source.q, *spreads, source.element)


def _place(op: Operation, axis: int) -> int | None:
    """Where an axis of what a view is of is in the view, with all of its indices; None where it is not."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if isinstance(op, TransposeOp):
        return op.permutation.index(axis)
    if isinstance(op, BroadcastOp):
        place = op.dims[axis]
        return place if source[axis] == result[place] else None
    if isinstance(op, WindowOp):
        return None if axis in op.dims else axis
    if isinstance(op, SliceOp):
        is_whole = source[axis] == result[axis] != DYNAMIC_INDEX and len(source) == len(result)
        return axis if is_whole and op.stride_values[axis] == 1 else None
    return _kept(source, result, axis)


def _kept(source: tuple[int, ...], result: tuple[int, ...], axis: int) -> int | None:
    """Where an axis is after a reshape that leaves it as it is."""
    if DYNAMIC_INDEX in (*source, *result):
        return None
    for place, extent in enumerate(result):
        if extent == source[axis] and _count(result[:place]) == _count(source[:axis]):
            return place
    return None


def _count(extents: tuple[int, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


@dataclass(frozen=True, eq=False)
class NtFuseQuantisedPass(ModulePass):
    """Compute products of what was integers of 8 bits with the integers."""

    name = "nt-fuse-quantised"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(one, CompositeOp) for one in op.walk()):
            return
        fuser = _Fuser()
        for one in list(op.walk()):
            form = form_of(one)
            if isinstance(one, CompositeOp) and form is not None and form.label == "quantise":
                fuser.cancel(one, form)
        for one in list(op.walk()):
            if isinstance(one, DotOp) and not isinstance(one.parent_op(), CompositeOp):
                fuser.multiply(one)
