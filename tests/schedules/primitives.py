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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest.mock import patch

from intrinsics import draw_intrinsic
from nestor.dialects.nest import BIND_AXES, AccumulateOp, AllocOp, ForOp, LoadOp
from nestor.dialects.parse import parse_module
from nestor.transforms.nest.dependence import accesses_of, is_defined_outside
from nestor.transforms.nest.loops import (
    enclosing_loops,
    find_loop,
    functions,
    is_inside,
    loops_in,
    perfect_band,
    sole_inner_loop,
)
from nestor.transforms.nest.nest_annotate import annotate
from nestor.transforms.nest.nest_bind import bind
from nestor.transforms.nest.nest_cache_read import cache_read
from nestor.transforms.nest.nest_cache_write import cache_write
from nestor.transforms.nest.nest_compute_at import compute_at
from nestor.transforms.nest.nest_compute_inline import compute_inline
from nestor.transforms.nest.nest_compute_root import compute_root
from nestor.transforms.nest.nest_cut import cut
from nestor.transforms.nest.nest_decompose_reduction import decompose_reduction, why_not_decompose_reduction
from nestor.transforms.nest.nest_distribute import distribute, pieces_of
from nestor.transforms.nest.nest_double_buffer import double_buffer
from nestor.transforms.nest.nest_eliminate_dead import eliminate_dead
from nestor.transforms.nest.nest_expand_buffer import expand_buffer
from nestor.transforms.nest.nest_flatten import flatten, why_not_flatten
from nestor.transforms.nest.nest_fold_buffer import fold_buffer
from nestor.transforms.nest.nest_fuse import fuse
from nestor.transforms.nest.nest_fuse_epilogue import fuse_epilogue
from nestor.transforms.nest.nest_hoist import hoist
from nestor.transforms.nest.nest_hoist_alloc import hoist_alloc
from nestor.transforms.nest.nest_insert_barriers import insert_barriers
from nestor.transforms.nest.nest_normalise import add_unit_loop, normalise, remove_unit_loop
from nestor.transforms.nest.nest_parallel import parallelize
from nestor.transforms.nest.nest_peel import peel
from nestor.transforms.nest.nest_prefetch import prefetch, why_not_prefetch
from nestor.transforms.nest.nest_privatise import privatise
from nestor.transforms.nest.nest_registerise import registerise
from nestor.transforms.nest.nest_rename import rename
from nestor.transforms.nest.nest_reorder import reorder
from nestor.transforms.nest.nest_resize_buffer import resize_buffer
from nestor.transforms.nest.nest_reuse_buffers import reuse_buffers
from nestor.transforms.nest.nest_reverse import reverse
from nestor.transforms.nest.nest_reverse_compute_at import reverse_compute_at
from nestor.transforms.nest.nest_reverse_compute_inline import reverse_compute_inline
from nestor.transforms.nest.nest_rfactor import reductions_of, rfactor
from nestor.transforms.nest.nest_rolling_buffer import rolling_buffer
from nestor.transforms.nest.nest_set_memory import set_memory
from nestor.transforms.nest.nest_shift import shift
from nestor.transforms.nest.nest_simplify import simplify
from nestor.transforms.nest.nest_sink_alloc import sink_alloc
from nestor.transforms.nest.nest_skew import skew
from nestor.transforms.nest.nest_specialise import specialise
from nestor.transforms.nest.nest_split import split
from nestor.transforms.nest.nest_stage_mem import stage_mem
from nestor.transforms.nest.nest_stream import stream, streamable
from nestor.transforms.nest.nest_tensorize import tensorize
from nestor.transforms.nest.nest_tile import tile
from nestor.transforms.nest.nest_transform_layout import transform_layout
from nestor.transforms.nest.nest_tree_reduce import tree_reduce
from nestor.transforms.nest.nest_unroll import unroll
from nestor.transforms.nest.nest_unroll_and_jam import jammed_loops, unroll_and_jam
from nestor.transforms.nest.nest_vectorize import vectorize
from nestor.transforms.nest.producers import uses_of
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

PACKAGE = "nestor.transforms.nest"


