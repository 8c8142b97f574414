"""np.fft: transforms are linear. Forward mode transforms the tangent; reverse mode is the transpose, without conjugation.

    y = fft(x)       cx = fft(cy)                       the matrix is symmetric
    y = ifft(x)      cx = ifft(cy)
    y = rfft(x)      cx = real(fft(cy, n))              zeros for the frequencies that are left out
    y = irfft(x)     cx = s * conj(rfft(cy)) / n        s is 2, and 1 for the frequencies that are their own mirror
    y = hfft(x)      as irfft of the conjugate, times n
    y = ihfft(x)     as the conjugate of rfft, divided by n

What `n` cuts off has the cotangent zero; what it adds has none. Several axes are one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    ComplexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from .....dialects.affine import AffineList
from .....dialects.diagnostic import fail
from .....dialects.nt.constants import dtype_of, from_numpy
from .....dialects.nt.ops import (
    BroadcastOp,
    ConstantOp,
    CustomCallOp,
    IotaOp,
    ReduceOp,
    SliceOp,
    element_of,
    shape_of,
)
from .....dialects.nt.types import kind_of, part_type
from ...builder import Builder
from ...loops import Island, extents_of
from ...matrices import call

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
"""Transforms along one axis."""

SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
"""Transforms along several."""

_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def forward(op: CustomCallOp, by: Forward) -> Sequence[SSAValue | None]:
    b, tangent = by.builder, by.of(op.inputs[0])
    assert tangent is not None
    copy = CustomCallOp(
        op.target.data, [tangent], [r.type for r in op.results_], op.arguments.data, op.sizes, op.is_ordered
    )
    return list(b.add(copy).results)


def reverse(op: CustomCallOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    b, value = to.builder, cotangents[0]
    assert value is not None
    name, source = op.target.data.rpartition(".")[2], op.inputs[0]
    arguments = op.arguments.data
    norm = arguments["norm"].data if isinstance(arguments["norm"], StringAttr) else "backward"
    if name in LINES:
        axes = [arguments["axis"].value.data]  # pyright: ignore
        given = isinstance(arguments["n"], IntegerAttr)
    else:
        axes = [a.value.data for a in arguments["axes"].data]  # pyright: ignore
        given = isinstance(arguments["s"], ArrayAttr)
        name = name.removesuffix("2").removesuffix("n")
    back = _Transpose(op, b, norm, given, source)
    if given and len(set(axes)) != len(axes):
        raise fail(op, f"{op.target.data} with lengths of one axis twice has no derivative")
    whole = axes if name in ("fft", "ifft") else axes[:-1]
    if name in ("irfft", "hfft"):  # whose last axis is transformed last
        value = back.last(name, value, axes[-1])
    for axis in whole:
        value = back.resized(back.along("ifft" if name in ("ifft", "irfft") else "fft", value, axis), axis)
    if name in ("rfft", "ihfft"):
        value = back.last(name, value, axes[-1])
    to.add(source, b.cast(value, element_of(source)))


class _Transpose:
    """The transpose of one transform: its norm, and the tensor whose extents cotangents end with."""

    def __init__(self, op: CustomCallOp, b: Builder, norm: str, given: bool, source: SSAValue):
        self.op, self.b, self.norm, self.given, self.source = op, b, norm, given, source

    def along(
        self, name: str, value: SSAValue, axis: int, norm: str | None = None, count: int | None = None
    ) -> SSAValue:
        """fft or ifft of complex numbers, to the same length or `count`; rfft of real ones to half of it."""
        b, shape = self.b, list(shape_of(value))
        element = element_of(value)
        sizes = b.sizes_of(value)
        if name == "rfft":
            half = shape_of(self.source)[axis]
            count = shape[axis]
            assert isinstance(count, int)
            if count != DYNAMIC_INDEX:
                shape[axis] = count // 2 + 1
            else:
                shape[axis] = half  # 2 * (half - 1) are transformed
                sizes = b.sizes_of(self.source)
            count, element = None, ComplexType(element)  # pyright: ignore
        elif count is not None:
            shape[axis] = count
        arguments: dict[str, Attribute] = {
            "n": UnitAttr() if count is None else IntegerAttr(count, i64),
            "axis": IntegerAttr(axis, i64),
            "norm": StringAttr(norm or self.norm),
        }
        kind = TensorType(element, shape)
        return call(b, f"fft.{name}", [value], [kind], sizes, arguments, ordered=self.op.is_ordered)[0]

    def resized(self, value: SSAValue, axis: int) -> SSAValue:
        """With the extent of the operand along an axis: the first elements, or zeros behind them."""
        b = self.b
        shape, wanted = list(shape_of(value)), shape_of(self.source)[axis]
        if not self.given:
            return value
        if DYNAMIC_INDEX in (shape[axis], wanted):
            raise fail(
                self.op,
                f"{self.op.target.data} of an unknown extent to a given length has no derivative",
                hint="nt.jit without dynamic=True",
            )
        if wanted == shape[axis]:
            return value
        if wanted < shape[axis]:
            shape[axis] = wanted
            kind, offsets = TensorType(element_of(value), shape), AffineList.of(*[0] * len(shape))
            sizes = b.sizes_of(value)
            return b.value(SliceOp(value, offsets, [1] * len(shape), kind, sizes))
        shape[axis] = wanted
        return self._padded(value, TensorType(element_of(value), shape), b.sizes_of(value))

    def _padded(self, value: SSAValue, kind: TensorType, sizes: AffineList) -> SSAValue:
        """The elements, and zeros behind them."""
        b = self.b
        zero = b.value(ConstantOp(from_numpy(np.zeros((), dtype_of(kind.element_type)), kind.element_type)))
        island = Island(b, [value], [b.value(BroadcastOp(zero, (), kind, sizes))])
        at = AffineList.of(*island.loops(extents_of(b, value)))
        island.accumulate(island.load(island.ins[0], at), island.outs[0], at)
        return island.done()[0]

    def last(self, name: str, value: SSAValue, axis: int) -> SSAValue:
        """The transpose of rfft, irfft, hfft or ihfft along an axis."""
        b = self.b
        if name == "rfft":
            return self._of_half(value, axis, self.norm)
        if name == "ihfft":
            return self._of_half(b.elementwise("conjugate", value), axis, _SWAPPED[self.norm])
        if name == "irfft":
            return b.elementwise("conjugate", self._to_half(value, axis, _SWAPPED[self.norm]))
        return self._to_half(value, axis, self.norm)

    def _of_half(self, value: SSAValue, axis: int, norm: str) -> SSAValue:
        """real(fft(value with zeros behind))."""
        b = self.b
        if self.given:
            length = self.op.arguments.data.get("n") or self.op.arguments.data["s"].data[-1]  # pyright: ignore
            count = length.value.data
            count = shape_of(self.source)[axis] if count == -1 else count
        else:
            count = shape_of(self.source)[axis]
        if count == DYNAMIC_INDEX:
            shape = list(shape_of(value))
            shape[axis] = count
            sizes = b.sizes_of(value, range(axis)).concat(b.sizes_of(self.source, range(axis, len(shape))))
            value = self._padded(value, TensorType(element_of(value), shape), sizes)
            count = None
        return self.resized(b.elementwise("real", self.along("fft", value, axis, norm, count)), axis)

    def _to_half(self, value: SSAValue, axis: int, norm: str) -> SSAValue:
        """rfft(value), twice where a frequency has a mirror of its own."""
        b = self.b
        if kind_of(element_of(value)) == "c":
            value = b.elementwise("real", value)
        count = shape_of(value)[axis]
        half = self.along("rfft", value, axis, norm)
        extent = shape_of(half)[axis]
        number = b.value(IotaOp(TensorType(i64, [extent]), b.sizes_of(half, [axis])))
        place = b.formula(number)
        single = place.equals(0.0)
        if count == DYNAMIC_INDEX or count % 2 == 0:
            largest = b.broadcast(b.value(ReduceOp("maximum", [number], [0])), (), number)
            single = single.apply("logical_or", place.equals(b.formula(largest)))
        element = part_type(element_of(half))
        factor = b.elementwise(
            "select", single.value, b.uniform(1.0, number, element), b.uniform(2.0, number, element)
        )
        spread = b.broadcast(b.cast(factor, element_of(half)), [axis], half)
        return self.resized(b.elementwise("multiply", half, spread), axis)
