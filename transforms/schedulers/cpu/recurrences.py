"""Recurrences of independent rows on the CPU: nest-schedule-cpu runs several of them side by side.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {                       // waits for its last sum in each iteration
        ... %s[] = %s[] + %a[%i, %j] * %x[%j]
  becomes
    nest.for "i.o" %o = 0 to %n floordiv 4 {
      nest.for "j" %j = 0 to %m attributes {nestor.no_slp} {
        ... %s[] = %s[] + %a[4 * %o, %j] * %x[%j]       // four that do not wait for each other
        ... %s_1[] = %s_1[] + %a[4 * %o + 1, %j] * %x[%j]

The order of each sum stays. LLVM is told not to put the rows into lanes of a vector, for which it would gather.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, MemRefType

from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.attributes import NO_SLP
from ....dialects.nest import AccumulateOp, ForOp, IfOp, LoadOp, StoreOp
from ...nest.loops.unroll_and_jam import unroll_and_jam, why_not_unroll_and_jam
from ...nest.mapping.annotate import annotate
from ...nest.mapping.parallel import why_not_parallel
from ...nest.rewrite.steps import Steps
from ..patterns.costs import arithmetic_in

ROWS = 4
"""Rows that run interleaved: an addition takes four cycles."""

FEWEST_TERMS = 16
"""Minimum number of iterations of the inner loop: shorter ones LLVM unrolls, and vectorizes what is around them."""

MOST_WORK = 8
"""Operations of an iteration beyond which it has enough to do while it waits."""


def jam_rows(loop: ForOp, dependences: Dependences, steps: Steps) -> ForOp | None:
    """Put rows of recurrences side by side; the loop over blocks of them.

    None, and nothing changed, where that is illegal or of no use.
    """
    inner = _recurrence(loop)
    if inner is None or why_not_parallel(loop, dependences) is not None:
        return None
    if why_not_unroll_and_jam(loop, ROWS, dependences) is not None:
        return None
    blocks = steps.do(unroll_and_jam, loop, factor=ROWS, dependences=dependences)
    for jammed in loops_in(blocks):
        if jammed is not blocks:
            steps.do(annotate, jammed, mark=NO_SLP)
    return blocks


def _recurrence(loop: ForOp) -> ForOp | None:
    """The only loop in `loop`, when it is a long one of recurrences and little else."""
    inner = [other for other in loops_in(loop) if other is not loop]
    if len(inner) != 1 or not is_recurrence(inner[0]) or arithmetic_in(inner[0]) > MOST_WORK:
        return None
    if any(isinstance(op, IfOp) or (op.regions and not isinstance(op, ForOp)) for op in loop.body.walk()):
        return None
    rows, terms = largest_extent(loop), largest_extent(inner[0])
    is_small = (rows is not None and rows < 2 * ROWS) or (terms is not None and terms < FEWEST_TERMS)
    return None if is_small else inner[0]


def is_recurrence(loop: ForOp) -> bool:
    """Whether each iteration waits for a floating-point variable that the last one stored, or added to."""
    loaded = {op.memref for op in loop.body.block.ops if isinstance(op, LoadOp) and _is_variable(op)}
    return any(
        (isinstance(op, StoreOp) and op.memref in loaded)
        or (isinstance(op, AccumulateOp) and any(memref in loaded for memref in op.memrefs))
        for op in loop.body.block.ops
    )


def _is_variable(op: LoadOp) -> bool:
    type_ = op.memref.type
    return isinstance(type_, MemRefType) and not type_.get_shape() and isinstance(op.result.type, AnyFloat)
