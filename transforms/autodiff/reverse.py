"""Reverse mode on the operations of a block: cotangents of results become cotangents of operands, the last operation first.

A rule (`rules/`) is called with an operation, the cotangents of its results (None: zero) and the `Reverse`, and adds to
the cotangents of the operands. Zero cotangents are never made, and what no cotangent reaches gets no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nt.derivative_ops import is_differentiable
from ...dialects.nt.ops import SliceOp, WindowOp
from .builder import Builder
from .masks import Mask
from .missing import missing
from .replaced import Replaced
from .rules.pieces import put_together, tile
from .rules.windows import slices_reverse

Rule = Callable[[Any, Sequence["SSAValue | None"], "Reverse"], None]
Rules = Callable[[Operation], "Rule | None"]


@dataclass(eq=False)
class Cotangent:
    """The cotangent of a value so far: a sum, and pieces of it that are still to be put in."""

    total: SSAValue | None = None
    pieces: list[tuple[SliceOp, SSAValue]] = field(default_factory=list)
    """Cotangents of slices of the value: they are put in together, when all are known."""
    masked: Mask = Mask.NONE
    """What its zeros may say: that elements were not chosen, say."""


class Reverse:
    """The cotangents of the values of a block, and where the code for them goes."""

    def __init__(self, builder: Builder, active: set[SSAValue], rules: Rules):
        self.builder, self.active, self.rules = builder, active, rules
        self._known: dict[SSAValue, Cotangent] = {}
        self.replaced = Replaced()
        self.masked = Mask.NONE
        """What zeros of the cotangents of the operation may say that is differentiated now."""

    def wants(self, value: SSAValue) -> bool:
        """Whether the cotangent of `value` is of use to anybody."""
        return value in self.active

    def add(self, value: SSAValue, cotangent: SSAValue | None, *, masked: Mask = Mask.NONE) -> None:
        """Add to the cotangent of a value."""
        if cotangent is None or not self.wants(value):
            return
        if cotangent.type != value.type and is_differentiable(value.type):
            cotangent = self.builder.fitted(cotangent, value)  # extents that one of the types knows
        known = self._known.setdefault(value, Cotangent())
        known.masked = max(known.masked, masked, self.masked)
        if known.total is None:
            known.total = cotangent
        else:
            known.total = self.builder.elementwise("add", known.total, cotangent)

    def add_piece(self, op: SliceOp, cotangent: SSAValue) -> None:
        """Add the cotangent of a slice to that of what it is a slice of."""
        if not self.wants(op.source):
            return
        known = self._known.setdefault(op.source, Cotangent())
        known.masked = max(known.masked, self.masked)
        known.pieces.append((op, cotangent))

    def replace(self, op: Operation, by: Operation) -> None:
        """Put an operation in the place of one of the program, which has results more than that had."""
        self.replaced.replace(op, by)

    def now(self, value: SSAValue) -> SSAValue:
        """The value that took the place of `value`, itself where none did."""
        return self.replaced.now(value)

    def has(self, value: SSAValue) -> bool:
        """Whether the cotangent of a value is anything but zero."""
        return value in self._known

    def take(self, value: SSAValue) -> SSAValue | None:
        """The cotangent of a value, complete; None where it is zero."""
        known = self._known.pop(value, None)
        if known is None:
            return None
        self.masked = max(self.masked, known.masked)
        if not known.pieces:
            return known.total
        if known.total is None and not tile(value, [op for op, _ in known.pieces]):
            self.masked = Mask.ALL
        return put_together(self.builder, value, known.total, known.pieces)

    def take_pieces(self, value: SSAValue) -> list[tuple[SliceOp, SSAValue]]:
        """The cotangents of slices of a value, where these are all of its own; none where there is more."""
        known = self._known.get(value)
        if known is None or known.total is not None:
            return []
        self.masked = max(self.masked, known.masked)
        return self._known.pop(value).pieces

    def run(self, ops: Iterable[Operation]) -> None:
        """Take the operations in reverse; afterwards cotangents are those of what they do not make."""
        for op in reversed(list(ops)):
            if any(self.has(r) for r in op.results):
                self._run_one(op)

    def _run_one(self, op: Operation) -> None:
        self.builder.location, self.masked = op.location, Mask.NONE
        if isinstance(op, WindowOp) and (pieces := self.take_pieces(op.result)):
            return slices_reverse(op, pieces, self)
        cotangents = [self.take(r) for r in op.results]
        rule = self.rules(op)
        if rule is None:
            raise missing(op)
        rule(op, cotangents, self)

    def inside(self, block: Block, active: set[SSAValue]) -> Reverse:
        """The same for a block in a region of an operation: its code goes to the end of `block`."""
        return Reverse(Builder(block, None, self.builder.location, self.builder.mark), active, self.rules)
