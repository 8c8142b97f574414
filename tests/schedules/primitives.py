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
from nestor.dialects.nest import BIND_AXES, ForOp
from nestor.transforms.nest.cleanup.eliminate_dead import eliminate_dead
from nestor.transforms.nest.cleanup.simplify import simplify
from nestor.transforms.nest.loops.absorb import absorb
from nestor.transforms.nest.loops.beside import beside
from nestor.transforms.nest.loops.cut import cut
from nestor.transforms.nest.loops.distribute import distribute
from nestor.transforms.nest.loops.flatten import flatten
from nestor.transforms.nest.loops.fuse import fuse
from nestor.transforms.nest.loops.hoist import hoist
from nestor.transforms.nest.loops.normalise import add_unit_loop, normalise, remove_unit_loop
from nestor.transforms.nest.loops.peel import peel
from nestor.transforms.nest.loops.rename import rename
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.reverse import reverse
from nestor.transforms.nest.loops.shift import shift
from nestor.transforms.nest.loops.sink import sink
from nestor.transforms.nest.loops.skew import skew
from nestor.transforms.nest.loops.specialise import specialise
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.loops.tile import tile
from nestor.transforms.nest.loops.unmask import unmask
from nestor.transforms.nest.loops.unroll import unroll
from nestor.transforms.nest.loops.unroll_and_jam import jammed_loops, unroll_and_jam
from nestor.transforms.nest.mapping.annotate import annotate
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.mapping.vectorize import vectorize
from nestor.transforms.nest.memory.cache_read import cache_read
from nestor.transforms.nest.memory.cache_write import cache_write
from nestor.transforms.nest.memory.expand_buffer import expand_buffer
from nestor.transforms.nest.memory.fold_buffer import fold_buffer
from nestor.transforms.nest.memory.hoist_alloc import hoist_alloc
from nestor.transforms.nest.memory.registerise import registerise
from nestor.transforms.nest.memory.resize_buffer import resize_buffer
from nestor.transforms.nest.memory.set_memory import set_memory
from nestor.transforms.nest.memory.sink_alloc import sink_alloc
from nestor.transforms.nest.memory.stage_factors import stage_factors
from nestor.transforms.nest.memory.stage_mem import stage_mem
from nestor.transforms.nest.memory.transform_layout import transform_layout
from nestor.transforms.nest.producers.compute_at import compute_at
from nestor.transforms.nest.producers.compute_inline import compute_inline
from nestor.transforms.nest.producers.compute_root import compute_root
from nestor.transforms.nest.producers.fuse_epilogue import fuse_epilogue
from nestor.transforms.nest.producers.reverse_compute_at import reverse_compute_at
from nestor.transforms.nest.producers.reverse_compute_inline import reverse_compute_inline
from nestor.transforms.nest.reductions.block_exponentials import block_exponentials
from nestor.transforms.nest.reductions.block_moments import block_moments
from nestor.transforms.nest.reductions.block_scan import block_scan
from nestor.transforms.nest.reductions.decompose_reduction import decompose_reduction
from nestor.transforms.nest.reductions.online_softmax import online_softmax
from nestor.transforms.nest.reductions.privatise import privatise
from nestor.transforms.nest.reductions.rfactor import rfactor
from nestor.transforms.nest.reductions.search_parts import search_parts
from nestor.transforms.nest.reductions.tree_reduce import tree_reduce
from nestor.transforms.nest.rewrite.trials import trial
from primitive_buffers import (
    applied_to_buffer,
    double,
    draw_hoist_alloc,
    draw_layout,
    draw_registerise,
    of_allocation,
    of_buffer_in_loop,
    pipelined,
    reuse,
    roll,
)
from primitive_hints import (
    apply_prefetch,
    apply_stream,
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
    adds_products,
    can_decompose,
    computes_a_part,
    draw_beside,
    draw_block_exponentials,
    draw_block_moments,
    draw_distribute,
    draw_flatten,
    draw_fuse,
    draw_fuse_epilogue,
    draw_online_softmax,
    draw_reorder,
    draw_reverse_compute_at,
    draw_search_parts,
    draw_skew,
    draw_specialise,
    draw_tile,
    draw_unroll,
    has_reduction,
    is_innermost,
    is_masked,
    loop_of,
    of_loop,
)
from primitive_requests import NothingToDo, Primitive, Request
from xdsl.dialects.builtin import ModuleOp


