"""Which `?` extents of a function are the same: a name for the extent of every axis of every tensor value.

    func.func @f(%x: tensor<?x?xf32> {nt.dims = ["n", "m"]}, %y: tensor<?xf32> {nt.dims = ["n"]}) {
      %s = nt.reduce add %x over [1] : tensor<?x?xf32> -> tensor<?xf32>   // extent 0 is "n"
      %z = nt.add %s, %y : tensor<?xf32>                                  // so is this

A name is an integer for a static extent and an opaque key for an unknown one; equal names are equal
extents. Different names may still be equal at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.affine import AffineList
from ...dialects.attributes import NT_DIMS
from ...dialects.nt.common import SizedOp
from ...dialects.nt.elementwise_ops import ELEMENTWISE_OPS
from ...dialects.nt.ops import (
    BroadcastOp,
    CastOp,
    CompositeOp,
    CustomCallOp,
    DimOp,
    DotOp,
    EmptyOp,
    FusionOp,
    IotaOp,
    LoopsOp,
    OptimizationBarrierOp,
    ReduceOp,
    ReshapeOp,
    ScanOp,
    SliceOp,
    TransposeOp,
    WindowOp,
    YieldOp,
    shape_of,
)

Extent = Hashable


class Extents:
    """The extents of tensor values, computed on demand and kept."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, tuple[Extent, ...]] = {}
        self._parent: dict[Extent, Extent] = {}

    def of(self, value: SSAValue) -> tuple[Extent, ...]:
        """The name of each extent of the tensor `value`."""
        return tuple([self._root(e) for e in self._of(value)])

    def axis(self, value: SSAValue, axis: int) -> Extent:
        """The name of one extent."""
        return self._root(self._of(value)[axis])

    def _of(self, value: SSAValue) -> tuple[Extent, ...]:
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._compute(value)
        return known

    def _compute(self, value: SSAValue) -> tuple[Extent, ...]:
        shape = shape_of(value)
        if DYNAMIC_INDEX not in shape:
            return shape
        if isinstance(value, BlockArgument):
            start = carried_from(value)
            names = _argument_names(value, len(shape)) if start is None else self._of(start)
        else:
            handler = _HANDLERS.get(type(value.owner))  # pyright: ignore
            names = handler(self, value) if handler else [None] * len(shape)
        return tuple(
            [
                extent if extent != DYNAMIC_INDEX else (value, axis) if name is None else name
                for axis, (extent, name) in enumerate(zip(shape, names, strict=True))
            ]
        )

    def _unify(self, values: Iterable[SSAValue]) -> tuple[Extent, ...]:
        """The common extents of values that have one shape by the rules of their user."""
        first, *others = [self._of(v) for v in values]
        for other in others:
            for a, b in zip(first, other, strict=True):
                self._merge(a, b)
        return first

    def _merge(self, a: Extent, b: Extent) -> None:
        a, b = self._root(a), self._root(b)
        if isinstance(b, int):
            a, b = b, a
        if a != b and not isinstance(b, int):
            self._parent[b] = a

    def _root(self, extent: Extent) -> Extent:
        while extent in self._parent:
            extent = self._parent[extent]
        return extent

    def _sizes(self, sizes: AffineList) -> list[Extent]:
        return [self._size(sizes[k]) for k in range(len(sizes))]

    def _size(self, size: AffineList) -> Extent:
        """An `nt.dim` names the extent it reads; any other expression names itself."""
        value = size.single_value()
        if value is None:
            constants = size.constants()
            return constants[0] if constants else (size.exprs, size.operands)
        if isinstance(value.owner, DimOp):
            return self._of(value.owner.tensor)[value.owner.axis.value.data]
        return value


def carried_from(argument: BlockArgument) -> SSAValue | None:
    """What a loop starts the carried tensor `argument` with, or a composite is given: a value of the same shape."""
    op = argument.owner.parent_op()
    if isinstance(op, CompositeOp):
        return op.inputs[argument.index]
    if isinstance(op, scf.ForOp):
        return op.iter_args[argument.index - 1] if argument.index else None
    return op.arguments[argument.index] if isinstance(op, scf.WhileOp) else None


