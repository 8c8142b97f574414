"""What an operation at the nt level does beside giving its results: stop the function, print, call, or run for ever."""

from __future__ import annotations

from xdsl.dialects import cf, scf
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ...dialects.nest import IndexOp
from ...dialects.nt import LoopsOp

CONTROL = (scf.ForOp, scf.WhileOp, scf.IfOp)
"""Control flow on tensors."""

_ACTING = (IndexOp, cf.AssertOp, CallOp, scf.WhileOp)
"""What may stop an island, print, or run for ever."""


def acts(op: Operation) -> bool:
    """Whether an operation does more than give results: an error of it, or what it prints, is seen by the caller."""
    if isinstance(op, LoopsOp):
        return any(isinstance(inner, _ACTING) for inner in op.walk())
    if isinstance(op, CONTROL):
        return any(
            acts(inner) for region in op.regions if region.blocks for inner in list(region.block.ops)[:-1]
        )
    return not is_side_effect_free(op)


def acts_between(first: Operation, last: Operation) -> bool:
    """Whether an operation does that which stands between two others of one block, in this order."""
    op = first.next_op
    while op is not None and op is not last:
        if acts(op):
            return True
        op = op.next_op
    return False
