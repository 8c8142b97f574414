"""Attention: products of queries and keys, a softmax of each row of them, and products with the values.

nest.for "b" ... { ... nest.accumulate "t" add %p, %t[%b, %h, %i, %j] }      // products of queries and keys
nest.for "b.1" ... { ... %t[%b, %h, %i, %j] ... }                            // a softmax of each row
nest.for "b.2" ... { ... nest.load %t[%b, %h, %i, %j] ... }                  // products with the values
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, MemRefType

from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.producers import top_in
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from .products import sum_of_products_in


@dataclass(frozen=True, eq=False)
class Attention:
    """Scores, the nests from the first that sets them to the last that uses them, and how many loops they share."""

    scores: AllocOp
    nests: list[ForOp]
    depth: int
    first: ForOp
    """The nest of the products of queries and keys."""
    last: ForOp
    """The nest of the products with the values."""
    weights: AllocOp
    """What the values are multiplied by: the scores' own buffer, or one of narrower elements."""


def attention_with(scores: AllocOp) -> Attention | None:
    """The attention whose scores are in a buffer; None where that is something else, or its rows are too long."""
    type_, block = scores.memref.type, scores.parent
    assert isinstance(type_, MemRefType) and block is not None
    shape = type_.get_shape()
    if len(shape) < 2 or not isinstance(type_.element_type, AnyFloat):
        return None
    weights = _weights_of(scores)
    users = [use.operation for buffer in {scores, weights} for use in buffer.memref.uses]
    if not all(isinstance(op, LoadOp | StoreOp | AccumulateOp) for op in users):
        return None
    tops = {top_in(block, op) for op in users}
    ops = list(block.ops)
    places = [k for k, op in enumerate(ops) if op in tops]
    nests = [op for op in ops[places[0] : places[-1] + 1] if op.regions] if len(places) >= 3 else []
    if len(nests) < 4 or not all(isinstance(op, ForOp) for op in nests):
        return None
    loops = [op for op in nests if isinstance(op, ForOp)]
    products = [
        (nest, found) for nest in loops if (found := sum_of_products_in(perfect_band(nest))) is not None
    ]
    depth = len(shape) - 1
    if len(products) != 2 or products[0][1].result is not scores.memref or products[1][0] is not loops[-1]:
        return None
    if not all(_starts_with_axes(nest, scores, depth) for nest in loops):
        return None
    return Attention(scores, loops, depth, products[0][0], products[1][0], weights)


def _weights_of(scores: AllocOp) -> AllocOp:
    """The buffer that the last nest of the scores stores to, element by element as it reads them; their own if none is."""
    block = scores.parent
    users = [use.operation for use in scores.memref.uses]
    tops = {top_in(block, op) for op in users} if block is not None else set()
    last = next((op for op in reversed(list(block.ops)) if op in tops), None) if block is not None else None
    stores = [] if last is None else [op for op in last.walk() if isinstance(op, StoreOp)]
    for buffer in dict.fromkeys(op.memref.owner for op in stores):
        if not isinstance(buffer, AllocOp) or buffer.parent is not block or buffer is scores:
            continue
        if buffer.memref.type.get_shape() == scores.memref.type.get_shape():
            return buffer
    return scores


def _starts_with_axes(nest: ForOp, scores: AllocOp, depth: int) -> bool:
    """Whether the outer loops of a nest are over all but the last axis of the scores, in their order."""
    band = outer_loops(nest, depth)
    if len(band) < depth or any(loop.kind != "serial" for loop in loops_in(nest)):
        return False
    for op in nest.walk():
        if not isinstance(op, LoadOp | StoreOp | AccumulateOp) or scores.memref not in op.operands:
            continue
        if not all(_is_along(op.indices[k], band[k]) for k in range(depth)):
            return False
    return True


def _is_along(index: AffineList, loop: ForOp) -> bool:
    """Whether an index is the variable of the loop; 0 is, where that is the only iteration."""
    return index == AffineList.of(loop.iv) or (loop.constant_trip_count() == 1 and index.constants() == (0,))


def outer_loops(nest: ForOp, depth: int) -> list[ForOp]:
    return perfect_band(nest)[:depth]
