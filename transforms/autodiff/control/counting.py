"""How often an scf.for runs, and where its iterations are."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import fail
from ....dialects.nt.ops import DimOp
from ..builder import Builder
from .outer_extents import Extent


class Counting:
    """How often a loop runs, and where its iterations are."""

    def __init__(self, op: scf.ForOp, before: Builder):
        step = constant_of(op.step)
        if step is None or step < 1:
            raise fail(op, "a loop on tensors needs a constant positive step")
        self.op, self.step = op, step
        lower, upper = constant_of(op.lb), constant_of(op.ub)
        self.lower: Extent = op.lb if lower is None else lower
        self.length: Extent
        if lower is not None and upper is not None:
            self.length = max(0, -((lower - upper) // step))
        elif lower == 0 and step == 1 and isinstance(op.ub.owner, DimOp):
            self.length = op.ub
        else:
            distance = AffineList.of(op.ub).minus(AffineList.of(self.lower))
            if step != 1:
                distance = distance.add(step - 1).divided(AffineBinaryOpKind.FloorDiv, step)
            steps = before.index(distance)
            self.length = before.value(arith.MaxSIOp(steps, before.index_constant(0)))

    def longer(self, before: Builder) -> Extent:
        """The count of iterations and one more."""
        if isinstance(self.length, int):
            return self.length + 1
        return before.index(AffineList.of(self.length).add(1))

    def place(self, variable: SSAValue) -> AffineList:
        """Which iteration it is, from 0."""
        distance = AffineList.of(variable).minus(AffineList.of(self.lower))
        return distance if self.step == 1 else distance.divided(AffineBinaryOpKind.FloorDiv, self.step)

    def from_end(self, number: SSAValue) -> AffineList:
        """Which iteration is number `number` of the reversed loop."""
        return AffineList.of(self.length).minus(AffineList.of(number)).add(-1)

    def variable(self, place: AffineList) -> AffineList:
        """The loop variable of an iteration."""
        return place.times(self.step).plus(AffineList.of(self.lower))
