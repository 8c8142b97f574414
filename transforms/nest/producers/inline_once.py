"""nest-inline-once: what is computed for one reader is computed where that reads it.

    nest.for "i" %i = 0 to %n { %a = nest.load %x[%i] ... nest.store "t" %b, %t[%i] }
    nest.for "i.1" %i = 1 to %n { %c = nest.load %t[%i - 1] ... nest.accumulate "s" add %d, %s[] }

becomes

    nest.for "i.1" %i = 1 to %n { %a = nest.load %x[%i - 1] ... nest.accumulate "s" add %d, %s[] }

It is `nest-compute-inline{duplicate=refuse}` for each buffer, the last one first, where that is legal. No element is
computed again, and an array less goes through memory. After `nest-restrict`: fusion at the level of tensors stops at
what is written in parts, of which a box may need one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import enclosing_loops, functions
from ....dialects.nest import AllocOp
from .compute_inline import compute_inline, why_not_compute_inline


def inline_once(function: FuncOp) -> None:
    """Inline what is read once, in place."""
    for alloc in reversed([op for op in function.walk() if isinstance(op, AllocOp)]):
        if not enclosing_loops(alloc) and why_not_compute_inline(alloc, "refuse") is None:
            compute_inline(alloc, "refuse")


@dataclass(frozen=True, eq=False)
class NestInlineOncePass(ModulePass):
    """Compute what one reader needs where it is read."""

    name = "nest-inline-once"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            inline_once(function)