@dataclass(frozen=True)
class Request:
    """One use of a primitive."""

    primitive: str
    loops: tuple[str, ...] = ()
    buffer: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [self.primitive, *self.loops]
        if self.buffer is not None:
            parts.append(f"buffer {self.buffer}")
        return " ".join([*parts, *(f"{k}={v}" for k, v in self.options.items())])


class NothingToDo(Exception):
    """The request is legal and changes nothing."""


@dataclass(frozen=True)
class Primitive:
    """One row. `draw` may give None: nothing here to ask for.

    `checks` are the functions that refuse, as `module:name=answer`: what they answer when they find nothing wrong
    (None when it is left out). `is_mark`: decides how a loop runs, and no more. `copies`: may leave more code.
    """

    draw: Callable[[random.Random, ModuleOp], Request | None]
    apply: Callable[[ModuleOp, Request], Any]
    checks: tuple[str, ...] = ()
    is_mark: bool = False
    copies: bool = False
    weight: int = 2


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


# ---- what there is to ask for -----------------------------------------------------------------------


def program_loops(module: ModuleOp) -> list[ForOp]:
    """The loops of the program: intrinsics stand behind it, and have loops of their own."""
    return loops_in(functions(module)[0])


def serial_loops(module: ModuleOp) -> list[ForOp]:
    return [loop for loop in program_loops(module) if loop.kind == "serial"]


def buffers(module: ModuleOp) -> list[SSAValue]:
    """Arguments, then allocations in program order."""
    function = functions(module)[0]
    allocs = [op.memref for op in function.walk() if isinstance(op, AllocOp)]
    return [*(v for v in function.body.block.args if isinstance(v.type, MemRefType)), *allocs]


def draw_loop(
    rng: random.Random, module: ModuleOp, wanted: Callable[[ForOp], bool] | None = None
) -> ForOp | None:
    """A loop, mostly a serial one that `wanted` likes; None when there is none."""
    found = serial_loops(module) if rng.random() < 0.95 else program_loops(module)
    liked = [loop for loop in found if wanted(loop)] if wanted is not None else found
    if rng.random() < 0.9:
        found = liked
    return rng.choice(found) if found else None


def _loop(module: ModuleOp, request: Request, k: int = 0) -> ForOp:
    return find_loop(module, request.loops[k], "f")


def _of_loop(
    name: str, wanted: Callable[[ForOp], bool] | None = None, **options: Sequence[Any]
) -> Callable[[random.Random, ModuleOp], Request | None]:
    """Requests for one loop with each option drawn from its choices."""

    def draw(rng: random.Random, module: ModuleOp) -> Request | None:
        loop = draw_loop(rng, module, wanted)
        if loop is None:
            return None
        return Request(name, (loop.label,), None, {k: rng.choice(list(v)) for k, v in options.items()})

    return draw


def _draw_flatten(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, _can_flatten if rng.random() < 0.7 else _has_sole_loop)
    inner = sole_inner_loop(outer) if outer is not None else None
    return Request("flatten", (outer.label, inner.label)) if outer is not None and inner is not None else None


def _draw_reorder(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, _has_sole_loop)
    if outer is None:
        return None
    band = perfect_band(outer)
    if len(band) < 2:
        return None
    chosen = band[: rng.randint(2, len(band))]
    names = [loop.label for loop in chosen]
    shuffled = rng.sample(names, len(names))
    return Request("reorder", tuple(shuffled if shuffled != names else names[::-1]))


def _has_sole_loop(loop: ForOp) -> bool:
    return sole_inner_loop(loop) is not None


def _can_flatten(loop: ForOp) -> bool:
    inner = sole_inner_loop(loop)
    return inner is not None and why_not_flatten(loop, inner) is None


def _has_reduction(loop: ForOp) -> bool:
    return isinstance(loop.parent_op(), ForOp) and bool(reductions_of(loop))


def _accumulates(loop: ForOp) -> bool:
    """Whether something is accumulated in the loop, perhaps into one element in all iterations."""
    return any(isinstance(op, AccumulateOp) and loop.iv not in op.indices.operands for op in loop.walk())


def _accumulates_often(loop: ForOp) -> bool:
    trips = loop.constant_trip_count()
    return trips is not None and 1 < trips <= 12 and _accumulates(loop)


def _can_decompose(loop: ForOp) -> bool:
    has_reduction = any(isinstance(op, AccumulateOp) for op in loop.walk())
    return has_reduction and why_not_decompose_reduction(loop) is None


