"""Requests for primitives on loops: which loops there are, and which are worth asking for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from nestor.analysis.nest.loop_structure import (
    enclosing_loops,
    find_loop,
    functions,
    loops_in,
    perfect_band,
    sole_inner_loop,
)
from nestor.analysis.nest.sets.accesses import accesses_of
from nestor.dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from nestor.transforms.nest.loops.distribute import pieces_of
from nestor.transforms.nest.loops.flatten import why_not_flatten
from nestor.transforms.nest.reductions.decompose_reduction import why_not_decompose_reduction
from nestor.transforms.nest.reductions.rfactor import reductions_of
from primitive_requests import Request
from xdsl.dialects.builtin import ModuleOp


def program_loops(module: ModuleOp) -> list[ForOp]:
    """The loops of the program: intrinsics stand behind it, and have loops of their own."""
    return loops_in(functions(module)[0])


def serial_loops(module: ModuleOp) -> list[ForOp]:
    return [loop for loop in program_loops(module) if loop.kind == "serial"]


def draw_loop(
    rng: random.Random, module: ModuleOp, wanted: Callable[[ForOp], bool] | None = None
) -> ForOp | None:
    """A loop, mostly a serial one that `wanted` likes; None when there is none."""
    found = serial_loops(module) if rng.random() < 0.95 else program_loops(module)
    liked = [loop for loop in found if wanted(loop)] if wanted is not None else found
    if rng.random() < 0.9:
        found = liked
    return rng.choice(found) if found else None


def loop_of(module: ModuleOp, request: Request, k: int = 0) -> ForOp:
    return find_loop(module, request.loops[k], "f")


def of_loop(
    name: str, wanted: Callable[[ForOp], bool] | None = None, **options: Sequence[Any]
) -> Callable[[random.Random, ModuleOp], Request | None]:
    """Requests for one loop with each option drawn from its choices."""

    def draw(rng: random.Random, module: ModuleOp) -> Request | None:
        loop = draw_loop(rng, module, wanted)
        if loop is None:
            return None
        return Request(name, (loop.label,), None, {k: rng.choice(list(v)) for k, v in options.items()})

    return draw


def draw_flatten(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, _can_flatten if rng.random() < 0.7 else has_sole_loop)
    inner = sole_inner_loop(outer) if outer is not None else None
    return Request("flatten", (outer.label, inner.label)) if outer is not None and inner is not None else None


def draw_reorder(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, has_sole_loop)
    if outer is None:
        return None
    band = perfect_band(outer)
    if len(band) < 2:
        return None
    chosen = band[: rng.randint(2, len(band))]
    names = [loop.label for loop in chosen]
    shuffled = rng.sample(names, len(names))
    return Request("reorder", tuple(shuffled if shuffled != names else names[::-1]))


def has_sole_loop(loop: ForOp) -> bool:
    return sole_inner_loop(loop) is not None


def _can_flatten(loop: ForOp) -> bool:
    inner = sole_inner_loop(loop)
    return inner is not None and why_not_flatten(loop, inner) is None


def has_reduction(loop: ForOp) -> bool:
    return isinstance(loop.parent_op(), ForOp) and bool(reductions_of(loop))


def accumulates(loop: ForOp) -> bool:
    """Whether something is accumulated in the loop, perhaps into one element in all iterations."""
    return any(isinstance(op, AccumulateOp) and loop.iv not in op.indices.operands for op in loop.walk())


def has_nests(loop: ForOp) -> bool:
    """Whether the loop holds several loops."""
    return sum(isinstance(op, ForOp) for op in loop.body.block.ops) > 2


def accumulates_together(loop: ForOp) -> bool:
    """Whether several results are accumulated in the loop at once."""
    return any(isinstance(op, AccumulateOp) and len(op.memrefs) > 1 for op in loop.walk())


def accumulates_often(loop: ForOp) -> bool:
    trips = loop.constant_trip_count()
    return trips is not None and 1 < trips <= 12 and accumulates(loop)


def can_decompose(loop: ForOp) -> bool:
    has_reduction = any(isinstance(op, AccumulateOp) for op in loop.walk())
    return has_reduction and why_not_decompose_reduction(loop) is None


def is_innermost(loop: ForOp) -> bool:
    return not any(isinstance(op, ForOp) for op in loop.body.block.ops)


def is_short(loop: ForOp) -> bool:
    trips = loop.constant_trip_count()
    return trips is not None and trips <= 4


def draw_unroll(rng: random.Random, module: ModuleOp) -> Request | None:
    factor = rng.choice((None, None, 2, 3))
    loop = draw_loop(rng, module, is_short if factor is None else None)
    options = {} if factor is None else {"factor": factor}
    return None if loop is None else Request("unroll", (loop.label,), None, options)


def draw_beside(rng: random.Random, module: ModuleOp) -> Request | None:
    return _draw_neighbours(rng, module, "beside")


def draw_fuse(rng: random.Random, module: ModuleOp) -> Request | None:
    return _draw_neighbours(rng, module, "fuse")


def _draw_neighbours(
    rng: random.Random, module: ModuleOp, name: str, least: int = 1, **options: int
) -> Request | None:
    """Loops that follow each other, with at least so many loops in their nests."""
    pairs = []
    for loop in program_loops(module):
        following = loop.next_op
        while following is not None and not isinstance(following, ForOp):
            following = following.next_op
        if isinstance(following, ForOp) and min(len(loops_in(loop)), len(loops_in(following))) >= least:
            pairs.append((loop.label, following.label))
    return Request(name, rng.choice(pairs), None, options) if pairs else None


def draw_online_softmax(rng: random.Random, module: ModuleOp) -> Request | None:
    return _draw_neighbours(rng, module, "online_softmax", least=3, factor=rng.randint(1, 4))


def draw_block_relative(rng: random.Random, module: ModuleOp) -> Request | None:
    return _draw_neighbours(rng, module, "block_relative", parts=rng.randint(1, 4))


def draw_reverse_compute_at(rng: random.Random, module: ModuleOp) -> Request | None:
    pairs = []
    for consumer in program_loops(module):
        block = consumer.parent
        assert block is not None
        earlier = [op for op in block.ops if isinstance(op, ForOp) and op.is_before_in_block(consumer)]
        pairs += [(consumer.label, loop.label) for op in earlier for loop in loops_in(op)]
    return Request("reverse_compute_at", rng.choice(pairs)) if pairs else None


def computes_a_part(loop: ForOp) -> bool:
    """Whether the nest is in a loop, and writes a buffer that is made here."""
    writes = [access for op in loop.walk() for access in accesses_of(op) if access.writes]
    return isinstance(loop.parent_op(), ForOp) and all(
        access.root is not None and isinstance(access.root.owner, AllocOp) for access in writes
    )


def draw_recompute(rng: random.Random, module: ModuleOp) -> Request | None:
    """Nests that write a buffer (mostly all of them), and a later one beside them that reads it."""
    found = []
    for reader in program_loops(module):
        block = reader.parent
        assert block is not None
        earlier = [op for op in block.ops if isinstance(op, ForOp) and op.is_before_in_block(reader)]
        for buffer in dict.fromkeys(op.memref for op in reader.walk() if isinstance(op, LoadOp)):
            writers = [
                nest
                for nest in earlier
                if any(a.writes and a.root is buffer for op in nest.walk() for a in accesses_of(op))
            ]
            if len(writers) > 1 and rng.random() < 0.3:
                writers.pop(rng.randrange(len(writers)))
            if writers:
                found.append((*(nest.label for nest in writers), reader.label))
    return Request("recompute", rng.choice(found)) if found else None


def draw_fuse_epilogue(rng: random.Random, module: ModuleOp) -> Request | None:
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


def draw_specialise(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, lambda loop: loop.constant_trip_count() is None)
    if loop is None:
        return None
    when = rng.choice(CASES).format(loop.label, rng.randint(0, 5))
    return Request("specialise", (loop.label,), None, {"when": when})


def draw_distribute(rng: random.Random, module: ModuleOp) -> Request | None:
    loop = draw_loop(rng, module, lambda loop: len(pieces_of(loop)) > 1)
    if loop is None:
        return None
    after = rng.choice([None, *range(1, max(2, len(pieces_of(loop))))])
    return Request("distribute", (loop.label,), None, {} if after is None else {"after": after})


def draw_skew(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, lambda loop: len(loops_in(loop)) > 1)
    inside = loops_in(outer)[1:] if outer is not None else []
    if outer is None or not inside:
        return None
    return Request("skew", (outer.label, rng.choice(inside).label), None, {"by": rng.choice((-1, 1, 1, 2))})


def draw_widen(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, lambda loop: any(_uses(inner, loop) for inner in loops_in(loop)[1:]))
    inside = [] if outer is None else [inner for inner in loops_in(outer)[1:] if _uses(inner, outer)]
    if outer is None or not inside:
        return None
    return Request("widen", (rng.choice(inside).label, outer.label), None, {})


def _uses(inner: ForOp, outer: ForOp) -> bool:
    return outer.iv in (*inner.lower_operands, *inner.upper_operands)


def draw_tile(rng: random.Random, module: ModuleOp) -> Request | None:
    outer = draw_loop(rng, module, has_sole_loop)
    if outer is None:
        return None
    band = perfect_band(outer)[: rng.choice((1, 2, 2, 3))]
    options = {
        "sizes": tuple(rng.choice((1, 2, 3, 4)) for _ in band),
        "tail": rng.choice(("remainder", "mask", "clamp", "perfect")),
    }
    return Request("tile", tuple(loop.label for loop in band), None, options)


def combines_elements(loop: ForOp) -> bool:
    """Whether a nest of loops of constant length in it is a reduction."""
    inner = sole_inner_loop(loop)
    if inner is None or any(not other.constant_trip_count() for other in perfect_band(inner)):
        return False
    return any(isinstance(op, AccumulateOp) for op in loop.walk())


def is_outermost(loop: ForOp) -> bool:
    """Whether no loop is around it."""
    return not enclosing_loops(loop)


def is_masked(loop: ForOp) -> bool:
    """Whether a statement in it has a domain, and is to a buffer that the program makes."""
    return any(
        isinstance(op, StoreOp | AccumulateOp)
        and op.where is not None
        and any(isinstance(operand.owner, AllocOp) for operand in op.operands)
        for op in loop.walk()
    )
