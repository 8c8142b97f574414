"""Products with few elements and many terms on a GPU (part of cuda/products.py): blocks share the terms out, too.

    nest.for "i" %i = 0 to 4 { nest.for "j" %j = 0 to 4096 { nest.for "k" %k = 0 to 4096 {
      nest.accumulate "c" add %p, %c[%i, %j]                        // of %x[%i, %k] and %y[%k, %j]
  becomes
    nest.for "k.o.p" %p = 0 to 32 {                                 // one kernel: 32 x 32 blocks
      ... 4 x 128 sums of 128 terms in tiles, to %c_parts[%p, %i, %j]
    }
    nest.for "i" ... { nest.for "j" ... {                           // another kernel
      nest.store "c" %zero, %c[%i, %j]
      nest.for "k.o.combine" %c = 0 to 32 { nest.accumulate "c" add %part, %c[%i, %j] }
      ... %c[%i, %j] is used

The parts are added up in order, and how many there are depends on extents alone: the same bits every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from ....analysis.nest.buffers import buffer_name
from ....analysis.nest.loop_structure import is_inside, perfect_band
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ...nest.loops.distribute import distribute
from ...nest.loops.fuse import fuse
from ...nest.loops.normalise import remove_unit_loop
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split
from ...nest.memory.cache_write import cache_write
from ...nest.memory.resize_buffer import resize_buffer
from ...nest.memory.sink_alloc import sink_alloc, why_not_sink_alloc
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.products import Product, sum_of_products_in
from .sum_neighbours import neighbours_of
from .sum_tiles import Parts, SumTile, Tiling


@dataclass(frozen=True)
class SplitTile:
    """The tile of a block, how many terms are a step of it, and in how many parts the terms are."""

    rows: Parts
    columns: Parts
    depth: int
    parts: int
    stages: int


def tile_parts(
    product: Product, how: SplitTile, steps: Steps, tiling: type[Tiling] = Tiling
) -> NestorError | None:
    """Do a product in tiles and in parts of its terms; the refusal, and nothing changed, where a step is refused.

    `tiling` does the steps of the tiles.
    """
    whole = SumTile(
        product.sums, list(product.batch), [(product.row, ()), (product.column, ())], [product.term], 1
    )
    start, uses = neighbours_of(whole)
    nests = [nest for nest in (product.outermost, start, *uses) if nest is not None]
    refusal: NestorError | None = None
    for some in dict.fromkeys((tuple(nests), tuple(nests[: 1 + (start is not None)]))):
        try:
            trial(partial(_run, how, start is not None, UNRECORDED, tiling), *some)
        except NestorError as error:
            refusal = refusal or error
            continue
        _run(how, start is not None, steps, tiling, *some)
        return None
    return refusal


def _run(
    how: SplitTile, is_set: bool, steps: Steps, tiling: type[Tiling], nest: ForOp, *others: ForOp
) -> None:
    """The steps; `others` are the nest that sets the result, if `is_set`, and those that use it."""
    product = sum_of_products_in(perfect_band(nest))
    if product is None:
        raise fail(nest, "it is no product")
    split_at = 1 if is_set else 0
    do_in_parts(product, [product.term], how, (others[:split_at], others[split_at:]), steps, tiling)


def do_in_parts(
    product: Product,
    terms: Sequence[ForOp],
    how: SplitTile,
    around: tuple[Sequence[ForOp], Sequence[ForOp]],
    steps: Steps,
    tiling: type[Tiling] = Tiling,
) -> None:
    """Do a product in tiles and in parts of its terms. Raises what a step refuses.

    The first of `terms` is shared out; where there are more, the last one is a step. `around` are the nests that set the
    result, and those that use it.
    """
    first, *steps_of = terms
    count = first.constant_trip_count()
    if count is None:
        raise fail(product.outermost, "the product has no constant number of terms")
    own = [*product.batch, product.row, product.column]
    unit = 1 if steps_of else how.depth
    size = unit * -(-count // (how.parts * unit))
    shared, inner = steps.do(split, first, factor=size, tail="perfect" if count % size == 0 else "mask")
    steps.do(reorder, [shared, *own, inner, *steps_of])
    share, combine = steps.do(privatise, shared, parts=-(-count // size), share="cyclic")
    steps.do(remove_unit_loop, shared)
    _, part = steps.do(distribute, share)
    tile = SumTile(
        product.sums,
        [part, *product.batch],
        [(product.row, how.rows), (product.column, how.columns)],
        [inner, *steps_of],
        None if steps_of else how.depth,
        stages=how.stages,
    )
    start, _ = neighbours_of(tile)
    _combine(combine, *around, steps)
    tiling(tile, start, steps).run()


def _combine(combine: ForOp, before: Sequence[ForOp], after: Sequence[ForOp], steps: Steps) -> None:
    """A thread adds up the parts of an element, and does what is done with it."""
    result = next(op.memrefs[0] for op in combine.walk() if isinstance(op, AccumulateOp))
    _, *band = perfect_band(combine)
    steps.do(reorder, [*band, combine])
    nests = [*before, band[0], *after]
    first = [perfect_band(nest)[: len(band)] for nest in nests]
    loops = first[0]
    for other in first[1:]:
        loops = [steps.do(fuse, one, two) for one, two in zip(loops, other, strict=True)]
    _keep_total(result, loops[-1], steps)


def _keep_total(result: SSAValue, element: ForOp, steps: Steps) -> None:
    """An element is added up in a register; it goes to memory where something else than its thread needs it."""
    alloc = result.owner
    is_used_here = all(is_inside(use.operation, element) for use in result.uses)
    if isinstance(alloc, AllocOp) and is_used_here and why_not_sink_alloc(alloc, element) is None:
        sunk = steps.do(sink_alloc, alloc, element)
        for axis in range(len(sunk.memref.type.get_shape())):
            sunk = steps.do(resize_buffer, sunk, dimension=axis)
        return
    steps.attempt(cache_write, result, element, space="local", name=f"{buffer_name(result)}_total")


__all__ = ["SplitTile", "do_in_parts", "tile_parts"]
