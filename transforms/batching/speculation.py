"""Whether operations may run for slices for which Python does not run them: nothing but time is lost.

What Python reaches only where a condition holds may be out of bounds elsewhere: views that start where run-time numbers
say, and islands with accesses or loops that anything but their own loops, constants and extents decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import cf, func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from ...dialects.affine import constant_of
from ...dialects.nest import ForOp, IndexOp, LookupOp
from ...dialects.nest.access import AccessOp
from ...dialects.nt import DimOp, LoopsOp, SliceOp


def may_always_run(block: Block) -> bool:
    """Whether all operations of a block may."""
    return all(map(_may_always_run, block.ops))


def _may_always_run(op: Operation) -> bool:
    if isinstance(op, SliceOp):
        return op.offsets.constants() is not None
    if isinstance(op, LoopsOp):
        return _stays_in_bounds(op)
    if isinstance(op, scf.WhileOp) or _may_trap(op):
        return False  # a loop may not end
    if isinstance(op, scf.IfOp | scf.ForOp):
        return all(may_always_run(block) for region in op.regions for block in region.blocks)
    return (
        op.has_trait(Pure)
        or op.has_trait(IsTerminator)
        or op.name.startswith(("arith.", "math.", "special."))
    )


_DIVISIONS = (
    "arith.divsi",
    "arith.divui",
    "arith.remsi",
    "arith.remui",
    "arith.floordivsi",
    "arith.ceildivsi",
)


def _may_trap(op: Operation) -> bool:
    """Whether it divides integers by what may be zero, or -1: the quotient of the least integer does not fit."""
    if op.name not in _DIVISIONS:
        return False
    divisor = constant_of(op.operands[1])
    return not divisor or (divisor == -1 and not op.name.endswith("ui"))


def _stays_in_bounds(op: LoopsOp) -> bool:
    """Whether an island checks nothing, and no number that is computed decides which elements it is on."""
    for inner in op.walk():
        if _may_trap(inner):
            return False
        if isinstance(inner, IndexOp | LookupOp | cf.AssertOp | func.CallOp | scf.WhileOp):
            return False
        if isinstance(inner, ForOp) and not _are_fixed((*inner.lower_operands, *inner.upper_operands)):
            return False
        if isinstance(inner, AccessOp) and not _are_fixed(inner.index_operands):
            return False
    return True


def _are_fixed(values: Iterable[SSAValue]) -> bool:
    """Whether these are variables of loops, constants and extents."""
    return all(
        isinstance(v.owner.parent_op(), ForOp)
        if isinstance(v.owner, Block)
        else constant_of(v) is not None or isinstance(v.owner, DimOp)
        for v in values
    )
