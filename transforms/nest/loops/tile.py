"""nest-tile: split perfectly nested loops and run the blocks outside of all that is in them.

    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        ... %x[%i, %j] ...
      }
    }

becomes with sizes=16,32 tail=clamp

    nest.for "i.o" %a = 0 to %n ceildiv 16 {
      nest.for "j.o" %b = 0 to %m ceildiv 32 {
        nest.for "i.i" %c = 0 to min(16, %n - 16 * %a) {
          nest.for "j.i" %d = 0 to min(32, %m - 32 * %b) {
            ... %x[16 * %a + %c, 32 * %b + %d] ...
          }
        }
      }
    }

with tail=mask the inner loops are of constant extent and the statements have a domain; with tail=perfect the
sizes divide the extents. With tail=remainder (the default) tiles run in the order of tail=clamp, in two loops an
axis: `i.o` over whole tiles, whose inner loops are of constant extent, and `i.t` over what is left.

A loop that starts at a variable of the band (a skewed one) is split at multiples of its size, so that the tiles
of different iterations line up.

Tiles of tiles: tile the inner loops again. The order of iterations changes, so legality is that of nest-split
and nest-reorder together. Both are tried on a copy of the function before anything is changed, so that the
answer is exact and the reason is theirs: it may name loops of the copy (`i.o`). `tile` in Halide and NNC,
`split` and `reorder` in TVM, `tile_loops_bottom_up` in Exo's library.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.loop_structure import (
    enclosing_function,
    loops_in,
    perfect_band,
    statements,
    trip_count,
)
from ....analysis.nest.sets.dependence import analyse
from ....analysis.nest.sets.loop_bounds import refuse_several, smallest
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.loops import add_domain, fresh_names, replace_index, simplify_bounds
from ..rewrite.masks import why_not_masked
from .cut import copy_after, rename
from .normalise import remove_unit_loop
from .reorder import permute, why_not_reorder
from .shift import add_to_all
from .split import Tail, split, why_not_split


def why_not_tile(
    loops: Sequence[ForOp], sizes: Sequence[int], tail: Tail = "remainder"
) -> NestorError | None:
    """The diagnostic that refuses to tile, None when it is legal."""
    refusal = _why_not_band(loops, sizes) or (_why_not_remainder(loops) if tail == "remainder" else None)
    if refusal is not None:
        return refusal
    function = enclosing_function(loops[0])
    copied = dict(zip(loops_in(function), loops_in(function.clone()), strict=True))
    try:
        outer, inner = _split_all([copied[loop] for loop in loops], sizes, tail)
    except NestorError as error:
        return _refusal(loops, error)
    if len(loops) == 1:
        return None
    for loop, *pieces in zip(loops, outer, inner, strict=True):
        for piece in pieces:
            piece.set_label(loop.label)  # the program has no others to speak of
    broken = why_not_reorder([*outer, *inner], analyse(outer[0]))
    return None if broken is None else _refusal(loops, broken)


def _refusal(loops: Sequence[ForOp], of_step: NestorError) -> NestorError:
    """The refusal of a split or reorder of the copy, said of the tiling."""
    step = of_step.diagnostic
    reason = step.message.partition(": ")[2]
    refusal = fail(loops[0], f"cannot tile the loops {_names(loops)}: {reason}", hint=step.hint)
    refusal.diagnostic.notes.extend(step.notes)
    return refusal


def _names(loops: Sequence[ForOp]) -> str:
    return ", ".join(loop.label for loop in loops)


def _why_not_band(loops: Sequence[ForOp], sizes: Sequence[int]) -> NestorError | None:
    what = f"cannot tile the loops {_names(loops)}"
    if len(loops) != len(sizes):
        return fail(loops[0], f"{what}: {len(sizes)} sizes given for {len(loops)} loops")
    if perfect_band(loops[0])[: len(loops)] != list(loops):
        return fail(
            loops[0],
            f"{what}: they are not perfectly nested in this order",
            notes=[(loop, f'"{loop.label}" is here') for loop in loops[1:]],
        )
    return None


def _why_not_remainder(loops: Sequence[ForOp]) -> NestorError | None:
    """Refuses where the number of whole tiles is not one expression that is known before the band starts."""
    what = f"cannot tile the loops {_names(loops)} with a remainder"
    hint = "use tail=mask or tail=clamp"
    variables = {loop.iv: loop for loop in loops}
    for loop in loops:
        if (refusal := refuse_several(loop, "tile", "lower")) is not None:
            return refusal
        if len(smallest(loop.upper, loop)) != 1:
            reason = f'the upper bound of "{loop.label}" is a min of several expressions'
            return fail(loop, f"{what}: {reason}", hint=hint)
        for value in (*loop.lower_operands, *loop.upper_operands):
            if value in variables:
                reason = f'the bounds of "{loop.label}" use the variable of "{variables[value].label}"'
                return fail(loop, f"{what}: {reason}", hint=hint)
    return None


def tile(loops: Sequence[ForOp], sizes: Sequence[int], tail: Tail = "remainder") -> tuple[ForOp, ...]:
    """Tile the perfect band `loops`: the loops over tiles, then those in a tile, each in the order of `loops`.

    With a remainder, these are the loops of whole tiles. Consumes `loops`.
    """
    if (refusal := why_not_tile(loops, sizes, tail)) is not None:
        raise refusal
    names = [loop.label for loop in loops]
    trips = [_trips(loop) for loop in loops] if tail == "remainder" else []
    outer, inner = _split_all(loops, sizes, tail)
    permute(perfect_band(outer[0])[: 2 * len(loops)], [*outer, *inner])
    if tail == "remainder":
        # innermost first: the remainder of an outer loop is then a copy with the remainders inside
        for loop, name, count, size in reversed(list(zip(outer, names, trips, sizes, strict=True))):
            _cut_remainder(loop, f"{name}.t", count, size)
    return (*outer, *inner)


def _trips(loop: ForOp) -> AffineList:
    if (refusal := refuse_several(loop, "tile", "lower")) is not None:
        raise refusal
    simplify_bounds(loop)
    trips = trip_count(loop)
    assert trips is not None
    return smallest(trips, loop)


def _split_all(loops: Sequence[ForOp], sizes: Sequence[int], tail: Tail) -> tuple[list[ForOp], list[ForOp]]:
    """Split every loop; a remainder is cut off later, so that the band stays perfect."""
    variables = {loop.iv for loop in loops}
    tail = "clamp" if tail == "remainder" else tail
    pairs = [
        _split_aligned(loop, size, tail)
        if tail != "perfect" and not variables.isdisjoint(loop.lower_operands)
        else split(loop, size, tail)
        for loop, size in zip(loops, sizes, strict=True)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _split_aligned(loop: ForOp, size: int, tail: Tail) -> tuple[ForOp, ForOp]:
    """Split `loop` into blocks that begin at multiples of `size`, wherever the loop begins."""
    if (refusal := _why_not_aligned(loop, size, tail)) is not None:
        raise refusal
    block, lower, upper = loop.parent, loop.lower, loop.upper
    assert block is not None
    outer_name, inner_name = fresh_names(loop, f"{loop.label}.o", f"{loop.label}.i")
    first, last = (
        lower.divided(AffineBinaryOpKind.FloorDiv, size),
        upper.divided(AffineBinaryOpKind.CeilDiv, size),
    )
    outer = ForOp(outer_name, first, last)
    outer.location = loop.location
    block.insert_op_before(outer, loop)
    loop.detach()
    outer.body.block.add_op(loop)
    rename(loop, inner_name)
    start = AffineList.of(outer.iv).times(size)
    replace_index(loop.iv, start.plus(AffineList.of(loop.iv)))
    position = start.plus(AffineList.of(loop.iv))
    if tail == "clamp":
        lowers, uppers = add_to_all(lower, start.times(-1)), add_to_all(upper, start.times(-1))
        loop.set_bounds(AffineList.of(0, lowers), AffineList.of(size, uppers))
        return outer, loop
    loop.set_bounds(AffineList.of(0), AffineList.of(size))
    begun = add_to_all(lower.times(-1), position)
    ended = add_to_all(upper, position.times(-1)).add(-1)
    for statement in statements(loop):
        add_domain(statement, begun.concat(ended))
    return outer, loop


def _why_not_aligned(loop: ForOp, size: int, tail: Tail) -> NestorError | None:
    """What `why_not_split` says of a loop with one lower bound that is known before the band."""
    bounds = loop.lower, loop.upper
    loop.set_bounds(AffineList.of(0), loop.upper)
    refusal = why_not_split(loop, size, tail)
    loop.set_bounds(*bounds)
    if refusal is None and tail == "mask":
        # the first block is not whole either, whatever the upper bound
        refusal = why_not_masked(loop, from_none=True)
    if refusal is None and loop.step_value != 1:
        reason = "its first iteration depends on loops around it, and its step is not 1"
        return fail(loop, f"cannot tile the loops {loop.label}: {reason}")
    return refusal


def _cut_remainder(tiles: ForOp, name: str, trips: AffineList, size: int) -> None:
    """Leave the whole tiles to `tiles`, and the last one, where it is not whole, to a copy called `name`."""
    if trips.divided(AffineBinaryOpKind.Mod, size).constants() == (0,):
        return
    whole = trips.divided(AffineBinaryOpKind.FloorDiv, size)
    rest = copy_after(tiles, fresh_names(tiles, name)[0])
    tiles.set_bounds(tiles.lower, whole)
    rest.set_bounds(AffineList.of(0).concat(whole), rest.upper)
    for loop in (*loops_in(tiles), *loops_in(rest)):
        if loop.kind == "serial":
            simplify_bounds(loop)
    if rest.constant_trip_count() == 1:
        remove_unit_loop(rest)
