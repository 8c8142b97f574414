"""Whether the marks of loops can be compiled: what the lowerings would refuse, asked when a loop is marked.

A later step can make of a mark that was right one that has no code: an allocation moves into a vectorized loop, a parallel
loop into another one. `why_not_compiled` looks at all marks of a function; a schedule asks it after every step.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ....analysis.nest.kernels.amx_tiles import amx_tile
from ....analysis.nest.kernels.bf16_pairs import bf16_pairs
from ....analysis.nest.kernels.loop_marks import (
    bound_loop_in,
    call_for_effect,
    parallel_around,
    parallel_loop_in,
)
from ....analysis.nest.kernels.matrix_tiles import NoTile
from ....analysis.nest.kernels.vector_forms import no_vector_form
from ....analysis.nest.kernels.vnni_tiles import vnni_tile
from ....analysis.nest.loop_structure import enclosing_function, enclosing_loops, loops_in
from ....dialects.attributes import AMX, BF16_PAIRS, VNNI
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import BIND_AXES, ForOp


def why_not_compiled(function: FuncOp) -> NestorError | None:
    """The diagnostic of the first mark that has no code together with what is around and inside, None when all have."""
    loops = loops_in(function)
    if all(loop.kind == "serial" and not _TILES.keys() & loop.attributes.keys() for loop in loops):
        return None
    return _why_not_one_target(function) or next(filter(None, map(_why_not_marked, loops)), None)


def _why_not_marked(loop: ForOp) -> NestorError | None:
    if loop.kind == "parallel" and (around := parallel_around(loop)) is not None:
        why = f'the loop "{around.label}" around it is parallel as well'
        return _cannot(loop, why, around, _parallel_hint())
    if loop.kind == "vectorized" and not _is_in_kernel(loop):
        found = no_vector_form(loop)
        return None if found is None else _cannot(loop, found.why, found.op, found.hint)
    for mark, check in _TILES.items():
        if mark in loop.attributes:
            return _why_not_tile(loop, mark, check)
    return None


_TILES = {AMX: amx_tile, VNNI: vnni_tile, BF16_PAIRS: bf16_pairs}


def _parallel_hint() -> str:
    return "mark one of the two loops, or fuse them before"


def _why_not_tile(loop: ForOp, mark: str, check: Callable[[ForOp], object]) -> NestorError | None:
    try:
        check(loop)
    except NoTile as why:
        message = f'cannot compile the loop "{loop.label}", annotated "{mark}": {why.reason}'
        return fail(loop, message, notes=[] if why.op is loop else [(why.op, "here")])
    return None


def _is_in_kernel(loop: ForOp) -> bool:
    return any(around.kind in BIND_AXES for around in enclosing_loops(loop))


def _cannot(loop: ForOp, why: str, at: Operation, hint: str | None) -> NestorError:
    return fail(
        loop, f'cannot compile the {loop.kind} loop "{loop.label}": {why}', hint=hint, notes=[(at, "here")]
    )


# ---- what marks have a meaning for the same machine -------------------------------------------------


def _why_not_one_target(function: FuncOp) -> NestorError | None:
    """Refuses marks for the processor and for a GPU in one function."""
    bound = bound_loop_in(function)
    return None if bound is None else refuse_on_gpu(bound, "compile")


def refuse_on_gpu(loop: ForOp, action: str) -> NestorError | None:
    """The refusal of a GPU where the function of `loop` has what only a processor does."""
    function = enclosing_function(loop)
    if (other := parallel_loop_in(function)) is not None and other is not loop:
        why = f'the loop "{other.label}" of this function is parallel, which has no meaning on a GPU'
        return _other_machine(loop, action, why, other)
    if (call := call_for_effect(function)) is not None:
        why = f"this function calls @{call.callee.string_value()}, and a GPU's threads call no function for what it writes"
        return _other_machine(loop, action, why, call)
    return None


def refuse_on_processor(loop: ForOp, action: str) -> NestorError | None:
    """The refusal of what only a processor does where the function of `loop` has loops bound to a GPU."""
    bound = bound_loop_in(enclosing_function(loop))
    if bound is None:
        return None
    why = (
        f'the loop "{bound.label}" of this function is bound to {bound.kind}, and a GPU has no code for that'
    )
    return _other_machine(loop, action, why, bound)


def _other_machine(loop: ForOp, action: str, why: str, at: Operation) -> NestorError:
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": {why}',
        hint="a schedule is for one machine: bind loops for a GPU; parallelize and tensorize for the processor",
        notes=[(at, "here")],
    )


def refuse_parallel_twice(loop: ForOp, action: str) -> NestorError | None:
    """The refusal to share a loop out to threads where one around or inside is already."""
    around, inside = parallel_around(loop), parallel_loop_in(loop)
    if around is None and inside is None:
        return None
    other = around or inside
    assert other is not None
    where = "around" if around is not None else "inside"
    return fail(
        loop,
        f'cannot {action} the loop "{loop.label}": the loop "{other.label}" {where} it is parallel already',
        hint=_parallel_hint(),
        notes=[(other, "that loop is here")],
    )
