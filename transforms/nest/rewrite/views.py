"""Accesses through views of merged axes, as accesses to the buffer itself.

%v = memref.collapse_shape %t [[0], [1, 2]] : memref<4x3x8xf32> into memref<4x24xf32>
%a = nest.load %v[%i, %j]          becomes          %a = nest.load %t[%i, %j floordiv 8, %j mod 8]
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir.affine import AffineBinaryOpKind

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp


def merged_views(alloc: AllocOp) -> list[memref.CollapseShapeOp]:
    """The views of a buffer that `expand_views` can do without: accessed only, and divided by known extents only."""
    views = [use.operation for use in alloc.memref.uses if isinstance(use.operation, memref.CollapseShapeOp)]
    return [view for view in views if _is_expanded(view)]


def _is_expanded(view: memref.CollapseShapeOp) -> bool:
    assert isinstance(view.src.type, MemRefType)
    shape = view.src.type.get_shape()
    users = [use.operation for use in view.result.uses]
    if not all(isinstance(op, LoadOp | StoreOp) for op in users):
        return False
    return all(shape[k] != DYNAMIC_INDEX for group in groups_of(view) for k in group[1:])


def groups_of(view: memref.CollapseShapeOp) -> list[list[int]]:
    """Which axes of the buffer each axis of the view is."""
    return [[n.value.data for n in group.data] for group in view.reassociation.data]


def expand_views(alloc: AllocOp) -> None:
    """Let loads and stores through `merged_views` access the buffer, and erase these."""
    for view in merged_views(alloc):
        assert isinstance(view.src.type, MemRefType)
        shape = view.src.type.get_shape()
        for op in list(dict.fromkeys(use.operation for use in view.result.uses)):
            assert isinstance(op, LoadOp | StoreOp) and not isinstance(op, AccumulateOp)
            entries: list[AffineList] = []
            for axis, group in enumerate(groups_of(view)):
                entries += _taken_apart(op.indices[axis], [shape[k] for k in group])
            op.operands[[*op.operands].index(view.result)] = view.src
            indices = AffineList.of(*entries).canonical()
            if isinstance(op, LoadOp):
                op.set_indices(indices)
            else:
                op.set_access(indices, op.where)
        view.detach()
        view.erase()


def _taken_apart(index: AffineList, extents: list[int]) -> list[AffineList]:
    """An index into axes of such extents that are one, as an index into each."""
    entries: list[AffineList] = []
    for extent in reversed(extents[1:]):
        entries.insert(0, index.divided(AffineBinaryOpKind.Mod, extent))
        index = index.divided(AffineBinaryOpKind.FloorDiv, extent)
    return [index, *entries]
