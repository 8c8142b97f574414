"""nest-parallel: mark a loop whose iterations threads may run in any order.

    nest.for "i" %i = 0 to %n {
      nest.store "y" %v, %out[%i]
    }

becomes

    nest.for "i" %i = 0 to %n parallel {
      nest.store "y" %v, %out[%i]
    }

Refused when the loop carries a dependence, reductions into a shared buffer included (use nest-rfactor to
give each iteration its own), when something in it can fail (errors are those of the first iteration in
program order), inside of or around another parallel loop, and beside loops that are bound to a GPU. Buffers
made inside the loop are private to an iteration. `parallel` in Halide, TVM and NNC, `parallelize_loop` in Exo.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from ....analysis.nest.kernels.loop_marks import refuse_in_vector, refuse_marked, why_not_fails
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.attributes import GRAIN
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.mark_checks import refuse_on_processor, refuse_parallel_twice

OTHERS = "another loop of the nest may be independent: s.dependences() prints which carries what"
"""What to do where a loop that was asked for cannot be parallel."""


def why_not_parallel(loop: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to run iterations in any order, None when it is legal."""
    refusal = refuse_marked(loop, "parallelize") or refuse_in_vector(loop, "parallelize")
    return refusal or why_not_independent(loop, "parallelize", dependences)


def why_not_shared_out(loop: ForOp) -> NestorError | None:
    """The refusal of a mark that has no code beside those that are there; iterations may be independent all the same."""
    return refuse_parallel_twice(loop, "parallelize") or refuse_on_processor(loop, "parallelize")


def why_not_independent(
    loop: ForOp, action: str, dependences: Dependences | None = None
) -> NestorError | None:
    """The refusal of `action` when iterations of `loop` depend on each other or can fail."""
    if (refusal := why_not_fails(loop, action)) is not None:
        return refusal
    first = (dependences or Dependences(loop)).first_carried(loop)
    if first is None:
        return None
    hint = (
        "nest-rfactor gives each iteration an accumulator of its own" if first.kind == "reduction" else None
    )
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": {first.describe()}',
        hint=hint,
        notes=first.notes,
    )


def parallelize(loop: ForOp, grain: int | None = None, dependences: Dependences | None = None) -> ForOp:
    """Mark `loop` parallel; below `grain` iterations a thread does not pay."""
    if grain is not None and grain < 1:
        raise fail(
            loop, f'cannot parallelize the loop "{loop.label}": a grain is a positive number of iterations'
        )
    refusal = why_not_parallel(loop, dependences) or why_not_shared_out(loop)
    if refusal is not None:
        refusal.diagnostic.hint = refusal.diagnostic.hint or OTHERS
        raise refusal
    loop.set_kind("parallel")
    if grain is not None:
        loop.attributes[GRAIN] = IntegerAttr(grain, i64)
    return loop
