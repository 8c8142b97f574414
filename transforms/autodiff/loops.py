"""Islands that derivatives are made of: loops that store, add up, or run along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, complex
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import nest
from ...dialects.affine import AffineList
from ...dialects.nt.ops import EmptyOp, LoopsOp, element_of, shape_of
from ...dialects.nt.types import kind_of, storage_type
from .builder import Builder

Extent = SSAValue | int


class Island:
    """An `nt.loops` under construction: statements go to the end of `block`, the innermost loop that is open.

    with_loop("i", 0, 8) opens one; buffers of `ins` and `outs` are `self.ins` and `self.outs`.
    """

    def __init__(self, builder: Builder, ins: Sequence[SSAValue], outs: Sequence[SSAValue]):
        self._builder, self._ins, self._outs = builder, list(ins), list(outs)
        kinds = [MemRefType(storage_type(element_of(v)), shape_of(v)) for v in (*ins, *outs)]
        self._body = self.block = Block(arg_types=kinds)
        self.ins = self._body.args[: len(ins)]
        self.outs = self._body.args[len(ins) :]

    def loops(self, extents: Sequence[Extent]) -> list[SSAValue]:
        """Open a loop from 0 for each extent; gives the loop variables."""
        names = "ijklmnpq"
        return [self.loop(names[k % len(names)], extent) for k, extent in enumerate(extents)]

    def loop(self, name: str, extent: Extent | AffineList) -> SSAValue:
        """Open a loop from 0 to `extent`."""
        op = nest.ForOp(name, 0, extent)
        self.add(op)
        self.block = op.body.block
        return op.iv

    def close(self) -> None:
        """Close all loops."""
        self.block = self._body

    def add(self, op: Operation) -> Operation:
        """Add an operation."""
        if self._builder.location is not None:
            op.location = self._builder.location
        self.block.add_op(op)
        return op

    def load(self, buffer: SSAValue, indices: AffineList) -> SSAValue:
        return self.add(nest.LoadOp(buffer, indices)).results[0]

    def store(self, value: SSAValue, buffer: SSAValue, indices: AffineList) -> None:
        self.add(nest.StoreOp(value, buffer, indices))

    def accumulate(self, value: SSAValue, buffer: SSAValue, indices: AffineList) -> None:
        """Add to an element."""
        self.add(nest.AccumulateOp("add", [value], [buffer], indices))

    def done(self) -> list[SSAValue]:
        """Insert the island; gives the final contents of `outs`."""
        return list(self._builder.add(LoopsOp(self._ins, self._outs, Region(self._body))).results)


def extents_of(builder: Builder, value: SSAValue) -> list[Extent]:
    """The extents of a tensor: numbers, and values of type index where they are unknown."""
    sizes = iter(builder.sizes_of(value))
    return [next(sizes).operands[0] if e == DYNAMIC_INDEX else e for e in shape_of(value)]


def empty_like(builder: Builder, value: SSAValue) -> SSAValue:
    """A tensor of the type of `value` for an island to write whole."""
    return builder.value(EmptyOp(value.type, builder.sizes_of(value)))  # pyright: ignore


def shifted(offsets: AffineList, strides: Sequence[int], indices: Sequence[SSAValue]) -> AffineList:
    """`offset + stride * index`, axis by axis: where the elements of a slice are."""
    at = AffineList.of()
    for offset, stride, index in zip(offsets, strides, indices, strict=True):
        moved = AffineList.of(index).map_exprs(lambda e, stride=stride: e * stride)
        both = offset.concat(moved)
        at = at.concat(AffineList((both.exprs[0] + both.exprs[1],), both.operands).canonical())
    return at


def linear_recurrence(builder: Builder, factors: SSAValue, terms: SSAValue, axis: int) -> SSAValue:
    """c with c[0] = terms[0] and c[i] = terms[i] + factors[i] * c[i - 1] along an axis."""
    extents = extents_of(builder, terms)
    island = Island(builder, [factors, terms], [empty_like(builder, terms)])
    (factor, term), (out,) = island.ins, island.outs
    others = island.loops([e for k, e in enumerate(extents) if k != axis])

    def at(index: AffineList) -> AffineList:
        return AffineList.of(*others[:axis], index, *others[axis:])

    outer = island.block
    first = island.loop("r", _at_most_one(extents[axis]))
    start = AffineList.of(first)
    island.store(island.load(term, at(start)), out, at(start))
    island.block = outer
    op = nest.ForOp("s", 1, AffineList.of(extents[axis]))
    island.add(op)
    island.block = op.body.block
    here = AffineList.of(op.iv)
    before = here.map_exprs(lambda e: e - 1)
    is_complex = kind_of(element_of(terms)) == "c"
    multiply, add = (complex.MulOp, complex.AddOp) if is_complex else (arith.MulfOp, arith.AddfOp)
    product = island.add(multiply(island.load(factor, at(here)), island.load(out, at(before)))).results[0]
    total = island.add(add(product, island.load(term, at(here)))).results[0]
    island.store(total, out, at(here))
    return island.done()[0]


def _at_most_one(extent: Extent) -> AffineList:
    """The bound of a loop that runs once, and not at all where there is nothing."""
    if isinstance(extent, int):
        return AffineList.of(min(extent, 1))
    return AffineList.of(extent, 1)


def shift(builder: Builder, value: SSAValue, axis: int, first: SSAValue) -> SSAValue:
    """`value` one place further along an axis (its last place is lost); the first place is that of `first`."""
    extents = extents_of(builder, value)
    island = Island(builder, [value, first], [empty_like(builder, value)])
    others = island.loops([e for k, e in enumerate(extents) if k != axis])

    def at(index: AffineList) -> AffineList:
        return AffineList.of(*others[:axis], index, *others[axis:])

    outer = island.block
    start = AffineList.of(island.loop("r", _at_most_one(extents[axis])))
    island.store(island.load(island.ins[1], at(start)), island.outs[0], at(start))
    island.block = outer
    op = nest.ForOp("s", 1, AffineList.of(extents[axis]))
    island.add(op)
    island.block = op.body.block
    here = AffineList.of(op.iv)
    island.store(island.load(island.ins[0], at(here.map_exprs(lambda e: e - 1))), island.outs[0], at(here))
    return island.done()[0]
