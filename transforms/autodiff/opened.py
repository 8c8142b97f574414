"""Active composites without a form of their own are replaced by what they stand for, before they are differentiated.

So are checkpoints, except where reverse mode goes through them, and reductions with a combiner of one's own, which become
loops; in reverse mode, time loops that keep snapshots become loops on tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from xdsl.ir import Operation, SSAValue

from ...dialects.diagnostic import fail
from ...dialects.nt.checkpoint_ops import CheckpointOp
from ...dialects.nt.composite_op import CompositeOp
from ...dialects.nt.reduce_op import ReduceOp
from ...dialects.nt.region_ops import LoopsOp
from ..tensor.nt_decompose import decompose
from .activity import active_values, used_from_outside
from .islands.combined import as_loops, is_differentiated, write_out
from .islands.time_loops import has_bound
from .islands.time_loops import opened as time_loops_opened
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
        old: list[SSAValue] = list(op.results)
        found = _in_place_of(op, active, results, reverse)
        if found is None:
            active = active_values([op], active)
            result.append(op)
            continue
        made, ends = found
        for k, value in enumerate(results):
            results[k] = ends[old.index(value)] if value in old else value
        rest[:0] = made
    return result


def _in_place_of(
    op: Operation, active: Set[SSAValue], ends: Sequence[SSAValue], reverse: bool
) -> tuple[list[Operation], list[SSAValue]] | None:
    """The operations that take the place of one, and the values that its results become; None where it stays."""
    if isinstance(op, LoopsOp) and any(v in active for v in used_from_outside(op)):
        write_out(op)
    if reverse and isinstance(op, LoopsOp) and has_bound(op):
        return time_loops_opened(op) if any(v in active for v in used_from_outside(op)) else None
    if is_differentiated(op, active, ends):
        assert isinstance(op, ReduceOp)
        return as_loops(op)
    is_opened = isinstance(op, CompositeOp) and _is_opened(op, active)
    is_opened |= isinstance(op, CheckpointOp) and not (reverse and any(v in active for v in op.inputs))
    if not is_opened:
        return None
    assert isinstance(op, CompositeOp | CheckpointOp)
    inner = list(op.body.block.ops)[:-1]
    return inner, decompose(op)
