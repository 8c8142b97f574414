"""nest-stream: non-temporal stores, for results that nothing reads again soon.

    nest.for "i" %i = 0 to 16 {
      nest.store "y" %v, %out[%i] : memref<?xf32>
    }

becomes with buffer=out

    nest.for "i" %i = 0 to 16 {
      nest.store "y" %v, %out[%i] {nestor.nontemporal} : memref<?xf32>
    }

A hint to the machine that changes no value: legal for every store that goes to the next element in the next
iteration and is not masked, refused when the loop has no such store to the buffer. `store_nontemporal` in LLVM,
`stream_stores` in Halide; TVM, Exo and NNC have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.sets.access_patterns import UNIT, pattern_of, varying_values
from ....analysis.nest.sets.accesses import root_of
from ....dialects.attributes import NONTEMPORAL
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp, StoreOp


def streamable(buffer: SSAValue, loop: ForOp) -> list[StoreOp]:
    """The stores directly in `loop` to `buffer` that can be non-temporal."""
    varying = varying_values(loop)
    return [
        op
        for op in loop.body.block.ops
        if isinstance(op, StoreOp)
        and root_of(op.memref) is buffer
        and op.where is None
        and op.mask is None
        and pattern_of(op.indices, op.memref, loop, varying) == UNIT
    ]


def why_not_stream(buffer: SSAValue, loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses, None when there is a store that can be streamed."""
    if streamable(buffer, loop):
        return None
    name = buffer_name(buffer)
    others: Sequence[StoreOp] = [
        op for op in loop.walk() if isinstance(op, StoreOp) and root_of(op.memref) is buffer
    ]
    return fail(
        loop,
        f'cannot stream the stores to "{name}" in the loop "{loop.label}": none is unmasked and contiguous along it',
        notes=[(op, "this store is masked, in another loop, or not contiguous") for op in others],
    )


def stream(buffer: SSAValue, loop: ForOp) -> None:
    """Mark the stores of `streamable`. Raises the diagnostic of `why_not_stream`."""
    if (refusal := why_not_stream(buffer, loop)) is not None:
        raise refusal
    for op in streamable(buffer, loop):
        op.attributes[NONTEMPORAL] = UnitAttr()
