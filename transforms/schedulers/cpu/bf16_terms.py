"""Products of bfloat16 in pairs (part of nest-schedule-cpu): two terms of a sum are one step, and lie side by side.

    nest.for "k" %k = 0 to 301 {
      nest.for "i" %i = 0 to 13 { nest.for "j" %j = 0 to 32 {
        ... nest.accumulate "c" add %p, %sums[%i, %j]               // of %a[%k, %i] and %b[%k, %j], made wider
  becomes
    nest.for "k.o" %k = 0 to 150 {
      nest.for "i" %i = 0 to 13 unrolled { nest.for "j" %j = 0 to 32 vectorized(32) {
        nest.for "k.i" %v = 0 to 2 attributes {nestor.bf16_pairs} {
          ... nest.accumulate "c" add %p, %sums[%i, %j]             // of %a[%k, 2 * %i + %v] and %b[%k, 2 * %j + %v]
    nest.for "k.t" ... { ... }                                      // the last term of an odd number

where the panels of both operands are made so. Other steps are those of product_tiles.py and convolutions.py, which ask
here. What marks a loop (nest-annotate) checks it; where it refuses, the loops stay, and are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....analysis.machine import Cpu
from ....analysis.nest.kernels.bf16_pairs import BF16_PAIRS, bf16_product
from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.annotate import annotate
from ...nest.rewrite.steps import Steps

TOGETHER = 2
"""Terms of a step."""

FACTOR_BYTES = 2


def is_in_pairs(sums: AccumulateOp, cpu: Cpu) -> bool:
    """Whether a sum is one of products that the processor has an instruction for."""
    return cpu.bf16 and bf16_product(sums) is not None


@dataclass(frozen=True, eq=False)
class Pairs:
    """A loop over pairs, the loop over the terms of one, innermost, and the loops over a last term with what is in it."""

    outer: ForOp
    pair: ForOp
    rest: Sequence[ForOp] = field(default_factory=tuple)

    def axis_in(self, panel: AllocOp, around: ForOp) -> int | None:
        """The axis of a panel along which the two terms of a step are; None where there is not one such."""
        reads = [op for op in around.walk() if isinstance(op, LoadOp) and op.memref is panel.memref]
        inside = [op for op in reads if self.pair.iv in op.indices.operands]
        axes = {k for op in inside for k in range(len(op.indices)) if self.pair.iv in op.indices[k].operands}
        return axes.pop() if len(axes) == 1 else None

    def mark(self, steps: Steps) -> None:
        """Let the instruction do the pairs, when the loops around are marked."""
        steps.attempt(annotate, self.pair, mark=BF16_PAIRS)


def in_pairs(term: ForOp, steps: Steps) -> Pairs | None:
    """Two terms a step, with the loops in `term` around them; None, and nothing changed, where that is refused."""
    tail = "perfect" if why_not_split(term, TOGETHER, "perfect") is None else "remainder"
    inner = perfect_band(term)
    if why_not_split(term, TOGETHER, tail) is not None or loops_in(term) != inner:
        return None
    if why_not_reorder([*inner[1:], term], new_bounds=False) is not None:
        return None
    outer, pair, *rest = steps.do(split, term, factor=TOGETHER, tail=tail)
    steps.do(reorder, [*inner[1:], pair])
    return Pairs(outer, pair, tuple(loops_in(rest[0])) if rest else ())


def paired_layout(names: Sequence[str], lane: int, term: int, width: int) -> str:
    """The layout of a panel: `width` elements along an axis side by side, the two terms of each together.

    >>> paired_layout(["d0", "d1"], 1, 0, 32)
    'd0 d1 -> d1/32 d0/2 2*(d1%32)+d0%2'
    """
    rest = [f"{name}/2" if k == term else name for k, name in enumerate(names) if k != lane]
    last = f"2*({names[lane]}%{width})+{names[term]}%2"
    return f"{' '.join(names)} -> {' '.join([f'{names[lane]}/{width}', *rest, last])}"