def apply(module: ModuleOp, request: Request) -> None:
    """Do what was asked; raises the primitive's diagnostic, or `NothingToDo`."""
    PRIMITIVES[request.primitive].apply(module, request)


def unchecked(primitive: str) -> AbstractContextManager[None]:
    """Legality checks of the primitive find nothing wrong in here."""
    return without(*PRIMITIVES[primitive].checks)


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


def _absorb_around(loop: ForOp) -> None:
    """Move what stands beside a loop into a loop around it that runs once."""
    trial(lambda copy: absorb(add_unit_loop(copy)), loop)
    absorb(add_unit_loop(loop))


def _draw_for_function(name: str) -> Callable[[random.Random, ModuleOp], Request | None]:
    return lambda rng, module: Request(name)


def _applied_to_function(function: Callable[[Any], None]) -> Callable[[ModuleOp, Request], None]:
    """A primitive that refuses nothing; `NothingToDo` where the program stays what it is."""

    def run(module: ModuleOp, request: Request) -> None:
        before = str(module)
        function(functions(module)[0])
        if str(module) == before:
            raise NothingToDo

    return run


def _applied_to_loops(function: Callable[..., Any]) -> Callable[[ModuleOp, Request], Any]:
    return lambda module, request: function(
        *(loop_of(module, request, k) for k in range(len(request.loops))), **request.options
    )


def _applied_to_band(function: Callable[..., Any]) -> Callable[[ModuleOp, Request], Any]:
    return lambda module, request: function(
        [loop_of(module, request, k) for k in range(len(request.loops))], **request.options
    )


# ---- the table --------------------------------------------------------------------------------------

