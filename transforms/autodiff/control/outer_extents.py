"""The extents of values of a region, as values that are known outside of it: memory that is there before a loop has them."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.affine import AffineList, constant_of
from ....dialects.nt.common import SizedOp
from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import (
    CastOp,
    CheckpointOp,
    CompositeOp,
    CustomCallOp,
    DimOp,
    DotOp,
    LoopsOp,
    OptimizationBarrierOp,
    ReduceOp,
    ScanOp,
    StopGradientOp,
    TransposeOp,
    shape_of,
)
from ..builder import Builder

Extent = SSAValue | int

_ARITHMETIC = (
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.IndexCastOp,
)


class OuterExtents:
    """Extents of what is in a block, by values from outside; `starts` says what arguments of the block are outside.

    of(%0) is [%n, 4] where %0 : tensor<?x4xf32>; None where an extent depends on what the block computes.
    """

    def __init__(self, block: Block, builder: Builder, starts: dict[SSAValue, SSAValue]):
        self._block, self._builder, self._starts = block, builder, starts

    def of(self, value: SSAValue) -> list[Extent] | None:
        """The extents of a tensor."""
        found = [self.axis(value, k) for k in range(len(shape_of(value)))]
        return None if any(e is None for e in found) else found  # pyright: ignore

    def axis(self, value: SSAValue, axis: int) -> Extent | None:
        """One extent of a tensor."""
        extent = shape_of(value)[axis]
        if extent != DYNAMIC_INDEX:
            return extent
        if value in self._starts:
            value = self._starts[value]
        if not self._is_inside(value):
            return self._builder.value(DimOp(value, axis))
        owner = value.owner
        if isinstance(owner, Block):
            return self._of_argument(owner, value, axis)
        return self._of_result(owner, value, axis)

    def _of_argument(self, block: Block, value: SSAValue, axis: int) -> Extent | None:
        around = block.parent_op()
        index = value.index  # pyright: ignore
        if isinstance(around, scf.ForOp):
            return self.axis(around.iter_args[index - 1], axis)
        return self.axis(around.arguments[index], axis) if isinstance(around, scf.WhileOp) else None

    def _of_result(self, op: Operation, value: SSAValue, axis: int) -> Extent | None:
        index = value.index  # pyright: ignore
        if isinstance(op, SizedOp):
            unknown = [k for k, e in enumerate(shape_of(value)) if e == DYNAMIC_INDEX].index(axis)
            sizes = op.sizes_of(index) if isinstance(op, CustomCallOp) else op.sizes
            return self.expression(sizes[unknown])
        if isinstance(op, ElementwiseOp):
            return self.axis(op.operands[-1], axis)
        if isinstance(op, CastOp | ScanOp | StopGradientOp):
            return self.axis(op.operands[0], axis)
        if isinstance(op, TransposeOp):
            return self.axis(op.source, op.permutation[axis])
        if isinstance(op, ReduceOp):
            kept = [k for k in range(len(shape_of(op.inputs[0]))) if k not in op.reduced]
            return self.axis(op.inputs[0], kept[axis])
        if isinstance(op, DotOp):
            left = [*op.batch[0], *op.free[0]]
            if axis < len(left):
                return self.axis(op.lhs, left[axis])
            return self.axis(op.rhs, op.free[1][axis - len(left)])
        if isinstance(op, LoopsOp):
            return self.axis(op.outputs[index], axis)
        if isinstance(op, OptimizationBarrierOp):
            return self.axis(op.inputs[index], axis)
        if isinstance(op, scf.ForOp):
            return self.axis(op.iter_args[index], axis)
        if isinstance(op, scf.WhileOp):
            return self.axis(op.arguments[index], axis)
        if isinstance(op, CompositeOp | CheckpointOp):
            return self._of_composite(op, index, axis)
        return None

    def _of_composite(self, op: CompositeOp | CheckpointOp, index: int, axis: int) -> Extent | None:
        block = op.body.block
        assert block.last_op is not None
        inner = OuterExtents(
            self._block, self._builder, self._starts | dict(zip(block.args, op.inputs, strict=True))
        )
        return inner.axis(block.last_op.operands[index], axis)

    def expression(self, sizes: AffineList) -> Extent | None:
        """An expression of extents, computed outside."""
        known = sizes.constants()
        if known is not None:
            return known[0]
        outside: list[SSAValue] = []
        for operand in sizes.operands:
            value = self.index(operand)
            if value is None:
                return None
            outside.append(self.as_value(value))
        moved = AffineList(sizes.exprs, tuple(outside)).canonical()
        known = moved.constants()
        return known[0] if known is not None else self._builder.index(moved)

    def index(self, value: SSAValue) -> Extent | None:
        """A value of type index, computed outside."""
        known = constant_of(value)
        if known is not None:
            return known
        if not self._is_inside(value):
            return value
        owner = value.owner
        if isinstance(owner, DimOp):
            return self.axis(owner.tensor, owner.axis.value.data)
        if not isinstance(owner, _ARITHMETIC):
            return None
        operands = [self.index(v) for v in owner.operands]
        if any(v is None for v in operands):
            return None
        mapping = {
            inner: self.as_value(outer)  # pyright: ignore
            for inner, outer in zip(owner.operands, operands, strict=True)
        }
        return self._builder.value(owner.clone(mapping))

    def as_value(self, extent: Extent) -> SSAValue:
        """An extent as a value of type index."""
        return self._builder.index_constant(extent) if isinstance(extent, int) else extent

    def _is_inside(self, value: SSAValue) -> bool:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        while block is not None:
            if block is self._block:
                return True
            around = block.parent_op()
            block = around.parent if around is not None else None
        return False
