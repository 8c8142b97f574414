"""Copies of a tile's factors to shared memory, shared out over the threads of a block (part of sum_tiles.py).

    nest.for "x_tile.k" %k = 0 to 16 {                       // %x_tile[%k, %i] is %x[%i, %k]
      nest.for "x_tile.i" %i = 0 to 128 { ... }
  becomes for 16 x 2 x 8 threads, where the copy may be in flight while threads continue
    nest.for "tz" ... bind "thread.z" { nest.for "ty" ... bind "thread.y" { nest.for "tx" ... bind "thread.x" {
      nest.for "x_tile.k.o" ... unrolled {
        nest.for ... unrolled attributes {nestor.async} {    // rows 2 * %ty + %tx / 8 ..., terms %tx mod 8 ...

Neighbouring threads copy adjacent elements, 16 bytes each where the tile lies as memory does. Where it
lies across, a thread copies element by element: eight neighbours (of 4 bytes: a sector), then those of the next row, so
that the elements of a warp go to as many banks, the rows of the tile being longer by 16 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....analysis.machine import ACCESS_BYTES
from ....analysis.nest.buffers import element_bytes, strides_of
from ....analysis.nest.kernels.async_copies import copy_in
from ....analysis.nest.loop_structure import loops_in
from ....analysis.nest.sets.access_patterns import UNIT
from ....dialects.affine import AffineList, linear_terms
from ....dialects.attributes import ASYNC
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ...nest.loops.flatten import flatten, why_not_flatten
from ...nest.loops.rename import rename
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.mapping.annotate import annotate, why_not_annotate
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize, why_not_vectorize
from ...nest.memory.transform_layout import transform_layout
from ...nest.rewrite.loops import fresh_names
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import pattern_in

AXES = "zyxl"
"""The axes of the threads, the slowest first; "l" are the lanes of a warp, "x" are warps then."""

PAD = ACCESS_BYTES
"""A row of a copy that is written across its rows is longer by this many bytes: neighbours then go to other banks."""

NEIGHBOURS = 8
"""How many adjacent elements are copied before the next row, where a tile is written across its rows by elements."""


def may_be_ahead(buffer: AllocOp, copy: ForOp) -> bool:
    """Whether all that fills the buffer is copied, element by element, by copies that may be in flight."""
    found = copy_in(loops_in(copy)[-1])
    return found is not None and found.may_copy_elements


def share_copy(
    buffer: AllocOp, copy: ForOp, of_axis: Mapping[str, int], is_ahead: bool, steps: Steps
) -> None:
    """Share a copy out over the threads, of which there are so many along each axis."""
    band = loops_in(copy)
    load = next((op for op in copy.walk() if isinstance(op, LoadOp) and len(op.indices)), None)
    along = band[-1]
    if load is not None:
        moving = [loop for loop in band if pattern_in(load, load.memref, loop) == UNIT]
        along = moving[-1] if moving else along
    is_across = along is not band[-1]
    bytes_of = element_bytes(buffer.memref.type.element_type)
    width = max(1, ACCESS_BYTES // bytes_of)
    left = [along, *(loop for loop in reversed(band) if loop is not along)]
    vector: ForOp | None = None
    count = along.constant_trip_count() or 1
    if is_across and is_ahead:
        left = _neighbours_first(left, count, steps)
    elif load is not None and begins_at(load, along, width) and count % width == 0:
        left[0], vector = steps.do(split, along, factor=width, tail="perfect")
    if not is_across:
        left = _as_one(left, vector, of_axis, steps)
    threads: list[tuple[str, ForOp]] = []
    for axis, size in sorted(of_axis.items()):
        taken = _largest_share(left, size)
        if taken is None:
            continue
        loop, count = taken
        if count == loop.constant_trip_count():
            left.remove(loop)
        else:
            left[left.index(loop)], loop = steps.do(split, loop, factor=count, tail="perfect")
        threads.insert(0, (axis, loop))
    vectors = [] if vector is None else [vector]
    steps.do(reorder, [*(loop for _, loop in threads), *reversed(left), *vectors])
    bind_threads(threads, steps)
    for loop in left:
        steps.do(annotate, loop, mark="unrolled")
    for loop in vectors:
        mark_vector(loop, True, steps)
    innermost = [*left[:1], *vectors][-1:]
    if is_ahead and innermost and why_not_annotate(innermost[0], ASYNC) is None:
        steps.do(annotate, innermost[0], mark=ASYNC)
    if is_across and (vectors or is_ahead):
        names = [f"d{k}" for k in range(len(band))]
        pad = (*(0 for _ in names[1:]), PAD // bytes_of)
        steps.do(transform_layout, buffer, layout=f"{' '.join(names)} -> {' '.join(names)}", pad=pad)


def bind_threads(threads: Sequence[tuple[str, ForOp]], steps: Steps) -> None:
    """Bind loops to axes of the threads."""
    for axis, loop in threads:
        name, wanted = ("lane", "lane") if axis == "l" else (f"t{axis}", f"thread.{axis}")
        steps.do(rename, loop, to=fresh_names(loop, name)[0])
        steps.do(bind, loop, axis=wanted)


def mark_vector(loop: ForOp, may_be_vector: bool, steps: Steps) -> None:
    """Vectorize a loop of constant length where that is legal, else unroll it."""
    size = loop.constant_trip_count() or 1
    if may_be_vector and size > 1 and why_not_vectorize(loop, size) is None:
        steps.do(vectorize, loop, width=size)
    else:
        steps.do(annotate, loop, mark="unrolled")


def by_axis(entry: tuple[str, object]) -> int:
    """Where an axis is among the axes of the threads."""
    return AXES.index(entry[0])


def _neighbours_first(left: list[ForOp], count: int, steps: Steps) -> list[ForOp]:
    """The loops of a copy that is written across its rows: a few neighbours of a row, and the rows, are the first loop."""
    along, *others = left
    rest: list[ForOp] = []
    if count > NEIGHBOURS and count % NEIGHBOURS == 0:
        outer, along = steps.do(split, along, factor=NEIGHBOURS, tail="perfect")
        rest = [outer]
    if not others:
        return [along, *rest]
    steps.do(reorder, [*rest, *reversed(others), along])
    if why_not_flatten(others[0], along) is not None:
        return [along, *others, *rest]
    return [steps.do(flatten, others[0], along), *others[1:], *rest]


def _as_one(left: list[ForOp], vector: ForOp | None, of_axis: Mapping[str, int], steps: Steps) -> list[ForOp]:
    """Loops of a copy as one where the first, along which memory is contiguous, is too short for the threads."""
    wanted, first = of_axis.get("l") or of_axis.get("x", 1), left[0]
    if len(left) < 2 or (first.constant_trip_count() or 1) % wanted == 0:
        return left
    inner = [] if vector is None else [vector]
    steps.do(reorder, [*reversed(left), *inner])
    if why_not_flatten(left[1], first) is not None:
        return left
    return [steps.do(flatten, left[1], first), *left[2:]]


def _largest_share(loops: Sequence[ForOp], threads: int) -> tuple[ForOp, int] | None:
    """A loop, and how many of its iterations go to this many threads: the first that has work for all of them."""
    shares = [(loop, gcd(loop.constant_trip_count() or 1, threads)) for loop in loops]
    best = max(shares, key=lambda entry: entry[1], default=None)
    return best if best is not None and best[1] > 1 else None


def begins_at(load: LoadOp | StoreOp, along: ForOp, width: int) -> bool:
    """Whether `width` neighbours along the loop begin at a multiple of this many elements, as far as is known."""
    if width < 2 or pattern_in(load, load.memref, along) != UNIT:
        return False
    assert isinstance(load.memref.type, MemRefType)
    if any(stride is not None and stride % width for stride in strides_of(load.memref.type)[:-1]):
        return False
    last = load.indices[len(load.indices) - 1].canonical()
    terms, constant = linear_terms(last.exprs[0])
    others = [factor for term, factor in terms.items() if not _is(term, along.iv, last)]
    return all(factor % width == 0 for factor in (constant, *others))


def _is(term: AffineExpr, value: SSAValue, expression: AffineList) -> bool:
    return isinstance(term, AffineDimExpr) and expression.operands[term.position] is value
