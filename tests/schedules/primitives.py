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

from nestor.dialects.nest import BIND_AXES, ForOp
from nestor.transforms.nest.loops import (
    functions,
)
from nestor.transforms.nest.nest_absorb import absorb
from nestor.transforms.nest.nest_annotate import annotate
from nestor.transforms.nest.nest_beside import beside
from nestor.transforms.nest.nest_bind import bind
from nestor.transforms.nest.nest_block_exponentials import block_exponentials
from nestor.transforms.nest.nest_block_moments import block_moments
from nestor.transforms.nest.nest_block_scan import block_scan
from nestor.transforms.nest.nest_cache_read import cache_read
from nestor.transforms.nest.nest_cache_write import cache_write
from nestor.transforms.nest.nest_compute_at import compute_at
from nestor.transforms.nest.nest_compute_inline import compute_inline
from nestor.transforms.nest.nest_compute_root import compute_root
from nestor.transforms.nest.nest_cut import cut
from nestor.transforms.nest.nest_decompose_reduction import decompose_reduction
from nestor.transforms.nest.nest_distribute import distribute
from nestor.transforms.nest.nest_eliminate_dead import eliminate_dead
from nestor.transforms.nest.nest_expand_buffer import expand_buffer
from nestor.transforms.nest.nest_flatten import flatten
from nestor.transforms.nest.nest_fold_buffer import fold_buffer
from nestor.transforms.nest.nest_fuse import fuse
from nestor.transforms.nest.nest_fuse_epilogue import fuse_epilogue
from nestor.transforms.nest.nest_hoist import hoist
from nestor.transforms.nest.nest_hoist_alloc import hoist_alloc
from nestor.transforms.nest.nest_insert_barriers import insert_barriers
from nestor.transforms.nest.nest_normalise import add_unit_loop, normalise, remove_unit_loop
from nestor.transforms.nest.nest_online_softmax import online_softmax
from nestor.transforms.nest.nest_parallel import parallelize
from nestor.transforms.nest.nest_peel import peel
from nestor.transforms.nest.nest_privatise import privatise
from nestor.transforms.nest.nest_registerise import registerise
from nestor.transforms.nest.nest_rename import rename
from nestor.transforms.nest.nest_reorder import reorder
from nestor.transforms.nest.nest_resize_buffer import resize_buffer
from nestor.transforms.nest.nest_reverse import reverse
from nestor.transforms.nest.nest_reverse_compute_at import reverse_compute_at
from nestor.transforms.nest.nest_reverse_compute_inline import reverse_compute_inline
from nestor.transforms.nest.nest_rfactor import rfactor
from nestor.transforms.nest.nest_search_parts import search_parts
from nestor.transforms.nest.nest_set_memory import set_memory
from nestor.transforms.nest.nest_shift import shift
from nestor.transforms.nest.nest_simplify import simplify
from nestor.transforms.nest.nest_sink import sink
from nestor.transforms.nest.nest_sink_alloc import sink_alloc
from nestor.transforms.nest.nest_skew import skew
from nestor.transforms.nest.nest_specialise import specialise
from nestor.transforms.nest.nest_split import split
from nestor.transforms.nest.nest_stage_factors import stage_factors
from nestor.transforms.nest.nest_stage_mem import stage_mem
from nestor.transforms.nest.nest_tile import tile
from nestor.transforms.nest.nest_transform_layout import transform_layout
from nestor.transforms.nest.nest_tree_reduce import tree_reduce
from nestor.transforms.nest.nest_unmask import unmask
from nestor.transforms.nest.nest_unroll import unroll
from nestor.transforms.nest.nest_unroll_and_jam import jammed_loops, unroll_and_jam
from nestor.transforms.nest.nest_vectorize import vectorize
from nestor.transforms.nest.trials import trial
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