def _is_innermost(loop: ForOp) -> bool:
    return not any(isinstance(op, ForOp) for op in loop.body.block.ops)


def _is_short(loop: ForOp) -> bool:
    trips = loop.constant_trip_count()
    return trips is not None and trips <= 4


def _draw_unroll(rng: random.Random, module: ModuleOp) -> Request | None:
    factor = rng.choice((None, None, 2, 3))
    loop = draw_loop(rng, module, _is_short if factor is None else None)
    options = {} if factor is None else {"factor": factor}
    return None if loop is None else Request("unroll", (loop.label,), None, options)


def _draw_fuse(rng: random.Random, module: ModuleOp) -> Request | None:
    pairs = []
    for loop in program_loops(module):
        following = loop.next_op
        while following is not None and not isinstance(following, ForOp):
            following = following.next_op
        if isinstance(following, ForOp):
            pairs.append((loop.label, following.label))
    return Request("fuse", rng.choice(pairs)) if pairs else None


def _draw_reverse_compute_at(rng: random.Random, module: ModuleOp) -> Request | None:
    pairs = []
    for consumer in program_loops(module):
        block = consumer.parent
        assert block is not None
        earlier = [op for op in block.ops if isinstance(op, ForOp) and op.is_before_in_block(consumer)]
        pairs += [(consumer.label, loop.label) for op in earlier for loop in loops_in(op)]
    return Request("reverse_compute_at", rng.choice(pairs)) if pairs else None


def _computes_a_part(loop: ForOp) -> bool:
    """Whether the nest is in a loop, and writes a buffer that is made here."""
    writes = [access for op in loop.walk() for access in accesses_of(op) if access.writes]
    return isinstance(loop.parent_op(), ForOp) and all(
        access.root is not None and isinstance(access.root.owner, AllocOp) for access in writes
    )


def _draw_fuse_epilogue(rng: random.Random, module: ModuleOp) -> Request | None:
    """A nest, and a loop of an earlier one that has a reduction which it reads."""
    pairs = []
    for consumer in program_loops(module):
        read = {op.memref for op in consumer.walk() if isinstance(op, LoadOp)}
        block = consumer.parent
        assert block is not None
        for op in block.ops:
            if op.is_before_in_block(consumer):
                updates = [u for u in op.walk() if isinstance(u, AccumulateOp) and read & set(u.memrefs)]
                around = {loop.label for u in updates for loop in enclosing_loops(u)}
                pairs += [(consumer.label, loop.label) for loop in loops_in(op) if loop.label in around]
    return Request("fuse_epilogue", rng.choice(pairs)) if pairs else None


CASES = (
    "extent({0}) == {1}",
    "extent({0}) % 2 == 0",
    "extent({0}) >= {1}",
    "extent({0}) > {1} and lower({0}) == 0",
    "n == {1}",
    "n % 2 == 0 and n < {1}",
)
"""Conditions on a loop and a number."""


def _draw_specialise(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, lambda loop: loop.constant_trip_count() is None)
    if loop is None:
        return None
    when = rng.choice(CASES).format(loop.label, rng.randint(0, 5))
    return Request("specialise", (loop.label,), None, {"when": when})


def _draw_distribute(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, lambda loop: len(pieces_of(loop)) > 1)
    if loop is None:
        return None
    after = rng.choice([None, *range(1, max(2, len(pieces_of(loop))))])
    return Request("distribute", (loop.label,), None, {} if after is None else {"after": after})


def _draw_skew(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, lambda loop: len(loops_in(loop)) > 1)
    inside = loops_in(outer)[1:] if outer is not None else []
    if outer is None or not inside:
        return None
    return Request("skew", (outer.label, rng.choice(inside).label), None, {"by": rng.choice((-1, 1, 1, 2))})


def _draw_tile(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, _has_sole_loop)
    if outer is None:
        return None
    band = perfect_band(outer)[: rng.choice((1, 2, 2, 3))]
    options = {
        "sizes": tuple(rng.choice((1, 2, 3, 4)) for _ in band),
        "tail": rng.choice(("remainder", "mask", "clamp", "perfect")),
    }
    return Request("tile", tuple(loop.label for loop in band), None, options)


