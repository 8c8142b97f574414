"""Requests for primitives on buffers, and how they are carried out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from nestor.analysis.nest.loop_structure import enclosing_loops, functions, is_inside
from nestor.analysis.nest.sets.accesses import accesses_of, is_defined_outside
from nestor.analysis.nest.sets.producers import uses_of
from nestor.dialects.nest import AccumulateOp, AllocOp, LoadOp
from nestor.transforms.nest.memory.double_buffer import double_buffer
from nestor.transforms.nest.memory.pipeline import pipeline
from nestor.transforms.nest.memory.reuse_buffers import reuse_buffers
from nestor.transforms.nest.memory.sink_alloc import sink_alloc
from nestor.transforms.nest.producers.compute_at import compute_at
from nestor.transforms.nest.producers.rolling_buffer import rolling_buffer
from primitive_loops import draw_loop, loop_of, program_loops, serial_loops
from primitive_requests import NothingToDo, Request
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue


def buffers(module: ModuleOp) -> list[SSAValue]:
    """Arguments, then allocations in program order."""
    function = functions(module)[0]
    allocs = [op.memref for op in function.walk() if isinstance(op, AllocOp)]
    return [*(v for v in function.body.block.args if isinstance(v.type, MemRefType)), *allocs]


def draw_allocation(rng: random.Random, module: ModuleOp) -> int | None:
    positions = [k for k, b in enumerate(buffers(module)) if isinstance(b.owner, AllocOp)]
    return rng.choice(positions) if positions else None


def of_allocation(name: str, **options: Sequence[Any]) -> Callable[[random.Random, ModuleOp], Request | None]:
    def draw(rng: random.Random, module: ModuleOp) -> Request | None:
        k = draw_allocation(rng, module)
        drawn = {option: rng.choice(list(values)) for option, values in options.items()}
        return None if k is None else Request(name, (), k, drawn)

    return draw


LAYOUTS = {
    0: ("-> 0",),
    1: ("i -> i/2 i%2", "i -> i/4 i%4", "i -> i%4", "i -> 2*i"),
    2: ("i j -> j i", "i j -> i/2 j i%2", "i j -> i (i+j)%8", "i j -> 8*i+j", "i j -> i+j"),
    3: ("i j k -> k i j", "i j k -> i j/2 k j%2"),
}
"""Layouts for buffers of each rank; some put two elements in one place."""


def draw_layout(rng: random.Random, module: ModuleOp) -> Request | None:
    k = draw_allocation(rng, module)
    if k is None:
        return None
    rank = buffers(module)[k].type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]
    return Request("transform_layout", (), k, {"layout": rng.choice(LAYOUTS.get(rank, ("i -> i",)))})


def of_buffer_in_loop(
    name: str, only_allocations: bool = False, **options: Sequence[Any]
) -> Callable[[random.Random, ModuleOp], Request | None]:
    """Requests for a buffer and a loop in which it is accessed."""

    def draw(rng: random.Random, module: ModuleOp) -> Request | None:
        loop = draw_loop(rng, module)
        if loop is None:
            return None
        known = buffers(module)
        used = {access.buffer for op in loop.walk() for access in accesses_of(op) if _suits(op)}
        positions = [
            k
            for k, b in enumerate(known)
            if b in used and (not only_allocations or isinstance(b.owner, AllocOp))
        ]
        if not positions:
            return None
        drawn = {option: rng.choice(list(values)) for option, values in options.items()}
        return Request(name, (loop.label,), rng.choice(positions), drawn)

    def _suits(op: Any) -> bool:
        return isinstance(op, LoadOp) == (name in ("cache_read", "compute_at", "rolling_buffer"))

    return draw


def draw_hoist_alloc(rng: random.Random, module: ModuleOp) -> Request | None:
    """A buffer made in a loop, and mostly a loop around it."""
    known = buffers(module)
    inside = [k for k, b in enumerate(known) if isinstance(b.owner, AllocOp) and enclosing_loops(b.owner)]
    if not inside:
        return None
    k = rng.choice(inside)
    owner = known[k].owner
    assert isinstance(owner, AllocOp)
    loop = rng.choice(enclosing_loops(owner) if rng.random() < 0.9 else program_loops(module))
    return Request("hoist_alloc", (loop.label,), k)


def draw_registerise(rng: random.Random, module: ModuleOp) -> Request | None:
    """Mostly a loop in which some access to the buffer goes to one element."""
    known = buffers(module)
    pairs = [
        (loop.label, known.index(access.buffer))
        for loop in serial_loops(module)
        for op in loop.walk()
        for access in accesses_of(op)
        if access.buffer in known
        and access.indices is not None
        and all(is_defined_outside(value, loop) for value in (access.buffer, *access.indices.operands))
    ]
    if not pairs or rng.random() < 0.1:
        return of_buffer_in_loop("registerise")(rng, module)
    label, k = rng.choice(pairs)
    return Request("registerise", (label,), k)


def draw_scatter(rng: random.Random, module: ModuleOp) -> Request | None:
    """A loop, and a buffer that it adds to."""
    known = buffers(module)
    pairs = [
        (loop.label, known.index(buffer))
        for loop in program_loops(module)
        for op in loop.walk()
        if isinstance(op, AccumulateOp)
        for buffer in op.memrefs
        if buffer in known
    ]
    if not pairs:
        return None
    label, k = rng.choice(pairs)
    return Request("scatter_to_gather", (label,), k)


def roll(module: ModuleOp, request: Request) -> None:
    """Roll a buffer that is computed at the loop first, where it is not yet."""

    def change(module: ModuleOp) -> None:
        loop, alloc = loop_of(module, request), alloc_of(module, request)
        if not any(is_inside(op, loop) for op in uses_of(alloc, "roll").writes):
            compute_at(alloc, loop)
        rolling_buffer(alloc, loop, **request.options)

    change(module.clone())  # so that nothing is changed where the second step is refused
    change(module)


def double(module: ModuleOp, request: Request) -> None:
    """Double a buffer that is made in the loop, first moving it there where it is not."""

    def change(module: ModuleOp) -> None:
        loop, alloc = loop_of(module, request), alloc_of(module, request)
        if not is_inside(alloc, loop):
            sink_alloc(alloc, loop)
        double_buffer(alloc, loop)

    change(module.clone())  # so that nothing is changed where the second step is refused
    change(module)


def pipelined(module: ModuleOp, request: Request) -> None:
    """Pipeline a loop that makes a buffer, first moving it there where it is not."""

    def change(module: ModuleOp) -> None:
        loop, alloc = loop_of(module, request), alloc_of(module, request)
        if not is_inside(alloc, loop):
            sink_alloc(alloc, loop)
        pipeline(loop, **request.options)

    change(module.clone())  # so that nothing is changed where the second step is refused
    change(module)


def alloc_of(module: ModuleOp, request: Request) -> AllocOp:
    assert request.buffer is not None
    alloc = buffers(module)[request.buffer].owner
    assert isinstance(alloc, AllocOp)
    return alloc


def reuse(module: ModuleOp, request: Request) -> None:
    if reuse_buffers(functions(module)[0]) == 0:
        raise NothingToDo
