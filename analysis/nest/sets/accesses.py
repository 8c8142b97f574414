"""Accesses to buffers: what an operation reads and writes, and which buffers may share memory.

Conservative: an operation that is not known may touch every buffer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure, is_side_effect_free

from ....dialects.affine import AffineList
from ....dialects.attributes import ALIAS_SET
from ....dialects.nest import (
    AccumulateOp,
    AllocOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    YieldOp,
)
from ..loop_structure import is_inside

VIEWS = (
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
    memref.SubviewOp,
    memref.ReinterpretCastOp,
)
"""Operations whose result is another view of their first operand's buffer."""

FRESH = (AllocOp, memref.AllocOp, memref.AllocaOp)
"""Operations whose result is a buffer that nothing else can touch."""

READ, WRITE, UPDATE = "read", "write", "update"


@dataclass(frozen=True, eq=False)
class Access:
    """One operation's access to one buffer. `buffer` is None when the operation may touch any."""

    op: Operation
    kind: str
    buffer: SSAValue | None
    indices: AffineList | None
    where: AffineList | None = None

    @cached_property
    def root(self) -> SSAValue | None:
        """The buffer itself, behind views of it."""
        return None if self.buffer is None else root_of(self.buffer)

    @property
    def writes(self) -> bool:
        return self.kind != READ


def accesses_in(op: Operation) -> list[Access]:
    """What `op` and all that is inside of it read and write."""
    return [access for inner in op.walk() for access in accesses_of(inner)]


def is_private_to(access: Access, op: Operation) -> bool:
    """Whether an access is to a buffer that is made inside of `op`."""
    root = access.root
    return root is not None and isinstance(root.owner, AllocOp) and is_inside(root.owner, op)


def accesses_of(op: Operation) -> list[Access]:
    """What `op` itself reads and writes; the operations in its regions speak for themselves."""
    handler = _ACCESSES.get(type(op))
    if handler is not None:
        return handler(op)
    if _is_pure(type(op)) or op.name in _HARMLESS or is_side_effect_free(op):
        return []
    return [Access(op, WRITE, None, None)]


@functools.cache
def _is_pure(kind: type[Operation]) -> bool:
    """Whether no operation of a kind has an effect."""
    return kind.has_trait(Pure, value_if_unregistered=False)


_ACCESSES: dict[type[Operation], Callable[..., list[Access]]] = {
    LoadOp: lambda op: [Access(op, READ, op.memref, op.indices)],
    StoreOp: lambda op: [Access(op, WRITE, op.memref, op.indices, op.where)],
    AccumulateOp: lambda op: [Access(op, UPDATE, b, op.indices, op.where) for b in op.memrefs],
    **dict.fromkeys((ForOp, IfOp, IndexOp, YieldOp, AllocOp, PrefetchOp, FuncOp), lambda op: []),
}

_HARMLESS = frozenset(
    {"builtin.module", "func.return", "memref.alloc", "memref.alloca", "memref.dim", "cf.assert", "scf.yield"}
    | {
        "arith.divui",
        "arith.divsi",
        "arith.ceildivui",
        "arith.remui",
        "arith.extsi",
    }  # undefined for 0, at worst
    | {view.name for view in VIEWS}
)


def atomic_update(accesses: Sequence[Access]) -> Operation | None:
    """An update that other iterations may make at the same time; None where there is none."""
    return next(
        (a.op for a in accesses if isinstance(a.op, AccumulateOp) and a.op.order_name == "atomic"), None
    )


def root_of(buffer: SSAValue) -> SSAValue:
    """The buffer that `buffer` is a view of (itself when it is none)."""
    while isinstance(buffer.owner, VIEWS):
        buffer = buffer.owner.operands[0]
    return buffer


def may_overlap(first: Access, second: Access) -> bool:
    """Whether two accesses may touch one buffer."""
    if first.root is None or second.root is None:
        return True
    return first.root is second.root or may_alias(first.root, second.root)


def may_alias(first: SSAValue, second: SSAValue) -> bool:
    """Whether two different root buffers may share memory."""
    if first is second:
        return True
    if isinstance(first.owner, FRESH) or isinstance(second.owner, FRESH):
        return False
    if isinstance(first.owner, Block) and isinstance(second.owner, Block):
        group = alias_set(first)
        return group is not None and group == alias_set(second)
    return True


def alias_set(argument: SSAValue) -> int | None:
    """The `nest.alias_set` of a function argument, None when it overlaps nothing."""
    attribute = argument_attribute(argument, ALIAS_SET)
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def argument_attribute(argument: SSAValue, name: str):
    """The attribute `name` of a function argument, None when it has none or is no such argument."""
    block = argument.owner
    if not isinstance(block, Block):
        return None
    function = block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    return function.arg_attrs.data[block.args.index(argument)].data.get(name)  # pyright: ignore


def is_private(access: Access, loop: ForOp) -> bool:
    """A buffer made inside the loop is a new one in each iteration."""
    root = access.root
    return root is not None and isinstance(root.owner, FRESH) and is_inside(root.owner, loop)


def is_defined_outside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined outside of `op`, and so has one value during each run of it."""
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return parent is None or not is_inside(parent, op)
    return not is_inside(owner, op)


def buffer_name(buffer: SSAValue | None) -> str:
    """How diagnostics call a buffer."""
    if buffer is None:
        return "memory that is not known"
    return f'"{buffer.name_hint}"' if buffer.name_hint else "a buffer"


def access_notes(accesses: Sequence[Access], text: str) -> list[tuple[Operation, str]]:
    """One note an access."""
    return [(access.op, f"{text} {buffer_name(access.buffer)}") for access in accesses]
