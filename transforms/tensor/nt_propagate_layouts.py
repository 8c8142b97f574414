"""nt-propagate-layouts: intermediates lie in memory as the products and convolutions around them leave and read them.

    %d = nt.dot ... -> tensor<2x14x14x32xf32>                                   // channels come last in it
    %t = nt.transpose %d perm [0, 3, 1, 2] : tensor<2x14x14x32xf32> -> tensor<2x32x14x14xf32>
    %y = nt.exp %t : tensor<2x32x14x14xf32>
    %w = nt.window %y over [2, 3] : tensor<2x32x14x14xf32> -> tensor<2x32x12x12x3x3xf32>
    %e = nt.dot %w, %f contract [1, 4, 5] x [1, 2, 3] : ...
  becomes
    %d = nt.dot ... -> tensor<2x14x14x32xf32>
    %y = nt.exp %d : tensor<2x14x14x32xf32>
    %t = nt.transpose %y perm [0, 3, 1, 2] : tensor<2x14x14x32xf32> -> tensor<2x32x14x14xf32>
    %w = nt.window %t over [2, 3] : tensor<2x32x14x14xf32> -> tensor<2x32x12x12x3x3xf32>
    %e = nt.dot %w, %f contract [1, 4, 5] x [1, 2, 3] : ...

A tensor is row-major in memory, so the order of its axes is its memory order; what a program sees in another order is an
`nt.transpose` of it, a view. Axes that elements move along together are one (analysis/tensor/axis_classes.py): all that is
connected by elementwise operations, reductions, pools and borders gets one order of them, that in which the fewest bytes
are read or written across memory. What has an order of its own has a say, by its bytes: arguments and results (the
caller's order stays), products (rows, then columns), reshapes, calls and control flow. A product, and so a convolution,
reads its operand through tiles whichever way it lies, unless it is a stack of products. Where no order is better than what
the program says, it stays as it is.

What is still read or written across memory beside a product is named by a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...analysis.nest.loop_structure import perfect_band
from ...analysis.tensor.axis_classes import Axis, AxisClasses, is_repeated, ties
from ...dialects.affine import AffineList
from ...dialects.nest import ForOp, LoadOp, StoreOp
from ...dialects.nt import (
    BroadcastOp,
    DotOp,
    EmptyOp,
    FusionOp,
    LoopsOp,
    ReduceOp,
    SliceOp,
    TransposeOp,
    WindowOp,
)
from ...dialects.nt.common import int_array
from ...dialects.nt.ops import element_of, shape_of
from ...dialects.nt.types import width_of
from ...dialects.nt.work import Role, Viewing, role_of
from ...dialects.remarks import remark
from ..nest.loops.reorder import permute

FEWEST_AXES = 3
"""Rank from which on orders are chosen: a product reads a matrix and its transpose alike."""

UNKNOWN_EXTENT = 64
"""What an extent that only the run knows counts as."""

Order = tuple[int, ...]
"""Axes of a value, that of the largest stride first."""


def propagate_layouts(block: Block) -> None:
    """Choose memory orders for what the operations of a block make."""
    if not any(isinstance(op, TransposeOp) for op in block.ops):
        return
    classes = AxisClasses(block)
    for group in _groups(block, classes):
        if not any(len(shape_of(value)) >= FEWEST_AXES for value in group.values):
            continue
        ranks = group.best()
        if ranks is not None:
            _Rewriter(group, ranks).run()
        elif any(isinstance(said.op, DotOp) for said in group.says):
            for op in group.crossings():
                remark(
                    op,
                    f"{_name(op.source)} is read across memory: no order is better for all that is beside it",
                )
    for op in reversed(list(block.ops)):
        if isinstance(op, Viewing | EmptyOp) and is_trivially_dead(op):
            op.detach()
            op.erase()


# ---- what is connected ------------------------------------------------------------------------------


@dataclass(eq=False)
class _Said:
    """A value that has an order of its own, and why."""

    value: SSAValue
    op: Operation | None
    why: str


@dataclass(eq=False)
class _Group:
    """Values whose axes are in the same classes, the operations that make them, and what has a say in their order."""

    classes: AxisClasses
    values: list[SSAValue] = field(default_factory=list)
    ops: list[Operation] = field(default_factory=list)
    says: list[_Said] = field(default_factory=list)

    def best(self) -> dict[Axis, int] | None:
        """The place of each class in the best order; None where none is better than what there is."""
        if any(len(set(self.classes.of(value))) < len(shape_of(value)) for value in self.values):
            return None  # a value is used with two of its axes as one: a square array and its transpose
        least, found = sum(_bytes(op.result) for op in self.crossings()), None
        orders: list[list[Axis]] = []
        for said in self.says:
            order = self._order_of(said)
            if order in orders:
                continue
            orders.append(order)
            ranks = {axis: k for k, axis in enumerate(order)}
            cost = sum(
                _bytes(one.value)
                for one in self.says
                if not _is_kept(self.order(one.value, ranks), one.value)
            )
            if cost < least:
                least, found = cost, ranks
        return found

    def order(self, value: SSAValue, ranks: dict[Axis, int]) -> Order:
        """The memory order of a value."""
        axes = self.classes.of(value)
        return tuple(sorted(range(len(axes)), key=lambda axis: ranks[axes[axis]]))

    def crossings(self) -> list[TransposeOp]:
        """Where the program as it is reads across memory."""
        return [
            op
            for op in self.ops
            if isinstance(op, TransposeOp)
            and not _is_kept(op.permutation, op.source)
            and any(_computes(use.operation) for use in op.result.uses)
        ]

    def _order_of(self, said: _Said) -> list[Axis]:
        """All classes in the order of the axes of one value; others go behind the axis that they follow elsewhere, and the
        axes of windows to the end."""
        order = list(self.classes.of(said.value))
        windows = [
            axis
            for op in self.ops
            if isinstance(op, WindowOp)
            for axis in self.classes.of(op.result)[len(shape_of(op.source)) :]
            if axis not in order
        ]
        order += dict.fromkeys(windows)
        rest = [value for value in self.values if not set(self.classes.of(value)) <= set(order)]
        while rest:
            known = next((v for v in rest if set(self.classes.of(v)) & set(order)), rest[0])
            before = None
            for axis in self.classes.of(known):
                if axis not in order:
                    order.insert(0 if before is None else order.index(before) + 1, axis)
                before = axis
            rest = [value for value in rest if not set(self.classes.of(value)) <= set(order)]
        return order


def _groups(block: Block, classes: AxisClasses) -> Iterator[_Group]:
    """The connected values of a block."""
    parent: dict[Axis, Axis] = {}

    def root(axis: Axis) -> Axis:
        while parent.get(axis, axis) != axis:
            axis = parent[axis]
        return axis

    values = [v for v in _values(block) if _is_array(v) and not is_repeated(v)]
    for value in values:
        first, *others = map(root, classes.of(value))
        for other in others:
            if (one := root(other)) != (first := root(first)):
                parent[one] = first
    groups: dict[Axis, _Group] = {}

    def group_of(value: SSAValue) -> _Group:
        return groups.setdefault(root(classes.of(value)[0]), _Group(classes))

    for value in values:
        group_of(value).values.append(value)
        if (said := _made(value)) is not None:
            group_of(value).says.append(said)
    for op in block.ops:
        if ties(op) and op.results and _is_array(op.results[0]):
            group_of(op.results[0]).ops.append(op)
    for value in values:
        if (said := _wanted(value, block)) is not None:
            group_of(value).says.append(said)
    yield from groups.values()


def _values(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _is_array(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.get_num_dims() > 0


def _made(value: SSAValue) -> _Said | None:
    """What a value that is made in rows has to say."""
    owner = value.owner
    if isinstance(owner, Block):
        return _Said(value, None, "the caller's order")
    if ties(owner) or isinstance(owner, EmptyOp):
        return None
    return _Said(
        value, owner, "the order of a product" if isinstance(owner, DotOp) else f"the order of {owner.name}"
    )


def _wanted(value: SSAValue, block: Block) -> _Said | None:
    """What reads a value that must be in rows for it."""
    for use in value.uses:
        op = use.operation
        if op.parent is block and (ties(op) or _reads_any(op, use.index)):
            continue
        why = "the caller's order" if op.name == "func.return" else f"the order of {op.name}"
        return _Said(value, op, why)
    return None


def _reads_any(op: Operation, index: int) -> bool:
    """Whether an operation reads an operand whichever way it lies in memory."""
    if isinstance(op, BroadcastOp):
        return True
    return isinstance(op, DotOp) and (not op.batch[0] or isinstance(op.operands[index].owner, WindowOp))


def _computes(op: Operation) -> bool:
    """Whether an operation reads elements in loops of its own, or does so through views."""
    if role_of(op) is Role.VIEW:
        return any(_computes(use.operation) for use in op.results[0].uses)
    return ties(op)


def _is_kept(order: Sequence[int], value: SSAValue) -> bool:
    """Whether an order of axes is that of the rows, extents of 1 aside."""
    extents = shape_of(value)
    long = [axis for axis in order if extents[axis] != 1]
    return long == sorted(long)


def _bytes(value: SSAValue) -> int:
    extents = [UNKNOWN_EXTENT if extent == DYNAMIC_INDEX else extent for extent in shape_of(value)]
    return prod(extents) * (width_of(element_of(value)) // 8 or 1)


# ---- rewriting --------------------------------------------------------------------------------------


class _Rewriter:
    """Gives the values of a group an order: each operation computes what it makes in it, and is seen as it was."""

    def __init__(self, group: _Group, ranks: dict[Axis, int]):
        self._group = group
        self._ranks = ranks
        self._orders = {value: group.order(value, ranks) for value in group.values}

    def run(self) -> None:
        for said in self._group.says:
            if not _is_kept(self._orders[said.value], said.value):
                at = said.op or next(iter(said.value.uses)).operation
                remark(at, f"{_name(said.value)} is read or written across memory: it keeps {said.why}")
        for op in self._group.ops:
            orders = [self._orders[result] for result in op.results]
            concerned = [*orders, *self._orders_of_operands(op)]
            if not isinstance(op, TransposeOp) and any(list(order) != sorted(order) for order in concerned):
                self._rewrite(op, orders)

    def _rewrite(self, op: Operation, orders: Sequence[Order]) -> None:
        made = self._made(op, orders)
        for old, new, order in zip(op.results, made.results, orders, strict=True):
            new.name_hint = old.name_hint
            seen = new
            if list(order) != sorted(order):
                view = TransposeOp(new, _inverse(order))
                view.location = op.location
                _insert_before(view, op)
                seen = view.result
            self._orders[seen] = order
            old.replace_all_uses_with(seen)
        op.detach()
        op.erase()

    def _made(self, op: Operation, orders: Sequence[Order]) -> Operation:
        """The operation with its results in these orders, before the one that there is."""
        if isinstance(op, LoopsOp):
            return self._island(op, orders)
        if isinstance(op, ReduceOp):
            made = self._reduced(op)
        elif isinstance(op, SliceOp):
            made = self._slice(op, orders[0])
        elif isinstance(op, WindowOp):
            made = self._window(op, orders[0])
        else:
            made = type(op).create(
                operands=[self._in_order(value, orders[0], op) for value in op.operands],
                result_types=[_permuted(result, orders[0]) for result in op.results],
                properties=op.properties,
                attributes=op.attributes,
            )
        made.location = op.location
        _insert_before(made, op)
        return made

    def _reduced(self, op: ReduceOp) -> Operation:
        order = self._orders_of_operands(op)[0]
        kept = [axis for axis in order if axis not in op.reduced]
        places = sorted(k for k, axis in enumerate(order) if axis in op.reduced)
        extents = shape_of(op.inputs[0])
        return ReduceOp.create(
            operands=[self._in_order(value, order, op) for value in op.inputs],
            result_types=[TensorType(element_of(r), [extents[axis] for axis in kept]) for r in op.results],
            properties={**op.properties, "dims": int_array(places)},
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )

    def _orders_of_operands(self, op: Operation) -> list[Order]:
        """The orders of operands that are not as many axes as the results have, or not the same ones."""
        if isinstance(op, LoopsOp):
            return [self._orders.get(v, tuple(range(len(shape_of(v))))) for v in op.inputs]
        if not isinstance(op, ReduceOp):
            return []
        known = next((v for v in op.inputs if v in self._orders), None)
        if known is not None:
            return [self._orders[known]]
        own = [axis for axis in range(len(shape_of(op.inputs[0]))) if axis not in op.reduced]
        return [(*[own[axis] for axis in self._orders[op.results[0]]], *op.reduced)]

    def _slice(self, op: SliceOp, order: Order) -> Operation:
        return SliceOp(
            self._in_order(op.source, order, op),
            AffineList.of(*[op.offsets[axis] for axis in order]),
            [op.stride_values[axis] for axis in order],
            _permuted(op.result, order),
            _sizes(op, order),
        )

    def _window(self, op: WindowOp, order: Order) -> Operation:
        rank = len(shape_of(op.source))
        outer = [axis for axis in order if axis < rank]
        made = WindowOp(
            self._in_order(op.source, outer, op),
            [outer.index(axis) for axis in op.dims],
            _permuted(op.result, natural := (*outer, *range(rank, len(order)))),
            _sizes(op, natural),
        )
        made.location = op.location
        if natural == order:
            return made
        _insert_before(made, op)
        return TransposeOp(made.result, [natural.index(axis) for axis in order])

    def _island(self, op: LoopsOp, orders: Sequence[Order]) -> Operation:
        """An island that writes its arrays in these orders: the axes of buffers change places, and so do the loops."""
        inputs = self._orders_of_operands(op)
        fresh: list[SSAValue] = []
        for value, order in zip(op.outputs, orders, strict=True):
            empty = EmptyOp(_permuted(value, order), _sizes(value.owner, order))
            empty.location = op.location
            _insert_before(empty, op)
            fresh.append(empty.result)
        operands = [self._in_order(v, order, op) for v, order in zip(op.inputs, inputs, strict=True)]
        body = op.body.clone()
        for argument, order in zip(list(body.block.args), [*inputs, *orders], strict=True):
            assert isinstance(argument.type, MemRefType)
            extents = argument.type.get_shape()
            kind = MemRefType(argument.type.element_type, [extents[axis] for axis in order])
            new = body.block.insert_arg(kind, argument.index)
            new.name_hint = argument.name_hint
            for use in list(argument.uses):
                access = use.operation
                assert isinstance(access, LoadOp | StoreOp)
                indices = AffineList.of(*[access.indices[axis] for axis in order])
                access.operands[use.index] = new
                access.set_indices(indices)
            body.block.erase_arg(argument)
        self._reorder_loops(op, body)
        made = LoopsOp(operands, fresh, body)
        made.attributes.update(op.attributes)
        made.location = op.location
        _insert_before(made, op)
        return made

    def _reorder_loops(self, op: LoopsOp, body: Region) -> None:
        """Let loops run in the order of the axes: each element is written by one iteration, and nothing that is written is
        read, so that any order will do."""
        for old, new in zip(op.body.block.ops, body.block.ops, strict=True):
            if not isinstance(new, ForOp):
                continue
            assert isinstance(old, ForOp)
            ranks = [self._rank_of(loop) for loop in perfect_band(old)]
            band = perfect_band(new)
            variables = {loop.iv for loop in band}
            written = [o for o in band[-1].walk() if isinstance(o, StoreOp)]
            moves = all(variables.issubset(o.indices.operands) for o in written)
            free = all(variables.isdisjoint((*loop.lower.operands, *loop.upper.operands)) for loop in band)
            if moves and free and None not in ranks:
                places = {loop: rank for rank, loop in zip(ranks, band, strict=True) if rank is not None}
                permute(band, sorted(band, key=places.__getitem__))

    def _rank_of(self, loop: ForOp) -> int | None:
        return self._ranks.get(self._group.classes.find((loop.iv, 0)))

    # ---- values in an order

    def _in_order(self, value: SSAValue, order: Sequence[int], at: Operation) -> SSAValue:
        """A value with its axes in this order: what it is a view of where that has it, what repeats elements made so."""
        owner = value.owner
        if list(order) == sorted(order):
            return value
        if isinstance(owner, TransposeOp):
            return self._in_order(owner.source, [owner.permutation[axis] for axis in order], at)
        if isinstance(owner, BroadcastOp):
            places = [order.index(axis) for axis in owner.dims]
            sources = sorted(range(len(places)), key=lambda k: places[k])
            made = BroadcastOp(
                self._in_order(owner.source, sources, at),
                sorted(places),
                _permuted(value, order),
                _sizes(owner, order),
            )
        else:
            made = TransposeOp(value, order)
        made.location = at.location
        made.result.name_hint = value.name_hint
        _insert_before(made, at)
        return made.result


def _permuted(value: SSAValue, order: Sequence[int]) -> TensorType:
    extents = shape_of(value)
    return TensorType(element_of(value), [extents[axis] for axis in order])  # pyright: ignore


def _inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(axis) for axis in range(len(order))]


def _sizes(op: Operation | Block, order: Sequence[int]) -> AffineList:
    """The sizes of an operation's result whose axes are in another order."""
    extents = shape_of(op.results[0])  # pyright: ignore
    unknown = [axis for axis, extent in enumerate(extents) if extent == DYNAMIC_INDEX]
    sizes: AffineList = op.sizes  # pyright: ignore
    return (
        AffineList.of(*[sizes[unknown.index(axis)] for axis in order if axis in unknown])
        if unknown
        else AffineList(())
    )


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a tensor"


def _insert_before(new: Operation, op: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)


def _blocks(region: Region) -> Iterator[Block]:
    """The blocks of a region and of control flow in it."""
    for block in region.blocks:
        yield block
        for op in block.ops:
            if not isinstance(op, FusionOp | LoopsOp | ReduceOp) and role_of(op) is None:
                for inner in op.regions:
                    yield from _blocks(inner)


@dataclass(frozen=True, eq=False)
class NtPropagateLayoutsPass(ModulePass):
    """Choose memory orders of intermediates from what products, and the caller, leave and read."""

    name = "nt-propagate-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [one for one in op.walk() if isinstance(one, FuncOp) and one.body.blocks]:
            for block in list(_blocks(function.body)):
                propagate_layouts(block)
