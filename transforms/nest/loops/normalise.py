"""nest-normalise, nest-remove-unit-loop, nest-add-unit-loop: one form for loops that run alike.

    nest.for "i" %i = 3 to %n step 2 {
      ... %x[%i] ...
    }

becomes by nest-normalise

    nest.for "i" %i = 0 to (%n - 3) ceildiv 2 {
      ... %x[2 * %i + 3] ...
    }

A loop of exactly one iteration

    nest.for "i" %i = %n to %n + 1 {
      ... %x[%i] ...
    }

becomes by nest-remove-unit-loop

    ... %x[%n] ...

and by nest-add-unit-loop a loop (with all in it) becomes the body of a new one that runs once.

Iterations and their order stay, so no dependence forbids it. Refused where the first iteration is not one
affine expression, and where it is not certain that a loop runs once. `normalize` in NNC; `add_loop` and
`remove_loop` in Exo, `add_unit_loop` in TVM; Halide's loops step by one and unit loops are simplified away.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.loop_structure import enclosing_loops, loops_in, trip_count
from ....analysis.nest.sets.integer_sets import System, is_never_negative
from ....analysis.nest.sets.loop_bounds import largest, refuse_several, smallest
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, ForOp
from ....dialects.nest.common import INDEX
from ..rewrite.loops import fresh_names, replace_index, simplify_bounds

# ---- normalise --------------------------------------------------------------------------------------


def why_not_normalise(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to normalise `loop`, None when it is legal."""
    return refuse_several(loop, "normalise", "lower")


def normalise(loop: ForOp) -> ForOp:
    """Let `loop` run from 0 in steps of 1; its mark stays."""
    if (refusal := why_not_normalise(loop)) is not None:
        raise refusal
    lower, step = largest(loop.lower, loop), loop.step_value
    loop.set_bounds(lower, loop.upper)
    trips = trip_count(loop)
    assert trips is not None
    if lower.constants() == (0,) and step == 1:
        return loop
    loop.step = IntegerAttr(1, INDEX)
    loop.set_bounds(AffineList.of(0), trips)
    replace_index(loop.iv, lower.plus(AffineList.of(loop.iv).times(step)))
    return loop


# ---- loops of one iteration -------------------------------------------------------------------------


def why_not_remove_unit_loop(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to remove `loop`, None when it runs exactly once."""
    if loop.kind in BIND_AXES:
        return refuse_marked(loop, "remove")
    if not _runs(loop):
        return _refuse_removal(loop, "it may run no iteration")
    if runs_twice(loop):
        return _refuse_removal(loop, "it may run more than one iteration")
    if _sole_iteration(loop) is None:
        return _refuse_removal(loop, "its one iteration is a max or min of several expressions")
    return None


def _refuse_removal(loop: ForOp, reason: str) -> NestorError:
    return fail(loop, f'cannot remove the loop "{loop.label}": {reason}')


def _runs(loop: ForOp) -> bool:
    """Whether every upper bound is above every lower one."""
    pairs = [(low, high) for low in loop.lower for high in loop.upper]
    return all(is_never_negative(high.minus(low).add(-1), loop) for low, high in pairs)


def runs_twice(loop: ForOp) -> bool:
    """Whether every upper bound may be above every lower one by more than a step at once."""
    if (count := loop.constant_trip_count()) is not None:
        return count > 1
    system = System(loop)
    for around in enclosing_loops(loop):
        system.name(around.iv, "s")
    lowers, uppers = (system.expressions(bound, "s") for bound in (loop.lower, loop.upper))
    for low in lowers:
        for high in uppers:
            system.require(f"{high} - ({low}) > {loop.step_value}")
    return system.has_solution()


def _sole_iteration(loop: ForOp) -> AffineList | None:
    """The value of the variable in the only iteration, None when it is not one expression."""
    lower, upper = largest(loop.lower, loop), smallest(loop.upper, loop)
    if len(lower) == 1:
        return lower
    return upper.add(-1) if len(upper) == 1 and loop.step_value == 1 else None


def remove_unit_loop(loop: ForOp) -> None:
    """Replace `loop`, which runs exactly once, by its body."""
    if (refusal := why_not_remove_unit_loop(loop)) is not None:
        raise refusal
    only, block = _sole_iteration(loop), loop.parent
    assert only is not None and block is not None
    inside = loops_in(loop)[1:]
    replace_index(loop.iv, only)
    for op in list(loop.body.block.ops):
        op.detach()
        block.insert_op_before(op, loop)
    loop.detach()
    loop.erase()
    for inner in inside:  # bounds that were distinguished by the variable
        if len(inner.lower) > 1 or len(inner.upper) > 1:
            simplify_bounds(inner)


def add_unit_loop(loop: ForOp, name: str = "one") -> ForOp:
    """Put `loop` into a new loop called `name` (or `name.1`, where it is taken) that runs once."""
    block = loop.parent
    assert block is not None
    unit = ForOp(fresh_names(loop, name)[0], 0, 1)
    unit.location = loop.location
    block.insert_op_before(unit, loop)
    loop.detach()
    unit.body.block.add_op(loop)
    return unit
