"""Makes the operations of a derivative, before an operation of the program, with the location of what is differentiated.

`Formula` is a tensor with the operators in which partial derivatives are written (`dialects/nt/partials.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerAttr, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.affine import AffineList
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nt.constants import dtype_of, from_numpy
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS, result_type
from ...dialects.nt.halves import Mark
from ...dialects.nt.ops import (
    INDEX,
    BroadcastOp,
    CastOp,
    ConstantOp,
    DimOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    element_of,
    shape_of,
)
from ...dialects.nt.types import kind_of, with_element

_INDEX_ARITHMETIC: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.Mod: arith.RemUIOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


class Builder:
    """Inserts operations before `anchor`, or at the end of `block` where there is no anchor.

    With a `mark`, locations say which half of a derivative the operations are (`dialects/nt/halves.py`).
    """

    def __init__(
        self, block: Block, anchor: Operation | None, location: Any = None, mark: Mark | None = None
    ):
        self.block, self.anchor, self.mark, self.location = block, anchor, mark, location

    @property
    def location(self) -> Any:
        """The location of the next operations."""
        return self._location

    @location.setter
    def location(self, location: Any) -> None:
        self._location = location if location is None else self.marked(location)

    def marked(self, location: Any) -> Any:
        """A location, as one of the half that is made."""
        return location if self.mark is None else self.mark.on(location)

    def add(self, op: Operation) -> Operation:
        """Insert an operation."""
        if self.location is not None:
            op.location = self.location
        self.insert(op)
        return op

    def insert(self, op: Operation) -> None:
        """Insert an operation that has its location."""
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)

    def value(self, op: Operation) -> SSAValue:
        """Insert an operation with one result; gives the result."""
        return self.add(op).results[0]

    def elementwise(self, name: str, *operands: SSAValue) -> SSAValue:
        """The elementwise operation `name` of `nt`."""
        op_type = ELEMENTWISE_OPS[name]
        common = operands[-1].type
        assert isinstance(common, TensorType)
        return self.value(op_type.create(operands=operands, result_types=[result_type(op_type.ROW, common)]))

    # ---- numbers of type index ---------------------------------------------------------------------------

    def index_constant(self, number: int) -> SSAValue:
        """A constant of type index."""
        return self.value(arith.ConstantOp(IntegerAttr(number, INDEX)))

    def index(self, expression: AffineList) -> SSAValue:
        """An expression, as one value of type index."""
        return self._index_of(expression.exprs[0], expression.operands)

    def _index_of(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> SSAValue:
        if isinstance(expr, AffineDimExpr):
            return operands[expr.position]
        if isinstance(expr, AffineConstantExpr):
            return self.index_constant(expr.value)
        assert isinstance(expr, AffineBinaryOpExpr)
        sides = [self._index_of(e, operands) for e in (expr.lhs, expr.rhs)]
        kind = _INDEX_ARITHMETIC[expr.kind]
        properties = dict(NO_OVERFLOW) if kind in (arith.AddiOp, arith.MuliOp) else {}
        return self.value(kind.create(operands=sides, result_types=[INDEX], properties=properties))

    # ---- constants, and shapes of other values ---------------------------------------------------------

    def sizes_of(self, value: SSAValue, axes: Sequence[int] | None = None) -> AffineList:
        """The unknown extents of `value` (along some axes), in order."""
        shape = shape_of(value)
        chosen = range(len(shape)) if axes is None else axes
        return AffineList.of(*[self.value(DimOp(value, k)) for k in chosen if shape[k] == DYNAMIC_INDEX])

    def uniform(self, number: complex, like: SSAValue, element: Attribute | None = None) -> SSAValue:
        """The number in each element of a tensor of the shape (and the element type) of `like`."""
        kind = TensorType(element_of(like) if element is None else element, shape_of(like))
        return self.uniform_of(number, kind, self.sizes_of(like))

    def uniform_of(self, number: complex, kind: TensorType, sizes: AffineList) -> SSAValue:
        """The number in each element of a tensor of type `kind`, the unknown extents of which are `sizes`."""
        element = kind.element_type
        if kind_of(element) != "c":
            number = number.real
        scalar = self.value(ConstantOp(from_numpy(np.array(number, dtype_of(element)), element)))
        return scalar if not shape_of(kind) else self.value(BroadcastOp(scalar, (), kind, sizes))

    def zeros(self, like: SSAValue) -> SSAValue:
        """Zeros of the type of `like`; of rank 0 where that is a scalar."""
        if isinstance(like.type, AnyFloat):
            return self.value(ConstantOp(from_numpy(np.array(0, dtype_of(like.type)), like.type)))
        return self.uniform(0.0, like)

    # ---- views, sums, casts ----------------------------------------------------------------------------

    def broadcast(
        self, source: SSAValue, along: Sequence[int], like: SSAValue, element: Attribute | None = None
    ) -> SSAValue:
        """`source` repeated to the shape of `like`: its axis k becomes axis `along[k]`."""
        shape = shape_of(like)
        kind = TensorType(element_of(source) if element is None else element, shape)
        if source.type == kind:
            return source
        return self.value(BroadcastOp(source, along, kind, self.sizes_of(like)))

    def expand(self, source: SSAValue, axes: Sequence[int]) -> SSAValue:
        """`source` with new axes of extent 1, which are axes `axes` of the result."""
        if not axes:
            return source
        shape = list(shape_of(source))
        rank = len(shape) + len(axes)
        along = [k for k in range(rank) if k not in axes]
        extents = [1] * rank
        for k, extent in zip(along, shape, strict=True):
            extents[k] = extent
        return self.value(
            BroadcastOp(source, along, TensorType(element_of(source), extents), self.sizes_of(source))
        )

    def drop(self, source: SSAValue, axes: Sequence[int]) -> SSAValue:
        """`source` without axes of extent 1."""
        kept = [k for k in range(len(shape_of(source))) if k not in axes]
        kind = TensorType(element_of(source), [shape_of(source)[k] for k in kept])
        return self.value(ReshapeOp(source, kind, self.sizes_of(source, kept)))

    def sum(self, source: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The sum over some axes, which disappear; halves are summed in float32."""
        shape = shape_of(source)
        single = [k for k in axes if shape[k] == 1]
        if single:
            source = self.drop(source, single)
            left = [k for k in range(len(shape)) if k not in single]
            axes = [left.index(k) for k in axes if k not in single]
        if not axes:
            return source
        repeated = self._sum_of_repeated(source, axes)
        if repeated is not None:
            return repeated
        element = element_of(source)
        wide = self.cast(source, f32) if element in (f16, bf16) else source
        return self.cast(self.value(ReduceOp("add", [wide], sorted(axes))), element)

    def _sum_of_repeated(self, source: SSAValue, axes: Sequence[int]) -> SSAValue | None:
        """The sum over axes along which `source` repeats elements: these, times how often; None where it is not so."""
        op, shape = source.owner, shape_of(source)
        if not isinstance(op, BroadcastOp) or DYNAMIC_INDEX in shape or set(axes) & set(op.dims):
            return None
        count = prod(shape[k] for k in axes)
        kept = [k for k in range(len(shape)) if k not in axes]
        once = self.value(
            BroadcastOp(
                op.source,
                [kept.index(d) for d in op.dims],
                TensorType(element_of(source), [shape[k] for k in kept]),
            )
        )
        return self.elementwise("multiply", once, self.uniform(count, once))

    def cast(self, source: SSAValue, element: Attribute) -> SSAValue:
        """`astype`; of a complex number to a real one, the real part."""
        if element_of(source) == element:
            return source
        if kind_of(element_of(source)) == "c" and kind_of(element) == "f":
            source = self.elementwise("real", source)
            return self.cast(source, element)
        assert isinstance(source.type, TensorType)
        return self.value(CastOp(source, with_element(source.type, element)))

    def transpose(self, source: SSAValue, perm: Sequence[int]) -> SSAValue:
        """Axes permuted: axis k of the result is axis `perm[k]` of the source."""
        if list(perm) == list(range(len(perm))):
            return source
        return self.value(TransposeOp(source, perm))

    def reshape(self, source: SSAValue, like: SSAValue) -> SSAValue:
        """`source` in the shape of `like`."""
        shape = shape_of(like)
        if shape_of(source) == shape and shape.count(DYNAMIC_INDEX) < 2 and 0 not in shape:
            return source  # as many elements in all: the one unknown extent is the same
        kind = TensorType(element_of(source), shape_of(like))
        return self.value(ReshapeOp(source, kind, self.sizes_of(like)))

    def fitted(self, source: SSAValue, like: SSAValue) -> SSAValue:
        """`source`, which has the extents of `like`, with the extents that the type of `like` knows."""
        shape = shape_of(like)
        if shape_of(source) == shape:
            return source
        if max(shape.count(DYNAMIC_INDEX), shape_of(source).count(DYNAMIC_INDEX)) < 2:
            return self.reshape(source, like)
        kind = TensorType(element_of(source), shape)
        offsets = AffineList.of(*[0] * len(shape))
        return self.value(SliceOp(source, offsets, [1] * len(shape), kind, self.sizes_of(like)))

    def formula(self, value: SSAValue) -> Formula:
        """`value`, with operators."""
        return Formula(self, value)


