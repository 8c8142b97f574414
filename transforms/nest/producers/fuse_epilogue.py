"""nest-fuse-epilogue: use the results of a reduction where its accumulators are complete, and never store them.

    %t = nest.alloc "t"(%n) : memref<?xf32>
    nest.for "i" %i = 0 to %n {
      nest.store "t" %zero, %t[%i] : memref<?xf32>
      nest.for "k" %k = 0 to %m {
        ... nest.accumulate "t" add %a, %t[%i] : memref<?xf32>
      }
    }
    nest.for "j" %j = 0 to %n {
      %p = nest.load %t[%j] : memref<?xf32>
      %b = nest.load %bias[%j] : memref<?xf32>
      %q = arith.addf %p, %b : f32
      nest.store "y" %q, %y[%j] : memref<?xf32>
    }

becomes with consumer=j, loop=i

    nest.for "i" %i = 0 to %n {
      %t_local = nest.alloc "t_local" : memref<f32>
      nest.store "t" %zero, %t_local[] : memref<f32>
      nest.for "k" %k = 0 to %m {
        ... nest.accumulate "t" add %a, %t_local[] : memref<f32>
      }
      %p = nest.load %t_local[] : memref<f32>
      %b = nest.load %bias[%i] : memref<f32>
      %q = arith.addf %p, %b : f32
      nest.store "y" %q, %y[%i] : memref<?xf32>
    }

In an iteration of the loop elements of the buffer are started and completed: a tile of them gets accumulators of its
own (nest-cache-write), and where these would be stored the consumer is applied (nest-reverse-compute-inline), so that
the buffer is gone. nest-reverse-compute-at keeps it, and the consumer reads it back. Refused when either step is.
TVM says `fuse_reduction_epilogue`, after `cache_write`; Halide, NNC and Exo have the steps only.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp
from ..memory.cache_write import cache_write
from ..rewrite.trials import trial
from .reverse_compute_inline import carry_out


def why_not_fuse_epilogue(consumer: ForOp, loop: ForOp, space: str = "global") -> NestorError | None:
    """The diagnostic that refuses to apply the consumer to the accumulators of the loop, None when it is legal."""
    try:
        trial(lambda first, second: _carry_out(first, second, space), consumer, loop)
    except NestorError as refusal:
        return refusal
    return None


def fuse_epilogue(consumer: ForOp, loop: ForOp, space: str = "global") -> tuple[AllocOp, ForOp | None]:
    """Apply `consumer` to the accumulators of a reduction at the end of each iteration of `loop`; it is consumed.

    Returns the accumulators, and the loop over them in which it is applied (None where there is one). Raises the
    diagnostic of `why_not_fuse_epilogue`.
    """
    if (refusal := why_not_fuse_epilogue(consumer, loop, space)) is not None:
        raise refusal
    return _carry_out(consumer, loop, space)


def _carry_out(consumer: ForOp, loop: ForOp, space: str) -> tuple[AllocOp, ForOp | None]:
    """Do it; raises the refusal half way where it is not legal."""
    alloc = _reduction(consumer, loop)
    accumulators, _, back = cache_write(alloc, loop, "load", space)
    carry_out(alloc)
    return accumulators, back


def _reduction(consumer: ForOp, loop: ForOp) -> AllocOp:
    """The buffer of the reduction in `loop` that `consumer` reads."""
    read = {op.memref for op in consumer.walk() if isinstance(op, LoadOp)}
    updates = [op for op in loop.walk() if isinstance(op, AccumulateOp)]
    found = list(dict.fromkeys(b for op in updates for b in op.memrefs if b in read))
    if not found:
        raise _refusal(
            consumer, loop, "it reads no result of a reduction in that loop", [(loop, "the loop is here")]
        )
    if len(found) > 1:
        notes: list[tuple[Operation, str]] = [
            (op, "this reduction is one") for op in updates if any(b in found for b in op.memrefs)
        ]
        raise _refusal(consumer, loop, f"it reads results of {len(found)} reductions", notes)
    owner = found[0].owner
    if not isinstance(owner, AllocOp):
        raise _refusal(
            consumer,
            loop,
            "the result of the reduction is an argument, which is to hold it",
            [(updates[0], "the reduction is here")],
        )
    return owner


def _refusal(
    consumer: ForOp, loop: ForOp, reason: str, notes: Sequence[tuple[Operation, str]]
) -> NestorError:
    message = f'cannot fuse the loop "{consumer.label}" as an epilogue into the loop "{loop.label}": {reason}'
    return fail(consumer, message, notes=notes)
