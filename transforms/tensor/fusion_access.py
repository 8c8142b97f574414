"""How an operation reads a value through broadcasts, transposes, slices and the like: used by nt-fuse.

Such operations compute nothing: they say where an element comes from. Those whose users are all fusable belong to
their users (each fusion that needs one gets its own); the rest are nodes of the dependence graph like any computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.tensor.extents import Extents
from ...dialects.nt import (
    ELEMENTWISE_OPS,
    BroadcastOp,
    CastOp,
    ConstantOp,
    FromScalarOp,
    IotaOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    WindowOp,
)
from ...dialects.nt.ops import shape_of

COMPUTING = frozenset({*ELEMENTWISE_OPS.values(), CastOp, ReduceOp})
"""Operations that compute elements."""

SOURCES = frozenset({ConstantOp, FromScalarOp, IotaOp})
"""Operations without tensor operands."""


def is_source(op: Operation | Block) -> bool:
    """Whether an element is computed wherever it is used. A constant of several values is in memory instead."""
    if isinstance(op, ConstantOp):
        return op.splat is not None or not len(op.value)
    return type(op) in SOURCES


VIEWS = frozenset({BroadcastOp, TransposeOp, SliceOp, WindowOp, ReshapeOp})
"""Operations that only say where an element comes from."""


@dataclass(frozen=True, eq=False)
class Access:
    """Axis k of the value read is axis `axes[k]` of `root`, or repeats it where that is None.

    `shifted`: a slice or a window lies between, so that equal points of the two are not equal elements.
    """

    root: SSAValue
    axes: tuple[int | None, ...]
    shifted: bool = False


class Accesses:
    """The access of every value, through the operations of `inlined`."""

    def __init__(self, extents: Extents):
        self.inlined: set[Operation] = set()
        self._extents = extents
        self._known: dict[SSAValue, Access] = {}

    def of(self, value: SSAValue) -> Access:
        """`value` as an access to the computed or outside value it is made of."""
        if value.owner not in self.inlined:
            return Access(value, tuple(range(len(shape_of(value)))))
        known = self._known.get(value)
        if known is None:
            op = value.owner
            assert isinstance(op, Operation)
            known = self._known[value] = self.through(op)
        return known

    def through(self, op: Operation) -> Access:
        """What the result of `op`, a view or a source, reads; a source is its own root."""
        handler = _THROUGH.get(type(op))
        if handler is None:
            return Access(op.results[0], tuple(range(len(shape_of(op.results[0])))))
        return handler(op, self.of(op.operands[0]))

    def is_unit_reshape(self, op: Operation) -> bool:
        """Whether a reshape only adds or drops extents of 1."""
        assert isinstance(op, ReshapeOp)
        source = [e for e in self._extents.of(op.source) if e != 1]
        result = [e for e in self._extents.of(op.result) if e != 1]
        if source == result:
            return True
        # With one unknown extent in the same place on both sides, equal products make it equal.
        shapes = [[e for e in shape_of(v) if e != 1] for v in (op.source, op.result)]
        return shapes[0] == shapes[1] and shapes[0].count(DYNAMIC_INDEX) == 1 and 0 not in shapes[0]


def _through_broadcast(op: Operation, source: Access) -> Access:
    assert isinstance(op, BroadcastOp)
    axes: list[int | None] = [None] * len(shape_of(op.result))
    extents = shape_of(op.source)
    for k, d in enumerate(op.dims):
        if extents[k] != 1:
            axes[d] = source.axes[k]
    return Access(source.root, tuple(axes), source.shifted)


def _through_transpose(op: Operation, source: Access) -> Access:
    assert isinstance(op, TransposeOp)
    return Access(source.root, tuple([source.axes[p] for p in op.permutation]), source.shifted)


def _through_slice(op: Operation, source: Access) -> Access:
    return Access(source.root, source.axes, True)


def _through_window(op: Operation, source: Access) -> Access:
    assert isinstance(op, WindowOp)
    return Access(source.root, (*source.axes, *[None] * len(op.dims)), True)


def _through_reshape(op: Operation, source: Access) -> Access:
    assert isinstance(op, ReshapeOp)
    kept = iter([axis for axis, e in zip(source.axes, shape_of(op.source), strict=True) if e != 1])
    axes = tuple([None if e == 1 else next(kept) for e in shape_of(op.result)])
    return Access(source.root, axes, source.shifted)


def _through_cast(op: Operation, source: Access) -> Access:
    return source


_THROUGH: dict[type[Operation], Callable[[Operation, Access], Access]] = {
    BroadcastOp: _through_broadcast,
    TransposeOp: _through_transpose,
    SliceOp: _through_slice,
    WindowOp: _through_window,
    ReshapeOp: _through_reshape,
    CastOp: _through_cast,
}
