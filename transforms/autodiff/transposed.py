"""Reverse mode from forward mode: the tangents of an operation, which are linear, are written down and transposed.

    %y = nt.custom_call "numpy.linalg.inv"(%x)       // forward: ty = -(y @ tx @ y)
  has in reverse, by the transposes of both products, cx = -(y' @ cy @ y')

Only what gives cotangents stays: the operations on tangents are erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.nt.derivative_ops import StopGradientOp
from ...dialects.nt.halves import Mark
from .activity import active_values
from .builder import Builder
from .forward import Forward
from .masks import Mask
from .reverse import Reverse

Tangents = Callable[[Any, Forward], Sequence[SSAValue | None]]


class Recorder(Builder):
    """A builder that remembers what it made."""

    def __init__(
        self, block: Block, anchor: Operation | None, location: Any = None, mark: Mark | None = None
    ):
        super().__init__(block, anchor, location, mark)
        self.made: list[Operation] = []

    def add(self, op: Operation) -> Operation:
        self.made.append(op)
        return super().add(op)


def add_transposed(
    op: Operation,
    operands: Sequence[SSAValue],
    cotangents: Sequence[SSAValue | None],
    to: Reverse,
    rule: Tangents,
) -> None:
    """Add the cotangents of `operands`; `rule` gives the tangents of the results of `op`, by theirs."""
    b = Recorder(to.builder.block, to.builder.anchor, to.builder.location, to.builder.mark)
    wanted = [v for v in dict.fromkeys(operands) if to.wants(v)]
    useful = {r for r, c in zip(op.results, cotangents, strict=True) if c is not None}
    by = Forward(b, useful, lambda _: None)
    places = [b.value(StopGradientOp(v)) for v in wanted]
    for value, place in zip(wanted, places, strict=True):
        by.set(value, place)
    tangents = rule(op, by)
    forward = b.made[len(places) :]
    back = Reverse(to.builder, active_values(forward, places), to.rules)
    for tangent, cotangent in zip(tangents, cotangents, strict=True):
        if tangent is not None and cotangent is not None:
            back.add(tangent, cotangent, masked=to.masked)
    back.run(forward)
    for value, place in zip(wanted, places, strict=True):
        back.masked = Mask.NONE
        cotangent = back.take(place)
        to.add(value, cotangent, masked=back.masked)
    erase_unused(b.made)


def erase_unused(ops: Iterable[Operation]) -> None:
    """Erase those of some operations that nobody uses, the last first."""
    for op in reversed(list(ops)):
        if not any(r.first_use for r in op.results):
            op.detach()
            op.erase()