# ---- buffers ----------------------------------------------------------------------------------------


def _draw_allocation(rng: random.Random, module: ModuleOp) -> int | None:
    positions = [k for k, b in enumerate(buffers(module)) if isinstance(b.owner, AllocOp)]
    return rng.choice(positions) if positions else None


def _of_allocation(
    name: str, **options: Sequence[Any]
) -> Callable[[random.Random, ModuleOp], Request | None]:
    def draw(rng: random.Random, module: ModuleOp) -> Request | None:
        k = _draw_allocation(rng, module)
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


def _draw_layout(rng: random.Random, module: ModuleOp) -> Request | None:
    k = _draw_allocation(rng, module)
    if k is None:
        return None
    rank = buffers(module)[k].type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]
    return Request("transform_layout", (), k, {"layout": rng.choice(LAYOUTS.get(rank, ("i -> i",)))})


def _of_buffer_in_loop(
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


def _draw_hoist_alloc(rng: random.Random, module: ModuleOp) -> Request | None:
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


def _draw_registerise(rng: random.Random, module: ModuleOp) -> Request | None:
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
        return _of_buffer_in_loop("registerise")(rng, module)
    label, k = rng.choice(pairs)
    return Request("registerise", (label,), k)


def _applied_to_buffer(function: Callable[..., Any]) -> Callable[[ModuleOp, Request], Any]:
    def run(module: ModuleOp, request: Request) -> None:
        assert request.buffer is not None
        buffer = buffers(module)[request.buffer]
        target = buffer.owner if isinstance(buffer.owner, AllocOp) else buffer
        function(target, *(_loop(module, request, k) for k in range(len(request.loops))), **request.options)

    return run


def _roll(module: ModuleOp, request: Request) -> None:
    """Roll a buffer that is computed at the loop first, where it is not yet."""

    def change(module: ModuleOp) -> None:
        loop, alloc = _loop(module, request), _alloc(module, request)
        if not any(is_inside(op, loop) for op in uses_of(alloc, "roll").writes):
            compute_at(alloc, loop)
        rolling_buffer(alloc, loop, **request.options)

    change(module.clone())  # so that nothing is changed where the second step is refused
    change(module)


def _double(module: ModuleOp, request: Request) -> None:
    """Double a buffer that is made in the loop, first moving it there where it is not."""

    def change(module: ModuleOp) -> None:
        loop, alloc = _loop(module, request), _alloc(module, request)
        if not is_inside(alloc, loop):
            sink_alloc(alloc, loop)
        double_buffer(alloc, loop)

    change(module.clone())  # so that nothing is changed where the second step is refused
    change(module)


def _alloc(module: ModuleOp, request: Request) -> AllocOp:
    assert request.buffer is not None
    alloc = buffers(module)[request.buffer].owner
    assert isinstance(alloc, AllocOp)
    return alloc


def _draw_for_function(name: str) -> Callable[[random.Random, ModuleOp], Request | None]:
    return lambda rng, module: Request(name)


def _reuse(module: ModuleOp, request: Request) -> None:
    if reuse_buffers(functions(module)[0]) == 0:
        raise NothingToDo


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
        *(_loop(module, request, k) for k in range(len(request.loops))), **request.options
    )


def _applied_to_band(function: Callable[..., Any]) -> Callable[[ModuleOp, Request], Any]:
    return lambda module, request: function(
        [_loop(module, request, k) for k in range(len(request.loops))], **request.options
    )


# ---- names, hints, other machines -------------------------------------------------------------------


def _draw_rename(rng: random.Random, module: ModuleOp) -> Request | None:
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
    {"mark": "parallel"},
)


def _draw_annotate(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, _is_short if rng.random() < 0.5 else None)
    return None if loop is None else Request("annotate", (loop.label,), None, rng.choice(ANNOTATIONS))


def _draw_stream(rng: random.Random, module: ModuleOp) -> Request | None:
    known = list(enumerate(buffers(module)))
    pairs = [(loop.label, k) for loop in program_loops(module) for k, b in known if streamable(b, loop)]
    if pairs and rng.random() < 0.8:
        name, k = rng.choice(pairs)
        return Request("stream", (name,), k)
    return _of_buffer_in_loop("stream")(rng, module)


