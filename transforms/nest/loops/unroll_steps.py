"""nest-unroll-steps: the iterations of loops over steps, one after the other, so that each step is followed on its own.

    nest.for "t" %t = 0 to 2 {
      nest.for "i" %i = 1 to %n {
        %a = nest.load %x[%i - 1]
        nest.store "y" %a, %y[%i]
      }
    }

becomes

    nest.for "i" %i = 1 to %n {
      %a = nest.load %x[%i - 1]
      nest.store "y" %a, %y[%i]
    }
    nest.for "i.1" %i = 1 to %n {
      %a = nest.load %x[%i - 1]
      nest.store "y" %a, %y[%i]
    }

A step has loops inside, and no index depends on its number. Loops of a constant number of steps, at most `limit`, are
written out with `nest-unroll`; others stay. Before `nest-restrict`: the halo of a few steps is then their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import structured_functions
from ....analysis.nest.sets.accesses import accesses_in
from ....dialects.nest import ForOp
from .unroll import constant_trips, unroll, why_not_unroll


def is_step(loop: ForOp) -> bool:
    """Whether a loop repeats nests, in which no index depends on its variable."""
    if not any(isinstance(op, ForOp) for op in loop.body.block.ops):
        return False
    return not any(
        access.indices is not None and loop.iv in access.indices.operands for access in accesses_in(loop)
    )


@dataclass(frozen=True, eq=False)
class NestUnrollStepsPass(ModulePass):
    """Write out loops over a constant number of steps."""

    name = "nest-unroll-steps"

    limit: int = 8
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in structured_functions(op, self.func):
            for loop in [one for one in function.body.block.ops if isinstance(one, ForOp)]:
                trips = constant_trips(loop)
                if trips is None or trips > self.limit or not is_step(loop):
                    continue
                if why_not_unroll(loop) is None:
                    unroll(loop)
