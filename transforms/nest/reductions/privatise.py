"""nest-privatise: parts of a reduction loop accumulate on their own, and are combined after it.

    nest.for "i" %i = 0 to %n {
      nest.accumulate "s" add %x, %s[] : memref<i64>
    }

with loop=i, parts=8 becomes

    %s_parts = nest.alloc "s_parts" : memref<8xi64>
    %size = %n ceildiv 8
    nest.for "i.p" %p = 0 to 8 {
      nest.store "s" %zero, %s_parts[%p]
      %start = arith.muli %p, %size
      nest.for "i" %i = %start to min(%start + %size, %n) {
        nest.accumulate "s" add %x, %s_parts[%p]
      }
    }
    nest.for "i.combine" %c = 0 to 8 {
      %v = nest.load %s_parts[%c]
      nest.accumulate "s" add %v, %s[]
    }

and the loop over the parts carries no dependence: it can be parallel. The parts are combined in order, so that the
result does not depend on how many threads there are. With share=cyclic part k takes the iterations k, k + 8, k + 16, ...
(`%i = %p to %n step 8`): bounds stay affine, so that other statements of the loop, too, are seen to be independent
where its extent is unknown; split the loop first, and whole blocks go round.

Where the element changes within the loop (the sum of columns `%s[%j]`, a histogram `%s[%bin]`) a part has one for each
that there is. Refused unless the loop carries reductions only that may run in any order (a custom combiner says so by
stating its identity), nothing else in it uses their buffers, nothing in it can fail, and the totals touch no element that
the loop itself might not: one out of the buffer, never written, or of another thread. `rfactor` of a split loop in Halide,
TVM and NNC, where the extent is that of the accumulators; no name in Exo; the `reduction` clause of OpenMP.
"""

from __future__ import annotations

from typing import Literal

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked
from ....analysis.nest.loop_structure import trip_count
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ....dialects.nest.common import INDEX
from ..rewrite.loops import fresh_names, materialise
from ..rewrite.private_accumulators import Slots, groups_of, why_not_private

Share = Literal["chunks", "cyclic"]


def why_not_privatise(
    loop: ForOp, parts: int, share: Share = "chunks", dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to give parts of `loop` accumulators of their own, None when it is legal."""
    if parts < 1:
        return _refuse(loop, f"there are {parts} parts; the number must be positive")
    if (refusal := refuse_marked(loop, "privatise") or refuse_in_vector(loop, "privatise")) is not None:
        return refusal
    if share == "chunks" and not _has_chunks(loop):
        return _refuse(
            loop,
            "its bounds are several expressions, and a chunk of their iterations is not",
            hint="use share=cyclic",
        )
    dependences = dependences or analyse(loop)
    ordered = dependences.first_ordered(loop, lambda _: True)
    if ordered is not None:
        return _refuse(loop, ordered.describe(), notes=ordered.notes)
    return why_not_private(loop, "privatise", dependences)


def _refuse(loop: ForOp, reason: str, hint: str | None = None, notes=()) -> NestorError:
    return fail(loop, f'cannot privatise the loop "{loop.label}": {reason}', hint=hint, notes=notes)


def _has_chunks(loop: ForOp) -> bool:
    trips = trip_count(loop)
    return trips is not None and (len(trips) == 1 or trips.constants() is not None)


def privatise(
    loop: ForOp, parts: int, share: Share = "chunks", dependences: Dependences | None = None
) -> tuple[ForOp, ForOp]:
    """Give each of `parts` parts of `loop` accumulators of its own: the loop over the parts, and the one that combines.

    `loop` stays, inside the loop over the parts. Raises the diagnostic of `why_not_privatise`.
    """
    dependences = dependences or analyse(loop)
    if (refusal := why_not_privatise(loop, parts, share, dependences)) is not None:
        raise refusal
    slots = [Slots(group, loop, parts, "parts") for group in groups_of(loop, dependences)]
    outer_name, combine_name = fresh_names(loop, f"{loop.label}.p", f"{loop.label}.combine")
    outer, combine = ForOp(outer_name, 0, parts), ForOp(combine_name, 0, parts)
    outer.location = combine.location = loop.location
    outer.iv.name_hint, combine.iv.name_hint = "p", "c"
    assert loop.parent is not None
    loop.parent.insert_op_after(combine, loop)
    loop.parent.insert_op_before(outer, loop)
    size = None if share == "cyclic" else _size_before(outer, loop, parts)
    loop.detach()
    outer.body.block.add_op(loop)
    part = AffineList.of(outer.iv)
    for one in slots:
        one.redirect(part)
        one.start(part, f"{loop.label}.init", lambda op: outer.body.block.insert_op_before(op, loop), outer)
    if size is None:
        loop.set_bounds(_all_plus(loop.lower, part.times(loop.step_value)), loop.upper)
        loop.step = IntegerAttr(loop.step_value * parts, INDEX)
    else:
        _take_chunk(loop, outer, size, parts)
    for one in slots:
        one.combine(AffineList.of(combine.iv), None, combine_name, combine.body.block.add_op)
    for one in slots:
        one.finish()
    return outer, combine


def _all_plus(bounds: AffineList, offset: AffineList) -> AffineList:
    return AffineList.of(*(bounds[k].plus(offset) for k in range(len(bounds)))).canonical()


def _size_before(outer: ForOp, loop: ForOp, parts: int) -> AffineList:
    """The number of iterations in a chunk; computed before `outer` where it is not a constant."""
    trips = trip_count(loop)
    assert trips is not None and outer.parent is not None
    size = trips.divided(AffineBinaryOpKind.CeilDiv, parts)
    if (numbers := size.constants()) is not None:
        return AffineList.of(min(numbers))
    return AffineList.of(materialise(size, outer.parent, outer, "size"))


def _take_chunk(loop: ForOp, outer: ForOp, size: AffineList, parts: int) -> None:
    """Let `loop` run over the chunk that the variable of `outer` counts."""
    trips, number = trip_count(loop), size.constants()
    assert trips is not None
    if number is not None:
        start = AffineList.of(outer.iv).times(number[0])
    else:
        product = arith.MuliOp(outer.iv, size.operands[0])
        product.location = loop.location
        product.result.name_hint = "start"
        outer.body.block.insert_op_before(product, loop)
        start = AffineList.of(product.result)
    step = loop.step_value
    lower = loop.lower.plus(start.times(step))
    upper = lower.plus(size.times(step))
    even = number is not None and trips.constants() == (number[0] * parts,)
    loop.set_bounds(lower, upper if even else AffineList.of(upper, loop.upper).canonical())
