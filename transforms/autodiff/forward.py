"""Forward mode on the operations of a block: tangents of operands become tangents of results, the first operation first.

A rule (`rules/`) is called with an operation and the `Forward`, and gives a tangent for each result (None: zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nt.derivative_ops import StopGradientOp
from .activity import carries, used_from_outside
from .builder import Builder
from .missing import missing
from .replaced import Replaced

Rule = Callable[[Any, "Forward"], Sequence["SSAValue | None"]]
Rules = Callable[[Operation], "Rule | None"]


class Forward:
    """The tangents of the values of a block, and where the code for them goes."""

    def __init__(self, builder: Builder, useful: set[SSAValue], rules: Rules):
        self.builder, self.useful, self.rules = builder, useful, rules
        self._known: dict[SSAValue, SSAValue] = {}
        self.replaced = Replaced()
        self._rest: list[Operation] = []

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

    def replace(self, op: Operation, by: Operation) -> None:
        """Put an operation of the derivative in the place of one of the program, with results more than that had.

        It is behind the program, where derivatives are: the operations that follow in the program go behind it.
        """
        self.replaced.replace(op, by)
        for later in self._rest:
            later.detach()
            self.builder.insert(later)

    def now(self, value: SSAValue) -> SSAValue:
        """The value that took the place of `value`, itself where none did."""
        return self.replaced.now(value)

    def run(self, ops: Iterable[Operation]) -> None:
        """Take the operations in order."""
        self._rest = list(ops)
        while self._rest:
            op = self._rest.pop(0)
            if isinstance(op, StopGradientOp):
                continue
            if not any(r in self.useful and carries(r.type) for r in op.results):
                continue
            if not any(self.of(v) is not None for v in used_from_outside(op)):
                continue
            self.builder.location = op.location
            rule = self.rules(op)
            if rule is None:
                raise missing(op)
            for result, tangent in zip(op.results, rule(op, self), strict=True):
                self.set(self.now(result), tangent)

    def inside(self, block: Block, useful: set[SSAValue]) -> Forward:
        """The same for a block in a region of an operation: its code goes to the end of `block`."""
        inner = Forward(Builder(block, None, self.builder.location, self.builder.mark), useful, self.rules)
        inner._known = dict(self._known)
        return inner
