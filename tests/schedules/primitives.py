"""The schedule primitives as the random tests see them: how a request is drawn, applied, and left unchecked.

A request names what it works on (loops by their names, buffers by their position), so that it can be printed,
and repeated on another copy of the same program:

    request = PRIMITIVES["split"].draw(rng, module)     # split loops=("i",) factor=3 tail="mask"
    apply(module, request)                              # raises the diagnostic when it is refused
    with unchecked("split"):                            # a mutant: nothing is refused any more
        apply(module, request)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.nest import BIND_AXES
from nestor.dialects.schedule.table import PRIMITIVES as TABLE
from nestor.transforms.nest.loops.absorb import absorb
from nestor.transforms.nest.loops.normalise import add_unit_loop
from nestor.transforms.nest.loops.unroll_and_jam import jammed_loops
from nestor.transforms.nest.primitive_passes import function_of
from nestor.transforms.nest.rewrite.trials import trial
from nestor.transforms.schedule.payload import as_taken
from primitive_buffers import (
    buffers,
    double,
    draw_hoist_alloc,
    draw_layout,
    draw_registerise,
    draw_scatter,
    of_allocation,
    of_buffer_in_loop,
    pipelined,
    reuse,
    roll,
)
from primitive_hints import (
    apply_tensorize,
    draw_annotate,
    draw_prefetch,
    draw_rename,
    draw_stream,
    draw_tensorize,
)
from primitive_loops import (
    accumulates,
    accumulates_often,
    accumulates_together,
    can_decompose,
    combines_elements,
    computes_a_part,
    draw_beside,
    draw_block_relative,
    draw_distribute,
    draw_flatten,
    draw_fuse,
    draw_fuse_epilogue,
    draw_online_softmax,
    draw_recompute,
    draw_reorder,
    draw_reverse_compute_at,
    draw_skew,
    draw_specialise,
    draw_tile,
    draw_unroll,
    draw_widen,
    has_nests,
    has_reduction,
    is_innermost,
    is_masked,
    is_outermost,
    loop_of,
    of_loop,
)
from primitive_requests import NothingToDo, Primitive, Request
from xdsl.dialects.builtin import ModuleOp


def apply(module: ModuleOp, request: Request) -> None:
    """Do what was asked; raises the primitive's diagnostic, or `NothingToDo`."""
    (PRIMITIVES[request.primitive].apply or _apply_as_tabled)(module, request)


def _apply_as_tabled(module: ModuleOp, request: Request) -> None:
    """Call the function with targets as the table of primitives has them."""
    row = TABLE[request.primitive]
    targets: list[Any] = [loop_of(module, request, k) for k in range(len(request.loops))]
    if any(target.variadic for target in row.targets):
        targets = [targets]
    if request.buffer is not None:
        buffer = buffers(module)[request.buffer]
        targets.insert(0, *as_taken(row.targets[0], [buffer]))
    if row.targets:
        function_of(row)(*targets, **request.options)
        return
    before = str(module)
    function_of(row)(functions(module)[0], **request.options)
    if str(module) == before:
        raise NothingToDo


def unchecked(primitive: str) -> AbstractContextManager[None]:
    """Legality checks of the primitive find nothing wrong in here."""
    return without(*checks_of(primitive))


def checks_of(primitive: str) -> tuple[str, ...]:
    """The checks of a primitive: its `why_not_...`, unless its row names others."""
    checks = PRIMITIVES[primitive].checks
    module = TABLE[primitive].function.partition(":")[0]
    return (f"{module}:why_not_{primitive}",) if checks is None else checks


@contextmanager
def without(*checks: str) -> Iterator[None]:
    """These checks (`module:name=answer`, see `Primitive`) find nothing wrong in here."""
    with ExitStack() as stack:
        for check in checks:
            path, _, answer = check.partition("=")
            file, _, name = path.partition(":")
            owner: Any = import_module(f"nestor.{file}")
            *outer, last = name.split(".")
            for part in outer:
                owner = getattr(owner, part)
            stack.enter_context(
                patch.object(owner, last, _answering({"True": True, "False": False}.get(answer)))
            )
        yield