def _stream(module: ModuleOp, request: Request) -> None:
    assert request.buffer is not None
    stream(buffers(module)[request.buffer], _loop(module, request))


def _draw_prefetch(rng: random.Random, module: ModuleOp) -> Request | None:
    options = {"distance": rng.choice((1, 2, 3, 8))}
    pairs = [
        (loop.label, k)
        for loop in program_loops(module)
        for k, b in enumerate(buffers(module))
        if why_not_prefetch(b, loop, **options) is None
    ]
    if pairs and rng.random() < 0.8:
        name, k = rng.choice(pairs)
        return Request("prefetch", (name,), k, options)
    request = _of_buffer_in_loop("prefetch")(rng, module)
    return None if request is None else Request("prefetch", request.loops, request.buffer, options)


def _prefetch(module: ModuleOp, request: Request) -> None:
    assert request.buffer is not None
    prefetch(buffers(module)[request.buffer], _loop(module, request), **request.options)


def _draw_tensorize(rng: random.Random, module: ModuleOp) -> Request | None:
    """An intrinsic made of a loop, mostly in place of that loop."""
    source = draw_loop(rng, module, _is_innermost if rng.random() < 0.5 else None)
    if source is None:
        return None
    loop = source if rng.random() < 0.8 else rng.choice(program_loops(module))
    text = draw_intrinsic(rng, source, f"intrinsic_{len(functions(module))}")
    return Request("tensorize", (loop.label,), None, {"intrinsic": text})


def _tensorize(module: ModuleOp, request: Request) -> None:
    """The intrinsic goes into the module, and out of it again when the request is refused."""
    function = parse_module(request.options["intrinsic"]).body.block.first_op
    assert isinstance(function, FuncOp)
    function.detach()
    module.body.block.add_op(function)
    try:
        tensorize(_loop(module, request), function.sym_name.data)
    except BaseException:
        function.detach()
        raise


# ---- the table --------------------------------------------------------------------------------------