PACKAGE = "nestor.transforms.nest"


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
            owner: Any = import_module(f"{PACKAGE}.{file}")
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
        ("nest_split:why_not_split",),
        copies=True,
    ),
    "tile": Primitive(draw_tile, _applied_to_band(tile), ("nest_tile:why_not_tile",), copies=True),
    "reorder": Primitive(draw_reorder, _applied_to_band(reorder), ("nest_reorder:why_not_reorder",)),
    "beside": Primitive(draw_beside, _applied_to_loops(beside), ("nest_beside:why_not_beside",)),
    "fuse": Primitive(draw_fuse, _applied_to_loops(fuse), ("nest_fuse:why_not_fuse",), weight=3),
    "flatten": Primitive(
        draw_flatten, _applied_to_loops(flatten), ("nest_flatten:why_not_flatten",), weight=3
    ),
    "peel": Primitive(
        of_loop("peel", count=(1, 1, 2, 3), where=("head", "tail")),
        _applied_to_loops(peel),
        ("nest_peel:why_not_peel",),
        copies=True,
        weight=1,
    ),
    "cut": Primitive(
        of_loop("cut", at=(-1, 0, 1, 2, 3, 5, 9)),
        _applied_to_loops(cut),
        ("nest_cut:why_not_cut",),
        copies=True,
        weight=1,
    ),
    "shift": Primitive(of_loop("shift", by=(-2, 1, 3)), _applied_to_loops(shift), weight=1),
    "skew": Primitive(draw_skew, _applied_to_loops(skew), ("nest_skew:why_not_skew",), weight=1),
    "normalise": Primitive(
        of_loop("normalise"), _applied_to_loops(normalise), ("nest_normalise:why_not_normalise",), weight=1
    ),
    "reverse": Primitive(of_loop("reverse"), _applied_to_loops(reverse), ("nest_reverse:why_not_reverse",)),
    "unroll": Primitive(draw_unroll, _applied_to_loops(unroll), ("nest_unroll:why_not_unroll",), copies=True),
    "unroll_and_jam": Primitive(
        of_loop("unroll_and_jam", lambda loop: bool(jammed_loops(loop)), factor=(2, 2, 3)),
        _applied_to_loops(unroll_and_jam),
        ("nest_unroll_and_jam:why_not_unroll_and_jam",),
        copies=True,
    ),
    "distribute": Primitive(
        draw_distribute, _applied_to_loops(distribute), ("nest_distribute:_why_not_cut",), weight=3
    ),
    "rename": Primitive(draw_rename, _applied_to_loops(rename), ("nest_rename:why_not_rename",), weight=1),
    "unmask": Primitive(
        of_loop("unmask", is_masked),
        _applied_to_loops(unmask),
        ("nest_unmask:_is_of_no_use=True",),
        weight=4,
    ),
    "hoist": Primitive(of_loop("hoist"), _applied_to_loops(hoist), ("nest_hoist:can_meet=False",), weight=4),
    "sink": Primitive(of_loop("sink"), _applied_to_loops(sink), ("nest_sink:can_meet=False",), weight=2),
    "absorb": Primitive(
        of_loop("absorb"),
        _applied_to_loops(_absorb_around),
        ("nest_absorb:_is_ordered=False",),
        weight=2,
    ),
    "specialise": Primitive(
        draw_specialise,
        _applied_to_loops(specialise),
        ("nest_specialise:why_not_specialise",),
        copies=True,
        weight=1,
    ),
    "add_unit_loop": Primitive(of_loop("add_unit_loop"), _applied_to_loops(add_unit_loop), weight=1),
    "remove_unit_loop": Primitive(
        of_loop("remove_unit_loop", lambda loop: loop.constant_trip_count() == 1),
        _applied_to_loops(remove_unit_loop),
        ("nest_normalise:why_not_remove_unit_loop",),
    ),
    # producers and consumers
    "compute_at": Primitive(
        of_buffer_in_loop("compute_at", only_allocations=True, storage=("root", "here")),
        applied_to_buffer(compute_at),
        ("nest_compute_at:_check_inputs", "nest_compute_at:_check_loops", "nest_compute_at:_check_producer"),
        weight=4,
    ),
    "rolling_buffer": Primitive(
        of_buffer_in_loop("rolling_buffer", only_allocations=True, storage=("circular", "whole")),
        roll,
        (
            "rolling_plan:check_known",
            "rolling_plan:check_complete",
            "rolling_plan:check_starts_anew",
            "rolling_plan:check_inputs",
            "rolling_plan:_check_readers",
        ),
        copies=True,
        weight=3,
    ),
    "reverse_compute_at": Primitive(
        draw_reverse_compute_at,
        _applied_to_loops(reverse_compute_at),
        ("nest_reverse_compute_at:_why_not_once", "nest_reverse_compute_at:_why_not_ordered"),
        weight=3,
    ),
    "compute_root": Primitive(
        of_loop("compute_root", computes_a_part),
        _applied_to_loops(compute_root),
        tuple(f"nest_compute_root:check_{what}" for what in ("covered", "complete", "starts_anew", "inputs")),
        copies=True,
        weight=3,
    ),
    "reverse_compute_inline": Primitive(
        of_allocation("reverse_compute_inline"),
        applied_to_buffer(reverse_compute_inline),
        (
            "nest_reverse_compute_at:_why_not_once",
            "nest_reverse_compute_at:_why_not_ordered",
            "nest_reverse_compute_inline:_check_written",
            "nest_reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "fuse_epilogue": Primitive(
        draw_fuse_epilogue,
        _applied_to_loops(fuse_epilogue),
        (
            "nest_reverse_compute_at:_why_not_once",
            "nest_reverse_compute_at:_why_not_ordered",
            "nest_reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "compute_inline": Primitive(
        of_allocation("compute_inline", duplicate=("allow", "allow", "refuse")),
        applied_to_buffer(compute_inline),
        ("inline_plan:_check_load", "inline_plan:_check_duplicates"),
        copies=True,
    ),
    # reductions
    "rfactor": Primitive(
        of_loop("rfactor", has_reduction),
        _applied_to_loops(rfactor),
        ("nest_rfactor:why_not_rfactor",),
        weight=6,
    ),
    "privatise": Primitive(
        of_loop("privatise", accumulates, parts=(1, 2, 3, 4), share=("chunks", "cyclic")),
        _applied_to_loops(privatise),
        ("nest_privatise:why_not_privatise",),
        weight=4,
    ),
    "tree_reduce": Primitive(
        of_loop("tree_reduce", accumulates_often),
        _applied_to_loops(tree_reduce),
        ("nest_tree_reduce:why_not_tree_reduce",),
        copies=True,
        weight=4,
    ),
    "block_scan": Primitive(
        of_loop("block_scan", accumulates, factor=(1, 2, 3, 4)),
        _applied_to_loops(block_scan),
        ("nest_block_scan:why_not_block_scan",),
        copies=True,
        weight=4,
    ),
    "block_exponentials": Primitive(
        draw_block_exponentials,
        _applied_to_loops(block_exponentials),
        ("nest_block_exponentials:exponentials_plan",),
        copies=True,
    ),
    "block_moments": Primitive(
        draw_block_moments,
        _applied_to_loops(block_moments),
        ("nest_block_moments:moments_plan",),
        copies=True,
    ),
    "decompose_reduction": Primitive(
        of_loop("decompose_reduction", can_decompose),
        _applied_to_loops(decompose_reduction),
        ("nest_distribute:_why_not_cut",),
        weight=6,
    ),
    "online_softmax": Primitive(
        draw_online_softmax,
        _applied_to_loops(online_softmax),
        ("nest_online_softmax:online_plan",),
        copies=True,
    ),
    "search_parts": Primitive(
        draw_search_parts, _applied_to_loops(search_parts), ("nest_search_parts:why_not_search_parts",)
    ),
    # memory
    "cache_read": Primitive(
        of_buffer_in_loop("cache_read", tail=("clamp", "zero")),
        applied_to_buffer(cache_read),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:_written_by_threads"),
    ),
    "cache_write": Primitive(
        of_buffer_in_loop("cache_write", init=("load", "identity")),
        applied_to_buffer(cache_write),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:Coverage.fills=True"),
    ),
    "stage_mem": Primitive(
        of_buffer_in_loop("stage_mem"),
        applied_to_buffer(stage_mem),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:Coverage.fills=True"),
    ),
    "stage_factors": Primitive(
        of_loop("stage_factors", adds_products, narrow=(False, True)),
        _applied_to_loops(stage_factors),
        ("nest_stage_factors:may_alias=False",),
        copies=True,
        weight=4,
    ),
    "registerise": Primitive(
        draw_registerise,
        applied_to_buffer(registerise),
        ("nest_registerise:_may_touch=False", "nest_registerise:_is_certain=True"),
        weight=3,
    ),
    "transform_layout": Primitive(
        draw_layout,
        applied_to_buffer(transform_layout),
        ("nest_transform_layout:_is_folding=False",),
        weight=3,
    ),
    "set_memory": Primitive(
        of_allocation("set_memory", space=("shared", "local", "global")),
        applied_to_buffer(set_memory),
        ("nest_set_memory:why_not_set_memory",),
    ),
    "hoist_alloc": Primitive(
        draw_hoist_alloc,
        applied_to_buffer(hoist_alloc),
        ("nest_hoist_alloc:why_not_hoist_alloc",),
    ),
    "sink_alloc": Primitive(
        of_buffer_in_loop("sink_alloc", only_allocations=True),
        applied_to_buffer(sink_alloc),
        ("own_buffers:_carried_value",),
    ),
    "fold_buffer": Primitive(
        of_allocation("fold_buffer", factor=(1, 2, 3), dimension=(0, 0, 1)),
        applied_to_buffer(fold_buffer),
        ("nest_fold_buffer:overwritten_while_needed",),
    ),
    "resize_buffer": Primitive(
        of_allocation("resize_buffer", dimension=(0, 1), size=(None, None, 2, 4, 7), offset=(0, 0, 1, -1)),
        applied_to_buffer(resize_buffer),
        ("nest_resize_buffer:is_within=True",),
    ),
    "expand_buffer": Primitive(
        of_buffer_in_loop("expand_buffer", only_allocations=True),
        applied_to_buffer(expand_buffer),
        ("own_buffers:_carried_value",),
    ),
    "double_buffer": Primitive(
        of_buffer_in_loop("double_buffer", only_allocations=True),
        double,
        ("nest_double_buffer:_written_source",),
        copies=True,
    ),
    "pipeline": Primitive(
        of_buffer_in_loop("pipeline", only_allocations=True, stages=(2, 3)),
        pipelined,
        ("nest_double_buffer:_written_source",),
        copies=True,
    ),
    "reuse_buffers": Primitive(
        _draw_for_function("reuse_buffers"), reuse, ("nest_reuse_buffers:_is_ordered=True",), weight=6
    ),
    "stream": Primitive(draw_stream, apply_stream, ("nest_stream:why_not_stream",), weight=1),
    "prefetch": Primitive(draw_prefetch, apply_prefetch, ("nest_prefetch:why_not_prefetch",), weight=1),
    "simplify": Primitive(_draw_for_function("simplify"), _applied_to_function(simplify), weight=1),
    "eliminate_dead": Primitive(
        _draw_for_function("eliminate_dead"), _applied_to_function(eliminate_dead), weight=1
    ),
    # hints, and other machines
    "annotate": Primitive(
        draw_annotate, _applied_to_loops(annotate), ("nest_annotate:why_not_annotate",), weight=1
    ),
    "tensorize": Primitive(
        draw_tensorize,
        apply_tensorize,
        (
            "unify:Unification._same",
            "unify:_is_same_constant=True",
            "unify:_refuse_domain",
            "nest_tensorize:_check_layout",
            "nest_tensorize:_check_accesses",
            "nest_tensorize:_is_inside=True",
            "nest_tensorize:_check_overlaps",
        ),
    ),
    # marks
    "vectorize": Primitive(
        of_loop("vectorize", is_innermost, width=(2, 3, 4, 8)),
        _applied_to_loops(vectorize),
        ("nest_vectorize:why_not_vectorize", "nest_vectorize:why_not_lanes"),
        is_mark=True,
    ),
    "parallel": Primitive(
        of_loop("parallel"),
        _applied_to_loops(parallelize),
        ("nest_parallel:why_not_parallel",),
        is_mark=True,
    ),
    "bind": Primitive(
        of_loop("bind", axis=BIND_AXES), _applied_to_loops(bind), ("nest_bind:why_not_bind",), is_mark=True
    ),
    "insert_barriers": Primitive(
        _draw_for_function("insert_barriers"),
        _applied_to_function(insert_barriers),
        ("barriers:divergence", "barriers:_Kernel._meet=False", "barriers:_refuse_barriers_in"),
        weight=1,
    ),
}
"""Every primitive that has legality to get wrong."""
