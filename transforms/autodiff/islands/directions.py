"""Which loops of an adjoint run backwards: those whose iterations depend on each other.

Iterations that conflict conflict in either direction, so that loops are looked at as they stand, before any is turned
around. Updates of one sum, in any order, do not count.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import loops_in, trip_count
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.affine import AffineList
from ....dialects.nest import ForOp
from ...nest.rewrite.loops import materialise, replace_index, simplify_bounds


def turn_loops(function: FuncOp, as_they_are: AbstractSet[ForOp]) -> None:
    """Turn the loops of a function that have to run backwards around, but for those that run `as_they_are`."""
    dependences = Dependences(function)
    loops = [loop for loop in loops_in(function) if loop not in as_they_are]
    for loop in [o for o in loops if dependences.first_ordered(o, lambda reduction: True) is not None]:
        _turn(loop)


def _turn(loop: ForOp) -> None:
    simplify_bounds(loop)
    if len(loop.lower) != 1 or len(loop.upper) != 1:
        loop.set_bounds(
            one_bound(loop, loop.lower, arith.MaxSIOp), one_bound(loop, loop.upper, arith.MinSIOp)
        )
    trips = trip_count(loop)
    assert trips is not None
    last = loop.lower.plus(trips.add(-1).times(loop.step_value))
    replace_index(loop.iv, loop.lower.plus(last).minus(AffineList.of(loop.iv)))


def one_bound(loop: ForOp, bounds: AffineList, chosen: type[arith.MaxSIOp | arith.MinSIOp]) -> AffineList:
    """The bound that counts, as one value computed before the loop."""
    block = loop.parent
    assert block is not None
    result: SSAValue | None = None
    for bound in bounds:
        value = materialise(bound, block, loop)
        if result is not None:
            op: Operation = chosen(result, value)
            op.location = loop.location
            block.insert_op_before(op, loop)
            value = op.results[0]
        result = value
    assert result is not None
    return AffineList.of(result)
