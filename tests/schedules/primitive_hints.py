"""Requests for primitives that name things, give hints, or speak of other machines; and how they are carried out."""

from __future__ import annotations

import random
from typing import Any

from intrinsics import draw_intrinsic
from nestor.analysis.nest.loop_structure import functions
from nestor.transforms.nest.mapping.tensorize import tensorize
from nestor.transforms.nest.memory.prefetch import why_not_prefetch
from nestor.transforms.nest.memory.stream import streamable
from parsed import parse_module
from primitive_buffers import buffers, of_buffer_in_loop
from primitive_loops import draw_loop, is_innermost, is_short, loop_of, program_loops
from primitive_requests import Request
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp


def draw_rename(rng: random.Random, module: ModuleOp) -> Request | None:
    """A new name, or one that a loop has."""
    loops = program_loops(module)
    if not loops:
        return None
    to = rng.choice((f"{rng.choice(loops).label}.new", "lanes", "i", rng.choice(loops).label))
    return Request("rename", (rng.choice(loops).label,), None, {"to": to})


ANNOTATIONS = (
    {"mark": "unrolled"},
    {"mark": "unrolled", "force": True},
    {"mark": "nestor.note", "text": "hot"},
    {"mark": "nestor.hint", "value": 3},
    {"mark": "nestor.grain", "value": 2},
    {"mark": "nestor.descending", "value": 3},
    {"mark": "parallel"},
)


def draw_annotate(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, is_short if rng.random() < 0.5 else None)
    return None if loop is None else Request("annotate", (loop.label,), None, rng.choice(ANNOTATIONS))


def draw_stream(rng: random.Random, module: ModuleOp) -> Request | None:
    known = list(enumerate(buffers(module)))
    pairs = [(loop.label, k) for loop in program_loops(module) for k, b in known if streamable(b, loop)]
    if pairs and rng.random() < 0.8:
        name, k = rng.choice(pairs)
        return Request("stream", (name,), k)
    return of_buffer_in_loop("stream")(rng, module)


def draw_prefetch(rng: random.Random, module: ModuleOp) -> Request | None:
    options: dict[str, Any] = {"distance": rng.choice((1, 2, 3, 8)), "whole": rng.random() < 0.3}
    if rng.random() < 0.3:
        options["at"] = rng.choice([loop.label for loop in program_loops(module)] or ["j"])
    pairs = [
        (loop.label, k)
        for loop in program_loops(module)
        for k, b in enumerate(buffers(module))
        if why_not_prefetch(b, loop, **options) is None
    ]
    if pairs and rng.random() < 0.8:
        name, k = rng.choice(pairs)
        return Request("prefetch", (name,), k, options)
    request = of_buffer_in_loop("prefetch")(rng, module)
    return None if request is None else Request("prefetch", request.loops, request.buffer, options)


def draw_tensorize(rng: random.Random, module: ModuleOp) -> Request | None:
    """An intrinsic made of a loop, mostly in place of that loop."""
    source = draw_loop(rng, module, is_innermost if rng.random() < 0.5 else None)
    if source is None:
        return None
    loop = source if rng.random() < 0.8 else rng.choice(program_loops(module))
    text = draw_intrinsic(rng, source, f"intrinsic_{len(functions(module))}")
    return Request("tensorize", (loop.label,), None, {"intrinsic": text})


def apply_tensorize(module: ModuleOp, request: Request) -> None:
    """The intrinsic goes into the module, and out of it again when the request is refused."""
    function = parse_module(request.options["intrinsic"]).body.block.first_op
    assert isinstance(function, FuncOp)
    function.detach()
    module.body.block.add_op(function)
    try:
        tensorize(loop_of(module, request), function.sym_name.data)
    except BaseException:
        function.detach()
        raise
