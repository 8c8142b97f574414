"""How an operation reads a value through broadcasts, transposes, slices and the like: used by nt-fuse.

Such operations compute nothing: they say where an element comes from. Those whose users are all fusable belong to
their users (each fusion that needs one gets its own); the rest are nodes of the dependence graph like any computation.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ...analysis.tensor.extents import Extents
from ...dialects.nt import (
    BroadcastOp,
    CastOp,
    ReshapeOp,
)
from ...dialects.nt.ops import shape_of
from ...dialects.nt.work import Viewing


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
        if isinstance(op, CastOp):
            return self.of(op.source)
        if not isinstance(op, Viewing):
            return Access(op.results[0], tuple(range(len(shape_of(op.results[0])))))
        source = self.of(op.operands[0])
        axes = tuple([None if axis is None else source.axes[axis] for axis in op.source_axes()])
        return Access(source.root, axes, source.shifted or op.SHIFTS)

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


def adds_units(op: Operation) -> bool:
    """Whether an operation is a view that only adds extents of 1."""
    return isinstance(op, BroadcastOp) and all(
        axis is not None or shape_of(op.result)[k] == 1 for k, axis in enumerate(op.source_axes())
    )
