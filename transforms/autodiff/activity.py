"""Which values of a program carry derivatives: those that depend on an argument by operations that have derivatives.

%0 = nt.multiply %x, %w    // active, with respect to %x
%1 = nt.greater %0, %c     // not: a bool has no derivative
%2 = nt.stop_gradient %0   // not
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.nt.derivative_ops import StopGradientOp, is_differentiable


def carries(kind: Attribute) -> bool:
    """Whether values of this type carry derivatives: tensors and scalars of floats and complex numbers."""
    return isinstance(kind, AnyFloat) or is_differentiable(kind)


def used_from_outside(op: Operation) -> Iterator[SSAValue]:
    """The operands of `op`, and what its regions use from outside of it."""
    yield from op.operands
    for inner in op.walk():
        if inner is not op:
            yield from (value for value in inner.operands if not is_inside(value, op))


def is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is made in a region of `op`."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None:
        owner = block.parent_op()
        if owner is op:
            return True
        block = owner.parent if owner is not None else None
    return False


def active_values(ops: Iterable[Operation], start: Iterable[SSAValue]) -> set[SSAValue]:
    """What depends on the values `start` by the operations `ops` of a block (not what is in their regions)."""
    active = set(start)
    for op in ops:
        if isinstance(op, StopGradientOp) or not op.results:
            continue
        if any(v in active for v in used_from_outside(op)):
            active.update(r for r in op.results if carries(r.type))
    return active


def useful_values(ops: Sequence[Operation], ends: Iterable[SSAValue]) -> set[SSAValue]:
    """What the values `ends` depend on, among the results of the operations `ops` of a block and what these use."""
    useful = set(ends)
    for op in reversed(ops):
        if not isinstance(op, StopGradientOp) and any(r in useful for r in op.results):
            useful.update(used_from_outside(op))
    return useful
