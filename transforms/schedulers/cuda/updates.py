"""Elements at indices that are looked up, on the GPU (part of nest-schedule-cuda): histograms, `np.add.at`, `y[idx] = v`.

    nest.for "i" %i = 0 to %n { ... nest.accumulate "h" add %one, %h[%k] }       %k = nest.lookup ...
  becomes
    nest.for "i" ... bind { ... nest.accumulate "h" add %one, %h[%k] order(atomic) }

Any iteration may meet any element, so that nothing is known to be independent. Integers are updated in one step each
(nest-atomic): the same in any order. Sums of floating-point numbers are made sums of integers (nest-exact-sum), lest
their bits depend on which thread was first. Of stores the last one is looked for (nest-last-write). Each of the loops
that come of it is a kernel. Of rows of such loops (a histogram of each row) all loops are shared out, not only those over
rows.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import perfect_band, statements
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ...nest.mapping.atomic import atomic, why_not_atomic
from ...nest.reductions.exact_sum import exact_sum, why_not_exact_sum
from ...nest.reductions.last_write import last_write, why_not_last_write
from ...nest.rewrite.steps import Steps
from .grid import FEW, iterations


def share_updates(nest: ForOp, steps: Steps) -> list[ForOp]:
    """Make iterations that update elements found at run time independent: the nests that a nest becomes, or none."""
    found = [op for op in statements(nest) if is_at_found_index(op, nest)]
    if not found or all(_are_few(loop) for loop in _ordered(nest)):
        return []
    if all(isinstance(op, AccumulateOp) for op in found):
        ordered = _ordered(nest)
        if all(why_not_atomic(loop) is None for loop in ordered):
            for loop in ordered:
                steps.do(atomic, loop)
            return [nest]
    if why_not_exact_sum(nest) is None:
        start, largest, sums, end = steps.do(exact_sum, nest)
        _make_atomic([largest, sums], steps)
        return [start, largest, sums, end]
    if why_not_last_write(nest) is None:
        start, look, end = steps.do(last_write, nest)
        _make_atomic([look], steps)
        return [start, look, end]
    return []


def _ordered(nest: ForOp) -> list[ForOp]:
    """The loops of the band whose iterations depend on each other."""
    return [loop for loop in perfect_band(nest) if Dependences(loop).first_carried(loop) is not None]


def _are_few(loop: ForOp) -> bool:
    count = iterations(loop)
    return count is not None and count <= FEW


def _make_atomic(nests: list[ForOp], steps: Steps) -> None:
    for nest in nests:
        for loop in _ordered(nest):
            steps.do(atomic, loop)


def is_at_found_index(op: StoreOp | AccumulateOp, nest: ForOp) -> bool:
    """Whether an index of a statement is computed in the nest, from other values than the variables of loops."""
    return any(_is_computed(value, nest) for value in op.indices.operands)


def _is_computed(value: SSAValue, nest: ForOp) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and nest.is_ancestor(owner)
