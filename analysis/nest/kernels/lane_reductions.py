"""Reductions over the lanes of a warp: which updates they are, and what one needs.

nest.for "l" %l = 0 to 32 bind "lane" {
  %a = nest.load %x[%i, %l]
  nest.accumulate "s" add %a, %s[%i]          every lane updates the one element: the values are combined
}                                             by shuffles, and lane 0 adds their total to the element

All 32 lanes take part in a shuffle, so none may be elsewhere: the loop has 32 iterations, and between it and the
update stand only loops that all lanes run equally often. A domain masks values, it keeps no lane away. Where a warp is
8 by 4 lanes (lane.y, lane.x), the lanes along one axis combine their values, for each place along the other.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.affine import AffineList, dims_of, linear_terms
from ....dialects.nest import LANES_ALONG, AccumulateOp, AllocOp, ForOp, IndexOp, LoadOp

_INTEGERS = tuple(IntegerType(bits) for bits in (8, 16, 32, 64))


def reduction_loop(op: Operation) -> ForOp | None:
    """The loop over lanes all of whose iterations update one element by `op`; None when `op` is no such update."""
    if not isinstance(op, AccumulateOp) or op.order_name == "atomic":
        return None
    for loop in _lane_loops(op):
        if any(isinstance(m.owner, AllocOp) and loop.is_ancestor(m.owner) for m in op.memrefs):
            return None
        if not any(differs(v, loop) for v in op.indices.operands):
            return loop
    return None


def holds_reduction(loop: ForOp) -> bool:
    """Whether an update by all lanes of a loop around is in `loop`."""
    return bool(_lane_loops(loop)) and any(reduction_loop(op) is not None for op in loop.walk())


def why_not_shuffled(op: AccumulateOp, loop: ForOp, axis: str) -> tuple[Operation, str] | None:
    """What keeps the lanes of `loop`, on an axis of lanes, from combining their values by shuffles, and the reason."""
    if op.combine is not None and op.identity is None:
        return op, "the custom combiner is not declared associative (it states no identity)"
    for value in op.values:
        if not isinstance(value.type, AnyFloat) and value.type not in _INTEGERS:
            return op, f"lanes exchange numbers of 8, 16, 32 or 64 bits, not {value.type}"
    lanes = LANES_ALONG[axis]
    if loop.constant_trip_count() != lanes or len(loop.upper) != 1:
        return (
            loop,
            f"all {lanes} lanes take part in a reduction, but the loop does not have {lanes} iterations",
        )
    other = reduction_loop(op)
    if other is not None and other is not loop:
        return other, "the lanes of this loop combine their values already"
    around = op.parent_op()
    while around is not None and around is not loop:
        if not isinstance(around, ForOp):
            return around, "some lanes may not reach what is in the branch"
        if any(differs(v, loop) for v in (*around.lower_operands, *around.upper_operands)):
            return around, "some lanes run more iterations of this loop than others"
        around = around.parent_op()
    return None


def holds_first(constraint: AffineList, loop: ForOp) -> bool:
    """Whether lane 0 is among the lanes for which a constraint holds, if there are any."""
    terms, _ = linear_terms(constraint.exprs[0])
    for atom, factor in terms.items():
        values = [constraint.operands[k] for k in dims_of(atom)]
        is_fine = isinstance(atom, AffineDimExpr) and values[0] is loop.iv and factor < 0
        if not is_fine and any(differs(v, loop) for v in values):
            return False
    return True


def differs(value: SSAValue, loop: ForOp) -> bool:
    """Whether a value may differ between the iterations of `loop`."""
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        if around is loop:
            return True
        if not isinstance(around, ForOp) or not loop.is_ancestor(around):
            return False
        return any(differs(v, loop) for v in (*around.lower_operands, *around.upper_operands))
    if not loop.is_ancestor(owner):
        return False
    return (
        isinstance(owner, LoadOp | IndexOp)
        or bool(owner.regions)
        or any(differs(v, loop) for v in owner.operands)
    )


def _lane_loops(op: Operation) -> list[ForOp]:
    """The loops over lanes around, the innermost first."""
    found: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.kind in LANES_ALONG:
            found.append(parent)
        parent = parent.parent_op()
    return found
