"""nest-atomic: reductions that a loop carries are updates in one step each, so that its iterations may run at the same time.

    nest.for "i" %i = 0 to %n {
      %k = ... from %b[%i]
      nest.accumulate "h" add %one, %h[%k] : memref<256xi32>
    }

becomes

    nest.for "i" %i = 0 to %n {
      %k = ...
      nest.accumulate "h" add %one, %h[%k] order(atomic) : memref<256xi32>
    }

and the loop carries no dependence: it can be parallel, or bound to the blocks and threads of a GPU. For histograms and
sums at indices that only the run time knows. The result is the same in whichever order the updates come.

Refused unless the loop carries reductions, all of them in any order, by combiners that processors apply to memory in one
step (`add`, `maxsi`, `or` ... of integers of 32 and 64 bits). Sums of floating-point numbers are others in each order:
`nest-exact-sum` makes them sums of integers. `atomic` in Halide and NNC; the `atomic` clause of OpenMP.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_in_vector
from ....analysis.nest.sets.dependence import Dependence, Dependences, analyse
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ATOMIC_BITS, ATOMIC_COMBINERS, AccumulateOp, ForOp, is_atomic

VERB = "make updates atomic in"


def why_not_atomic(loop: ForOp, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to make the updates that `loop` carries atomic, None when it is legal."""
    if (refusal := refuse_in_vector(loop, VERB)) is not None:
        return refusal
    reductions = _reductions(loop, dependences)
    if not reductions:
        return fail(loop, f'cannot {VERB} the loop "{loop.label}": it carries no reduction')
    for dependence in reductions:
        update = dependence.source
        assert isinstance(update, AccumulateOp)
        element = update.values[0].type
        if not is_atomic(update.combiner.data, element):
            widths = " and ".join(f"i{bits}" for bits in ATOMIC_BITS)
            return fail(
                loop,
                f'cannot {VERB} the loop "{loop.label}": "{update.combiner.data}" of {element} is '
                "not done to memory in one step",
                hint=f"{', '.join(ATOMIC_COMBINERS)} of {widths} are; nest-privatise takes all reductions",
                notes=[(update, "this update")],
            )
    return None


def atomic(loop: ForOp, dependences: Dependences | None = None) -> ForOp:
    """Make the updates that `loop` carries atomic. Raises the diagnostic of `why_not_atomic`."""
    if (refusal := why_not_atomic(loop, dependences)) is not None:
        raise refusal
    for dependence in _reductions(loop, dependences):
        for update in (dependence.source, dependence.sink):
            assert isinstance(update, AccumulateOp)
            update.set_order("atomic")
    return loop


def _reductions(loop: ForOp, dependences: Dependences | None) -> list[Dependence]:
    return [d for d in (dependences or analyse(loop)).carried_by(loop) if d.kind == "reduction"]
