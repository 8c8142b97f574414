"""nest-reorder: run perfectly nested loops in another order.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        ... %x[%i, %j] ...
      }
    }

becomes

    nest.for "j" %j = 0 to %m {
      nest.for "i" %i = 0 to %n {
        ... %x[%i, %j] ...
      }
    }

Bounds that use the variable of a loop that moves inside are recomputed (`interchange.py`): `j = 0 to %i`
inside of `i = 0 to %n` becomes `i = %j + 1 to %n` inside of `j = 0 to %n - 1`.

Refused when a dependence would be turned around: some pair of iterations that touch one element (one of them
writing it) would run the other way round; reductions in any order do not count. Refused too when bounds cannot
be recomputed (a step other than 1), and when a marked loop would leave a loop that its mark was proved in.
`reorder` in Halide, TVM and NNC, `reorder_loops` in Exo.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ....analysis.nest.loop_structure import may_fail, perfect_band
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, ForOp
from ..rewrite.interchange import Range, ranges_in_order
from ..rewrite.loops import simplify_bounds


def why_not_reorder(
    order: Sequence[ForOp], dependences: Dependences | None = None, new_bounds: bool = True
) -> NestorError | None:
    """The diagnostic that refuses to run loops in `order` (outermost first), None when it is legal.

    `new_bounds=False` refuses as well where bounds would have to be recomputed.
    """
    band = band_of(order)
    if isinstance(band, NestorError):
        return band
    names = ", ".join(loop.label for loop in order)
    ranges = ranges_in_order(band, order, new_bounds)
    if isinstance(ranges, tuple):
        loop, other = ranges
        return fail(
            other,
            f'cannot reorder the loops to {names}: the bounds of "{other.label}" use the variable of '
            f'"{loop.label}"',
            hint="loops of step 1 with linear bounds could change places: nest-normalise gives a loop the step 1",
            notes=[(loop, "that loop is here")],
        )
    if (refusal := _why_not_marked(band, order, ranges)) is not None:
        return refusal
    if (op := may_fail(band[0])) is not None:
        return fail(
            band[0],
            f"cannot reorder the loops to {names}: an error must be that of the first iteration in program order",
            notes=[(op, "this check can fail")],
        )
    broken = (dependences or Dependences(band[0])).broken_by_order(band, order)
    if not broken:
        return None
    first = broken[0]
    return fail(
        band[0],
        f'cannot reorder the loops to {names}: it turns {first.title} around, which the loop "{first.loop.label}" carries',
        notes=first.notes,
    )


def _why_not_marked(
    band: Sequence[ForOp], order: Sequence[ForOp], ranges: dict[ForOp, Range]
) -> NestorError | None:
    """Refuses to move a marked loop out of a loop in which the mark is right, or to change its bounds."""
    names = ", ".join(loop.label for loop in order)
    for loop in band:
        if loop.kind == "serial":
            continue
        kept = order[: order.index(loop)]
        left = [other for other in band[: band.index(loop)] if other not in kept]
        has_bounds = ranges[loop].lower == loop.lower and ranges[loop].upper == loop.upper
        is_bound = loop.kind in BIND_AXES and list(band) != list(order)
        if (left and loop.kind != "unrolled") or not has_bounds or is_bound:
            kind = f"bound to {loop.kind}" if loop.kind in BIND_AXES else loop.kind
            return fail(
                loop,
                f'cannot reorder the loops to {names}: "{loop.label}" is {kind} already',
                hint="reorder the loops before marking them",
            )
    return None


def band_of(order: Sequence[ForOp]) -> list[ForOp] | NestorError:
    """The loops of `order` as they are nested now, when they are a perfect nest."""
    chosen = set(order)
    for start in order:
        band = perfect_band(start)[: len(order)]
        if len(set(order)) == len(order) and set(band) == chosen:
            return band
    names = ", ".join(loop.label for loop in order)
    return fail(
        order[0],
        f"cannot reorder the loops to {names}: they are not perfectly nested",
        hint="a loop of a perfect nest has nothing but the next one in it: distribute, sink and hoist move what is beside",
    )


def reorder(order: Sequence[ForOp], dependences: Dependences | None = None) -> list[ForOp]:
    """Nest the loops in `order`, outermost first. Raises the diagnostic of `why_not_reorder`."""
    if (refusal := why_not_reorder(order, dependences)) is not None:
        raise refusal
    band = band_of(order)
    assert isinstance(band, list)
    permute(band, order)
    return list(order)


def permute(band: list[ForOp], order: Sequence[ForOp]) -> None:
    """Nest the loops of the perfect `band` in `order`, which was found legal."""
    if band == list(order):
        return
    ranges = ranges_in_order(band, order)
    assert isinstance(ranges, dict)
    block = band[0].parent
    following = band[0].next_op
    assert block is not None
    innermost = list(band[-1].body.block.ops)
    for op in innermost:
        op.detach()
    for loop in band:
        loop.detach()
    if following is None:
        block.add_op(order[0])
    else:
        block.insert_op_before(order[0], following)
    for outer, inner in pairwise(order):
        outer.body.block.add_op(inner)
    order[-1].body.block.add_ops(innermost)
    for loop in order:
        lower, upper = ranges[loop].lower, ranges[loop].upper
        if (lower, upper) != (loop.lower, loop.upper):
            loop.set_bounds(lower, upper)
            simplify_bounds(loop)
