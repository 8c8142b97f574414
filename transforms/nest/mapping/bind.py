"""nest-bind: run the iterations of a loop as the blocks of a grid or the threads of a block.

    nest.for "i.o" %o = 0 to 40 {
      nest.for "i.i" %v = 0 to 256 {
        nest.store "y" %a, %y[256 * %o + %v]
      }
    }

becomes

    nest.for "i.o" %o = 0 to 40 bind "block.x" {
      nest.for "i.i" %v = 0 to 256 {
        nest.store "y" %a, %y[256 * %o + %v]
      }
    }

Blocks and threads run in any order, so the loop is refused what nest-parallel refuses it: dependences that it
carries, and checks in it that can fail, but in a nest that does nothing else: any index that is outside is reported.
Loops around each other take different axes, those over blocks outside
of those over threads. The number of threads is a constant, at most 1024; the number of blocks may be an
expression of what is known before the launch.

The axis "lane" is that of the 32 threads of a warp; where it is used, thread.x counts warps. Lanes exchange values, so
that a loop of 32 iterations may carry reductions: updates of an element that is the same one for all lanes become
shuffles, and one lane updates the element. A warp is also 8 by 4 lanes, "lane.y" and "lane.x": lane 4 * y + x, as tensor
cores number the rows and columns of their sums. A loop over 4 of them reduces in two shuffles, for 8 rows at a time.

    nest.for "i.i" %l = 0 to 32 {                          nest.for "i.i" %l = 0 to 32 bind "lane" {
      %a = nest.load %x[%r, %l]                   becomes    %a = nest.load %x[%r, %l]
      nest.accumulate "s" add %a, %s[%r]                     nest.accumulate "s" add %a, %s[%r]
    }                                                      }

`gpu_blocks`, `gpu_threads` in Halide, `bind` in TVM,
`set_gpu_block_index`, `set_gpu_thread_index` in NNC; `gpu_lanes` in Halide.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....analysis.nest.kernels.loop_marks import (
    block_shape,
    refuse_in_vector,
    refuse_marked,
    too_many_threads,
)
from ....analysis.nest.kernels.warps import why_not_lanes
from ....analysis.nest.loop_structure import enclosing_loops, loops_in
from ....analysis.nest.sets.accesses import is_defined_outside
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, LANES_ALONG, MAX_THREADS, THREAD_AXES, ForOp
from ..rewrite.mark_checks import refuse_on_gpu
from .parallel import why_not_independent

_SAME_LANES = ({"lane", "lane.y"}, {"lane", "lane.x"})
"""Axes that number the same lanes."""


def bind(loop: ForOp, axis: str, dependences: Dependences | None = None) -> ForOp:
    """Bind `loop` to `axis` (one of `BIND_AXES`)."""
    if (refusal := why_not_bind(loop, axis, dependences)) is not None:
        raise refusal
    loop.set_kind(axis)
    return loop


def why_not_bind(loop: ForOp, axis: str, dependences: Dependences | None = None) -> NestorError | None:
    """The diagnostic that refuses to bind `loop` to `axis`, None when it is legal."""
    if axis not in BIND_AXES:
        message = f'cannot bind the loop "{loop.label}" to "{axis}": there is no such axis'
        return fail(loop, message, hint=f"axes: {', '.join(BIND_AXES)}")
    return (
        refuse_marked(loop, "bind")
        or refuse_in_vector(loop, "bind")
        or refuse_on_gpu(loop, "bind")
        or _why_not_placed(loop, axis)
        or _why_not_counted(loop, axis)
        or _why_not_block(loop, axis)
        or _why_not_run(loop, axis, dependences)
    )


def _why_not_run(loop: ForOp, axis: str, dependences: Dependences | None) -> NestorError | None:
    if axis in LANES_ALONG:
        return why_not_lanes(loop, "bind", dependences, axis)
    return why_not_independent(loop, "bind", dependences)


def _why_not_placed(loop: ForOp, axis: str) -> NestorError | None:
    """Refuses an axis that a loop around or inside has, and loops over blocks inside of loops over threads."""
    around, inside = enclosing_loops(loop), loops_in(loop)[1:]
    for other in (*around, *inside):
        if other.kind == axis or {other.kind, axis} in _SAME_LANES:
            return fail(
                loop,
                f'cannot bind the loop "{loop.label}" to {axis}: the loop "{other.label}" is, and one is in the other',
                notes=[(other, f'"{other.label}" is bound to {other.kind} here')],
            )
    upside_down = [o for o in around if _is_threads(o.kind) and not _is_threads(axis)]
    upside_down += [
        o for o in inside if o.kind in BIND_AXES and not _is_threads(o.kind) and _is_threads(axis)
    ]
    if not upside_down:
        return None
    return fail(
        loop,
        f'cannot bind the loop "{loop.label}" to {axis}: loops over blocks go outside of those over threads',
        hint="reorder the loops first",
        notes=[(other, f'"{other.label}" is bound to {other.kind} here') for other in upside_down],
    )


def _why_not_counted(loop: ForOp, axis: str) -> NestorError | None:
    """Refuses a loop whose number of iterations the launch cannot be told."""
    reason = _why_not_threads(loop, axis) if _is_threads(axis) else _why_not_blocks(loop)
    if reason is None:
        return None
    hint = "split the loop first" if _is_threads(axis) else None
    return fail(loop, f'cannot bind the loop "{loop.label}" to {axis}: {reason}', hint=hint)


def _threads(loop: ForOp) -> int | None:
    """How many threads the iterations of a loop are at most, where that is a constant."""
    counts = [count[0] for span in _spans(loop) if (count := span.constants()) is not None]
    return -(-min(counts) // loop.step_value) if counts else None


def _why_not_threads(loop: ForOp, axis: str) -> str | None:
    threads = _threads(loop)
    if threads is None:
        return "a block has a constant number of threads"
    if axis in LANES_ALONG:
        lanes = LANES_ALONG[axis]
        return f"it has {threads} iterations, a warp {lanes} lanes" if threads > lanes else None
    return (
        f"it has {threads} iterations, a block at most {MAX_THREADS} threads"
        if threads > MAX_THREADS
        else None
    )


def _why_not_block(loop: ForOp, axis: str) -> NestorError | None:
    """Refuses more threads, together with those of other loops of the kernel, than a block has.

    Nests inside a loop of the host are kernels of their own.
    """
    kernel = next((other for other in enclosing_loops(loop) if other.kind in BIND_AXES), loop)
    longest = {axis: _threads(loop) or 1} if _is_threads(axis) else {}
    for other in loops_in(kernel):
        if other is not loop and _is_threads(other.kind):
            longest[other.kind] = max(longest.get(other.kind, 1), _threads(other) or 1)
    why = too_many_threads(block_shape(longest))
    if why is None:
        return None
    message = (
        f'cannot bind the loop "{loop.label}" to {axis}: with the loops that are bound already, this is {why}'
    )
    return fail(loop, message, hint="split the loop by a smaller factor")


def _why_not_blocks(loop: ForOp) -> str | None:
    kernel = next((other for other in enclosing_loops(loop) if other.kind in BIND_AXES), loop)
    if any(all(is_defined_outside(v, kernel) for v in span.operands) for span in _spans(loop)):
        return None
    return "how many blocks there are must be known before the launch"


def _spans(loop: ForOp) -> Iterator[AffineList]:
    """What each upper bound is above the lower one; none when the lower bound is the largest of several."""
    if len(loop.lower) == 1:
        yield from (loop.upper[k].minus(loop.lower) for k in range(len(loop.upper)))


def _is_threads(axis: str) -> bool:
    return axis in THREAD_AXES
