"""The nests around a sum that is computed in tiles (sum_tiles.py): what sets its elements, and what uses each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import loops_in, next_nest, perfect_band, sole_inner_loop
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp
from ...nest.loops.sink import sink, why_not_sink
from ...nest.rewrite.steps import Steps

if TYPE_CHECKING:
    from .sum_tiles import SumTile


def make_perfect(nest: ForOp, steps: Steps) -> None:
    """Let the nests that follow have all that they compute in their innermost loops, so that these can be tiled."""
    following = next_nest(nest, lambda op: op.next_op)
    while following is not None:
        loop = following
        while (inner := _only_loop_in(loop)) is not None:
            if sole_inner_loop(loop) is None and why_not_sink(loop) is None:
                steps.do(sink, loop)
            loop = inner
        following = next_nest(following, lambda op: op.next_op)


def _only_loop_in(loop: ForOp) -> ForOp | None:
    inner = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    return inner[0] if len(inner) == 1 else None


def neighbours_of(tile: SumTile) -> tuple[ForOp | None, list[ForOp]]:
    """The nest before that sets the elements of the sum, and those after it that use each element by itself."""
    start = next_nest(tile.nest, lambda op: op.prev_op)
    if start is not None and not (loops_over(start, tile) and _only_sets(start, tile.result)):
        start = None
    uses: list[ForOp] = []
    last = tile.nest
    while (use := next_nest(last, lambda op: op.next_op)) is not None and loops_over(use, tile):
        uses.append(use)
        last = use
    return start, uses


def loops_over(nest: ForOp, tile: SumTile) -> list[ForOp] | None:
    """The loops of a nest over the elements of the sum, in the order of the sum's; None where it is no such nest."""
    band = perfect_band(nest)
    wanted = [*tile.outer, *(loop for loop, _ in tile.tiled)]
    if len(band) != len(wanted) or len(loops_in(nest)) != len(band):
        return None
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return None
    if any(op.regions or isinstance(op, AccumulateOp) for op in band[-1].body.block.ops):
        return None
    accesses = [op for op in nest.walk() if isinstance(op, LoadOp | StoreOp) and op.memref is tile.result]
    if not accesses or any(op.indices != accesses[0].indices for op in accesses):
        return None
    indices, found = accesses[0].indices, []
    for loop in wanted:
        index = indices[axis_along(tile.sums, loop)]
        found += [other for other in band if other.iv in index.operands][:1]
    if len(found) != len(wanted) or len(set(found)) != len(found):
        return None
    same = {one.iv: other.iv for one, other in zip(found, wanted, strict=True)}
    if indices.substitute_all(same).canonical() != tile.sums.indices.canonical():
        return None
    if any(
        loop.lower != other.lower or loop.upper.canonical() != other.upper.canonical()
        for loop, other in zip(found, wanted, strict=True)
    ):
        return None
    return found


def axis_along(sums: AccumulateOp, loop: ForOp) -> int:
    """The axis of the result along which the loop moves."""
    return next(axis for axis in range(len(sums.indices)) if loop.iv in sums.indices[axis].operands)


def _only_sets(nest: ForOp, result: SSAValue) -> bool:
    return all(not isinstance(op, StoreOp) or op.memref is result for op in nest.walk())
