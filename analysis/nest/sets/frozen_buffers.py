"""Buffers whose elements are the same in every call: frozen arguments, and what is computed from them alone."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import FROZEN, ROLE
from ....dialects.nest import AllocOp
from ..loop_structure import enclosing_loops
from .accesses import READ, accesses_of, alias_set, argument_attribute, root_of

DEEPEST = 4
"""Maximum number of buffers between an argument and the one in question."""


def is_frozen(buffer: SSAValue) -> bool:
    """Whether a buffer is a frozen argument that is only read."""
    root = root_of(buffer)
    return (
        argument_attribute(root, FROZEN) is not None
        and argument_attribute(root, ROLE) is None
        and alias_set(root) is None
    )


def is_computed_once(buffer: SSAValue, deepest: int = DEEPEST) -> bool:
    """Whether a buffer is a frozen argument, or computed from such alone by nests of the function's block."""
    root = root_of(buffer)
    if is_frozen(root) or not isinstance(root.owner, AllocOp) or not deepest:
        return is_frozen(root)
    writers: set[Operation] = set()
    for use in root.uses:
        op: Operation = use.operation
        if any(access.kind != READ for access in accesses_of(op)):
            writers.add(next(iter(enclosing_loops(op)), op))
    reads = {
        access.root
        for writer in writers
        for op in writer.walk()
        for access in accesses_of(op)
        if access.kind == READ and access.root is not root
    }
    return bool(reads) and all(read is not None and is_computed_once(read, deepest - 1) for read in reads)
