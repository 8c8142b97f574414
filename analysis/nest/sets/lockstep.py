"""Dependences that hold when the iterations of a loop are lanes in lockstep, each statement in all of them at once."""

from __future__ import annotations

from itertools import product

from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpKind

from ....dialects.affine import AffineList
from ....dialects.nest import AccumulateOp, ForOp
from .accesses import is_defined_outside, may_overlap
from .dependence import Dependence, Dependences


def is_kept(dependence: Dependence, loop: ForOp, width: int | None, dependences: Dependences) -> bool:
    """Whether lanes in lockstep do as iterations one after the other would."""
    source, sink = dependence.source, dependence.sink
    if dependence.kind == "reduction" and _shares_one_element(sink, loop):
        return True
    body = loop.body.block
    if source.parent is body and sink.parent is body and source.is_before_in_block(sink):
        return True
    return width is not None and not _meet_in_one_vector(dependence, width, dependences)


def _meet_in_one_vector(dependence: Dependence, width: int, dependences: Dependences) -> bool:
    """Whether both ends of a dependence are in lanes of one vector, for some iterations."""
    from .conflicts import Comparison, can_meet

    loop = dependence.loop
    variable = AffineList.of(loop.iv)
    relation = [Comparison(variable, "s", "<", variable, "t")]
    if len(loop.lower) == 1:
        vector = variable.minus(loop.lower).divided(AffineBinaryOpKind.FloorDiv, width * loop.step_value)
        relation.append(Comparison(vector, "s", "=", vector, "t"))
    pairs = product(
        *([a for a in dependences.accesses_in(op)] for op in (dependence.source, dependence.sink))
    )
    return any(
        can_meet([loop], source, sink, [relation])
        for source, sink in pairs
        if (source.writes or sink.writes) and may_overlap(source, sink)
    )


def _shares_one_element(op: Operation, loop: ForOp) -> bool:
    """Whether an update goes to the same element in every iteration of the loop."""
    assert isinstance(op, AccumulateOp)
    return all(is_defined_outside(value, loop) for value in op.indices.operands)
