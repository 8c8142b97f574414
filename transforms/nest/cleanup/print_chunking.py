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
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions
from ....analysis.nest.sets.chunking_text import chunking_data


@dataclass(frozen=True, eq=False)
class NestPrintChunkingPass(ModulePass):
    """Print how results may be computed in chunks, to standard error; the module stays as it is."""

    name = "nest-print-chunking"

    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            print(chunking_data(function), file=sys.stderr)
