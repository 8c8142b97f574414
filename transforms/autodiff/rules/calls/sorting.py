"""Sorting and order statistics: each element of a result is one of the operand, found by a second sort of places.

    %y = nt.custom_call "numpy.sort"(%x) {axis = 0 : i64, ...}
  has with the places %i of numpy.argsort(%x)
    ty = tx[i]              // forward
    cx[i] = cy              // reverse: each place is there once

Of equal elements the first takes the first place, as in JAX. Places (argsort, searchsorted) have no derivative.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from .....dialects.affine import AffineList
from .....dialects.nt.constants import dtype_of, from_numpy
from .....dialects.nt.ops import (
    BroadcastOp,
    ConstantOp,
    CustomCallOp,
    DotOp,
    FromScalarOp,
    IotaOp,
    element_of,
    shape_of,
)
from .....dialects.nt.types import with_element
from ...builder import Builder
from ...loops import Extent, Island, empty_like, extents_of
from ...matrices import call, reshaped
from ...missing import missing

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

Tangents = Sequence["SSAValue | None"]


def _places(b: Builder, value: SSAValue, arguments: dict[str, Attribute]) -> SSAValue:
    kind = value.type
    assert isinstance(kind, TensorType)
    return call(b, "argsort", [value], [with_element(kind, i64)], b.sizes_of(value), arguments)[0]


def _stable(axis: int) -> dict[str, Attribute]:
    return {"axis": IntegerAttr(axis, i64), "kind": UnitAttr(), "stable": IntegerAttr(1, i1)}


def _axis(op: CustomCallOp) -> int:
    return op.arguments.data["axis"].value.data  # pyright: ignore


def gathered(b: Builder, source: SSAValue, places: SSAValue, axis: int) -> SSAValue:
    """The elements of `source` at other places along an axis: np.take_along_axis, for a permutation."""
    return _moved(b, source, places, axis, to_places=False)


def scattered(b: Builder, source: SSAValue, places: SSAValue, axis: int) -> SSAValue:
    """The inverse of `gathered`: the elements of `source` go to `places`."""
    return _moved(b, source, places, axis, to_places=True)


def _moved(b: Builder, source: SSAValue, places: SSAValue, axis: int, *, to_places: bool) -> SSAValue:
    island = Island(b, [places, source], [empty_like(b, source)])
    indices = island.loops(extents_of(b, source))
    here = AffineList.of(*indices)
    place = island.load(island.ins[0], here)
    index = island.add(arith.IndexCastOp(place, IndexType())).results[0]
    there = AffineList.of(*indices[:axis], index, *indices[axis + 1 :])
    read, write = (here, there) if to_places else (there, here)
    island.store(island.load(island.ins[1], read), island.outs[0], write)
    return island.done()[0]


# ---- sort and partition ---------------------------------------------------------------------------------


def sort_forward(op: CustomCallOp, by: Forward) -> Tangents:
    b, tangent = by.builder, by.of(op.inputs[0])
    assert tangent is not None
    return [gathered(b, tangent, _places(b, op.inputs[0], _stable(_axis(op))), _axis(op))]


def sort_reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    places = _places(b, op.inputs[0], _stable(_axis(op)))
    to.add(op.inputs[0], scattered(b, cotangent, places, _axis(op)))


def _both_places(op: CustomCallOp, b: Builder) -> tuple[SSAValue, SSAValue]:
    """Where the smallest, the next ... element is in the operand, and in the result."""
    given = _stable(_axis(op))
    return _places(b, op.inputs[0], given), _places(b, op.results_[0], given)


def partition_forward(op: CustomCallOp, by: Forward) -> Tangents:
    b, tangent = by.builder, by.of(op.inputs[0])
    assert tangent is not None
    before, after = _both_places(op, b)
    return [scattered(b, gathered(b, tangent, before, _axis(op)), after, _axis(op))]


def partition_reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    before, after = _both_places(op, b)
    to.add(op.inputs[0], scattered(b, gathered(b, cotangent, after, _axis(op)), before, _axis(op)))


# ---- median, quantiles: sums of sorted elements ----------------------------------------------------------


def _product(b: Builder, extents: Sequence[Extent]) -> Extent:
    """The product of extents: a number where all are known."""
    known = math.prod(e for e in extents if isinstance(e, int))
    unknown = [e for e in extents if not isinstance(e, int)]
    if not unknown:
        return known
    factors = [b.index_constant(known)] if known != 1 else []
    return functools.reduce(lambda one, other: b.value(arith.MuliOp(one, other)), [*unknown, *factors])


class _Statistic:
    """The operand with what is reduced as its last axis, and the weight of each sorted element in each result."""

    def __init__(self, op: CustomCallOp, b: Builder):
        self.op, self.b = op, b
        arguments = op.arguments.data
        method = arguments.get("method")
        if (
            "selected" in arguments
            or len(op.inputs) > 1
            or (method is not None and method != StringAttr("linear"))
        ):
            raise missing(op)
        shape = shape_of(op.inputs[0])
        axes = arguments["axis"]
        self.axes = (
            [a.value.data for a in axes.data] if isinstance(axes, ArrayAttr) else list(range(len(shape)))
        )  # pyright: ignore
        self.kept = [k for k in range(len(shape)) if k not in self.axes]
        extents = extents_of(b, op.inputs[0])
        self.sizes = AffineList.of(*[extents[k] for k in self.kept if shape[k] == DYNAMIC_INDEX])
        """The unknown extents of what is kept."""
        self.size = _product(b, [extents[k] for k in self.axes])
        """The number of elements that are reduced to one."""
        self.count = self.size if isinstance(self.size, int) else DYNAMIC_INDEX
        self.shape = [*[shape[k] for k in self.kept], self.count]
        self.places = _places(b, self.flat(op.inputs[0]), _stable(len(self.kept)))

    @property
    def size_of_rows(self) -> AffineList:
        """The unknown extents of `shape`."""
        return self.sizes if isinstance(self.size, int) else self.sizes.concat(AffineList.of(self.size))

    def flat(self, value: SSAValue) -> SSAValue:
        moved = self.b.transpose(value, [*self.kept, *self.axes])
        return reshaped(self.b, moved, self.shape, self.size_of_rows)

    def unflat(self, value: SSAValue) -> SSAValue:
        operand, order = self.op.inputs[0], [*self.kept, *self.axes]
        shape = shape_of(operand)
        sizes = self.b.sizes_of(operand, order)
        moved = reshaped(self.b, value, [shape[k] for k in order], sizes)
        return self.b.transpose(moved, [order.index(k) for k in range(len(order))])

    def weights(self, element: Attribute) -> SSAValue:
        """One row a quantile, one column a sorted element: 1 - |column - position| where that is positive."""
        levels = np.atleast_1d(np.asarray(self._levels(), float)).ravel()
        if isinstance(self.size, int):
            distance = np.abs(np.arange(self.size) - levels[:, None] * (self.size - 1))
            table = np.maximum(1 - distance, 0).astype(dtype_of(element))
            return self.b.value(ConstantOp(from_numpy(table, element)))
        b, sizes = self.b, AffineList.of(self.size)
        count = b.add(arith.IndexCastOp(self.size, i64)).results[0]
        last = b.cast(b.value(FromScalarOp(count, TensorType(i64, []))), f64)
        columns = b.cast(b.value(IotaOp(TensorType(i64, [DYNAMIC_INDEX]), sizes)), f64)
        kind = TensorType(f64, [len(levels), DYNAMIC_INDEX])
        column, level, last = [
            b.formula(b.value(BroadcastOp(one, along, kind, sizes)))
            for one, along in (
                (columns, [1]),
                (b.value(ConstantOp(from_numpy(levels, f64))), [0]),
                (last, []),
            )
        ]
        weight = 1.0 - (column - level * (last - 1.0)).apply("absolute")
        return b.cast(weight.apply("maximum", 0.0).value, element)

    def _levels(self) -> object:
        name = self.op.target.data
        if name == "numpy.median":
            return 0.5
        scale = 100.0 if name == "numpy.percentile" else 1.0
        return np.asarray(_number(self.op.arguments.data["q"])) / scale


def _number(value: Attribute) -> object:
    if isinstance(value, ArrayAttr):
        return [_number(one) for one in value.data]
    assert isinstance(value, FloatAttr | IntegerAttr)
    return value.value.data


def statistic_forward(op: CustomCallOp, by: Forward) -> Tangents:
    b, tangent = by.builder, by.of(op.inputs[0])
    assert tangent is not None
    s = _Statistic(op, b)
    element = element_of(op.results_[0])
    ordered = b.cast(gathered(b, s.flat(tangent), s.places, len(s.kept)), element)
    # axes of the product: the quantiles, then what is kept
    product = b.value(DotOp(s.weights(element), ordered, ([1], [len(s.kept)])))
    return [b.reshape(b.cast(product, element), op.results_[0])]


def statistic_reverse(op: CustomCallOp, cotangents: Tangents, to: Reverse) -> None:
    b, cotangent = to.builder, cotangents[0]
    assert cotangent is not None
    s = _Statistic(op, b)
    weights = s.weights(element_of(cotangent))
    rows = reshaped(b, cotangent, [shape_of(weights)[0], *s.shape[:-1]], s.sizes)
    product = b.value(DotOp(rows, weights, ([0], [0])))
    spread = scattered(b, b.cast(product, element_of(op.inputs[0])), s.places, len(s.kept))
    to.add(op.inputs[0], s.unflat(spread))
