"""Attention of many positions: its reverse computes the scores again, some rows at a time, and keeps none.

    %y = nt.composite "attention"(%q, %k, %v)        // p = softmax(q @ k.T * scale), y = p @ v
  has in reverse, for each block of rows of %q and of the cotangent %c,
    p  = softmax(q @ k.T * scale)        cv += p.T @ c         dp = c @ v.T
    ds = p * (dp - sum(p * dp)) * scale  cq  = ds @ k          ck += ds.T @ q

A block has all columns, so that its softmax is whole: no sums of rows are kept either. Scores that are small are kept: they
are differentiated as what they stand for (T. Dao and others, FlashAttention, 2022).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, TensorType, f32, f64, i1
from xdsl.ir import Block, Region, SSAValue

from ....dialects.affine import AffineList
from ....dialects.nt.composite_op import CompositeOp
from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import (
    INDEX,
    BroadcastOp,
    DotOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    YieldOp,
    element_of,
    shape_of,
)
from ....dialects.nt.types import width_of
from ..builder import Builder
from ..control.stacks import empty_stack, put
from ..forward import Forward
from ..loops import Island, empty_like, extents_of

if TYPE_CHECKING:
    from ..reverse import Reverse

KEPT_BYTES = 128 << 20
"""Scores of at most so many bytes are kept from forward to backward: computing them again takes longer."""

BLOCK_BYTES = 8 << 20
"""About how many bytes of scores are computed at a time: products of fewer rows pay for packing their other factor."""


def is_blocked(op: CompositeOp) -> bool:
    """Whether the scores are too many to be kept."""
    if op.label.data != "attention" or len(op.inputs) not in (3, 4):
        return False
    shapes = [shape_of(v) for v in op.inputs]
    q, k, v = shapes[:3]
    same = q[:-2] == k[:-2] == v[:-2] and len({element_of(x) for x in op.inputs[:3]}) == 1
    if not same or element_of(op.inputs[0]) not in (f32, f64) or any(DYNAMIC_INDEX in s for s in shapes):
        return False
    if len(op.inputs) == 4 and element_of(op.inputs[3]) != i1:
        return False
    return _row_bytes(op) * q[-2] > KEPT_BYTES and q[-2] > 1 and _is_of_operands(op)


def _is_of_operands(op: CompositeOp) -> bool:
    """Whether the region computes with the operands as they are: views that the caller made of arrays are made in it."""
    q, k, v, *mask = op.body.block.args
    rank = len(shape_of(q))
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    users = [use.operation for use in k.uses]
    if len(users) != 1 or not isinstance(users[0], TransposeOp) or list(users[0].permutation) != swapped:
        return False
    for value in (q, users[0].result, v):
        if [type(use.operation) for use in value.uses] != [DotOp]:
            return False
    scores = [*shape_of(q)[:-1], shape_of(k)[-2]]
    for value in mask:
        for use in value.uses:
            spread = use.operation
            along = range(rank - len(shape_of(value)), rank)
            if isinstance(spread, BroadcastOp):
                if list(shape_of(spread.result)) != scores or list(spread.dims) != list(along):
                    return False
            elif not isinstance(spread, ElementwiseOp):
                return False
    return True


def _row_bytes(op: CompositeOp) -> int:
    """Bytes of the scores of one position, in the whole stack."""
    q, k = shape_of(op.inputs[0]), shape_of(op.inputs[1])
    return math.prod(q[:-2]) * k[-2] * width_of(element_of(op.inputs[0])) // 8


def forward(op: CompositeOp, by: Forward) -> list[SSAValue | None]:
    """The tangents of what it stands for, whose operations are there again."""
    block = op.body.block
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    made = [by.builder.add(inner.clone(mapping)) for inner in block.ops if not isinstance(inner, YieldOp)]
    inner = Forward(by.builder, {r for o in made for r in o.results}, by.rules)
    for value in op.inputs:
        inner.set(value, by.of(value))
    inner.run(made)
    end = block.last_op
    assert end is not None
    return [inner.of(mapping[v]) for v in end.operands]


def reverse(op: CompositeOp, cotangent: SSAValue, to: Reverse) -> None:
    b = to.builder
    rows = shape_of(op.inputs[0])[-2]
    size = max(1, min(rows, BLOCK_BYTES // max(_row_bytes(op), 1)))
    count = rows // size
    q, k, v = op.inputs[:3]
    totals = [b.zeros(k), b.zeros(v)]
    body = Block(arg_types=[INDEX, k.type, v.type])
    inside = Builder(body, None, b.location, b.mark)
    place = AffineList.of(body.args[0])
    part = _Rows(op, cotangent, size, place.map_exprs(lambda e: e * size), inside)
    stack = empty_stack(b, part.q, count, list(shape_of(part.q)))
    carried = body.insert_arg(stack.type, 3)
    cq, ck, cv = part.cotangents()
    added = [inside.elementwise("add", body.args[1], ck), inside.elementwise("add", body.args[2], cv)]
    inside.add(scf.YieldOp(*added, put(inside, carried, cq, place, list(shape_of(cq)))))
    bounds = [b.index_constant(n) for n in (0, count, 1)]
    loop = b.add(scf.ForOp(*bounds, [*totals, stack], Region(body)))
    ck, cv, stacked = loop.results
    pieces = _unstacked(b, stacked, q, count * size)
    if count * size < rows:
        rest = _Rows(op, cotangent, rows - count * size, AffineList.of(count * size), b)
        cq, more_k, more_v = rest.cotangents()
        ck, cv = b.elementwise("add", ck, more_k), b.elementwise("add", cv, more_v)
        pieces = _joined(b, pieces, cq, q)
    for value, total in zip((q, k, v), (pieces, ck, cv), strict=True):
        to.add(value, total)


class _Rows:
    """Some rows of the query, from `start` on, and what is computed of them."""

    def __init__(self, op: CompositeOp, cotangent: SSAValue, size: int, start: AffineList, b: Builder):
        self.b, self.op, self.size, self.start = b, op, size, start
        self.q, self.c = self._rows(op.inputs[0]), self._rows(cotangent)
        self.stack = list(range(len(shape_of(self.q)) - 2))

    def _rows(self, value: SSAValue) -> SSAValue:
        shape = list(shape_of(value))
        shape[-2] = self.size
        rank = len(shape)
        offsets = AffineList.of(*[0] * (rank - 2), self.start, 0)
        kind = TensorType(element_of(value), shape)
        return self.b.value(SliceOp(value, offsets, [1] * rank, kind))

    def _dot(self, x: SSAValue, y: SSAValue, axis: int, other: int) -> SSAValue:
        rank = len(self.stack)
        return self.b.value(DotOp(x, y, ([rank + axis], [rank + other]), (self.stack, self.stack)))

    def _whole(self, sums: SSAValue, like: SSAValue) -> SSAValue:
        return self.b.broadcast(sums, list(range(len(self.stack) + 1)), like)

    def _shares(self, scale: float) -> SSAValue:
        b = self.b
        scores = self._dot(self.q, self.op.inputs[1], 1, 1)
        scores = b.elementwise("multiply", scores, b.uniform(scale, scores))
        if len(self.op.inputs) == 4:
            mask = self.op.inputs[3]
            shape = shape_of(mask)
            if len(shape) > 1 and shape[-2] != 1:
                mask = self._rows(mask)
            rank = len(self.stack) + 2
            mask = b.broadcast(mask, range(rank - len(shape), rank), scores)
            scores = b.elementwise("select", mask, scores, b.uniform(-math.inf, scores))
        last = len(self.stack) + 1
        largest = self._whole(b.value(ReduceOp("maximum", [scores], [last])), scores)
        e = b.elementwise("exp", b.elementwise("subtract", scores, largest))
        return b.elementwise("divide", e, self._whole(b.sum(e, [last]), e))

    def cotangents(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Of these rows of the query, and their share in those of keys and values."""
        b, (_, k, v) = self.b, self.op.inputs[:3]
        given = self.op.parameters.data.get("scale")
        scale = given.value.data if isinstance(given, FloatAttr) else 1 / math.sqrt(shape_of(self.q)[-1])
        p = self._shares(scale)
        of_v = self._dot(p, self.c, 0, 0)
        dp = self._dot(self.c, v, 1, 1)
        along = self._whole(b.sum(b.elementwise("multiply", p, dp), [len(self.stack) + 1]), p)
        ds = b.elementwise("multiply", p, b.elementwise("subtract", dp, along))
        ds = b.elementwise("multiply", ds, b.uniform(scale, ds))
        return self._dot(ds, k, 1, 0), self._dot(ds, self.q, 0, 0), of_v


def _unstacked(b: Builder, stacked: SSAValue, like: SSAValue, rows: int) -> SSAValue:
    """Blocks of rows one after the other: the first axis goes before the rows."""
    rank = len(shape_of(like))
    moved = b.transpose(stacked, [*range(1, rank - 1), 0, rank - 1, rank])
    shape = list(shape_of(like))
    shape[-2] = rows
    return b.value(ReshapeOp(moved, TensorType(element_of(like), shape), AffineList.of()))


def _joined(b: Builder, first: SSAValue, second: SSAValue, like: SSAValue) -> SSAValue:
    """Rows behind rows."""
    island = Island(b, [first, second], [empty_like(b, like)])
    start = 0
    for value, buffer in zip((first, second), island.ins, strict=True):
        indices = island.loops(extents_of(b, value))
        row = AffineList.of(indices[-2]).add(start)
        at = AffineList.of(*indices[:-2], row, indices[-1])
        island.store(island.load(buffer, AffineList.of(*indices)), island.outs[0], at)
        island.close()
        start += shape_of(value)[-2]
    return island.done()[0]
