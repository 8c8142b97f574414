"""nest-skew: an inner loop starts later in each iteration of an outer one, so that wavefronts line up.

    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = 1 to %m {
        ... %a[%i, %j] ...
      }
    }

becomes with outer=i inner=j

    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = %i + 1 to %i + %m {
        ... %a[%i, %j - %i] ...
      }
    }

Iterations and their order stay, so no dependence forbids it; what it is for comes next. In a sweep that reads
%a[%i - 1, %j] and %a[%i, %j - 1], all elements of one new %j are independent: reordered to j, i the loop `i` can
run in parallel. Halide, TVM, Exo and NNC have no name for it.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from .shift import shift_by


def why_not_skew(outer: ForOp, inner: ForOp, by: int = 1) -> NestorError | None:
    """The diagnostic that refuses the skew, None when it is legal."""
    if outer not in enclosing_loops(inner):
        return fail(
            inner,
            f'cannot skew the loop "{inner.label}" by "{outer.label}": it is not inside of that loop',
            notes=[(outer, "that loop is here")],
        )
    # the extent of a marked loop is to be seen in its bounds
    return refuse_marked(inner, "skew")


def skew(outer: ForOp, inner: ForOp, by: int = 1) -> ForOp:
    """Let the variable of `inner` be larger by `by` times that of `outer`."""
    if (refusal := why_not_skew(outer, inner, by)) is not None:
        raise refusal
    shift_by(inner, AffineList.of(outer.iv).times(by))
    return inner
