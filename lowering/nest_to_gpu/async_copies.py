"""Copies that are in flight (part of convert-nest-to-gpu): loops annotated `nestor.async`, see async_copies.py.

    nest.for "v" %v = 0 to 4 vectorized(4) attributes {nestor.async} {
      ... %x[%i, 4 * %t + %v] where (%i < %n), else 0, is copied to %tile[%r, 4 * %t + %v]

becomes, where the buffers are aligned,

    %0 = arith.cmpi slt, %i, %n
    %1 = arith.select %0, %c4, %c0
    %2 = nvgpu.device_async_copy %x[%i, %k], %tile[%r, %k], 4, %1

and otherwise such a copy of one element for each lane: of how many the hardware writes as zeros, a branch is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...analysis.machine import ACCESS_BYTES
from ...analysis.nest.kernels.async_copies import AsyncCopy, copy_in
from ...analysis.nest.sets.domains import domain_of
from ...analysis.nest.values.linear_forms import forms_of
from ...dialects.affine import AffineList
from ...dialects.attributes import ASYNC
from ...dialects.ext.nvgpu import DeviceAsyncCopyOp
from ...dialects.nest import ForOp
from .vectors import LaneLoop, multiple_of

if TYPE_CHECKING:
    from .tiles import TileBody


def async_loops(loops: Sequence[ForOp]) -> dict[ForOp, AsyncCopy] | None:
    """The copies of loops that all are asynchronous, and copy an element, or zero, in every iteration."""
    found: dict[ForOp, AsyncCopy] = {}
    for loop in loops:
        copy = copy_in(loop) if ASYNC in loop.attributes else None
        if copy is None or copy.store.where is not None or copy.store.mask is not None:
            return None
        found[loop] = copy
    return found or None


def copy_elements(body: TileBody, loop: ForOp, copy: AsyncCopy) -> None:
    """A copy for each iteration."""

    def one() -> None:
        conditions = [body.builder.at_least_zero(body.forms(c)[0]) for c in _asked(body, copy)]
        read = _where(body, conditions, body.builder.constant(1)) if conditions else None
        source, target = body.value(copy.load.memref), body.value(copy.store.memref)
        there = body.places(source, body.index_values(copy.load.indices))
        here = body.places(target, body.index_values(copy.store.indices))
        body.builder.location = copy.store.location  # pyright: ignore[reportAttributeAccessIssue]
        body.builder.emit(DeviceAsyncCopyOp.of(source, there, target, here, 1, read))

    body.iterations(loop, one)


class VectorCopy:
    """A vectorized loop that is one copy."""

    def __init__(self, body: TileBody, loop: ForOp, copy: AsyncCopy):
        self.body, self.loop, self.copy = body, loop, copy
        self.lanes = LaneLoop(body, loop, body.assumed | set(domain_of_load(copy)))
        self.edges = {c: self._edge(c) for c in domain_of_load(copy)}

    def is_legal(self) -> bool:
        """Whether neighbours are copied to neighbours, and how many there are is known before the first."""
        is_whole = self.lanes.accesses == [self.copy.load, self.copy.store]
        return is_whole and None not in self.edges.values()

    def _edge(self, constraint: AffineList) -> str | None:
        """Whether a constraint holds in all lanes or in none, or in the first ones; None where that is not known."""
        (form,) = forms_of(constraint, list(constraint.operands))
        rest, step = form.without(self.loop.iv), form.coefficient(self.loop.iv)
        if rest.uses(self.loop.iv) or step not in (0, -1):
            return None
        return "all" if step == 0 or multiple_of(rest.plus(1)) % self.lanes.width == 0 else "first"

    def emit(self) -> None:
        """The copy."""
        body, builder, width = self.body, self.body.builder, self.lanes.width
        conditions: list[SSAValue] = []
        count = builder.constant(width)
        asked = _asked(body, self.copy)
        body.values[self.loop.iv] = 0
        for constraint in asked:
            (form,) = body.forms(constraint)
            if self.edges[constraint] == "all":
                conditions.append(builder.at_least_zero(form))
            else:
                count = builder.value(arith.MinSIOp, (builder.affine(form.plus(1)), count))
                count = builder.value(arith.MaxSIOp, (count, builder.constant(0)))
        read = _where(body, conditions, count) if asked else None
        (source, *there), (target, *here) = map(self.lanes.place, (self.copy.load, self.copy.store))
        is_largest = width * self.copy.element_bytes == ACCESS_BYTES
        builder.location = self.copy.store.location  # pyright: ignore[reportAttributeAccessIssue]
        builder.emit(DeviceAsyncCopyOp.of(source, there, target, here, width, read, is_largest))


def domain_of_load(copy: AsyncCopy) -> tuple[AffineList, ...]:
    """The constraints outside of which zero is copied."""
    return () if copy.inside is None else domain_of(copy.inside).constraints


def _asked(body: TileBody, copy: AsyncCopy) -> list[AffineList]:
    return [constraint for constraint in domain_of_load(copy) if constraint not in body.assumed]


def _where(body: TileBody, conditions: Sequence[SSAValue], count: SSAValue) -> SSAValue:
    """The count where all conditions hold, else 0."""
    if not conditions:
        return count
    condition = conditions[0]
    for other in conditions[1:]:
        condition = body.builder.value(arith.AndIOp, (condition, other))
    return body.builder.value(arith.SelectOp, (condition, count, body.builder.constant(0)), count.type)
