"""Active composites without a form of their own are replaced by what they stand for, before they are differentiated.

So are checkpoints, except where reverse mode goes through them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from xdsl.ir import Operation, SSAValue

from ...dialects.diagnostic import fail
from ...dialects.nt.checkpoint_ops import CheckpointOp
from ...dialects.nt.composite_op import CompositeOp
from ..tensor.nt_decompose import decompose
from .activity import active_values, used_from_outside
from .rules.composites import is_whole
from .rules.user_rules import has_rule


def _is_opened(op: CompositeOp, active: Set[SSAValue]) -> bool:
    """Whether an active composite is differentiated as what it stands for."""
    if any(
        v in active for v in used_from_outside(op) if v not in op.inputs
    ):  # a number: rules have operands only
        if has_rule(op):
            raise fail(
                op,
                f"'{op.label.data}' has a derivative of its own, and uses a value from outside that is differentiated",
                hint="make it an argument of the function",
            )
        return True
    return not is_whole(op) and any(v in active for v in op.inputs)


def opened(
    ops: Sequence[Operation], starts: Iterable[SSAValue], results: list[SSAValue], reverse: bool = False
) -> list[Operation]:
    """The operations, active composites without a form of their own replaced by what they stand for (in `results` too).

    In `reverse` mode, active checkpoints stay.
    """
    result: list[Operation] = []
    rest = list(ops)
    active = set(starts)
    while rest:
        op = rest.pop(0)
        is_open = isinstance(op, CompositeOp) and _is_opened(op, active)
        is_open |= isinstance(op, CheckpointOp) and not (reverse and any(v in active for v in op.inputs))
        if is_open:
            assert isinstance(op, CompositeOp | CheckpointOp)
            inner = list(op.body.block.ops)[:-1]
            made: list[SSAValue] = list(op.results_)
            ends = decompose(op)
            for k, value in enumerate(results):
                results[k] = ends[made.index(value)] if value in made else value
            rest[:0] = inner
            continue
        active = active_values([op], active)
        result.append(op)
    return result
