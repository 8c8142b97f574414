"""nest-reorder: run perfectly nested loops in another order.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        ... %x[%i, %j] ...
      }
    }

becomes

    nest.for "j" %j = 0 to %m {
      nest.for "i" %i = 0 to %n {
        ... %x[%i, %j] ...
      }
    }

Refused when a dependence would be turned around: some pair of iterations that touch one element (one of them
writing it) would run the other way round; reductions in any order do not count. Refused too when the bounds of
one loop use the variable of another that would be inside it. `reorder` in Halide, TVM and NNC, `reorder_loops` in Exo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import ForOp
from .dependence import Dependences, analyse
from .loops import find_loop, may_fail, perfect_band


def why_not_reorder(order: Sequence[ForOp], dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to run loops in `order` (outermost first), None when it is legal."""
    band = band_of(order)
    if isinstance(band, NestorError):
        return band
    names = ", ".join(loop.label for loop in order)
    for k, other in enumerate(order):
        for loop in order[k + 1 :]:
            if loop.iv in (*other.lower_operands, *other.upper_operands):
                return fail(
                    other,
                    f'cannot reorder the loops to {names}: the bounds of "{other.label}" use the variable of '
                    f'"{loop.label}"',
                    notes=[(loop, "that loop is here")],
                )
    if (op := may_fail(band[0])) is not None:
        return fail(
            band[0],
            f"cannot reorder the loops to {names}: an error must be that of the first iteration in program order",
            notes=[(op, "this check can fail")],
        )
    broken = (dependences or analyse(band[0])).broken_by_order(band, order)
    if not broken:
        return None
    first = broken[0]
    return fail(
        band[0],
        f"cannot reorder the loops to {names}: it turns a {first.kind} dependence around",
        notes=first.notes,
    )


def band_of(order: Sequence[ForOp]) -> list[ForOp] | NestorError:
    """The loops of `order` as they are nested now, when they are a perfect nest."""
    chosen = set(order)
    for start in order:
        band = perfect_band(start)[: len(order)]
        if len(set(order)) == len(order) and set(band) == chosen:
            return band
    names = ", ".join(loop.label for loop in order)
    return fail(order[0], f"cannot reorder the loops to {names}: they are not perfectly nested")


def reorder(order: Sequence[ForOp], dependences: Dependences | None = None) -> list[ForOp]:
    """Nest the loops in `order`, outermost first. Raises the diagnostic of `why_not_reorder`."""
    if (refusal := why_not_reorder(order, dependences)) is not None:
        raise refusal
    band = band_of(order)
    assert isinstance(band, list)
    if band == list(order):
        return band
    _permute(band, order)
    return list(order)


def _permute(band: list[ForOp], order: Sequence[ForOp]) -> None:
    block = band[0].parent
    following = band[0].next_op
    assert block is not None
    innermost = list(band[-1].body.block.ops)
    for op in innermost:
        op.detach()
    for loop in band:
        loop.detach()
    if following is None:
        block.add_op(order[0])
    else:
        block.insert_op_before(order[0], following)
    for outer, inner in pairwise(order):
        outer.body.block.add_op(inner)
    order[-1].body.block.add_ops(innermost)


@dataclass(frozen=True, eq=False)
class NestReorderPass(ModulePass):
    """Run perfectly nested loops in the given order, outermost first."""

    name = "nest-reorder"

    loops: tuple[str, ...]
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reorder([find_loop(op, name, self.func) for name in self.loops])
