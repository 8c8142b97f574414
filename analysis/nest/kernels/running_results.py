"""Loops whose iterations read the result of a reduction so far (scans), and when these may be lanes of one vector.

nest.for "i" %i = 0 to %n {
  %a = nest.load %x[%i]
  nest.accumulate "s" add %a, %s[]
  %b = nest.load %s[]                     // the running result
  nest.store "y" %b, %y[%i]
}
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp, YieldOp
from ..loop_structure import is_check
from ..sets.accesses import is_defined_outside, may_alias, root_of
from ..sets.dependence import Dependence, analyse
from ..sets.lockstep import is_kept
from .loop_marks import refuse_in_vector, refuse_marked

LANES, SCAN = "scan in lanes", "scan"


def running_update(loop: ForOp, or_before: bool = False) -> AccumulateOp | None:
    """The reduction whose result so far each iteration of `loop` reads; None where there is not just one, or more to it."""
    update = running_result(loop, SCAN, or_before)
    return update if isinstance(update, AccumulateOp) else None


def running_result(loop: ForOp, verb: str, or_before: bool = False) -> AccumulateOp | NestorError:
    """The reduction whose result so far each iteration reads, or why the loop is none to `verb`.

    It is read with the iteration's own update in it; `or_before` takes loops that read what is before it, too.
    """
    ops = [op for op in loop.body.block.ops if not isinstance(op, YieldOp)]
    updates = [op for op in ops if isinstance(op, AccumulateOp)]
    for op in ops:
        is_known = isinstance(op, (LoadOp, StoreOp, AccumulateOp)) or (
            is_side_effect_free(op) and not op.regions
        )
        if is_check(op) or not is_known:
            return refuse(verb, loop, "its body is more than loads, stores and computations", [(op, "here")])
    if len(updates) != 1:
        return refuse(verb, loop, f"it has {len(updates)} reductions, and one is expected")
    (update,) = updates
    here = [(update, "the reduction is here")]
    if update.combiner.data == "custom" or update.order_name != "any":
        return refuse(verb, loop, "its reduction has no named combiner that may run in any order", here)
    if update.where is not None or update.mask is not None:
        return refuse(verb, loop, "its reduction leaves out iterations", here)
    fixed = (*update.indices.operands, *update.memrefs)
    if not all(is_defined_outside(value, loop) for value in fixed):
        return refuse(verb, loop, "the reduction's element is not the same in all iterations", here)
    reads = 0
    for op in ops:
        if op is update or not isinstance(op, (LoadOp, StoreOp)):
            continue
        if not may_alias(root_of(op.memref), root_of(update.memrefs[0])):
            continue
        is_read = isinstance(op, LoadOp) and op.memref is update.memrefs[0] and op.indices == update.indices
        if not is_read or not (or_before or update.is_before_in_block(op)):
            return refuse(verb, loop, "the reduction's buffer is used in another way", [*here, (op, "here")])
        reads += 1
    return update if reads else refuse(verb, loop, "no iteration reads the result so far", here)


def why_not_scan_in_lanes(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to compute the running result of all iterations in one vector, None when it is legal.

    What is beside the running result must be as it was when the iterations are lanes in lockstep.
    """
    refusal = refuse_marked(loop, LANES) or refuse_in_vector(loop, LANES)
    if refusal is not None:
        return refusal
    width = loop.constant_trip_count()
    if width is None or width < 2 or loop.step_value != 1:
        return refuse(LANES, loop, "how many lanes there are is not known")
    if isinstance(update := running_result(loop, LANES), NestorError):
        return update
    running = root_of(update.memrefs[0])

    def is_harmless(dependence: Dependence) -> bool:
        source = dependence.source
        buffers = source.memrefs if isinstance(source, AccumulateOp) else [source.memref]  # pyright: ignore
        return root_of(buffers[0]) is running or is_kept(dependence, loop, width, dependences)

    dependences = analyse(loop)
    if (first := dependences.first_not(loop, is_harmless)) is not None:
        return refuse(LANES, loop, first.describe(), first.notes)
    for op in loop.body.block.ops:
        if isinstance(op, StoreOp) and (op.where is not None or op.mask is not None):
            return refuse(LANES, loop, "a store leaves out iterations", [(op, "here")])
    return None


def refuse(verb: str, loop: ForOp, reason: str, notes: Sequence[tuple[Operation, str]] = ()) -> NestorError:
    return fail(loop, f'cannot {verb} the loop "{loop.label}": {reason}', notes=notes)