PRIMITIVES: dict[str, Primitive] = {
    # loops
    "split": Primitive(
        of_loop("split", factor=(1, 2, 2, 3, 4, 5), tail=("remainder", "mask", "clamp", "perfect")),
        _applied_to_loops(split),
        ("transforms.nest.loops.split:why_not_split",),
        copies=True,
    ),
    "tile": Primitive(
        draw_tile, _applied_to_band(tile), ("transforms.nest.loops.tile:why_not_tile",), copies=True
    ),
    "reorder": Primitive(
        draw_reorder, _applied_to_band(reorder), ("transforms.nest.loops.reorder:why_not_reorder",)
    ),
    "beside": Primitive(
        draw_beside, _applied_to_loops(beside), ("transforms.nest.loops.beside:why_not_beside",)
    ),
    "fuse": Primitive(
        draw_fuse, _applied_to_loops(fuse), ("transforms.nest.loops.fuse:why_not_fuse",), weight=3
    ),
    "flatten": Primitive(
        draw_flatten, _applied_to_loops(flatten), ("transforms.nest.loops.flatten:why_not_flatten",), weight=3
    ),
    "peel": Primitive(
        of_loop("peel", count=(1, 1, 2, 3), where=("head", "tail")),
        _applied_to_loops(peel),
        ("transforms.nest.loops.peel:why_not_peel",),
        copies=True,
        weight=1,
    ),
    "cut": Primitive(
        of_loop("cut", at=(-1, 0, 1, 2, 3, 5, 9)),
        _applied_to_loops(cut),
        ("transforms.nest.loops.cut:why_not_cut",),
        copies=True,
        weight=1,
    ),
    "shift": Primitive(of_loop("shift", by=(-2, 1, 3)), _applied_to_loops(shift), weight=1),
    "skew": Primitive(
        draw_skew, _applied_to_loops(skew), ("transforms.nest.loops.skew:why_not_skew",), weight=1
    ),
    "normalise": Primitive(
        of_loop("normalise"),
        _applied_to_loops(normalise),
        ("transforms.nest.loops.normalise:why_not_normalise",),
        weight=1,
    ),
    "reverse": Primitive(
        of_loop("reverse"), _applied_to_loops(reverse), ("transforms.nest.loops.reverse:why_not_reverse",)
    ),
    "unroll": Primitive(
        draw_unroll, _applied_to_loops(unroll), ("transforms.nest.loops.unroll:why_not_unroll",), copies=True
    ),
    "unroll_and_jam": Primitive(
        of_loop("unroll_and_jam", lambda loop: bool(jammed_loops(loop)), factor=(2, 2, 3)),
        _applied_to_loops(unroll_and_jam),
        ("transforms.nest.loops.unroll_and_jam:why_not_unroll_and_jam",),
        copies=True,
    ),
    "distribute": Primitive(
        draw_distribute,
        _applied_to_loops(distribute),
        ("transforms.nest.loops.distribute:_why_not_cut",),
        weight=3,
    ),
    "rename": Primitive(
        draw_rename, _applied_to_loops(rename), ("transforms.nest.loops.rename:why_not_rename",), weight=1
    ),
    "unmask": Primitive(
        of_loop("unmask", is_masked),
        _applied_to_loops(unmask),
        ("transforms.nest.loops.unmask:_is_of_no_use=True",),
        weight=4,
    ),
    "hoist": Primitive(
        of_loop("hoist"), _applied_to_loops(hoist), ("transforms.nest.loops.hoist:can_meet=False",), weight=4
    ),
    "sink": Primitive(
        of_loop("sink"), _applied_to_loops(sink), ("transforms.nest.loops.sink:can_meet=False",), weight=2
    ),
    "absorb": Primitive(
        of_loop("absorb"),
        _applied_to_loops(_absorb_around),
        ("transforms.nest.loops.absorb:_is_ordered=False",),
        weight=2,
    ),
    "specialise": Primitive(
        draw_specialise,
        _applied_to_loops(specialise),
        ("transforms.nest.loops.specialise:why_not_specialise",),
        copies=True,
        weight=1,
    ),
    "add_unit_loop": Primitive(of_loop("add_unit_loop"), _applied_to_loops(add_unit_loop), weight=1),
    "remove_unit_loop": Primitive(
        of_loop("remove_unit_loop", lambda loop: loop.constant_trip_count() == 1),
        _applied_to_loops(remove_unit_loop),
        ("transforms.nest.loops.normalise:why_not_remove_unit_loop",),
    ),
    # producers and consumers
    "compute_at": Primitive(
        of_buffer_in_loop("compute_at", only_allocations=True, storage=("root", "here")),
        applied_to_buffer(compute_at),
        (
            "transforms.nest.producers.compute_at:_check_inputs",
            "transforms.nest.producers.compute_at:_check_loops",
            "transforms.nest.producers.compute_at:_check_producer",
        ),
        weight=4,
    ),
    "rolling_buffer": Primitive(
        of_buffer_in_loop("rolling_buffer", only_allocations=True, storage=("circular", "whole")),
        roll,
        (
            "transforms.nest.producers.rolling_buffer_plan:check_known",
            "transforms.nest.producers.rolling_buffer_plan:check_complete",
            "transforms.nest.producers.rolling_buffer_plan:check_starts_anew",
            "transforms.nest.producers.rolling_buffer_plan:check_inputs",
            "transforms.nest.producers.rolling_buffer_plan:_check_readers",
        ),
        copies=True,
        weight=3,
    ),
    "reverse_compute_at": Primitive(
        draw_reverse_compute_at,
        _applied_to_loops(reverse_compute_at),
        (
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
        ),
        weight=3,
    ),
    "compute_root": Primitive(
        of_loop("compute_root", computes_a_part),
        _applied_to_loops(compute_root),
        tuple(
            f"transforms.nest.producers.compute_root:check_{what}"
            for what in ("covered", "complete", "starts_anew", "inputs")
        ),
        copies=True,
        weight=3,
    ),
    "reverse_compute_inline": Primitive(
        of_allocation("reverse_compute_inline"),
        applied_to_buffer(reverse_compute_inline),
        (
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
            "transforms.nest.producers.reverse_compute_inline:_check_written",
            "transforms.nest.producers.reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "fuse_epilogue": Primitive(
        draw_fuse_epilogue,
        _applied_to_loops(fuse_epilogue),
        (
            "transforms.nest.producers.reverse_compute_at:_why_not_once",
            "transforms.nest.producers.reverse_compute_at:_why_not_ordered",
            "transforms.nest.producers.reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "compute_inline": Primitive(
        of_allocation("compute_inline", duplicate=("allow", "allow", "refuse")),
        applied_to_buffer(compute_inline),
        (
            "transforms.nest.producers.compute_inline_plan:_check_load",
            "transforms.nest.producers.compute_inline_plan:_check_duplicates",
        ),
        copies=True,
    ),
    # reductions
    "rfactor": Primitive(
        of_loop("rfactor", has_reduction),
        _applied_to_loops(rfactor),
        ("transforms.nest.reductions.rfactor:why_not_rfactor",),
        weight=6,
    ),
    "privatise": Primitive(
        of_loop("privatise", accumulates, parts=(1, 2, 3, 4), share=("chunks", "cyclic")),
        _applied_to_loops(privatise),
        ("transforms.nest.reductions.privatise:why_not_privatise",),
        weight=4,
    ),
    "tree_reduce": Primitive(
        of_loop("tree_reduce", accumulates_often),
        _applied_to_loops(tree_reduce),
        ("transforms.nest.reductions.tree_reduce:why_not_tree_reduce",),
        copies=True,
        weight=4,
    ),
    "block_scan": Primitive(
        of_loop("block_scan", accumulates, factor=(1, 2, 3, 4)),
        _applied_to_loops(block_scan),
        ("transforms.nest.reductions.block_scan:why_not_block_scan",),
        copies=True,
        weight=4,
    ),
    "block_exponentials": Primitive(
        draw_block_exponentials,
        _applied_to_loops(block_exponentials),
        ("transforms.nest.reductions.block_exponentials:exponentials_plan",),
        copies=True,
    ),
    "block_moments": Primitive(
        draw_block_moments,
        _applied_to_loops(block_moments),
        ("transforms.nest.reductions.block_moments:moments_plan",),
        copies=True,
    ),
    "decompose_reduction": Primitive(
        of_loop("decompose_reduction", can_decompose),
        _applied_to_loops(decompose_reduction),
        ("transforms.nest.loops.distribute:_why_not_cut",),
        weight=6,
    ),
    "online_softmax": Primitive(
        draw_online_softmax,
        _applied_to_loops(online_softmax),
        ("transforms.nest.reductions.online_softmax:online_plan",),
        copies=True,
    ),
    "search_parts": Primitive(
        draw_search_parts,
        _applied_to_loops(search_parts),
        ("transforms.nest.reductions.search_parts:why_not_search_parts",),
    ),
    # memory
    "cache_read": Primitive(
        of_buffer_in_loop("cache_read", tail=("clamp", "zero")),
        applied_to_buffer(cache_read),
        (
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:_written_by_threads",
        ),
    ),
    "cache_write": Primitive(
        of_buffer_in_loop("cache_write", init=("load", "identity")),
        applied_to_buffer(cache_write),
        (
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:Coverage.fills=True",
        ),
    ),
    "stage_mem": Primitive(
        of_buffer_in_loop("stage_mem"),
        applied_to_buffer(stage_mem),
        (
            "transforms.nest.memory.staging:may_alias=False",
            "transforms.nest.memory.staging:_may_be_unwritten",
            "transforms.nest.memory.staging:Coverage.fills=True",
        ),
    ),
    "stage_factors": Primitive(
        of_loop("stage_factors", adds_products, narrow=(False, True)),
        _applied_to_loops(stage_factors),
        ("transforms.nest.memory.stage_factors:may_alias=False",),
        copies=True,
        weight=4,
    ),
    "registerise": Primitive(
        draw_registerise,
        applied_to_buffer(registerise),
        (
            "transforms.nest.memory.registerise:_may_touch=False",
            "transforms.nest.memory.registerise:_is_certain=True",
        ),
        weight=3,
    ),
    "transform_layout": Primitive(
        draw_layout,
        applied_to_buffer(transform_layout),
        ("transforms.nest.memory.transform_layout:_is_folding=False",),
        weight=3,
    ),
    "set_memory": Primitive(
        of_allocation("set_memory", space=("shared", "local", "global")),
        applied_to_buffer(set_memory),
        ("transforms.nest.memory.set_memory:why_not_set_memory",),
    ),
    "hoist_alloc": Primitive(
        draw_hoist_alloc,
        applied_to_buffer(hoist_alloc),
        ("transforms.nest.memory.hoist_alloc:why_not_hoist_alloc",),
    ),
    "sink_alloc": Primitive(
        of_buffer_in_loop("sink_alloc", only_allocations=True),
        applied_to_buffer(sink_alloc),
        ("analysis.nest.sets.own_buffers:_carried_value",),
    ),
    "fold_buffer": Primitive(
        of_allocation("fold_buffer", factor=(1, 2, 3), dimension=(0, 0, 1)),
        applied_to_buffer(fold_buffer),
        ("transforms.nest.memory.fold_buffer:overwritten_while_needed",),
    ),
    "resize_buffer": Primitive(
        of_allocation("resize_buffer", dimension=(0, 1), size=(None, None, 2, 4, 7), offset=(0, 0, 1, -1)),
        applied_to_buffer(resize_buffer),
        ("transforms.nest.memory.resize_buffer:is_within=True",),
    ),
    "expand_buffer": Primitive(
        of_buffer_in_loop("expand_buffer", only_allocations=True),
        applied_to_buffer(expand_buffer),
        ("analysis.nest.sets.own_buffers:_carried_value",),
    ),
    "double_buffer": Primitive(
        of_buffer_in_loop("double_buffer", only_allocations=True),
        double,
        ("transforms.nest.memory.double_buffer:_written_source",),
        copies=True,
    ),
    "pipeline": Primitive(
        of_buffer_in_loop("pipeline", only_allocations=True, stages=(2, 3)),
        pipelined,
        ("transforms.nest.memory.double_buffer:_written_source",),
        copies=True,
    ),
    "reuse_buffers": Primitive(
        _draw_for_function("reuse_buffers"),
        reuse,
        ("transforms.nest.memory.reuse_buffers:_is_ordered=True",),
        weight=6,
    ),
    "stream": Primitive(
        draw_stream, apply_stream, ("transforms.nest.memory.stream:why_not_stream",), weight=1
    ),
    "prefetch": Primitive(
        draw_prefetch, apply_prefetch, ("transforms.nest.memory.prefetch:why_not_prefetch",), weight=1
    ),
    "simplify": Primitive(_draw_for_function("simplify"), _applied_to_function(simplify), weight=1),
    "eliminate_dead": Primitive(
        _draw_for_function("eliminate_dead"), _applied_to_function(eliminate_dead), weight=1
    ),
    # hints, and other machines
    "annotate": Primitive(
        draw_annotate,
        _applied_to_loops(annotate),
        ("transforms.nest.mapping.annotate:why_not_annotate",),
        weight=1,
    ),
    "tensorize": Primitive(
        draw_tensorize,
        apply_tensorize,
        (
            "analysis.nest.sets.unify:Unification._same",
            "analysis.nest.sets.unify:_is_same_constant=True",
            "analysis.nest.sets.unify:_refuse_domain",
            "transforms.nest.mapping.tensorize:_check_layout",
            "transforms.nest.mapping.tensorize:_check_accesses",
            "transforms.nest.mapping.tensorize:_is_inside=True",
            "transforms.nest.mapping.tensorize:_check_overlaps",
        ),
    ),
    # marks
    "vectorize": Primitive(
        of_loop("vectorize", is_innermost, width=(2, 3, 4, 8)),
        _applied_to_loops(vectorize),
        (
            "transforms.nest.mapping.vectorize:why_not_vectorize",
            "transforms.nest.mapping.vectorize:why_not_lanes",
        ),
        is_mark=True,
    ),
    "parallel": Primitive(
        of_loop("parallel"),
        _applied_to_loops(parallelize),
        ("transforms.nest.mapping.parallel:why_not_parallel",),
        is_mark=True,
    ),
    "bind": Primitive(
        of_loop("bind", axis=BIND_AXES),
        _applied_to_loops(bind),
        ("transforms.nest.mapping.bind:why_not_bind",),
        is_mark=True,
    ),
    "insert_barriers": Primitive(
        _draw_for_function("insert_barriers"),
        _applied_to_function(insert_barriers),
        (
            "analysis.nest.kernels.barriers:divergence",
            "analysis.nest.kernels.barriers:_Kernel._meet=False",
            "analysis.nest.kernels.barriers:_refuse_barriers_in",
        ),
        weight=1,
    ),
}
"""Every primitive that has legality to get wrong."""
