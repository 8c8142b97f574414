"""Axes of tensors that are one axis of a program: elements move along them together, whichever way they lie in memory.

    %t = nt.transpose %d perm [0, 3, 1, 2]     // axis 1 of %t is axis 3 of %d
    %z = nt.add %t, %y                         // and axis 1 of %z and %y

Elementwise operations, casts, reductions and views tie axes; so do islands (`nt.loops`) that move elements from place to
place, such as `np.pad` and `np.concatenate`, by the loop variables that index both. What only repeats elements ties
nothing: it can be made in any order where it is used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nest import ForOp, LoadOp, StoreOp
from ...dialects.nt.elementwise_ops import ElementwiseOp
from ...dialects.nt.ops import (
    BroadcastOp,
    CastOp,
    ConstantOp,
    EmptyOp,
    FromScalarOp,
    IotaOp,
    LoopsOp,
    ReduceOp,
    SliceOp,
    TransposeOp,
    WindowOp,
    shape_of,
)

Axis = Hashable


class AxisClasses:
    """The classes of the axes of all tensors of a block."""

    def __init__(self, block: Block):
        self._parent: dict[Axis, Axis] = {}
        for op in block.ops:
            for one, other in _ties(op):
                self._tie(one, other)

    def of(self, value: SSAValue) -> tuple[Axis, ...]:
        """The class of each axis of a tensor."""
        return tuple([self.find((value, axis)) for axis in range(len(shape_of(value)))])

    def find(self, axis: Axis) -> Axis:
        """The class of an axis, or of a loop variable of an island that moves along one."""
        while (parent := self._parent.get(axis, axis)) != axis:
            axis = parent
        return axis

    def _tie(self, one: Axis, other: Axis) -> None:
        one, other = self.find(one), self.find(other)
        if one != other:
            self._parent[other] = one


def is_repeated(value: SSAValue) -> bool:
    """Whether a tensor only repeats elements, or numbers them: it is nowhere in memory."""
    return isinstance(value.owner, BroadcastOp | ConstantOp | FromScalarOp | IotaOp)


def ties(op: Operation) -> bool:
    """Whether an operation moves along the axes of its operands, in any order."""
    if isinstance(op, LoopsOp):
        return is_mover(op)
    return isinstance(op, ElementwiseOp | CastOp | TransposeOp | SliceOp | WindowOp) or _is_free(op)


def _is_free(op: Operation) -> bool:
    """Whether an operation is a reduction whose terms may be taken in any order."""
    if not isinstance(op, ReduceOp):
        return False
    return len(op.reduced) == 1 or (op.combiner.data != "custom" and op.order_name == "any")


def _ties(op: Operation) -> Iterator[tuple[Axis, Axis]]:
    if not ties(op):
        return
    if isinstance(op, LoopsOp):
        yield from _ties_of_mover(op)
        return
    result = op.results[0]
    operands = [v for v in op.operands if isinstance(v.type, TensorType) and not is_repeated(v)]
    if isinstance(op, ReduceOp):
        kept = [axis for axis in range(len(shape_of(op.inputs[0]))) if axis not in op.reduced]
        for value in op.results:
            yield from [((operands[0], axis), (value, k)) for k, axis in enumerate(kept) if operands]
        for value in operands[1:]:
            yield from [((operands[0], axis), (value, axis)) for axis in range(len(shape_of(value)))]
        return
    for value in operands:
        axes = op.permutation if isinstance(op, TransposeOp) else range(len(shape_of(value)))
        yield from [((value, axis), (result, k)) for k, axis in enumerate(axes)]


# ---- islands ----------------------------------------------------------------------------------------


def is_mover(op: LoopsOp) -> bool:
    """Whether an island only moves elements to new arrays, each index along one loop: any order of their axes will do."""
    if not all(isinstance(v.owner, EmptyOp) for v in op.outputs):
        return False
    variables = {loop.iv for loop in op.body.walk() if isinstance(loop, ForOp)}
    for place, argument in enumerate(op.body.block.args):
        for use in argument.uses:
            access = use.operation
            if not isinstance(access, LoadOp if place < len(op.inputs) else StoreOp):
                return False
            used = [value for index in access.indices for value in index.operands]
            along = [value for value in used if value in variables]
            if len(set(along)) < len(along) or any(v not in variables and _is_inside(v, op) for v in used):
                return False
            if any(len(variables.intersection(index.operands)) > 1 for index in access.indices):
                return False
    return True


def _is_inside(value: SSAValue, op: Operation) -> bool:
    around = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while around is not None and around is not op:
        around = around.parent_op()
    return around is op


def _ties_of_mover(op: LoopsOp) -> Iterator[tuple[Axis, Axis]]:
    """The axes of operands and results, by the loop variables that index them."""
    variables = {loop.iv for loop in op.body.walk() if isinstance(loop, ForOp)}
    for place, (value, argument) in enumerate(zip(op.operands, op.body.block.args, strict=True)):
        made = place - len(op.inputs)
        if made < 0 and is_repeated(value):
            continue
        for use in argument.uses:
            assert isinstance(use.operation, LoadOp | StoreOp)
            for axis, index in enumerate(use.operation.indices):
                for variable in variables.intersection(index.operands):
                    yield (variable, 0), (op.results[made] if made >= 0 else value, axis)
