"""The composites of nt.quant, read and made: integers of 8 bits with a scale and a zero point.

    %q = nt.composite "quantise"(%x, %s, %z)        // saturate(round(x / s) + z)           nt.quant.quantise
    %y = nt.composite "dequantise"(%q, %s, %z)      // (q - z) * s                          nt.quant.dequantise
    %f = nt.composite "fake_quantise"(%x, %s, %z)   // the second of the first, with a derivative

`form_of` reads what their regions say, whether a scale is an operand or a number in the region: one that says something
else is no form. `fake_quantised` and `quantised` make such regions, those of `frontend/quant/rounding.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import Float32Type, IntegerType, Signedness, TensorType, f32, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.nt import BroadcastOp, CastOp, CompositeOp, ConstantOp, YieldOp
from ...dialects.nt.constants import dtype_of, from_numpy, to_numpy
from ...dialects.nt.derivative_ops import StopGradientOp
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import with_element
from ..autodiff.builder import Builder

BYTES: dict[str, Attribute] = {
    "int8": IntegerType(8),
    "uint8": IntegerType(8, Signedness.UNSIGNED),
}
"""The integers that products are computed with, by NumPy's names."""


EDGE = 0.49
"""How far beyond the last integer numbers have a derivative: they are rounded to it."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A number, or one for each index of some axes of a tensor: axis k of `value` is axis `along[k]` of that."""

    value: SSAValue
    along: tuple[int, ...] = ()

    def number(self) -> float | None:
        """The number, where it is known and one for all."""
        owner = self.value.owner
        while isinstance(owner, CastOp | BroadcastOp):
            owner = owner.source.owner
        if not isinstance(owner, ConstantOp):
            return None
        array = np.asarray(to_numpy(owner.value))
        return array.flat[0].item() if array.size and (array == array.flat[0]).all() else None

    def is_as(self, other: Spread) -> bool:
        """Whether it is known to be the same."""
        if self.along != other.along:
            return False
        if self.value is other.value:
            return True
        owners = self.value.owner, other.value.owner
        if all(isinstance(owner, ConstantOp) for owner in owners):
            first, second = (to_numpy(owner.value) for owner in owners)  # pyright: ignore
            return first.shape == second.shape and bool(np.all(first == second))
        return False

    def __repr__(self) -> str:
        return f"Spread({self.value.name_hint}, {self.along})"


@dataclass(frozen=True, eq=False)
class Form:
    """What a composite of nt.quant computes, and of what."""

    label: str
    source: SSAValue
    scale: Spread
    zero: Spread
    element: Attribute
    """The type of the integers."""


# ---- reading --------------------------------------------------------------------------------------------


def form_of(op: Operation | Block) -> Form | None:
    """What a composite of float32 and integers of 8 bits says; None of all else."""
    if not isinstance(op, CompositeOp) or len(op.results_) != 1:
        return None
    read = _READERS.get(op.label.data)
    end = op.body.block.last_op
    found = None if read is None or end is None else read(op, end.operands[0])
    if found is None or found.element not in BYTES.values():
        return None
    floats = [found.scale.value, op.results_[0] if found.label == "dequantise" else found.source]
    return found if all(isinstance(element_of(v), Float32Type) for v in floats) else None


def _quantise(op: CompositeOp, value: SSAValue) -> Form | None:
    least = _operands(_operands(value, "nt.cast"), "nt.fmin")
    rounded = _operands(_operands(least, "nt.fmax"), "nt.add")
    divided = _operands(_operands(rounded, "nt.rint"), "nt.divide")
    if not divided or not rounded or not least:
        return None
    source, scale = _outer(op, divided[0]), _spread(op, divided[1])
    zero = _spread(op, rounded[1], casts=True)
    largest, smallest = (_known(v) for v in (least[1], _operands(least, "nt.fmax")[1]))
    element = element_of(value)
    if source is None or scale is None or zero is None or (smallest, largest) != _limits(element):
        return None
    return Form("quantise", source, scale, zero, element)


