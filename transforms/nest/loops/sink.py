"""nest-sink: what is before the only loop of a loop is done in each iteration of it.

    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i]
      %b = math.exp %a : f32
      nest.for "k" %k = 0 to 4 {
        %c = nest.load %y[%k]
        %d = arith.mulf %b, %c : f32
        nest.store "z" %d, %z[%i, %k]
      }
    }

becomes with loop=i

    nest.for "i" %i = 0 to 8 {
      nest.for "k" %k = 0 to 4 {
        %a = nest.load %x[%i]
        %b = math.exp %a : f32
        %c = nest.load %y[%k]
        %d = arith.mulf %b, %c : f32
        nest.store "z" %d, %z[%i, %k]
      }
    }

The loops are perfectly nested then: they can be reordered, tiled and flattened, and nest-hoist moves the loads out of
whichever loop they do not move with. Loads and computations can be repeated; refused where anything else is before
the loop, where anything is after it, where the bounds of the loop need a value from before it, and where an iteration
may write an element that is loaded. The inverse of `hoist`; TVM and Halide keep such values in the innermost body and
leave their place to the compiler behind them.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.sets.accesses import accesses_of, buffer_name, may_overlap
from ....analysis.nest.sets.conflicts import can_meet
from ....analysis.nest.sets.domains import is_computation
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp, LoadOp


def why_not_sink(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to move what is before the loop in `loop` into it, None when it is legal."""
    found = _parts(loop)
    if isinstance(found, NestorError):
        return found
    before, inner = found
    if (refusal := refuse_marked(inner, "sink into")) is not None:
        return refusal
    for op in before:
        if any(use.operation is inner for result in op.results for use in result.uses):
            reason = f'the bounds of the loop "{inner.label}" need it'
            return _refuse(loop, reason, [(op, "this value")])
    writes = [access for op in inner.walk() for access in accesses_of(op) if access.writes]
    for op in before:
        for load in accesses_of(op):
            for write in writes:
                if may_overlap(load, write) and can_meet([inner], load, write):
                    notes = [(op, f"loads an element of {buffer_name(load.buffer)}")] if load.buffer else []
                    return _refuse(
                        loop,
                        f'an iteration of the loop "{inner.label}" may write what is loaded',
                        [*notes, (write.op, "which this may write")],
                    )
    return None


def sink(loop: ForOp) -> ForOp:
    """Move what is before the loop in `loop` into it; the inner loop. Raises the diagnostic of `why_not_sink`."""
    if (refusal := why_not_sink(loop)) is not None:
        raise refusal
    found = _parts(loop)
    assert not isinstance(found, NestorError)
    before, inner = found
    first = inner.body.block.first_op
    assert first is not None
    for op in before:
        op.detach()
        inner.body.block.insert_op_before(op, first)
    return inner


def _parts(loop: ForOp) -> tuple[list[Operation], ForOp] | NestorError:
    """What is before the last operation of the body, a loop, and that loop."""
    last = loop.body.block.last_op
    if not isinstance(last, ForOp):
        return _refuse(loop, "its body does not end with a loop")
    before = list(loop.body.block.ops)[:-1]
    if not before:
        return _refuse(loop, f'nothing is before the loop "{last.label}"')
    for op in before:
        if not isinstance(op, LoadOp) and not is_computation(op):
            return _refuse(
                loop, "only loads and computations can be repeated", [(op, f"'{op.name}' is neither")]
            )
    return before, last


def _refuse(loop: ForOp, reason: str, notes: list[tuple[Operation, str]] | None = None) -> NestorError:
    return fail(loop, f'cannot sink what is in the loop "{loop.label}": {reason}', notes=notes or [])
