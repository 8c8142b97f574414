"""A rolling buffer: the window that an iteration writes, how it moves, and what of it is new.

In one iteration of a loop the producers write a window of a buffer: on one axis the elements `origin .. end`. Where
that moves up with the loop, `end` of the iteration before is where the new elements begin; where it moves down, they
are those below the `origin` of the iteration before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.ir import Operation

from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ..loop_structure import is_inside
from .accesses import Access, accesses_of, is_private
from .footprint import Range
from .integer_sets import System, difference, is_never_negative
from .loop_bounds import largest
from .producers import Uses, describe_instance, require_domain
from .regions import Window

Storage = Literal["circular", "whole"]
Statement = StoreOp | AccumulateOp


@dataclass(frozen=True, eq=False)
class Part:
    """What is left of the producers: shorter loops, and domains where no shorter loop does it."""

    ranges: dict[ForOp, Range] = field(default_factory=dict)
    domains: dict[Statement, AffineList] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RollingPlan:
    """The producers of a buffer in the body of `loop`, and how the part that they write moves along `axis`.

    `new` is what an iteration still computes, `first` what is computed before the loop; `needed` is what the
    producers use of the loop's body. `length` is the extent of a circular buffer.
    """

    uses: Uses
    loop: ForOp
    producers: list[Operation]
    needed: list[Operation]
    window: Window
    axis: int
    grows: bool
    new: Part = field(default_factory=Part)
    first: Part = field(default_factory=Part)
    length: int | None = None

    def refusal(self, reason: str, notes: Sequence[tuple[Operation, str]] = (), hint: str | None = None):
        return rolling_refusal(self.uses.alloc, self.loop, reason, notes, hint)

    def before(self, expression: AffineList) -> AffineList:
        """The expression in the iteration before."""
        iv = self.loop.iv
        return expression.substitute(iv, AffineList.of(iv).add(-self.loop.step_value))

    @property
    def origin(self) -> AffineList:
        return self.window.origin[self.axis]

    @property
    def end(self) -> AffineList:
        return self.origin.plus(self.window.extents[self.axis])

    def is_new(self, index: AffineList) -> AffineList:
        """What is not negative where the element of an index along the axis is new."""
        if self.grows:
            return index.minus(self.before(self.end))
        return self.before(self.origin).minus(index).add(-1)

    def is_known(self, index: AffineList) -> AffineList:
        """What is not negative where the element is not new."""
        return self.is_new(index).times(-1).add(-1)

    def parts(self) -> tuple[Window, Window]:
        """The windows of the new elements, and of the others."""
        low, high = self.origin, self.end
        point = self.before(self.end) if self.grows else self.before(self.origin)
        lower, upper = self._between(low, point), self._between(point, high)
        return (upper, lower) if self.grows else (lower, upper)

    def _between(self, low: AffineList, high: AffineList) -> Window:
        origin = [self.window.origin[k] for k in range(len(self.window.origin))]
        extents = [self.window.extents[k] for k in range(len(self.window.extents))]
        origin[self.axis], extents[self.axis] = low, high.minus(low)
        return Window(AffineList.of(*origin), AffineList.of(*extents))

    def writes(self) -> list[Statement]:
        return self.uses.writes

    def readers(self) -> list[LoadOp]:
        """The loads of the buffer that are not the producers' own."""
        return [op for op in self.uses.loads if not any(is_inside(op, p) for p in self.producers)]


def rolling_refusal(
    alloc: AllocOp,
    loop: ForOp,
    reason: str,
    notes: Sequence[tuple[Operation, str]] = (),
    hint: str | None = None,
) -> NestorError:
    message = f'cannot roll the buffer "{alloc.label.data}" in the loop "{loop.label}": {reason}'
    return fail(loop, message, hint=hint, notes=notes)


def instance_of(plan: RollingPlan, op: Operation, instance: str = "s") -> System:
    """An instance of `op` within one run of the loop."""
    system = System(plan.loop)
    describe_accesses(system, op, instance)
    return system


def describe_accesses(system: System, op: Operation, instance: str) -> None:
    describe_instance(system, op, instance)
    for access in accesses_of(op):
        require_domain(system, access, instance)


def require(system: System, expression: AffineList, instance: str = "s") -> None:
    system.require_not_negative(system.linear(expression, instance)[0])


def deny(system: System, expression: AffineList, instance: str = "s") -> None:
    """Require that a one-expression list is negative."""
    system.require_not_negative(difference({}, system.linear(expression, instance)[0], -1))


def require_later(plan: RollingPlan, system: System) -> None:
    """Require that it is not the first iteration."""
    before = plan.before(AffineList.of(plan.loop.iv))
    for k in range(len(plan.loop.lower)):
        require(system, before.minus(plan.loop.lower[k]))


def start_of(loop: ForOp) -> AffineList:
    """The first value of the loop's variable."""
    return largest(loop.lower, loop)


def runs_always(loop: ForOp) -> bool:
    """Whether the loop runs at least once."""
    low = start_of(loop)
    return all(is_never_negative(loop.upper[k].minus(low).add(-1), loop) for k in range(len(loop.upper)))


def is_own(access: Access, producer: Operation) -> bool:
    """Whether the buffer is made in the producer."""
    return isinstance(producer, ForOp) and is_private(access, producer)