PRIMITIVES: dict[str, Primitive] = {
    # loops
    "split": Primitive(
        _of_loop("split", factor=(1, 2, 2, 3, 4, 5), tail=("remainder", "mask", "clamp", "perfect")),
        _applied_to_loops(split),
        ("nest_split:why_not_split",),
        copies=True,
    ),
    "tile": Primitive(_draw_tile, _applied_to_band(tile), ("nest_tile:why_not_tile",), copies=True),
    "reorder": Primitive(_draw_reorder, _applied_to_band(reorder), ("nest_reorder:why_not_reorder",)),
    "fuse": Primitive(_draw_fuse, _applied_to_loops(fuse), ("nest_fuse:why_not_fuse",), weight=3),
    "flatten": Primitive(
        _draw_flatten, _applied_to_loops(flatten), ("nest_flatten:why_not_flatten",), weight=3
    ),
    "peel": Primitive(
        _of_loop("peel", count=(1, 1, 2, 3), where=("head", "tail")),
        _applied_to_loops(peel),
        ("nest_peel:why_not_peel",),
        copies=True,
        weight=1,
    ),
    "cut": Primitive(
        _of_loop("cut", at=(-1, 0, 1, 2, 3, 5, 9)),
        _applied_to_loops(cut),
        ("nest_cut:why_not_cut",),
        copies=True,
        weight=1,
    ),
    "shift": Primitive(_of_loop("shift", by=(-2, 1, 3)), _applied_to_loops(shift), weight=1),
    "skew": Primitive(_draw_skew, _applied_to_loops(skew), ("nest_skew:why_not_skew",), weight=1),
    "normalise": Primitive(
        _of_loop("normalise"), _applied_to_loops(normalise), ("nest_normalise:why_not_normalise",), weight=1
    ),
    "reverse": Primitive(_of_loop("reverse"), _applied_to_loops(reverse), ("nest_reverse:why_not_reverse",)),
    "unroll": Primitive(
        _draw_unroll, _applied_to_loops(unroll), ("nest_unroll:why_not_unroll",), copies=True
    ),
    "unroll_and_jam": Primitive(
        _of_loop("unroll_and_jam", lambda loop: bool(jammed_loops(loop)), factor=(2, 2, 3)),
        _applied_to_loops(unroll_and_jam),
        ("nest_unroll_and_jam:why_not_unroll_and_jam",),
        copies=True,
    ),
    "distribute": Primitive(
        _draw_distribute, _applied_to_loops(distribute), ("nest_distribute:_why_not_cut",), weight=3
    ),
    "rename": Primitive(_draw_rename, _applied_to_loops(rename), ("nest_rename:why_not_rename",), weight=1),
    "hoist": Primitive(_of_loop("hoist"), _applied_to_loops(hoist), ("nest_hoist:can_meet=False",), weight=4),
    "specialise": Primitive(
        _draw_specialise,
        _applied_to_loops(specialise),
        ("nest_specialise:why_not_specialise",),
        copies=True,
        weight=1,
    ),
    "add_unit_loop": Primitive(_of_loop("add_unit_loop"), _applied_to_loops(add_unit_loop), weight=1),
    "remove_unit_loop": Primitive(
        _of_loop("remove_unit_loop", lambda loop: loop.constant_trip_count() == 1),
        _applied_to_loops(remove_unit_loop),
        ("nest_normalise:why_not_remove_unit_loop",),
    ),
    # producers and consumers
    "compute_at": Primitive(
        _of_buffer_in_loop("compute_at", only_allocations=True, storage=("root", "here")),
        _applied_to_buffer(compute_at),
        ("nest_compute_at:_check_inputs", "nest_compute_at:_check_loops", "nest_compute_at:_check_producer"),
        weight=4,
    ),
    "rolling_buffer": Primitive(
        _of_buffer_in_loop("rolling_buffer", only_allocations=True, storage=("circular", "whole")),
        _roll,
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
        _draw_reverse_compute_at,
        _applied_to_loops(reverse_compute_at),
        ("nest_reverse_compute_at:_why_not_once", "nest_reverse_compute_at:_why_not_ordered"),
        weight=3,
    ),
    "compute_root": Primitive(
        _of_loop("compute_root", _computes_a_part),
        _applied_to_loops(compute_root),
        tuple(f"nest_compute_root:check_{what}" for what in ("covered", "complete", "starts_anew", "inputs")),
        copies=True,
        weight=3,
    ),
    "reverse_compute_inline": Primitive(
        _of_allocation("reverse_compute_inline"),
        _applied_to_buffer(reverse_compute_inline),
        (
            "nest_reverse_compute_at:_why_not_once",
            "nest_reverse_compute_at:_why_not_ordered",
            "nest_reverse_compute_inline:_check_written",
            "nest_reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "fuse_epilogue": Primitive(
        _draw_fuse_epilogue,
        _applied_to_loops(fuse_epilogue),
        (
            "nest_reverse_compute_at:_why_not_once",
            "nest_reverse_compute_at:_why_not_ordered",
            "nest_reverse_compute_inline:_check_same",
        ),
        weight=3,
    ),
    "compute_inline": Primitive(
        _of_allocation("compute_inline", duplicate=("allow", "allow", "refuse")),
        _applied_to_buffer(compute_inline),
        ("inline_plan:_check_load", "inline_plan:_check_duplicates"),
        copies=True,
    ),
    # reductions
    "rfactor": Primitive(
        _of_loop("rfactor", _has_reduction),
        _applied_to_loops(rfactor),
        ("nest_rfactor:why_not_rfactor",),
        weight=6,
    ),
    "privatise": Primitive(
        _of_loop("privatise", _accumulates, parts=(1, 2, 3, 4), share=("chunks", "cyclic")),
        _applied_to_loops(privatise),
        ("nest_privatise:why_not_privatise",),
        weight=4,
    ),
    "tree_reduce": Primitive(
        _of_loop("tree_reduce", _accumulates_often),
        _applied_to_loops(tree_reduce),
        ("nest_tree_reduce:why_not_tree_reduce",),
        copies=True,
        weight=4,
    ),
    "decompose_reduction": Primitive(
        _of_loop("decompose_reduction", _can_decompose),
        _applied_to_loops(decompose_reduction),
        ("nest_distribute:_why_not_cut",),
        weight=6,
    ),
    # memory
    "cache_read": Primitive(
        _of_buffer_in_loop("cache_read"),
        _applied_to_buffer(cache_read),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:_written_by_threads"),
    ),
    "cache_write": Primitive(
        _of_buffer_in_loop("cache_write", init=("load", "identity")),
        _applied_to_buffer(cache_write),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:Coverage.fills=True"),
    ),
    "stage_mem": Primitive(
        _of_buffer_in_loop("stage_mem"),
        _applied_to_buffer(stage_mem),
        ("staging:may_alias=False", "staging:_may_be_unwritten", "staging:Coverage.fills=True"),
    ),
    "registerise": Primitive(
        _draw_registerise,
        _applied_to_buffer(registerise),
        ("nest_registerise:_may_touch=False", "nest_registerise:_is_certain=True"),
        weight=3,
    ),
    "transform_layout": Primitive(
        _draw_layout,
        _applied_to_buffer(transform_layout),
        ("nest_transform_layout:_is_folding=False",),
        weight=3,
    ),
    "set_memory": Primitive(
        _of_allocation("set_memory", space=("shared", "local", "global")),
        _applied_to_buffer(set_memory),
        ("nest_set_memory:why_not_set_memory",),
    ),
    "hoist_alloc": Primitive(
        _draw_hoist_alloc,
        _applied_to_buffer(hoist_alloc),
        ("nest_hoist_alloc:why_not_hoist_alloc",),
    ),
    "sink_alloc": Primitive(
        _of_buffer_in_loop("sink_alloc", only_allocations=True),
        _applied_to_buffer(sink_alloc),
        ("own_buffers:_carried_value",),
    ),
    "fold_buffer": Primitive(
        _of_allocation("fold_buffer", factor=(1, 2, 3), dimension=(0, 0, 1)),
        _applied_to_buffer(fold_buffer),
        ("nest_fold_buffer:overwritten_while_needed",),
    ),
    "resize_buffer": Primitive(
        _of_allocation("resize_buffer", dimension=(0, 1), size=(None, None, 2, 4, 7), offset=(0, 0, 1, -1)),
        _applied_to_buffer(resize_buffer),
        ("nest_resize_buffer:is_within=True",),
    ),
    "expand_buffer": Primitive(
        _of_buffer_in_loop("expand_buffer", only_allocations=True),
        _applied_to_buffer(expand_buffer),
        ("own_buffers:_carried_value",),
    ),
    "double_buffer": Primitive(
        _of_buffer_in_loop("double_buffer", only_allocations=True),
        _double,
        ("nest_double_buffer:_written_source",),
        copies=True,
    ),
    "reuse_buffers": Primitive(
        _draw_for_function("reuse_buffers"), _reuse, ("nest_reuse_buffers:_is_ordered=True",), weight=6
    ),
    "stream": Primitive(_draw_stream, _stream, ("nest_stream:why_not_stream",), weight=1),
    "prefetch": Primitive(_draw_prefetch, _prefetch, ("nest_prefetch:why_not_prefetch",), weight=1),
    "simplify": Primitive(_draw_for_function("simplify"), _applied_to_function(simplify), weight=1),
    "eliminate_dead": Primitive(
        _draw_for_function("eliminate_dead"), _applied_to_function(eliminate_dead), weight=1
    ),
    # hints, and other machines
    "annotate": Primitive(
        _draw_annotate, _applied_to_loops(annotate), ("nest_annotate:why_not_annotate",), weight=1
    ),
    "tensorize": Primitive(
        _draw_tensorize,
        _tensorize,
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
        _of_loop("vectorize", _is_innermost, width=(2, 3, 4, 8)),
        _applied_to_loops(vectorize),
        ("nest_vectorize:why_not_vectorize", "nest_vectorize:why_not_lanes"),
        is_mark=True,
    ),
    "parallel": Primitive(
        _of_loop("parallel"),
        _applied_to_loops(parallelize),
        ("nest_parallel:why_not_parallel",),
        is_mark=True,
    ),
    "bind": Primitive(
        _of_loop("bind", axis=BIND_AXES), _applied_to_loops(bind), ("nest_bind:why_not_bind",), is_mark=True
    ),
    "insert_barriers": Primitive(
        _draw_for_function("insert_barriers"),
        _applied_to_function(insert_barriers),
        ("barriers:divergence", "barriers:_Kernel._meet=False", "barriers:_refuse_barriers_in"),
        weight=1,
    ),
}
"""Every primitive that has legality to get wrong."""
