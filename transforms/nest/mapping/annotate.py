"""nest-annotate: a mark or an attribute on a loop, for a later level to obey or to read.

    nest.for "r" %r = 0 to 4 {
      nest.accumulate "c" add %v, %c[%r]
    }

becomes with mark=unrolled

    nest.for "r" %r = 0 to 4 unrolled {
      nest.accumulate "c" add %v, %c[%r]
    }

which the lowerings write as four copies of the body, in their order; and with mark="nestor.note" text="hot"

    nest.for "r" %r = 0 to 4 attributes {nestor.note = "hot"} {
      nest.accumulate "c" add %v, %c[%r]
    }

The order of iterations stays, so no dependence forbids it. The mark is refused where the loop does not start at a
constant and end at one or earlier, where there would be more than 64 copies (without `force`), and where another mark
is set. Attributes are called `nestor.*`, and primitives keep them. These are obeyed, and set only where they are proved:

* `nestor.grain`, `nestor.descending` (a thread does its share in stretches of this many iterations, the last stretch
  first): on a parallel loop;
* `nestor.scan` (a vector of running results, see nest-block-scan): on a loop of a constant number of iterations that
  lanes in lockstep may run;
* `nestor.matrix` (tensor cores): on a nest that is a product of tiles (analysis/nest/kernels/matrix_tiles.py);
* `nestor.amx` (the matrix unit of a CPU): on another such nest (analysis/nest/kernels/amx_tiles.py);
* `nestor.vnni` (products of bytes in vectors of a CPU): on one of these (analysis/nest/kernels/vnni_tiles.py);
* `nestor.bf16_pairs` (two products of bfloat16 a lane): on a loop over two terms (analysis/nest/kernels/bf16_pairs.py);
* `nestor.async`: on a copy to shared memory, which is in flight then while its thread continues
  (analysis/nest/kernels/async_copies.py).

`unroll` in Halide and TVM (whose `annotate` and `pragma` set attributes); Exo and NNC have no marks for it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute

from ....analysis.nest.kernels.amx_tiles import AMX, amx_tile
from ....analysis.nest.kernels.async_copies import why_not_async
from ....analysis.nest.kernels.bf16_pairs import BF16_PAIRS, bf16_pairs
from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....analysis.nest.kernels.matrix_tiles import NoTile, matrix_tile
from ....analysis.nest.kernels.running_results import why_not_scan_in_lanes
from ....analysis.nest.kernels.vnni_tiles import VNNI, vnni_tile
from ....analysis.nest.loop_structure import enclosing_loops
from ....dialects.attributes import ASYNC, DESCENDING, GRAIN, MATRIX, SCAN
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, MARKS, ForOp
from ..loops.unroll import refuse_copies

UNROLLED = "unrolled"
_PREFIX = "nestor."
_OF_THREADS = (GRAIN, DESCENDING)
_OTHER_MARKS = {"parallel": "parallel", "vectorized": "vectorize", **dict.fromkeys(BIND_AXES, "bind")}
"""The marks that change what a loop does, and the primitives that prove that they may be set."""


def why_not_annotate(
    loop: ForOp, mark: str, value: int | None = None, text: str | None = None, *, force: bool = False
) -> NestorError | None:
    """The diagnostic that refuses the annotation, None when it may be set."""
    if mark == UNROLLED:
        if value is not None or text is not None:
            return _refusal(loop, mark, "the mark has no value")
        return refuse_marked(loop, "annotate") or _why_not_unrolled(loop, force)
    if mark in MARKS:
        proof = _OTHER_MARKS.get(mark)
        hint = f"use the primitive {proof}, which proves that it is legal" if proof is not None else None
        return _refusal(loop, mark, "this is not an annotation", hint)
    if not mark.startswith(_PREFIX) or mark == _PREFIX:
        return _refusal(
            loop, mark, 'it is neither "unrolled" nor an attribute', 'attributes are called "nestor.*"'
        )
    if value is not None and text is not None:
        return _refusal(loop, mark, "an attribute has one value, a number or a text")
    if mark == SCAN:
        return why_not_scan_in_lanes(loop)
    if mark in _TILES:
        return _why_not_tile(loop, mark)
    if mark == ASYNC:
        return _why_not_async(loop)
    return _why_not_for_threads(loop, mark, value) if mark in _OF_THREADS else None


def _refusal(loop: ForOp, mark: str, reason: str, hint: str | None = None) -> NestorError:
    return fail(loop, f'cannot annotate the loop "{loop.label}" with "{mark}": {reason}', hint=hint)


_TILES = {MATRIX: matrix_tile, AMX: amx_tile, VNNI: vnni_tile, BF16_PAIRS: bf16_pairs}
"""The marks for units that multiply matrices, and what says whether a nest is what they do."""


def _why_not_tile(loop: ForOp, mark: str) -> NestorError | None:
    try:
        _TILES[mark](loop)
    except NoTile as why:
        notes = [] if why.op is loop else [(why.op, "here")]
        message = f'cannot annotate the loop "{loop.label}" with "{mark}": {why.reason}'
        return fail(loop, message, notes=notes)
    return None


def _why_not_async(loop: ForOp) -> NestorError | None:
    if (why := why_not_async(loop)) is None:
        return None
    at, reason = why
    notes = [] if at is loop else [(at, "here")]
    return fail(loop, f'cannot annotate the loop "{loop.label}" with "{ASYNC}": {reason}', notes=notes)


def _why_not_unrolled(loop: ForOp, force: bool) -> NestorError | None:
    lower, upper = loop.lower.constants(), loop.upper
    ends = [numbers[0] for k in range(len(upper)) if (numbers := upper[k].constants()) is not None]
    if lower is None or not ends:
        return _refusal(
            loop,
            UNROLLED,
            "it does not start at a constant and end at one",
            "normalise it, or split it by a constant factor and annotate the inner loop",
        )
    if len(ends) < len(upper) and any(around.kind in BIND_AXES for around in enclosing_loops(loop)):
        return _refusal(
            loop,
            UNROLLED,
            "in a kernel its end must be a constant",
            "split it with tail=mask instead of clamp",
        )
    copies = max(0, -(-(min(ends) - max(lower)) // loop.step_value))
    return None if force else refuse_copies(loop, copies, "annotate", "split it first, or say force")


def _why_not_for_threads(loop: ForOp, mark: str, value: int | None) -> NestorError | None:
    if value is None or value < 1:
        return _refusal(loop, mark, "its value is a positive number of iterations")
    if loop.kind != "parallel":
        return _refusal(loop, mark, "it is not parallel", "make it parallel first")
    return None


def annotate(
    loop: ForOp, mark: str, value: int | None = None, text: str | None = None, *, force: bool = False
) -> ForOp:
    """Mark `loop` `unrolled`, or give it the attribute called `mark` (without a value: a unit attribute)."""
    if (refusal := why_not_annotate(loop, mark, value, text, force=force)) is not None:
        raise refusal
    if mark == UNROLLED:
        loop.set_kind(UNROLLED)
        return loop
    attribute: Attribute = UnitAttr()
    if value is not None:
        attribute = IntegerAttr(value, i64)
    elif text is not None:
        attribute = StringAttr(text)
    loop.attributes[mark] = attribute
    return loop
