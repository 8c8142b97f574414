"""Attention on a GPU (part of nest-schedule-cuda): a block computes rows of scores and uses them in shared memory.

Whole rows are the better way where shared memory has room for the scores of `ROWS[0]` queries (whole_row_attention.py). Of
longer rows, and those whose length only the run time knows, a tile of keys is there at a time (online_attention.py). What
no way is legal for stays kernels of its own, with the scores between them in global memory. Of 16-bit floats both products
are those of tensor cores (matrix_attention.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from .....analysis.machine import Gpu
from .....analysis.nest.loop_structure import enclosing_function
from .....analysis.nest.sets.producers import top_in
from .....dialects.diagnostic import NestorError
from .....dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from .....dialects.remarks import remark
from ....nest.mapping.insert_barriers import why_not_insert_barriers
from ....nest.producers.compute_inline import compute_inline
from ....nest.rewrite.steps import UNRECORDED, Steps
from ...patterns.attention import Attention, attention_with
from ...patterns.chains import chains_in
from .whole_row_attention import ROWS, WholeRows, rows_that_fit


def schedule_attention(function: FuncOp, gpu: Gpu, steps: Steps, narrow: bool) -> None:
    """Bind what is attention in a function, where all steps are legal: with weights narrower than scores, or without."""
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        if alloc.parent is None or (found := attention_with(alloc)) is None:
            continue
        if (found.weights is not alloc) != narrow:
            continue
        label, refusal = alloc.label.data, None
        for way in _ways(found):
            try:
                tried = way(_copied(found), gpu, UNRECORDED).run()
                if (error := why_not_insert_barriers(tried)) is not None:
                    raise error
            except NestorError as error:
                refusal = refusal or error.diagnostic.message
                continue
            chosen = way(found, gpu, steps)
            remark(chosen.run(), f"blocks of {chosen.describe(label)} stay in shared memory")
            break
        else:
            remark(found.first, f'the scores "{label}" go to global memory: {refusal}')


def inline_masks(function: FuncOp, steps: Steps) -> None:
    """Compute what is made of indices alone (masks of two positions) where products of products read it.

    Two of them, a forward and its reverse, say, have it in memory otherwise, and no tile can be seen to be masked.
    """
    block = function.body.block
    allocs = [op for op in block.ops if isinstance(op, AllocOp)]
    found = [one for alloc in allocs if (one := attention_with(alloc)) is not None]
    nests = {nest for one in found for nest in one.nests}
    nests |= {nest for group in chains_in(function) for chain in group for nest in chain.producers}
    read = {op.memref.owner for nest in nests for op in nest.walk() if isinstance(op, LoadOp)}
    for alloc in [alloc for alloc in allocs if alloc in read]:
        writers = {
            top_in(block, use.operation) for use in alloc.memref.uses if isinstance(use.operation, StoreOp)
        }
        if any(isinstance(op, LoadOp | AccumulateOp) for nest in writers for op in nest.walk()):
            continue
        if len(writers) == 1:
            steps.attempt(compute_inline, alloc)


def _ways(found: Attention) -> Iterator[Callable[[Attention, Gpu, Steps], Any]]:
    """The schedules to try, the best one first."""
    from .matrix_attention import MatrixAttention
    from .online_attention import OnlineAttention

    if found.weights is not found.scores:
        yield MatrixAttention
        return
    fitting = rows_that_fit(found)
    queries = found.scores.memref.type.get_shape()[-2]
    if fitting and fitting[0] == ROWS[0]:
        enough = [rows for rows in fitting if queries == DYNAMIC_INDEX or rows < 2 * queries]
        yield partial(WholeRows, rows=(enough or fitting[-1:])[0])
        fitting.pop(0)
    yield OnlineAttention
    for rows in fitting[:1]:
        yield partial(WholeRows, rows=rows)


def _copied(found: Attention) -> Attention:
    """The same in a copy of the function."""
    function = enclosing_function(found.first)
    copy = function.clone()
    of = dict(zip(function.walk(), copy.walk(), strict=True))
    return Attention(
        of[found.scores],  # pyright: ignore[reportArgumentType]
        [of[nest] for nest in found.nests],  # pyright: ignore[reportArgumentType]
        found.depth,
        of[found.first],  # pyright: ignore[reportArgumentType]
        of[found.last],  # pyright: ignore[reportArgumentType]
        of[found.weights],  # pyright: ignore[reportArgumentType]
    )
