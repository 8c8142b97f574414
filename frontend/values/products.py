"""Sums of products of two arrays: what np.matmul, np.dot, np.einsum and their kind are made of.

a @ b      ->   %c = nt.dot %a, %b contract [1] x [0] : tensor<?x?xf64>, tensor<?x?xf64> -> tensor<?x?xf64>

Inside loops over elements the sums are loops of their own, into a buffer that is made on the spot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp
from ...dialects.nt import ELEMENTWISE, REDUCTIONS, DotOp
from ...dialects.nt.expand import Emitter
from ...lowering.nt_to_nest.scalars import to_storage
from .arithmetic import convert
from .extents import Affine
from .graph import Graph, element_type
from .numbers import number_kind
from .promotion import WEAK_DTYPES
from .tensors import BOOL, cast
from .values import Buffer, Extents, Scalar, Static, Tensor, Value, extents_of, whole

Pairs = tuple[Sequence[int], Sequence[int]]
"""Axes of the left operand, and the axis of the right operand that goes with each."""

FLOAT32 = np.dtype(np.float32)


def common_dtype(graph: Graph, *operands: Value) -> np.dtype:
    """The dtype of a product of arrays."""
    kinds = [number_kind(graph, v) for v in operands]
    return np.result_type(*[WEAK_DTYPES[k] if isinstance(k, type) else k for k in kinds])


def accumulated(dtype: np.dtype) -> np.dtype:
    """What sums of `dtype` are added up in."""
    return FLOAT32 if dtype.name in ("float16", "bfloat16") else dtype


def dot(
    graph: Graph,
    a: Value,
    b: Value,
    contract: Pairs,
    batch: Pairs = ((), ()),
    *,
    dtype: np.dtype,
    order: tuple[int, ...] | None = None,
) -> Value:
    """Sums of products over `contract`: a number where no axis is left, else a fresh array in memory order `order`.

    The axes of the result are those of `batch`, the other ones of a, the other ones of b. Extents agree already.
    """
    left, right = extents_of(a), extents_of(b)
    extents = tuple(
        [
            *[left[k] for k in batch[0]],
            *[e for k, e in enumerate(left) if k not in (*batch[0], *contract[0])],
            *[e for k, e in enumerate(right) if k not in (*batch[1], *contract[1])],
        ]
    )
    if graph.island is not None:
        return _in_loops(graph, a, b, contract, batch, dtype, extents)
    operands = [convert(graph, v, dtype).ssa for v in (a, b)]
    wide = accumulated(dtype)
    op = DotOp(operands[0], operands[1], contract, batch)
    ssa = graph.insert(op)
    assert ssa is not None
    result = cast(graph, Tensor(ssa, wide, extents, not extents), dtype)
    return whole(Buffer(result.ssa, dtype, extents, order=order)) if extents else result


def _in_loops(
    graph: Graph, a: Value, b: Value, contract: Pairs, batch: Pairs, dtype: np.dtype, extents: Extents
) -> Value:
    """The same inside loops over elements: a loop nest into a buffer of its own."""
    island = graph.island
    assert island is not None
    wide = accumulated(dtype)
    sums = whole(island.allocate("dot", wide, extents))
    island.assign(sums, Static(wide.type(0)))
    left, right = extents_of(a), extents_of(b)
    product = ELEMENTWISE["logical_and" if dtype == BOOL else "multiply"]
    kind = "b" if dtype == BOOL else "f" if dtype.name == "bfloat16" else dtype.kind
    row = REDUCTIONS["or" if dtype == BOOL else "add"]
    memref = island.memref(sums.buffer)
    factors = [island.converted(v, wide) for v in (a, b)]

    def accumulate(at: Sequence[Affine]) -> None:
        indices = _operand_indices(at, (len(left), len(right)), contract, batch)
        element = [v.at(ix) for v, ix in zip(factors, indices, strict=True)]  # pyright: ignore
        emitter: Emitter = graph.emitter()
        value = product.expansions[kind](emitter, *element)
        stored = to_storage(emitter, value, memref.type.element_type)  # pyright: ignore
        place = [index.to_list() for index in at[: len(extents)]]
        name = row.combiner(element_type(wide))
        graph.insert(AccumulateOp(name, [stored], [memref], AffineList.of(*place), label="dot"))

    island.for_each((*extents, *[left[k] for k in contract[0]]), accumulate)
    if not extents:
        return Scalar(island.scalar(sums, dtype), dtype)
    return sums if dtype == wide else island.converted(sums, dtype)


def _operand_indices(
    at: Sequence[Affine], ranks: tuple[int, int], contract: Pairs, batch: Pairs
) -> list[list[Affine]]:
    """The indices into both operands at a point of batch, left, right and contracted axes."""
    free = [
        [k for k in range(rank) if k not in (*batch[side], *contract[side])]
        for side, rank in enumerate(ranks)
    ]
    first, last = len(batch[0]), len(batch[0]) + len(free[0])
    end = last + len(free[1])
    spans = (at[first:last], at[last:end])
    result: list[list[Affine]] = []
    for side, rank in enumerate(ranks):
        where = dict(zip(batch[side], at[:first], strict=True))
        where.update(zip(free[side], spans[side], strict=True))
        where.update(zip(contract[side], at[end:], strict=True))
        result.append([where[k] for k in range(rank)])
    return result
