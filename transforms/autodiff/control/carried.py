"""Which values that a loop carries have derivatives, and which of them matter for what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, SSAValue

from ..activity import active_values, carries, useful_values


def active_carried(
    block: Block, arguments: Sequence[SSAValue], starts: set[int], outer: Iterable[SSAValue]
) -> set[int]:
    """The carried values that depend on those of `starts`, or on `outer`, after any number of iterations."""
    ops = list(block.ops)[:-1]
    ends = _ends(block)
    found = {k for k in starts if carries(arguments[k].type)}
    while True:
        active = active_values(ops, {arguments[k] for k in found}.union(outer))
        more = {k for k, end in enumerate(ends) if end in active and carries(end.type)} - found
        if not more:
            return found
        found |= more


def useful_carried(block: Block, arguments: Sequence[SSAValue], asked: set[int]) -> set[int]:
    """The carried values that those of `asked` depend on, after any number of iterations; these among them."""
    ops = list(block.ops)[:-1]
    ends = _ends(block)
    found = set(asked)
    while True:
        useful = useful_values(ops, {ends[k] for k in found})
        more = {k for k, argument in enumerate(arguments) if argument in useful} - found
        if not more:
            return found
        found |= more


def _ends(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None
    return block.last_op.operands
