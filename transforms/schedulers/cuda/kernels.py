"""Which nests of a program share a kernel on the GPU: nest-schedule-cuda's first step, before any loop is bound.

    %t = nest.alloc "t" : memref<64x64xf32>
    nest.for "i" %i = 0 to 64 {                               y * 2, to be joined with x along the columns
      nest.for "j" %j = 0 to 64 { ... nest.store "t" %b, %t[%i, %j] } }
    nest.for "i.1" %k = 0 to 64 {
      nest.for "j.1" %l = 0 to 128 { ... nest.store "z" %c, %z[%k, %l] } }
    nest.for "i.2" %m = 0 to 64 {
      nest.for "j.2" %n = 0 to 64 { %d = nest.load %t[%m, %n] ... nest.store "z" %d, %z[%m, %n + 128] } }
  becomes
    nest.for "i.1" %k = 0 to 64 {
      nest.for "j.1" %l = 0 to 128 {
        ... nest.store "z" %c, %z[%k, %l]
        ... nest.store "z" %b, %z[%k, %l + 128] where (%l < 64)

A launch takes about as long as it takes to move 8 MB, so that for most arrays the number of kernels is what counts; and a
temporary between kernels is written and read again. Elementwise nests, which have no reductions and no inner loops, are
made fewer:

* A temporary is computed where it is read (nest-compute-inline) when only elementwise nests read it and that is cheap:
  `WORK` operations an element that is computed again, more where it is read at one place that needs each element once.
  What is reduced, or what a reduction reads, stays, and so does what a reduction starts from: its schedule decides;
  but what is looked up (`x[idx].sum()`) is where one reduction alone reads it.
* Neighbours of as many loops become one nest (nest-fuse) when the loops run through the same iterations, or one through a
  part of the other's: copies into parts of one result, fills, several results. A part has a domain, outside of which the
  other statement moves elements and no vectors, so that it has to be `SMALL` unless its rows are whole, and the larger
  one has no more iterations than both together. Where both write one buffer, the second is shifted so that iterations
  alike write one element (`y[1:-1] = 0` after a copy), if it cannot be joined else.
  There are at most `OPERANDS` buffers, which is what registers hold of 16 bytes each; and a nest that is read across
  (cuda/transposes.py) is joined with such nests only.
* Rows that are looked up (`table[idx]`) are read by the program on rows that follows, in the same loops.

Otherwise a nest is a kernel. The primitives prove what is done; a refusal leaves two kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ....analysis.nest.loop_structure import loops_in, may_fail, perfect_band
from ....analysis.nest.sets.access_patterns import buffer_accesses
from ....analysis.nest.sets.accesses import root_of
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.extent_keys import bound_key
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, LookupOp, StoreOp
from ...nest.loops.fuse import fuse
from ...nest.loops.shift import add_to_all, shift
from ...nest.mapping.parallel import why_not_independent
from ...nest.producers.compute_inline import compute_inline, why_not_compute_inline
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import arithmetic_in
from .grid import make_perfect, units
from .row_program_parts import is_row_program
from .transposes import transposed_in

WORK = 32
"""Maximum number of operations recomputed per element: far fewer than a GPU does while it moves one."""

OPERANDS = 16
"""Maximum number of buffers that a kernel made of several nests accesses."""


Range: TypeAlias = tuple[object, object]
"""Where a loop starts and ends."""

SMALL = 1 << 18
"""Iterations below which a launch takes longer than elements that are moved one by one."""


def segment(function: FuncOp, steps: Steps) -> None:
    """Make fewer kernels of the elementwise nests of a function."""
    blocks = dict.fromkeys(nest.parent for nest in list(units(function.body.block)))
    for block in blocks:
        assert block is not None
        _inline_temporaries(block, steps)
        _fuse_neighbours(block, steps)
        _fuse_with_rows(block, steps)


def is_elementwise(nest: Operation) -> bool:
    """Whether a nest is loops directly in each other around statements that no iteration shares with another."""
    if not isinstance(nest, ForOp) or any(isinstance(op, AccumulateOp | AllocOp) for op in nest.walk()):
        return False
    loops = loops_in(nest)
    if any(loop.kind != "serial" or loop.step_value != 1 for loop in loops) or may_fail(nest) is not None:
        return False
    return all(loop.body.block.last_op is inner for loop, inner in pairwise(loops))


# ---- temporaries ------------------------------------------------------------------------------------


def _inline_temporaries(block: Block, steps: Steps) -> None:
    for alloc in [op for op in block.ops if isinstance(op, AllocOp)]:
        if _is_cheap(alloc, block) and why_not_compute_inline(alloc) is None:
            steps.do(compute_inline, alloc)


def _is_cheap(alloc: AllocOp, block: Block) -> bool:
    """Whether elementwise nests make a temporary and read it, and to compute its elements there is little work."""
    users = [use.operation for use in alloc.memref.uses]
    loads = [op for op in users if isinstance(op, LoadOp)]
    stores = [op for op in users if isinstance(op, StoreOp)]
    if len(loads) + len(stores) != len(users) or len(stores) != 1 or not loads:
        return False
    producer, *readers = [_nest_in(block, op) for op in (*stores, *loads)]
    if not isinstance(producer, ForOp) or not is_elementwise(producer):
        return False
    if not all(nest is not None and is_elementwise(nest) for nest in readers):
        return _looks_up(producer) and len(readers) == 1 and _reads_each_once(readers[0], producer)
    work = arithmetic_in(perfect_band(producer)[-1])
    is_read_once = len(loads) == 1 and _count(readers[0]) == _count(producer) is not None
    return is_read_once or work * len(loads) <= WORK


def _reads_each_once(reader: Operation | None, producer: ForOp) -> bool:
    """Whether a sum or the like, of nothing but loops around one body, has as many iterations as a producer."""
    if not isinstance(reader, ForOp) or len(perfect_band(reader)) != len(loops_in(reader)):
        return False
    return all(
        _range_of(a) == _range_of(b) is not None
        for a, b in zip(loops_in(reader), loops_in(producer), strict=False)
    ) and len(loops_in(reader)) == len(loops_in(producer))


def _nest_in(block: Block, op: Operation) -> Operation | None:
    """The operation of `block` that is around `op`."""
    while op.parent is not block:
        parent = op.parent_op()
        if parent is None:
            return None
        op = parent
    return op


def _count(nest: Operation | None) -> int | None:
    """Iterations of an elementwise nest, None when that is not a constant."""
    assert isinstance(nest, ForOp)
    extents = [extent_of(loop) for loop in loops_in(nest)]
    return None if None in extents else prod(n for n in extents if n is not None)


# ---- neighbours -------------------------------------------------------------------------------------


def _fuse_neighbours(block: Block, steps: Steps) -> None:
    for first in list(block.ops):
        if first.parent is None or not is_elementwise(first):
            continue
        assert isinstance(first, ForOp)
        while (second := _next_nest(first)) is not None:
            ways = dict.fromkeys([(0,) * len(loops_in(second)), _shifts(first, second)])
            by = next(
                (way for way in ways if _is_worthwhile(first, second, way) and _may_fuse(first, second, way)),
                None,
            )
            if by is None:
                break
            _fuse(first, second, by, steps)


def _shifts(first: ForOp, second: ForOp) -> tuple[int, ...]:
    """By how much to shift the loops of the second nest, so that iterations alike write one element of a buffer."""
    one, two = loops_in(first), loops_in(second)
    places = {op.memref: op.indices for op in first.walk() if isinstance(op, StoreOp)}
    found = [0] * len(two)
    for op in second.walk():
        if not isinstance(op, StoreOp) or op.memref not in places or len(one) != len(two):
            continue
        for k, (a, b) in enumerate(zip(one, two, strict=True)):
            for axis in range(len(op.indices)):
                here, there = places[op.memref][axis], op.indices[axis]
                gap = (
                    there.minus(AffineList.of(b.iv))
                    .minus(here.minus(AffineList.of(a.iv)))
                    .canonical()
                    .constants()
                )
                if a.iv in here.operands and b.iv in there.operands and gap is not None:
                    found[k] = gap[0]
    return tuple(found)


def _next_nest(first: ForOp) -> ForOp | None:
    """The elementwise nest that follows, with only temporaries and scalars between; None where something else does."""
    op = _nest_after(first)
    return op if op is not None and is_elementwise(op) else None


def _is_worthwhile(first: ForOp, second: ForOp, by: Sequence[int]) -> bool:
    """Whether one kernel of two nests, the second one shifted, does no more than two kernels do."""
    one, two = loops_in(first), loops_in(second)
    if len(one) != len(two) or len(_buffers(first) | _buffers(second)) > OPERANDS:
        return False
    ranges = [(_range_of(a), _range_of(b, shift)) for a, b, shift in zip(one, two, by, strict=True)]
    box = [_extent_of_both(*both) for both in ranges]
    if _starts_a_reduction(first) or _starts_a_reduction(second):
        return False
    if None in box or _is_read_across(first) != _is_read_across(second):
        return False
    if all(a == b for a, b in ranges):
        return True
    sizes = [_count(first), _count(second)]
    known = [n for n in (*box, *sizes) if isinstance(n, int)]
    has_vectors = ranges[-1][0] == ranges[-1][1]
    return (
        len(known) == len(box) + 2
        and prod(known[:-2]) <= sum(known[-2:])
        and (has_vectors or prod(known[:-2]) <= SMALL)
    )


def _extent_of_both(one: Range | None, two: Range | None) -> object:
    """How many iterations the loop has that runs through those of the other; None where neither is known to."""
    if one is None or two is None:
        return None
    if one == two:
        return one[1]
    numbers = [n for n in (*one, *two) if isinstance(n, int)]
    if len(numbers) != 4:
        return None
    start, end = min(numbers[0], numbers[2]), max(numbers[1], numbers[3])
    return end - start if (start, end) in (one, two) else None


def _range_of(loop: ForOp, by: int = 0) -> Range | None:
    """Where a loop starts, a number, and where it ends, a number or what stands for one; shifted."""
    start = loop.lower.constants()
    if start is None or len(start) != 1 or len(loop.upper) != 1:
        return None
    end = bound_key(add_to_all(loop.upper, AffineList.of(by)))
    return start[0] + by, end


def _buffers(nest: ForOp) -> set[SSAValue]:
    return {root_of(buffer) for _, buffer in buffer_accesses(nest)}


def _starts_a_reduction(nest: ForOp) -> bool:
    """Whether a nest does nothing but set what another one reduces into: that one takes it along."""
    stores = [op for op in loops_in(nest)[-1].body.block.ops if not isinstance(op, ForOp)]
    return all(
        isinstance(op, StoreOp) and any(isinstance(use.operation, AccumulateOp) for use in op.memref.uses)
        for op in stores
    )


def _is_read_across(nest: ForOp) -> bool:
    return transposed_in(loops_in(nest)) is not None


def _fuse_with_rows(block: Block, steps: Steps) -> None:
    """Let a program on rows make the rows that it reads by looking indices up: `layer_norm(table[idx])` is one kernel."""
    for first in list(block.ops):
        if first.parent is None or not is_elementwise(first) or not _looks_up(first):
            continue
        assert isinstance(first, ForOp)
        if (second := _nest_after(first)) is not None and _may_join_rows(first, second):
            _join_rows(first, second, steps)


def _looks_up(nest: Operation) -> bool:
    return any(isinstance(op, LookupOp) for op in nest.walk())


def _nest_after(first: ForOp) -> ForOp | None:
    """The nest that follows, with only temporaries and scalars between."""
    op = first.next_op
    while op is not None and not op.regions and not isinstance(op, StoreOp | AccumulateOp):
        op = op.next_op
    return op if isinstance(op, ForOp) else None


def _may_join_rows(first: ForOp, second: ForOp) -> bool:
    """Whether the second nest is a program on the rows that the first one sets, and may as well set them itself."""
    depth = len(loops_in(first)) - 1
    band = perfect_band(second)[:depth]
    if not band or len(band) != depth or not is_row_program(band[-1]):
        return False
    stored = {op.memref for op in first.walk() if isinstance(op, StoreOp)}
    if not any(isinstance(op, LoadOp) and op.memref in stored for op in second.walk()):
        return False
    if not all(_range_of(a) == _range_of(b) is not None for a, b in zip(loops_in(first), band, strict=False)):
        return False
    try:
        trial(_join_and_check, first, second)
    except NestorError:
        return False
    return True


def _join_rows(first: ForOp, second: ForOp, steps: Steps) -> list[ForOp]:
    depth = len(loops_in(first)) - 1
    pairs = list(zip(loops_in(first)[:depth], perfect_band(second)[:depth], strict=True))
    return [steps.do(fuse, one, other) for one, other in pairs]


def _join_and_check(first: ForOp, second: ForOp) -> None:
    """Join nests of a copy; raises where a loop is no longer independent, or the rows are no longer known as such."""
    band = _join_rows(first, second, UNRECORDED)
    dependences = Dependences(band[0])
    for loop in band:
        if (refusal := why_not_independent(loop, "bind", dependences)) is not None:
            raise refusal
    if not is_row_program(band[-1]):
        raise fail(band[-1], "this is not a program on whole rows")


def _fuse(first: ForOp, second: ForOp, by: Sequence[int], steps: Steps = UNRECORDED) -> None:
    """Fuse two nests, loop by loop, the second one shifted."""
    pairs = list(zip(loops_in(first), loops_in(second), strict=True))
    for (_, loop), shift_of_loop in zip(pairs, by, strict=True):
        if shift_of_loop:
            steps.do(shift, loop, by=shift_of_loop)
    for nest in (first, second):
        make_perfect(nest, steps)
    for one, two in pairs:
        steps.do(fuse, one, two)


def _may_fuse(first: ForOp, second: ForOp, by: Sequence[int]) -> bool:
    try:
        trial(lambda one, two: _fuse_and_check(one, two, by), first, second)
    except NestorError:
        return False
    return True


def _fuse_and_check(first: ForOp, second: ForOp, by: Sequence[int]) -> None:
    """Fuse two nests of a copy; raises where a loop is no longer independent."""
    _fuse(first, second, by)
    dependences = Dependences(first)
    for loop in loops_in(first):
        if (refusal := why_not_independent(loop, "bind", dependences)) is not None:
            raise refusal
