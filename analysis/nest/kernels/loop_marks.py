"""Marks of loops: what refuses one, and which no target has code for together. Asked when a loop is marked and lowered."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ....dialects.attributes import KIND, OUTLINED
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, LANES, LANES_ALONG, MAX_THREADS, ForOp, IndexOp, LoadOp, YieldOp
from ....dialects.walk import walk
from ..check_sites import raises
from ..loop_structure import enclosing_loops, may_fail


def parallel_around(loop: ForOp) -> ForOp | None:
    """The parallel loop around `loop`: the threads of one are not shared out again."""
    around = loop.parent_op()
    while around is not None:
        if isinstance(around, ForOp) and around.kind == "parallel":
            return around
        around = around.parent_op()
    return None


def parallel_loop_in(op: Operation) -> ForOp | None:
    """A parallel loop at or below `op`: the processor's threads share it out, a GPU has no code for it."""
    return next((loop for loop in walk(op) if isinstance(loop, ForOp) and loop.kind == "parallel"), None)


def bound_loop_in(op: Operation) -> ForOp | None:
    """A loop at or below `op` that is bound to blocks or threads: a GPU runs it, the processor has no code for it."""
    return next((loop for loop in walk(op) if isinstance(loop, ForOp) and loop.kind in BIND_AXES), None)


def call_for_effect(op: Operation) -> func.CallOp | None:
    """A call that gives no value (an intrinsic of nest-tensorize writes buffers): the processor's alone.

    A `raise` with numbers is not a call of a function; a call of an outlined function is one of the host's, and so is one
    that fails as a check does: of Python, of code or of a kernel of the user's.
    """
    calls = (inner for inner in walk(op) if isinstance(inner, func.CallOp) and not raises(inner))
    calls = (call for call in calls if KIND not in call.attributes)
    calls = (call for call in calls if OUTLINED not in call.attributes)
    return next((call for call in calls if not call.results), None)


def block_shape(longest: Mapping[str, int]) -> tuple[int, int, int]:
    """The threads of a block along x, y and z, given the longest loop bound to each axis; warps are counted along x."""
    warp = 1 if LANES_ALONG.keys().isdisjoint(longest) else LANES
    x, y, z = (longest.get(f"thread.{letter}", 1) for letter in "xyz")
    return warp * x, y, z


def too_many_threads(shape: tuple[int, int, int]) -> str | None:
    """Why no block has that shape, None where one has."""
    if shape[0] * shape[1] * shape[2] <= MAX_THREADS:
        return None
    return f"a block of {' x '.join(map(str, shape))} threads; a block has at most {MAX_THREADS}"


def refuse_marked(loop: ForOp, action: str) -> NestorError | None:
    """The refusal to transform a loop for which something was decided already; None when it is serial."""
    if loop.kind == "serial":
        return None
    kind = f"bound to {loop.kind}" if loop.kind in BIND_AXES else loop.kind
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": it is {kind} already',
        hint=f"{action} the loop before marking it",
    )


def refuse_in_vector(loop: ForOp, action: str) -> NestorError | None:
    """The refusal of a mark inside of a vectorized loop, whose lanes run what is in it together."""
    for outer in enclosing_loops(loop):
        if outer.kind == "vectorized":
            return fail(
                loop,
                f'cannot {action} the loop "{loop.label}": it is inside of the vectorized loop "{outer.label}"',
                notes=[(outer, "that loop is here")],
            )
    return None


def why_not_fails(loop: ForOp, action: str) -> NestorError | None:
    """The refusal of `action` when something in `loop` can fail: errors are those of the first iteration."""
    op = may_fail(loop)
    if op is None or (action == "bind" and only_checks(loop)):
        return None
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": an operation in it can stop the kernel',
        hint="nest-prove-bounds removes the checks that cannot fail",
        notes=[(op, "this check can fail")],
    )


def only_checks(loop: ForOp) -> bool:
    """Whether the nest of a loop does nothing but look at indices: a kernel may report any of those that are outside."""
    known = ForOp | LoadOp | IndexOp | YieldOp
    nest = [loop, *enclosing_loops(loop)[:1]][-1]
    return all(isinstance(op, known) or (not op.regions and is_side_effect_free(op)) for op in nest.walk())
