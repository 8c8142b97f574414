"""Forward mode on the operations of a block: tangents of operands become tangents of results, the first operation first.

A rule (`rules/`) is called with an operation and the `Forward`, and gives a tangent for each result (None: zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from .activity import carries, used_from_outside
from .builder import Builder
from .missing import missing

Rule = Callable[[Any, "Forward"], Sequence["SSAValue | None"]]
Rules = Callable[[Operation], "Rule | None"]


class Forward:
    """The tangents of the values of a block, and where the code for them goes."""

    def __init__(self, builder: Builder, useful: set[SSAValue], rules: Rules):
        self.builder, self.useful, self.rules = builder, useful, rules
        self._known: dict[SSAValue, SSAValue] = {}

    def set(self, value: SSAValue, tangent: SSAValue | None) -> None:
        """Say what the tangent of a value is."""
        if tangent is not None and carries(value.type):
            self._known[value] = tangent

    def of(self, value: SSAValue) -> SSAValue | None:
        """The tangent of a value; None where it is zero."""
        return self._known.get(value)

    def full(self, value: SSAValue) -> SSAValue:
        """The tangent of a value, zeros written out."""
        known = self.of(value)
        return self.builder.zeros(value) if known is None else known

    def run(self, ops: Iterable[Operation]) -> None:
        """Take the operations in order."""
        for op in list(ops):
            if not any(r in self.useful and carries(r.type) for r in op.results):
                continue
            if not any(self.of(v) is not None for v in used_from_outside(op)):
                continue
            self.builder.location = op.location
            rule = self.rules(op)
            if rule is None:
                raise missing(op)
            for result, tangent in zip(op.results, rule(op, self), strict=True):
                self.set(result, tangent)

    def inside(self, block: Block, useful: set[SSAValue]) -> Forward:
        """The same for a block in a region of an operation: its code goes to the end of `block`."""
        inner = Forward(Builder(block, None, self.builder.location), useful, self.rules)
        inner._known = dict(self._known)
        return inner
