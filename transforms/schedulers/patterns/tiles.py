"""What tiles of sums have in common, those of products (products.py) and of convolutions (convolutions.py).

The sum of a band of loops, how its operands move, and the marks of a tile: lanes of a vector, and rows side by side.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....analysis.nest.loop_structure import loops_in, parent_loop
from ....analysis.nest.sets.access_patterns import pattern_of, varying_values
from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ...nest.mapping.annotate import annotate
from ...nest.mapping.vectorize import vectorize
from ...nest.producers.compute_inline import compute_inline, why_not_compute_inline
from ...nest.rewrite.steps import Steps
from .costs import arithmetic_in, has_transcendental

CHEAP = 4
"""Maximum number of operations per element that may be done where it is read once, by loops that are not always vectors."""


def sum_in(band: list[ForOp]) -> tuple[list[LoadOp], AccumulateOp] | None:
    """The loads and the one sum of a perfect band whose body is straight-line code; None when it is something else."""
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in band):
        return None
    if len(list(loops_in(band[0]))) != len(band):
        return None
    loads: list[LoadOp] = []
    sums: list[AccumulateOp] = []
    for op in band[-1].body.block.ops:
        if isinstance(op, LoadOp):
            loads.append(op)
        elif isinstance(op, AccumulateOp):
            sums.append(op)
        elif isinstance(op, StoreOp | AllocOp) or op.regions:
            return None
    if len(sums) != 1 or sums[0].order_name != "any":
        return None
    return loads, sums[0]


def pattern_in(op: LoadOp | StoreOp | AccumulateOp, buffer: SSAValue, loop: ForOp) -> str:
    """How an access moves with the variable of `loop`."""
    return pattern_of(op.indices, buffer, loop, varying_values(loop))


def mark_lanes(lane: ForOp, width: int, steps: Steps) -> None:
    """Make vectors of a loop of at most `width` iterations, where that is legal."""
    steps.attempt(vectorize, lane, width=width)


def mark_unrolled(loop: ForOp, steps: Steps) -> None:
    """Put the iterations of a loop side by side, where that is legal."""
    steps.attempt(annotate, loop, mark="unrolled")


def axes_of(indices: AffineList) -> list[SSAValue | None] | None:
    """The variable that each index is, None for one that is a constant.

    None where an index is something else, or two are the same variable.
    """
    found: list[SSAValue | None] = []
    for k in range(len(indices)):
        index = indices[k].canonical()
        if index.constants() is not None:
            found.append(None)
        elif len(index.operands) == 1 and isinstance(index.exprs[0], AffineDimExpr):
            found.append(index.operands[0])
        else:
            return None
    variables = [value for value in found if value is not None]
    return found if len(set(variables)) == len(variables) else None


def compute_where_read(buffer: SSAValue, steps: Steps) -> None:
    """A cast, or a little more, of another buffer is computed where it is read once: no matrix is made in between."""
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    loads = [use.operation for use in buffer.uses if isinstance(use.operation, LoadOp)]
    if not isinstance(buffer.owner, AllocOp) or len(stores) != 1 or len(loads) != 1:
        return
    nest = parent_loop(stores[0])
    if nest is None or has_transcendental(nest) or arithmetic_in(nest) > CHEAP:
        return
    if why_not_compute_inline(buffer) is None:
        steps.do(compute_inline, buffer)
