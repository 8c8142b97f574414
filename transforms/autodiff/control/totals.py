"""Products that every iteration adds to a gradient are one product of all iterations.

    %w1 = nt.add %w0, %p      // in the reversed loop, with %p = nt.dot %h, %c contract [0] x [0]
  becomes, where %h is the stack of the forward loop and %c is put on one of its own,
    %p = nt.dot %hs, %cs contract [0, 1] x [0, 1]                        // behind the loop

A long product costs less than many short ones, and the gradient is written once. It is done where what is put on stacks
is less than the gradient, which every iteration would read and write; sums over operands that are on a stack go along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import DotOp, ReduceOp, ReshapeOp, SliceOp, TransposeOp, element_of, shape_of
from ..builder import Builder
from .outer_extents import Extent, OuterExtents
from .stacks import empty_stack, put

GUESS = 64
"""An extent that is not known, where sizes are compared."""


@dataclass(eq=False)
class _Term:
    """What each iteration adds: a product or a sum, then its axes permuted."""

    operands: Sequence[SSAValue]
    contract: tuple[Sequence[int], ...]
    batch: tuple[Sequence[int], ...]
    orders: list[Sequence[int]]
    location: Any

    @staticmethod
    def of(value: SSAValue) -> _Term:
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, TransposeOp):
            term = _Term.of(op.source)
            term.orders.append(op.permutation)
            return term
        if isinstance(op, ReduceOp):
            return _Term([op.inputs[0]], (op.reduced,), (), [], op.location)
        assert isinstance(op, DotOp)
        return _Term([op.lhs, op.rhs], op.contract, op.batch, [], op.location)

    def of_all(self, stacks: Mapping[SSAValue, SSAValue], b: Builder) -> SSAValue:
        """What the iterations' terms add up to."""
        b.location = self.location
        operands = [stacks[v] for v in self.operands]
        over = [[0, *(k + 1 for k in side)] for side in self.contract]
        beside = [[k + 1 for k in side] for side in self.batch]
        if len(operands) == 1:
            result = b.sum(operands[0], over[0])
        else:
            lhs, rhs = operands
            together = _as_one_axis(b, lhs, over[0]), _as_one_axis(b, rhs, over[1])
            if not beside[0] and together[0] is not None and together[1] is not None:
                result = b.value(DotOp(together[0], together[1], ((0,), (0,))))
            else:
                result = b.value(DotOp(lhs, rhs, (over[0], over[1]), (beside[0], beside[1])))
        for order in self.orders:
            result = b.transpose(result, order)
        return result


def _as_one_axis(b: Builder, value: SSAValue, axes: Sequence[int]) -> SSAValue | None:
    """The tensor with its first axes, which are `axes`, as one: a product over one axis is the fastest."""
    shape = shape_of(value)
    if list(axes) != list(range(len(axes))) or len(axes) < 2 or DYNAMIC_INDEX in shape[1:]:
        return None
    inner = prod(shape[1 : len(axes)])
    sizes = b.sizes_of(value).times(inner)
    first = DYNAMIC_INDEX if shape[0] == DYNAMIC_INDEX else shape[0] * inner
    kind = TensorType(element_of(value), [first, *shape[len(axes) :]])
    part = value.owner
    if isinstance(part, SliceOp):  # of a stack, which is in memory: a part of its rows, and no copy
        rows = _as_one_axis(b, part.source, axes)
        start = part.offsets.constants()
        assert rows is not None and start is not None
        offsets = AffineList.of(start[0] * inner, *[0] * (len(kind.get_shape()) - 1))
        return b.value(SliceOp(rows, offsets, [1] * len(kind.get_shape()), kind, sizes))
    return b.value(ReshapeOp(value, kind, sizes))


@dataclass(eq=False)
class _Pushed:
    """A value of each iteration that the reversed loop puts on a stack."""

    value: SSAValue
    extents: Sequence[Extent]


@dataclass(eq=False)
class Totals:
    """What leaves a reversed loop: terms of gradients, and the values that they are made of on stacks."""

    reverse: Block
    outer: OuterExtents
    kept: dict[SSAValue, SSAValue]
    """Values that are read from stacks of the forward loop, and these."""
    terms: dict[SSAValue, list[_Term]] = field(default_factory=dict)
    _pushed: dict[SSAValue, _Pushed] = field(default_factory=dict)

    def take_out(self, value: SSAValue, seed: BlockArgument, total: SSAValue) -> SSAValue:
        """The total without the terms that go behind the loop; `seed` itself where none is left."""
        leaves = list(_leaves(total))
        if sum(leaf is seed for leaf in leaves) != 1 or seed.uses.get_length() != 1:
            return total
        out = [t for t in leaves if t is not seed and self._goes(t)]
        if not out:
            return total
        self.terms[value] = [_Term.of(t) for t in out]
        b = Builder(self.reverse, self.reverse.last_op)
        left: SSAValue = seed
        for leaf in leaves:
            if leaf is not seed and leaf not in out:
                left = b.elementwise("add", left, leaf)
        return left

    def _goes(self, term: SSAValue) -> bool:
        op = _product_of(term)
        if isinstance(op, DotOp):
            new = [v for v in dict.fromkeys((op.lhs, op.rhs)) if not self._is_there(v)]
            known = {v: self.outer.of(v) for v in new}
            if any(self._is_outside(v) or e is None for v, e in known.items()):
                return False
            if sum(map(_count, new)) > _count(term):
                return False
            for v, extents in known.items():
                assert extents is not None
                self._pushed[v] = _Pushed(v, extents)
            return True
        return isinstance(op, ReduceOp) and op.combiner.data == "add" and self._is_there(op.inputs[0])

    def _is_there(self, value: SSAValue) -> bool:
        return value in self.kept or value in self._pushed

    def _is_outside(self, value: SSAValue) -> bool:
        owner = value.owner
        return (owner if isinstance(owner, Block) else owner.parent) is not self.reverse

    def stacks(self, before: Builder, length: Extent) -> list[SSAValue]:
        """What the loop carries for them, before it."""
        return [empty_stack(before, p.value, length, p.extents) for p in self._pushed.values()]

    def push(self, carried: Sequence[BlockArgument], place: AffineList) -> list[SSAValue]:
        """Put the values on their stacks, at the end of an iteration; gives what to carry on."""
        b = Builder(self.reverse, self.reverse.last_op)
        return [
            put(b, stack, p.value, place, p.extents)
            for stack, p in zip(carried, self._pushed.values(), strict=True)
        ]

    def gradients(self, b: Builder, stacks: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, SSAValue]]:
        """Behind the loop: values, and what is to be added to their cotangents."""
        of = self.kept | dict(zip(self._pushed, stacks, strict=True))
        for value, terms in self.terms.items():
            for term in terms:
                yield value, term.of_all(of, b)


def _leaves(total: SSAValue) -> Iterator[SSAValue]:
    """The terms of a sum that is used once."""
    op = total.owner
    if isinstance(op, ElementwiseOp) and op.row.name == "add" and total.uses.get_length() == 1:
        for operand in op.operands:
            yield from _leaves(operand)
    else:
        yield total


def _product_of(term: SSAValue) -> Operation | None:
    """The product that a term is, in another order of axes or not; it is used for the sum only."""
    if isinstance(term.owner, Block) or term.uses.get_length() != 1:
        return None
    if isinstance(term.owner, TransposeOp):
        return _product_of(term.owner.source)
    return term.owner


def _count(value: SSAValue) -> int:
    total = 1
    for extent in shape_of(value):
        total *= GUESS if extent == DYNAMIC_INDEX else extent
    return total
