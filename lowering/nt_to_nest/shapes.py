"""The extents of every tensor of a function as affine expressions over a few `memref.dim`."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import DimOp as MemRefDimOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...analysis.tensor.extents import Extents
from ...dialects.affine import AffineList
from ...dialects.nest.common import name_hint_of
from ...dialects.nt.ops import CustomCallOp, shape_of
from .access import Index

INDEX = IndexType()
_CONSTANTS: dict[int, AffineList] = {}


def constant(value: int) -> AffineList:
    """The expression that is just `value`."""
    known = _CONSTANTS.get(value)
    if known is None:
        known = _CONSTANTS[value] = AffineList.of(value)
    return known


class Prologue:
    """The top of the function: one `memref.dim` a named extent and one constant an axis, made on first use."""

    def __init__(self, block: Block):
        self._block = block
        self._last: Operation | None = None
        self._constants: dict[int, SSAValue] = {}

    def insert(self, op: Operation) -> None:
        """Add `op` after what is there already."""
        first = self._block.first_op
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif first is not None:
            self._block.insert_op_before(op, first)
        else:
            self._block.add_op(op)
        self._last = op

    def index_constant(self, value: int) -> SSAValue:
        """An `arith.constant` of type index."""
        known = self._constants.get(value)
        if known is None:
            attribute = IntegerAttr(value, INDEX)
            op = arith.ConstantOp.create(result_types=[INDEX], properties={"value": attribute})
            self.insert(op)
            known = self._constants[value] = op.result
            known.name_hint = f"c{value}" if value >= 0 else None
        return known

    def dim(self, buffer: SSAValue, axis: int, name: str | None) -> SSAValue:
        """The extent of `axis` of `buffer`."""
        op = MemRefDimOp.create(operands=[buffer, self.index_constant(axis)], result_types=[INDEX])
        op.location = buffer.location if isinstance(buffer, BlockArgument) else buffer.owner.location  # pyright: ignore
        self.insert(op)
        op.result.name_hint = name_hint_of(name) if name is not None and name.isidentifier() else None
        return op.result


class Shapes:
    """Extents of tensor values: names unify them, the first expression found for a name represents it."""

    def __init__(self, function: FuncOp, buffer_of: Callable[[SSAValue], SSAValue], prologue: Prologue):
        self._buffer_of = buffer_of
        self._prologue = prologue
        self._by_name: dict[Hashable, AffineList] = {}
        self._names: dict[SSAValue, tuple[Hashable, ...]] = {}
        self._known: dict[SSAValue, Index] = {}
        self._owners: dict[Hashable, tuple[SSAValue, int]] = {}
        self._name_all(function)

    def _name_all(self, function: FuncOp) -> None:
        # All at once and before anything is rewritten: names found equal late must be equal from the start.
        extents = Extents()
        arguments = [arg for arg in function.body.block.args if _is_unknown(arg)]
        values = arguments + [v for op in function.walk() for v in _defined_by(op) if _is_unknown(v)]
        for value in values:
            extents.of(value)
        for value in values:
            self._names[value] = extents.of(value)
        for value in values:
            if value.owner is function.body.block or hasattr(value.owner, "sizes"):
                for axis, name in enumerate(self._names[value]):
                    self._owners.setdefault(name, (value, axis))

    def of(self, value: SSAValue) -> Index:
        """The extents of `value`, one expression each."""
        known = self._known.get(value)
        if known is None:
            names = self._names.get(value) or shape_of(value)
            known = self._known[value] = tuple([self._expression(n) for n in names])
        return known

    def _expression(self, name: Hashable) -> AffineList:
        if isinstance(name, int):
            return constant(name)
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = self._first(name)
        return known

    def _first(self, name: Hashable) -> AffineList:
        """The first definition of an extent: an argument has it, or a broadcast, reshape or slice states it."""
        value, axis = self._owners[name]
        if isinstance(value, BlockArgument):
            hint = name if isinstance(name, str) else None
            return AffineList.of(self._prologue.dim(self._buffer_of(value), axis, hint))
        unknown = [k for k, extent in enumerate(shape_of(value)) if extent == DYNAMIC_INDEX]
        owner = value.owner
        is_call = isinstance(owner, CustomCallOp)
        sizes: AffineList = owner.sizes_of(value.index) if is_call else owner.sizes  # pyright: ignore
        return sizes[unknown.index(axis)].canonical()


def _defined_by(op: Operation) -> list[SSAValue]:
    """The results of `op`, and what a loop on tensors carries."""
    carries = isinstance(op, scf.ForOp | scf.WhileOp)
    carried = [arg for region in op.regions for arg in region.block.args] if carries else []
    return [*op.results, *carried]


def _is_unknown(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and DYNAMIC_INDEX in shape_of(value)


_ARITH: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.Mod: arith.RemUIOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


def as_value(
    expression: AffineList, insert: Callable[[Operation], object], constants: Callable[[int], SSAValue]
) -> SSAValue:
    """One SSA value for one expression of extents (none is negative), in arith operations where it must be computed."""

    def build(expr: AffineExpr) -> SSAValue:
        if isinstance(expr, AffineDimExpr):
            return expression.operands[expr.position]
        if isinstance(expr, AffineConstantExpr):
            return constants(expr.value)
        assert isinstance(expr, AffineBinaryOpExpr)
        properties = {}
        if expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
            properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
        op = _ARITH[expr.kind].create(
            operands=[build(expr.lhs), build(expr.rhs)], result_types=[INDEX], properties=properties
        )
        insert(op)
        return op.results[0]

    return build(expression.exprs[0])
