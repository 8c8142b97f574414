"""nest-pipeline: what the next iterations work on is copied while this one works, to as many parts of the buffers.

    nest.for "k" %k = 0 to 8 {
      %u = nest.alloc "u" : memref<64xf32, 3>
      nest.for "t" %t = 0 to 64 bind "thread.x" {
        %a = nest.load %x[%k, %t] : memref<8x64xf32>
        nest.store "u" %a, %u[%t] : memref<64xf32, 3>
      }
      ... nest.load %u[63 - %t]
    }

with loop=k, stages=3 becomes

    %u = nest.alloc "u" : memref<3x64xf32, 3>
    nest.for "k.first" %f = 0 to 2 {
      ... nest.load %x[%f, %t] ... nest.store "u" %a, %u[%f, %t]
    }
    nest.for "k" %k = 0 to 6 {
      ... nest.load %x[%k + 2, %t] ... nest.store "u" %a, %u[(%k + 2) mod 3, %t]
      ... nest.load %u[%k mod 3, 63 - %t]
    }
    nest.for "k.tail" %k = 6 to 8 {
      ... nest.load %u[%k mod 3, 63 - %t]
    }

All buffers that are made directly in the loop get the parts, and what fills them runs `stages - 1` iterations ahead. With
copies that are annotated `nestor.async` these are in flight meanwhile, and a barrier at the end of an iteration waits only
for those that the next one uses (nest-insert-barriers). Refused where nest-double-buffer, which does it for one buffer and
two parts, is; where the loop makes no buffer; and where it is shorter than the stages. `software_pipeline_stage` in TVM;
`async` with a fold factor in Halide; without a name in Exo and NNC.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....analysis.nest.sets.dependence import Dependences, analyse
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp, ForOp
from .double_buffer import plan_ahead, run_ahead

MOST_STAGES = 8


def why_not_pipeline(
    loop: ForOp, stages: int = 2, dependences: Dependences | None = None
) -> NestorError | None:
    """The diagnostic that refuses to copy this many iterations ahead, None when it is legal."""
    found = _copies(loop, stages, dependences)
    return found if isinstance(found, NestorError) else None


def pipeline(loop: ForOp, stages: int = 2, dependences: Dependences | None = None) -> tuple[ForOp, ForOp]:
    """Copy `stages - 1` iterations ahead: the loop of the first copies, and that of the last iterations.

    `loop` stays the loop of all other iterations. Raises the diagnostic of `why_not_pipeline`.
    """
    copies = _copies(loop, stages, dependences)
    if isinstance(copies, NestorError):
        raise copies
    _, first, last = run_ahead(_buffers(loop), loop, copies, stages)
    return first, last


def _buffers(loop: ForOp) -> list[AllocOp]:
    return [op for op in loop.body.block.ops if isinstance(op, AllocOp)]


def _copies(loop: ForOp, stages: int, dependences: Dependences | None) -> list[Operation] | NestorError:
    """What fills the buffers made in the loop, in its order."""

    def refuse(reason: str, hint: str | None = None) -> NestorError:
        return fail(loop, f'cannot pipeline the loop "{loop.label}": {reason}', hint=hint)

    if not 2 <= stages <= MOST_STAGES:
        return refuse(f"stages is {stages}; it can be from 2 to {MOST_STAGES}")
    buffers = _buffers(loop)
    if not buffers:
        return refuse("no buffer is made in it", "nest-cache-read copies what an iteration reads")
    count = loop.constant_trip_count()
    if count is not None and count < stages - 1:
        return refuse(f"it has {count} iterations, and {stages - 1} of them would be copied first")
    dependences = dependences or analyse(loop)
    filling: set[Operation] = set()
    for alloc in buffers:
        plan = plan_ahead(alloc, loop, dependences, stages)
        if isinstance(plan, NestorError):
            return plan
        filling.update(plan.copies)
    return [op for op in loop.body.block.ops if op in filling]
