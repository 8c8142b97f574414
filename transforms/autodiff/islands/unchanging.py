"""Loops around a value that compute it again and again: a tape has it once, as their first iteration stores it.

nest.for "t" ... {                               // v is another one in each iteration of "t"
  nest.for "i" ... {                             // and the same ones in each of "i"
    nest.for "j" %j ... { %p = nest.load %v[%j] ; %a = nest.load %w[%i, %j] ; ... %p * %a ... }
  }
  nest.for "i" ... { ... nest.store ..., %v[%i] }
}
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_loops, is_inside
from ....analysis.nest.sets.domains import LoadGuards, is_computation
from ....dialects.nest import ForOp, IndexOp, LoadOp
from .primal import Primal


def unchanging_loops(value: SSAValue, primal: Primal) -> list[ForOp]:
    """The loops around an operation each of whose iterations has it compute the same value, outermost first.

    Their first iterations compute it for all iterations of the loops in between.
    """
    op = value.owner
    if isinstance(op, Block) or op not in primal.original:
        return []
    if LoadGuards().of(primal.original[op]) is not None:
        return []
    loops = enclosing_loops(op)
    found: list[ForOp] = []
    inner: Operation = op
    for loop in reversed(loops):
        if inner.parent_op() is not loop:
            break  # a branch decides
        between = loops[loops.index(loop) + 1 :]
        bounds = [v for other in between for v in (*other.lower.operands, *other.upper.operands)]
        if len(loop.lower) == 1 and all(_is_same(v, loop, primal, {}) for v in (value, *bounds)):
            found.append(loop)
        inner = loop
    return found[::-1]


def _is_same(value: SSAValue, loop: ForOp, primal: Primal, known: dict[SSAValue, bool]) -> bool:
    """Whether a value is the same in each iteration of `loop`, the loops inside being in the same ones."""
    op = value.owner
    if isinstance(op, Block):
        return value is not loop.iv
    if not is_inside(op, loop):
        return True
    if value not in known:
        if isinstance(op, LoadOp):
            known[value] = not primal.writes_between(op, loop)
            operands = list(op.indices.operands)
        else:
            known[value] = isinstance(op, IndexOp) or is_computation(op)
            operands = list(op.operands)
        known[value] = known[value] and all(_is_same(v, loop, primal, known) for v in operands)
    return known[value]
