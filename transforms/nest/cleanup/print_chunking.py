"""nest-print-chunking: print how the results of a function may be computed in chunks, and what a chunk needs.

    nest.for "i" %i = 1 to %n - 1 {
      nest.for "j" %j = 0 to %m {
        %a = nest.load %x[%i - 1, %j] : memref<?x?xf32>
        %b = nest.load %x[%i + 1, %j] : memref<?x?xf32>
        %c = arith.addf %a, %b : f32
        nest.store "y" %c, %y[%i, %j] : memref<?x?xf32>
      }
    }

becomes itself (the pass changes nothing), and standard error gets

    func @f
    y axis 0: halo
      x axis 0: lo - 1 to hi + 1
    y axis 1: blockwise
      x axis 1: lo to hi

A box of a result is `lo <= index < hi` along one axis and whole along the others. Below it, the parts of the inputs that it
needs, as far as they exist: by axis where the part moves with the box, `all` with the access that is why where it does not.

    blockwise       the same indices              running      all before the box, or all after it
    halo            and a few beside them         whole        what every other box needs: nothing is divided
    moving          by another step, or from the other end

`after t, s`: sums and other reductions that every box needs are complete before. They follow, each with its combiner and a
loop whose iterations may be cut: chunks update partial results, which the combiner makes one. Inputs that are not listed are
not read. Each step of a function is followed exactly where accesses are affine (isl), so that halos of several steps add up.
It stands on nests because there the elements are explicit that each operation reads: run it after `convert-nt-to-nest` and
before nests are scheduled. As IR dumps do, the text goes to standard error, so that the module can still be piped on.
Halide infers such bounds for its stages; nothing of the kind is in MLIR, TVM, Exo or NNC.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions
from ....analysis.nest.sets.accesses import accesses_of
from ....analysis.nest.sets.chunking import AxisReach, Cut, Need, chunking
from ....analysis.nest.sets.readable import NestText, line_text
from ....dialects.nest import AccumulateOp


def chunking_report(function: FuncOp) -> str:
    """How the results of a function may be computed in chunks, as a text."""
    return _Report(function).text()


class _Report:
    def __init__(self, function: FuncOp):
        self._function = function
        self._names = NestText(function)

    def text(self) -> str:
        found = chunking(self._function)
        lines = [f"func @{self._function.sym_name.data}"]
        if found.obstacle is not None:
            op, why = found.obstacle
            lines.append(f"whole: {why}{_place(op)}")
        for cut in (*found.results, *found.reductions):
            lines += [self._head(cut), *(f"  {line}" for need in cut.needs for line in self._need(need))]
        if len(lines) == 1:
            lines.append("no result has an axis to cut")
        return "\n".join(lines) + "\n"

    def _head(self, cut: Cut) -> str:
        after = ", ".join(dict.fromkeys(map(self._reduced, cut.after)))
        kind = f"{cut.kind}, after {after}" if after else cut.kind
        if cut.update is None or cut.loop is None:
            return f"{self._names.name(cut.what)} axis {cut.axis}: {kind}"
        return f"{self._reduced(cut.update)} by {_combiner(cut.update)} over {cut.loop.label}: {kind}{_place(cut.update)}"

    def _reduced(self, update: AccumulateOp) -> str:
        names = [self._names.name(buffer) for buffer in update.memrefs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def _need(self, need: Need) -> list[str]:
        name = self._names.name(need.buffer)
        if not need.axes:
            return [f"{name}: all{self._why(need.cause)}"]
        return [f"{name} axis {reach.axis}: {_part(reach)}{self._why(need.cause)}" for reach in need.axes]

    def _why(self, cause: Operation | None) -> str:
        if cause is None:
            return ""
        if isinstance(cause, CallOp):
            return f", because of the call of {cause.callee.string_value()}{_place(cause)}"
        _, _, element = self._names.access(accesses_of(cause)[0]).partition(" ")
        return f", because of {element.lstrip()}{_place(cause)}"


def _combiner(update: AccumulateOp) -> str:
    order = update.order_name
    return update.combiner.data if order == "any" else f"{update.combiner.data} in order({order})"


def _part(reach: AxisReach) -> str:
    if reach.lower is None:
        return f"up to {reach.upper}"
    return f"from {reach.lower}" if reach.upper is None else f"{reach.lower} to {reach.upper}"


def _place(op: Operation) -> str:
    place = line_text(op)
    return f"  ({place})" if place else ""


@dataclass(frozen=True, eq=False)
class NestPrintChunkingPass(ModulePass):
    """Print how results may be computed in chunks, to standard error; the module stays as it is."""

    name = "nest-print-chunking"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            print(chunking_report(function), file=sys.stderr)