def _argument_names(argument: BlockArgument, rank: int) -> list[Extent]:
    function = argument.owner.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return [None] * rank
    dims = function.arg_attrs.data[argument.index].data.get(NT_DIMS)
    if not isinstance(dims, ArrayAttr) or len(dims.data) != rank:
        return [None] * rank
    return [name.data if isinstance(name, StringAttr) else None for name in dims.data]


def _elementwise(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    return extents._unify(value.owner.operands)  # pyright: ignore


def _source(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    return extents._of(value.owner.operands[0])  # pyright: ignore


def _transpose(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, TransposeOp)
    source = extents._of(op.source)
    return [source[p] for p in op.permutation]


def _sized(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, SizedOp)
    sizes = iter(extents._sizes(op.sizes))
    names = [next(sizes) if extent == DYNAMIC_INDEX else extent for extent in shape_of(value)]
    if isinstance(op, BroadcastOp):
        source = extents._of(op.source)
        for k, d in enumerate(op.dims):
            if source[k] != 1:
                extents._merge(names[d], source[k])
    return names


def _reduce(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, ReduceOp)
    source = extents._unify(op.inputs)
    return [e for axis, e in enumerate(source) if axis not in op.reduced]


def _dot(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, DotOp)
    left, right = extents._of(op.lhs), extents._of(op.rhs)
    for pair in (op.batch, op.contract):
        for a, b in zip(*pair, strict=True):
            extents._merge(left[a], right[b])
    return [*[left[a] for a in op.batch[0] + op.free[0]], *[right[b] for b in op.free[1]]]


def _fusion(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, FusionOp | CompositeOp)
    last = op.body.block.last_op
    assert isinstance(last, YieldOp)
    return extents._of(last.values[value.index])  # pyright: ignore


def _held(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, OptimizationBarrierOp)
    return extents._of(op.inputs[value.index])  # pyright: ignore


def _called(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, CustomCallOp)
    sizes = iter(extents._sizes(op.sizes_of(value.index)))  # pyright: ignore
    return [next(sizes) if extent == DYNAMIC_INDEX else extent for extent in shape_of(value)]


def _loops(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, LoopsOp)
    return extents._of(op.outputs[value.index])  # pyright: ignore


def _carried(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, scf.ForOp | scf.WhileOp)
    start = op.iter_args if isinstance(op, scf.ForOp) else op.arguments
    return extents._of(start[value.index])  # pyright: ignore


def _chosen(extents: Extents, value: SSAValue) -> Iterable[Extent]:
    op = value.owner
    assert isinstance(op, scf.IfOp)
    ends = [region.block.last_op for region in (op.true_region, op.false_region)]
    sides = [extents._of(end.operands[value.index]) for end in ends if end is not None]  # pyright: ignore
    # the side that says more: equal extents may have a name on one side only
    return [next((e for e in axis if isinstance(e, int | str)), axis[0]) for axis in zip(*sides, strict=True)]


_HANDLERS: dict[type[Operation], Callable[[Extents, SSAValue], Iterable[Extent]]] = {
    CastOp: _source,
    ScanOp: _source,
    TransposeOp: _transpose,
    BroadcastOp: _sized,
    ReshapeOp: _sized,
    SliceOp: _sized,
    EmptyOp: _sized,
    IotaOp: _sized,
    ReduceOp: _reduce,
    DotOp: _dot,
    FusionOp: _fusion,
    CompositeOp: _fusion,
    WindowOp: _sized,
    LoopsOp: _loops,
    OptimizationBarrierOp: _held,
    CustomCallOp: _called,
    scf.ForOp: _carried,
    scf.WhileOp: _carried,
    scf.IfOp: _chosen,
    **{op_type: _elementwise for op_type in ELEMENTWISE_OPS.values()},
}
