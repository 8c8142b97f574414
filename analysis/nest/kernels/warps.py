"""When the lanes of a warp can share the iterations of a loop: those are independent, or meet in reductions only.

nest.for "l" %l = 0 to 32 {                      %s[%i] is updated in all iterations: lanes combine their
  nest.accumulate "s" add %a, %s[%i]             values by shuffles, and no other thread does
}
"""

from __future__ import annotations

from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp
from ..sets.dependence import Dependence, Dependences
from .lane_reductions import differs, why_not_shuffled
from .loop_marks import why_not_fails


def why_not_lanes(
    loop: ForOp, action: str, dependences: Dependences | None = None, axis: str | None = None
) -> NestorError | None:
    """The refusal of `action` when lanes along an axis cannot run the iterations of `loop`, None when they can.

    The axis is that which the loop is bound to, if none is given.
    """
    if (refusal := why_not_fails(loop, action)) is not None:
        return refusal
    updates: dict[AccumulateOp, None] = {}
    for dependence in (dependences or Dependences(loop)).carried_by(loop):
        if not _is_of_lanes(dependence, loop):
            return fail(
                loop,
                f'cannot {action} the loop "{loop.label}": {dependence.describe()}',
                notes=dependence.notes,
            )
        assert isinstance(dependence.source, AccumulateOp) and isinstance(dependence.sink, AccumulateOp)
        updates |= {dependence.source: None, dependence.sink: None}
    for op in updates:
        if (why := why_not_shuffled(op, loop, axis or loop.kind)) is not None:
            at, reason = why
            return fail(
                loop,
                f'cannot {action} the loop "{loop.label}": {reason}',
                hint="split it by 32 with tail=mask, or give each lane a total of its own: nest-rfactor",
                notes=[(op, "the reduction is here")] + ([] if at in (op, loop) else [(at, "here")]),
            )
    return None


def _is_of_lanes(dependence: Dependence, loop: ForOp) -> bool:
    """Whether a dependence is between updates of an element that is the same one for all lanes."""
    return dependence.kind == "reduction" and all(
        isinstance(op, AccumulateOp) and not any(differs(v, loop) for v in op.indices.operands)
        for op in (dependence.source, dependence.sink)
    )