class Formula:
    """A tensor in a formula: with tensors of its shape and with numbers."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Builder, value: SSAValue):
        self.builder, self.value = builder, value

    def apply(self, name: str, *others: Formula | float) -> Formula:
        """The elementwise operation `name` on this tensor and others."""
        operands = [self.value, *(self._tensor(o) for o in others)]
        return Formula(self.builder, self.builder.elementwise(name, *operands))

    def _tensor(self, other: Formula | float) -> SSAValue:
        return other.value if isinstance(other, Formula) else self.builder.uniform(other, self.value)

    def where(self, one: Formula | float, other: Formula | float) -> Formula:
        """`one` where this condition holds, else `other`; one of them is a tensor."""
        like = one if isinstance(one, Formula) else other
        assert isinstance(like, Formula)
        values = [
            o.value if isinstance(o, Formula) else self.builder.uniform(o, like.value) for o in (one, other)
        ]
        return Formula(self.builder, self.builder.elementwise("select", self.value, *values))

    def equals(self, other: Formula | float) -> Formula:
        return self.apply("equal", other)

    def is_nan(self) -> Formula:
        return self.apply("isnan")

    def __add__(self, other: Formula | float) -> Formula:
        return self.apply("add", other)

    def __sub__(self, other: Formula | float) -> Formula:
        return self.apply("subtract", other)

    def __mul__(self, other: Formula | float) -> Formula:
        return self.apply("multiply", other)

    def __truediv__(self, other: Formula | float) -> Formula:
        return self.apply("divide", other)

    def __rsub__(self, other: float) -> Formula:
        return Formula(self.builder, self._tensor(other)).apply("subtract", self)

    def __rmul__(self, other: float) -> Formula:
        return self.apply("multiply", other)

    def __neg__(self) -> Formula:
        return self.apply("negative")

    def __gt__(self, other: Formula | float) -> Formula:
        return self.apply("greater", other)

    def __lt__(self, other: Formula | float) -> Formula:
        return self.apply("less", other)
