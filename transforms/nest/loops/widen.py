"""nest-widen: a loop gets the same range in all iterations of one around it; statements run where they did.

    nest.for "d" %d = 2 to %n + %m - 3 {
      nest.for "i" %i = max(1, %d - %m + 2) to min(%n - 1, %d) {
        ... %a[%i, %d - %i] ...
      }
    }

becomes with loop=i within=d

    nest.for "d" %d = 2 to %n + %m - 3 {
      nest.for "i" %i = 1 to %n - 1 {
        ... %a[%i, %d - %i] ... where (%i - %d + %m - 2 >= 0, %i < %d)
      }
    }

The bounds that depend on `within` become domains. Where none is left, the loop begins at the least value of those, and ends
at the largest one: `j = 0 to %i` in `i = 0 to %n` becomes `j = 0 to %n - 1`. A grid of a GPU, and lanes, want such loops:
the launch knows how many iterations there are. No dependence forbids it, for what is new does nothing. Where a domain does
not do (a call, a check, a load that a branch depends on) the body becomes a branch. Refused where bounds are no linear
functions, where the step is not 1, and for marked loops, also those inside where a branch would be around them. Without a
name in TVM, Halide and Exo; the polyhedral model calls the new range the hull of the old ones.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, loops_in, statements
from ....analysis.nest.sets.accesses import is_defined_outside
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, ForOp
from ..rewrite.interchange import extreme_over, without_division
from ..rewrite.loops import add_domain, simplify_bounds
from ..rewrite.masks import put_in_branch, why_not_masked


def why_not_widen(loop: ForOp, within: ForOp) -> NestorError | None:
    """The diagnostic that refuses to widen `loop`, None when it is legal."""
    if within not in enclosing_loops(loop):
        return fail(
            loop,
            f'cannot widen the loop "{loop.label}": it is not inside of the loop "{within.label}"',
            notes=[(within, "that loop is here")],
        )
    if (refusal := refuse_marked(loop, "widen")) is not None:
        return refusal
    if loop.step_value != 1:
        return fail(
            loop,
            f'cannot widen the loop "{loop.label}": its step is {loop.step_value}',
            hint="nest-normalise gives a loop the step 1",
        )
    if not any(_depends(bound, within) for bound in (*loop.lower, *loop.upper)):
        return fail(
            loop,
            f'cannot widen the loop "{loop.label}": its range is the same in all iterations of "{within.label}"',
        )
    for bounds, is_lower in ((loop.lower, True), (loop.upper, False)):
        if _hull(bounds, within, is_lower) is None:
            return fail(
                loop,
                f'cannot widen the loop "{loop.label}": its bounds are no linear function of the loop "{within.label}"',
                notes=[(within, "that loop is here")],
            )
    inner = next((inner for inner in loops_in(loop)[1:] if inner.kind in BIND_AXES), None)
    if inner is not None and _needs_branch(loop):
        return fail(
            loop,
            f'cannot widen the loop "{loop.label}": a branch would be around "{inner.label}"',
            notes=[(inner, f"it is bound to {inner.kind}")],
        )
    return None


def widen(loop: ForOp, within: ForOp) -> ForOp:
    """Let the range of `loop` be the same in all iterations of `within`. Raises the diagnostic of `why_not_widen`."""
    if (refusal := why_not_widen(loop, within)) is not None:
        raise refusal
    lower, upper = _hull(loop.lower, within, True), _hull(loop.upper, within, False)
    assert lower is not None and upper is not None
    own = AffineList.of(loop.iv)
    constraints = [own.minus(bound) for bound in loop.lower if _depends(bound, within)]
    constraints += [bound.minus(own).add(-1) for bound in loop.upper if _depends(bound, within)]
    constraints = [without_division(one, within.iv) or one for one in constraints]
    needs_branch = _needs_branch(loop)
    loop.set_bounds(lower, upper)
    simplify_bounds(loop)
    if needs_branch:
        put_in_branch(loop, AffineList.of(*constraints))
        return loop
    for statement in statements(loop):
        add_domain(statement, AffineList.of(*constraints))
    return loop


def _needs_branch(loop: ForOp) -> bool:
    """Whether domains of statements are not enough to do nothing in the new iterations."""
    return why_not_masked(loop, from_none=True) is not None


def _depends(bound: AffineList, within: ForOp) -> bool:
    return not all(is_defined_outside(value, within) for value in bound.operands)


def _hull(bounds: AffineList, within: ForOp, is_lower: bool) -> AffineList | None:
    """Bounds that hold in all iterations of `within`; None where none are known."""
    kept = [bound for bound in bounds if not _depends(bound, within)]
    if not kept:
        least = [extreme_over(bound, within, least=is_lower) for bound in bounds]
        kept = [bound for bound in least if bound is not None and not _depends(bound, within)]
    return AffineList.of(*kept) if kept else None
