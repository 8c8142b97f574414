"""What an operation of `nt` says about the work that it is: passes ask it, and keep no lists of operations.

role_of(op)               Role.COMPUTES of nt.add, Role.VIEW of nt.slice, Role.SOURCE of nt.iota, None of func.return
effort_of(op)             Effort.FUNCTION of nt.exp: how expensive one point is
op.points                 a value that has an element for each point: the result, what nt.reduce reduces
op.source_axes()          where axis k of a view's result comes from
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import ClassVar

from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation


class Role(Enum):
    """What an operation on tensors is for a pass that fuses, moves or recomputes."""

    COMPUTES = "its elements are computed point by point, in loops that it shares with others"
    VIEW = "it says where an element of another tensor is found"
    SOURCE = "it has no tensor operands, and an element is computed wherever it is used"
    APART = "it reads its operands from memory, in loops of its own"


class Effort(IntEnum):
    """How expensive a point is to compute."""

    CHEAP = 0
    """A few instructions."""
    DIVISION = 1
    """More than to load it."""
    FUNCTION = 2
    """More than to store it and to load it again."""


class Working(IRDLOperation):
    """Base of operations with a role."""

    ROLE: ClassVar[Role]

    @property
    def role(self) -> Role | None:
        """What the operation is; None where it has no role as it is."""
        return self.ROLE

    @property
    def effort(self) -> Effort:
        """How expensive one of its points is."""
        return Effort.CHEAP

    @property
    def points(self) -> SSAValue:
        """A value with the extents of the space that it computes: an element for each point."""
        return self.results[0]


class Viewing(Working):
    """Base of views."""

    ROLE: ClassVar[Role] = Role.VIEW
    SHIFTS: ClassVar[bool] = False
    """Equal points of source and result are not equal elements."""

    def source_axes(self) -> tuple[int | None, ...]:
        """Of each axis of the result: the axis of the source that it runs along; None where it repeats, or is another."""
        raise NotImplementedError


def role_of(op: Operation | Block) -> Role | None:
    """The role of an operation; None of one that has none (a block, whose arguments are values too)."""
    return getattr(op, "role", None)


def effort_of(op: Operation | Block) -> Effort:
    """How expensive a point of an operation is; cheap of one that computes none."""
    return getattr(op, "effort", Effort.CHEAP)