def _dequantise(op: CompositeOp, value: SSAValue) -> Form | None:
    scaled = _operands(value, "nt.multiply")
    shifted = _operands(_operands(scaled, "nt.cast"), "nt.subtract")
    whole = _operands(shifted, "nt.cast")
    if not scaled or not shifted or not whole or element_of(shifted[0]) != i32:
        return None
    source, scale = _outer(op, whole[0]), _spread(op, scaled[1])
    zero = _spread(op, shifted[1], casts=True)
    if source is None or scale is None or zero is None:
        return None
    return Form("dequantise", source, scale, zero, element_of(source))


def _fake_quantise(op: CompositeOp, value: SSAValue) -> Form | None:
    scaled = _operands(value, "nt.multiply")
    straight = _operands(scaled, "nt.add")
    if not scaled or not straight:
        return None
    change = straight[1].owner
    stopped = change.source if isinstance(change, StopGradientOp) else straight[1]
    beside = _operands(stopped, "nt.subtract")
    rounded = _operands(beside, "nt.rint")
    clamped = _operands(straight, "nt.clamp")
    divided = _operands(clamped, "nt.divide")
    if not divided or not rounded or {*rounded, beside[1]} != {straight[0]}:
        return None
    source, scale = _outer(op, divided[0]), _spread(op, divided[1])
    again, integers = _spread(op, scaled[1]), _bounds(op, clamped[1], clamped[2])
    if source is None or scale is None or again is None or integers is None or not again.is_as(scale):
        return None
    return Form("fake_quantise", source, scale, *integers)


_READERS = {"quantise": _quantise, "dequantise": _dequantise, "fake_quantise": _fake_quantise}


def _operands(value: SSAValue | Sequence[SSAValue], name: str) -> Sequence[SSAValue]:
    """The operands of the operation of this name that makes a value, or the first of several; none if it is another one."""
    if not isinstance(value, SSAValue):
        if not value:
            return ()
        value = value[0]
    owner = value.owner
    return owner.operands if isinstance(owner, Operation) and owner.name == name else ()


def _outer(op: CompositeOp, value: SSAValue) -> SSAValue | None:
    """The operand of a composite that a value of its region is."""
    is_argument = isinstance(value, BlockArgument) and value.owner is op.body.block
    return op.inputs[value.index] if is_argument else None  # pyright: ignore


def _peeled(value: SSAValue, casts: bool) -> tuple[SSAValue, tuple[int | None, ...]]:
    """What a value repeats, and where its axes are; None for axes of one element that is repeated."""
    along: tuple[int | None, ...] = tuple(range(len(shape_of(value))))
    while isinstance(owner := value.owner, BroadcastOp | CastOp) and (
        casts or isinstance(owner, BroadcastOp)
    ):
        source = owner.operands[0]
        if isinstance(owner, BroadcastOp):
            extents, wanted = shape_of(source), shape_of(value)
            along = tuple(
                [None if extents[k] == 1 != wanted[d] else along[d] for k, d in enumerate(owner.dims)]
            )
        value = source
    return value, along


def _spread(op: CompositeOp, value: SSAValue, casts: bool = False) -> Spread | None:
    """The number, or the numbers, that a value of the region repeats."""
    root, along = _peeled(value, casts)
    outer = root if isinstance(root.owner, ConstantOp) else _outer(op, root)
    if outer is None or None in along:
        return None
    return Spread(outer, along)  # pyright: ignore


def _bounds(op: CompositeOp, low: SSAValue, high: SSAValue) -> tuple[Spread, Attribute] | None:
    """The zero point and the type of integers that a value is kept among, less the zero point."""
    first, last = _end(op, low), _end(op, high)
    if first is None or last is None or not first[0].is_as(last[0]):
        return None
    limits = (round(first[1] + EDGE), round(last[1] - EDGE))
    return next(((first[0], element) for element in BYTES.values() if _limits(element) == limits), None)


def _end(op: CompositeOp, value: SSAValue) -> tuple[Spread, float] | None:
    """Of a number less a zero point these two."""
    root, along = _peeled(value, casts=False)
    sides = _operands(root, "nt.subtract")
    zero = _spread(op, sides[1], casts=True) if sides else None
    if zero is None:
        return None
    number = _known(sides[0])
    axes = tuple([along[k] for k in zero.along])
    if number is None or None in axes:
        return None
    return Spread(zero.value, axes), number  # pyright: ignore