def _answering(answer: bool | None) -> Callable[..., bool | None]:
    return lambda *_, **__: answer


def _absorb_around(module: ModuleOp, request: Request) -> None:
    """Move what stands beside a loop into a loop around it that runs once."""
    loop = loop_of(module, request)
    trial(lambda copy: absorb(add_unit_loop(copy)), loop)
    absorb(add_unit_loop(loop))


def _draw_for_function(name: str) -> Callable[[random.Random, ModuleOp], Request | None]:
    return lambda rng, module: Request(name)


# ---- the table --------------------------------------------------------------------------------------

PRIMITIVES: dict[str, Primitive] = {
    # loops
    "split": Primitive(
        of_loop("split", factor=(1, 2, 2, 3, 4, 5), tail=("remainder", "mask", "clamp", "perfect")),
        copies=True,
    ),
    "tile": Primitive(draw_tile, copies=True, families=("scan", "stencil"), caught_by=(93,)),
    "reorder": Primitive(draw_reorder, families=("scan", "stencil", "transposed")),
    "beside": Primitive(draw_beside),
    "fuse": Primitive(draw_fuse, weight=3),
    "flatten": Primitive(draw_flatten, weight=3, families=("flat", "pointwise")),
    "peel": Primitive(
        of_loop("peel", count=(1, 1, 2, 3), where=("head", "tail")), copies=True, weight=1, caught_by=(40,)
    ),
    "cut": Primitive(
        of_loop("cut", at=(-1, 0, 1, 2, 3, 5, 9)),
        copies=True,
        weight=1,
        harmless="refused is a first iteration that no expression is",
    ),
    "shift": Primitive(
        of_loop("shift", by=(-2, 1, 3)),
        checks=(),
        weight=1,
        harmless="refused are marked loops, and distances that are no values there",
    ),
    "skew": Primitive(
        draw_skew, weight=1, harmless="refused are marked loops, and loops that are not one in the other"
    ),
    "widen": Primitive(
        draw_widen,
        weight=2,
        families=("triangular",),
        harmless="where domains do not do, the body becomes a branch: test_nest_widen.py has one that divides by zero else",
    ),
    "normalise": Primitive(
        of_loop("normalise"), weight=1, harmless="refused is a first iteration that no expression is"
    ),
    "reverse": Primitive(of_loop("reverse")),
    "unroll": Primitive(
        draw_unroll,
        copies=True,
        harmless="refused are numbers of copies that are not known, or that are too many",
    ),
    "unroll_and_jam": Primitive(
        of_loop("unroll_and_jam", lambda loop: bool(jammed_loops(loop)), factor=(2, 2, 3)), copies=True
    ),
    "distribute": Primitive(
        draw_distribute, checks=("transforms.nest.loops.distribute:_why_not_cut",), weight=3
    ),
    "rename": Primitive(
        draw_rename,
        weight=1,
        harmless="refused is a name of another loop: what a schedule then speaks of is not known",
    ),
    "unmask": Primitive(
        of_loop("unmask", is_masked),
        checks=("transforms.nest.loops.unmask:_is_of_no_use=True",),
        weight=4,
        caught_by=(147,),
    ),
    "hoist": Primitive(
        of_loop("hoist"),
        checks=("transforms.nest.loops.hoist:can_meet=False",),
        weight=4,
        families=("triangular", "scan"),
        caught_by=(51,),
    ),
    "sink": Primitive(
        of_loop("sink"), checks=("transforms.nest.loops.sink:can_meet=False",), weight=2, families=("scaled",)
    ),
    "absorb": Primitive(
        of_loop("absorb"),
        _absorb_around,
        checks=("transforms.nest.loops.absorb:_is_ordered=False",),
        weight=2,
        caught_by=(183,),
    ),
    "specialise": Primitive(
        draw_specialise,
        copies=True,
        weight=1,
        harmless="refused are loops that may not be copied into a branch; the general loop stands beside the copy",
    ),
    "add_unit_loop": Primitive(of_loop("add_unit_loop"), checks=(), weight=1, harmless="it refuses nothing"),
    "remove_unit_loop": Primitive(of_loop("remove_unit_loop", lambda loop: loop.constant_trip_count() == 1)),
    # producers and consumers
    "compute_at": Primitive(
        of_buffer_in_loop("compute_at", only_allocations=True, storage=("root", "here")),
        checks=(
            "transforms.nest.producers.compute_at:_check_inputs",
            "transforms.nest.producers.compute_at:_check_loops",
            "transforms.nest.producers.compute_at:_check_producer",
        ),
        weight=4,
        families=("blur", "chain"),
    ),
    "rolling_buffer": Primitive(
        of_buffer_in_loop("rolling_buffer", only_allocations=True, storage=("circular", "whole")),
        roll,
        checks=(
            "transforms.nest.producers.rolling_buffer_plan:check_known",
            "transforms.nest.producers.rolling_buffer_plan:check_complete",
            "transforms.nest.producers.rolling_buffer_plan:check_starts_anew",
            "transforms.nest.producers.rolling_buffer_plan:check_inputs",
            "transforms.nest.producers.rolling_buffer_plan:_check_readers",
        ),
        copies=True,
        weight=3,
        families=("window",),
        caught_by=(21,),
    ),
    "reverse_compute_at": Primitive(
        draw_reverse_compute_at,
        checks=(
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
        ),
        weight=3,
    ),
    "recompute": Primitive(
        draw_recompute,
        checks=tuple(f"transforms.nest.producers.recompute:check_{what}" for what in ("buffer", "inputs")),
        copies=True,
    ),
    "compute_root": Primitive(
        of_loop("compute_root", computes_a_part),
        checks=tuple(
            f"transforms.nest.producers.compute_root:check_{what}"
            for what in ("covered", "complete", "starts_anew", "inputs")
        ),
        copies=True,
        weight=3,
        families=("window",),
    ),
    "reverse_compute_inline": Primitive(
        of_allocation("reverse_compute_inline"),
        checks=(
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
            "transforms.nest.producers.reverse_compute_inline:_check_written",
            "transforms.nest.producers.reverse_compute_inline:_check_same",
        ),
        weight=3,
        families=("blur", "chain"),
    ),
    "fuse_epilogue": Primitive(
        draw_fuse_epilogue,
        checks=(
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
            "transforms.nest.producers.reverse_compute_inline:_check_same",
        ),
        weight=3,
        families=("epilogue",),
    ),
    "compute_inline": Primitive(
        of_allocation("compute_inline", duplicate=("allow", "allow", "refuse")),
        checks=(
            "transforms.nest.producers.compute_inline_plan:_check_load",
            "transforms.nest.producers.compute_inline_plan:_check_duplicates",
        ),
        copies=True,
        families=("blur",),
    ),
    # reductions
    "rfactor": Primitive(
        of_loop("rfactor", has_reduction), weight=6, families=("reduction", "matmul"), caught_by=(100,)
    ),
    "privatise": Primitive(
        of_loop("privatise", accumulates, parts=(1, 2, 3, 4), share=("chunks", "cyclic")),
        weight=4,
        caught_by=(76,),
    ),
    "tree_reduce": Primitive(
        of_loop("tree_reduce", accumulates_often), copies=True, weight=4, caught_by=(119,)
    ),
    "lift": Primitive(of_loop("lift", accumulates_together), copies=True, families=("tuples",)),
    "block_scan": Primitive(
        of_loop("block_scan", accumulates, factor=(1, 2, 3, 4)), copies=True, weight=4, families=("running",)
    ),
    "block_relative": Primitive(
        draw_block_relative,
        checks=(
            "transforms.nest.reductions.block_relative:check_reads",
            "transforms.nest.reductions.block_relative:_check_subtracted",
        ),
        copies=True,
        families=("relative",),
    ),
    "decompose_reduction": Primitive(
        of_loop("decompose_reduction", can_decompose),
        checks=("transforms.nest.loops.distribute:_why_not_cut",),
        weight=6,
        families=("reduction", "matmul"),
        caught_by=(341,),
    ),
    "online_softmax": Primitive(
        draw_online_softmax,
        checks=("transforms.nest.reductions.online_softmax_plan:_check_order",),
        copies=True,
        families=("attention",),
    ),
    "skip_masked": Primitive(
        of_loop("skip_masked", has_nests, side=("above", "below")),
        checks=(
            "transforms.nest.reductions.skip_masked:_check_other",
            "transforms.nest.reductions.skip_masked:_check_start",
        ),
        copies=True,
        weight=0,
        families=("masked",),
    ),
    "exact_sum": Primitive(
        of_loop("exact_sum", accumulates),
        checks=("transforms.nest.reductions.exact_sum:may_alias=False",),
        copies=True,
        weight=0,
        families=("found",),
    ),
    "last_write": Primitive(
        of_loop("last_write", is_outermost),
        checks=("transforms.nest.reductions.last_write:may_alias=False",),
        copies=True,
        weight=0,
        families=("found",),
    ),
    "scatter_to_gather": Primitive(
        draw_scatter,
        checks=("transforms.nest.reductions.scatter_to_gather:_why_not_moved",),
        copies=True,
        weight=0,  # asked for where there is an occasion (`SELDOM`)
        families=("scatter",),
    ),
    # memory
    "cache_read": Primitive(
        of_buffer_in_loop("cache_read", tail=("clamp", "zero")),
        checks=(
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:_written_by_threads",
        ),
        families=("aliased",),
        caught_by=(35,),
    ),
    "cache_write": Primitive(
        of_buffer_in_loop("cache_write", init=("load", "identity")),
        checks=(
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:Coverage.fills=True",
        ),
        caught_by=(93,),
    ),
    "stage_mem": Primitive(
        of_buffer_in_loop("stage_mem"),
        checks=(
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:Coverage.fills=True",
        ),
        caught_by=(38,),
    ),
    "stage_factors": Primitive(
        of_loop("stage_factors", combines_elements, narrow=(False, True)),
        checks=("transforms.nest.memory.stage_factors:may_alias=False",),
        copies=True,
        weight=4,
        harmless="refused is what is no reduction of two factors, which random programs hardly draw at a constant length",
    ),
    "registerise": Primitive(
        draw_registerise,
        checks=(
            "transforms.nest.memory.registerise:_may_touch=False",
            "transforms.nest.memory.registerise:_is_certain=True",
        ),
        weight=3,
        caught_by=(103,),
    ),
    "transform_layout": Primitive(
        draw_layout,
        checks=("transforms.nest.memory.transform_layout:_is_folding=False",),
        weight=3,
        caught_by=(1,),
    ),
    "set_memory": Primitive(
        of_allocation("set_memory", space=("shared", "local", "global")),
        harmless="refused are places for which a device has no such memory; the interpreter has one memory",
    ),
    "hoist_alloc": Primitive(
        draw_hoist_alloc,
        harmless="refused are loops that run iterations together, and extents that are not known before them",
    ),
    "sink_alloc": Primitive(
        of_buffer_in_loop("sink_alloc", only_allocations=True),
        checks=("analysis.nest.sets.own_buffers:_carried_value",),
        families=("scratch",),
    ),
    "fold_buffer": Primitive(
        of_allocation("fold_buffer", factor=(1, 2, 3), dimension=(0, 0, 1)),
        checks=("transforms.nest.memory.fold_buffer:overwritten_while_needed",),
        families=("scratch", "blur"),
    ),
    "resize_buffer": Primitive(
        of_allocation("resize_buffer", dimension=(0, 1), size=(None, None, 2, 4, 7), offset=(0, 0, 1, -1)),
        checks=("transforms.nest.memory.resize_buffer:is_within=True",),
        caught_by=(37,),
    ),
    "expand_buffer": Primitive(
        of_buffer_in_loop("expand_buffer", only_allocations=True),
        checks=("analysis.nest.sets.own_buffers:_carried_value",),
        families=("scratch",),
    ),
    "double_buffer": Primitive(
        of_buffer_in_loop("double_buffer", only_allocations=True),
        double,
        checks=("transforms.nest.memory.double_buffer:_written_source",),
        copies=True,
        families=("window",),
        caught_by=(51,),
    ),
    "pipeline": Primitive(
        of_buffer_in_loop("pipeline", only_allocations=True, stages=(2, 3)),
        pipelined,
        checks=("transforms.nest.memory.double_buffer:_written_source",),
        copies=True,
        families=("window",),
        caught_by=(48,),
    ),
    "reuse_buffers": Primitive(
        _draw_for_function("reuse_buffers"),
        reuse,
        checks=("transforms.nest.memory.reuse_buffers:_is_ordered=True",),
        weight=6,
        families=("chain",),
    ),
    "stream": Primitive(
        draw_stream, weight=1, harmless="refused are loops without a store that it could mark"
    ),
    "prefetch": Primitive(
        draw_prefetch, weight=1, harmless="refused are loops without an access that it could fetch for"
    ),
    "simplify": Primitive(_draw_for_function("simplify"), checks=(), weight=1, harmless="it refuses nothing"),
    "eliminate_dead": Primitive(
        _draw_for_function("eliminate_dead"), checks=(), weight=1, harmless="it refuses nothing"
    ),
    # hints, and other machines
    "annotate": Primitive(
        draw_annotate, weight=1, harmless="refused are marks that a later level could not obey"
    ),
    "tensorize": Primitive(
        draw_tensorize,
        apply_tensorize,
        checks=(
            "analysis.nest.sets.unify:Unification._same",
            "analysis.nest.sets.unify:_is_same_constant=True",
            "analysis.nest.sets.unify:_refuse_domain",
            "transforms.nest.mapping.tensorize:_check_layout",
            "transforms.nest.mapping.tensorize:_check_accesses",
            "transforms.nest.mapping.tensorize:_is_inside=True",
            "transforms.nest.mapping.tensorize:_check_overlaps",
        ),
        caught_by=(20,),
    ),
    # marks
    "vectorize": Primitive(
        of_loop("vectorize", is_innermost, width=(2, 3, 4, 8)),
        checks=(
            "transforms.nest.mapping.vectorize:why_not_vectorize",
            "transforms.nest.mapping.vectorize:why_not_lanes",
        ),
        is_mark=True,
    ),
    "parallel": Primitive(of_loop("parallel"), is_mark=True),
    "bind": Primitive(of_loop("bind", axis=BIND_AXES), is_mark=True),
    "atomic": Primitive(
        of_loop("atomic", accumulates),
        weight=1,
        families=("found",),
        harmless="no update that it refuses is one that the dialect has",
    ),
    "insert_barriers": Primitive(
        _draw_for_function("insert_barriers"),
        checks=(
            "analysis.nest.kernels.barriers:divergence",
            "analysis.nest.kernels.barriers:_Kernel._meet=False",
            "analysis.nest.kernels.barriers:_refuse_barriers_in",
        ),
        weight=1,
        harmless="refused are places that not all threads reach; loops in program order need no barrier",
    ),
}
"""Every primitive that has legality to get wrong."""