def _known(value: SSAValue) -> float | None:
    return Spread(value).number()


def _limits(element: Attribute) -> tuple[int, int]:
    info = np.iinfo(dtype_of(element))  # pyright: ignore
    return int(info.min), int(info.max)


# ---- making ---------------------------------------------------------------------------------------------


def constant(b: Builder, numbers: np.ndarray, element: Attribute, axis: int | None = None) -> Spread:
    """Known numbers: one, or one for each index of an axis."""
    array = np.asarray(numbers, dtype_of(element))  # pyright: ignore
    value = b.value(ConstantOp(from_numpy(array, element)))  # pyright: ignore
    return Spread(value, () if axis is None else (axis,))


def outside(b: Builder, spread: Spread) -> Spread:
    """The same where `b` puts operations: a number that is in a region is made again."""
    owner = spread.value.owner
    if not isinstance(owner, ConstantOp):
        return spread
    return Spread(b.value(owner.clone()), spread.along)


def repeated(b: Builder, spread: Spread, like: SSAValue, element: Attribute | None = None) -> SSAValue:
    """The numbers of a spread, each at its elements of a tensor like `like`."""
    value = spread.value if element is None else b.cast(spread.value, element)
    order = sorted(range(len(spread.along)), key=lambda k: spread.along[k])
    value = b.transpose(value, order)
    return b.broadcast(value, sorted(spread.along), like)


def fake_quantised(b: Builder, x: SSAValue, scale: Spread, zero: Spread, element: Attribute) -> SSAValue:
    """`x` rounded as integers would have it, with the derivative straight through."""

    def region(inner: Builder, x: SSAValue, scale: Spread, zero: Spread) -> SSAValue:
        low, high = _limits(element)
        by = repeated(inner, scale, x)
        v = inner.elementwise("divide", x, by)
        shift = inner.cast(zero.value, f32)
        ends = [
            repeated(
                inner, Spread(inner.elementwise("subtract", inner.uniform(end, shift), shift), zero.along), x
            )
            for end in (low - EDGE, high + EDGE)
        ]
        v = inner.elementwise("clamp", v, *ends)
        change = inner.elementwise("subtract", inner.elementwise("rint", v), v)
        straight = inner.elementwise("add", v, inner.value(StopGradientOp(change)))
        return inner.elementwise("multiply", straight, by)

    return _composite(b, "fake_quantise", x, scale, zero, region)


def quantised(b: Builder, x: SSAValue, scale: Spread, zero: Spread, element: Attribute) -> SSAValue:
    """The integers of `x`."""

    def region(inner: Builder, x: SSAValue, scale: Spread, zero: Spread) -> SSAValue:
        low, high = _limits(element)
        v = inner.elementwise("rint", inner.elementwise("divide", x, repeated(inner, scale, x)))
        v = inner.elementwise("add", v, repeated(inner, zero, x, f32))
        v = inner.elementwise("fmax", v, inner.uniform(low, v))
        v = inner.elementwise("fmin", v, inner.uniform(high, v))
        assert isinstance(v.type, TensorType)
        return inner.value(CastOp(v, with_element(v.type, element)))

    return _composite(b, "quantise", x, scale, zero, region)


def _composite(b: Builder, label: str, x: SSAValue, scale: Spread, zero: Spread, region) -> SSAValue:
    given = [x, scale.value, zero.value]
    block = Block(arg_types=[v.type for v in given])
    for argument, value in zip(block.args, given, strict=True):
        argument.name_hint = value.name_hint
    inner = Builder(block, None, b.location)
    own = [Spread(block.args[k + 1], one.along) for k, one in enumerate((scale, zero))]
    result = region(inner, block.args[0], *own)
    inner.add(YieldOp(result))
    made = b.value(CompositeOp(label, given, Region(block), [result.type]))
    made.name_hint = x.name_hint
    return made
