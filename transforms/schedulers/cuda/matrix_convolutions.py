"""Convolutions and other contractions by tensor cores (part of nest-schedule-cuda): products of matrices by flattening.

    nest.for "b" ... nest.for "i" ... nest.for "j" ... nest.for "k" ...
      nest.for "u" ... nest.for "v" ... nest.for "c" ...
        nest.accumulate "t" add %s, %t[%b, %i, %j, %k]        // of %x[%b, %i + %u, %j + %v, %c] and %w[%u, %v, %c, %k]
  becomes
    nest.for "b_i_j" ... nest.for "k" ...
      nest.for "u_v_c.o" ...                                  // steps: 32 channels of one element of the window
        nest.for "c.i" ... { nest.accumulate "t" add %s, %t[%b_i_j, %k] }
  and that is tiled as products are (cuda/matrix_tiles.py)

Rows, columns and terms are each made one loop (nest-flatten): what is contiguous over them stays so, and where it is not,
an index is a quotient or a remainder. The image is read through such indices where a step of the product is copied to
shared memory, so no matrix of windows is ever made (an implicit product). Neighbours of an image with the channels last
are 16 bytes of channels, with zeros where these end in a step. Where channels lie apart, all of the terms are one
loop, so that 3 channels of 3 x 3 are one step of 27 terms, and the weights are contiguous along it. Elements of 16 bits
are then copied by lanes for pixels beside each other, each all terms of its pixel: a step is whole windows (16 channels of
3 x 3), where in them a term is, is constant, and 8 terms are stored together.

After J. Chetlur et al., "cuDNN: efficient primitives for deep learning" (2014), and the implicit GEMM of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import lcm, prod
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, i32

from ....analysis.machine import STATIC_SHARED_BYTES, Gpu
from ....analysis.nest.kernels.matrix_tiles import Form, form_of, may_round
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import LANES, AccumulateOp, ForOp
from ....dialects.remarks import remark
from ...nest.loops.reorder import reorder
from ...nest.loops.split import split, why_not_split
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.contractions import Contraction, contraction_in
from ..patterns.products import Product
from ..patterns.tiles import pattern_in
from .contractions import FlatProduct, as_product, nest_of
from .image_tiles import IN_FLIGHT, ContractionTiling, ImageTiling, pixel_parts
from .split_terms import SplitTile, do_in_parts
from .sum_tiles import SumTile, make_perfect, neighbours_of, parts
from .tensor_cores import SIZES, STAGES, STEPS, Tiles, narrow_factor, ways_of

SQUARE = next(tiles for tiles in reversed(SIZES) if tiles.rows == tiles.columns)
"""The smallest tile whose copies are shared out evenly among its threads, whatever a step has."""


MOST_SUMS = 64
"""Maximum number of sums of a lane where factors are copied element by element: their indices take registers, too."""


MOST_OF_STEP, LEAST_OF_STEP = 384, 128
"""Bytes of the terms of a step, in a row, where factors are copied element by element."""


class Way(NamedTuple):
    """With the nests that use the sums, and in the smallest square tile."""

    with_uses: bool
    is_square: bool


WAYS = (Way(True, False), Way(True, True), Way(False, False), Way(False, True))
"""What is tried, the best first."""


def schedule_matrix_convolution(nest: ForOp, gpu: Gpu, steps: Steps) -> bool:
    """Tile a contraction of several loops for tensor cores, with the nests around it; False where it is none for them."""
    found = contraction_in(nest)
    if found is None or _is_product(found) or (form := _form_in(found)) is None:
        return False
    make_perfect(nest, steps)
    refusal: NestorError | None = None
    for way in WAYS:
        try:
            trial(lambda copy, way=way: _tile(copy, form, gpu, UNRECORDED, way), nest)
        except NestorError as error:
            refusal = refusal or error
            continue
        label = nest.label
        sums = _tile(nest, form, gpu, steps, way)
        remark(
            nest_of(sums),
            f'the sum "{label}" is computed by tensor cores, as a product of matrices',
        )
        return True
    assert refusal is not None
    remark(nest, f'the sum "{nest.label}" cannot use tensor cores: {refusal.diagnostic.message}')
    return False


def _is_product(found: Contraction) -> bool:
    """Whether it is a product as it is: those are tensor_cores.py's."""
    return all(len(group) == 1 for group in (found.rows, found.columns, found.terms))


def _form_in(found: Contraction) -> Form | None:
    """The instruction that multiplies the factors."""
    product = found.sums.values[0].owner
    assert isinstance(product, arith.MulfOp | arith.MuliOp)
    if product.result.type not in (Float32Type(), i32):
        return None
    narrow = [narrow_factor(value) for value in product.operands]
    form = form_of(narrow[0].type)
    if form is None or narrow[0].type != narrow[1].type or not may_round(found.sums, form):
        return None
    return form


# ---- as a product -----------------------------------------------------------------------------------


def _tile(nest: ForOp, form: Form, gpu: Gpu, steps: Steps, way: Way) -> AccumulateOp:
    """Make a product of the contraction, and tile it; the sum. Raises what a step refuses."""
    flat = as_product(nest, partial(_in_steps, form), steps, way.with_uses)
    outermost = nest_of(flat.sums)
    product = Product(flat.batch, flat.rows[-1], flat.column, flat.terms[0], flat.sums, [], [], outermost)
    tiles, count = _choice(flat, product, form, gpu, way)
    row_parts, column_parts = tiles.parts
    is_flat = len(flat.rows) == 1
    of_rows = [parts(row_parts)] if is_flat else list(pixel_parts(row_parts))
    if not all(of_rows):
        raise fail(outermost, "a tile has too few rows for pixels of several rows of an image")
    tiled = [*zip(flat.rows, of_rows, strict=True), (flat.column, parts(column_parts))]
    stages = _stages(tiles, flat.terms[-1 if flat.depth is not None else -2], flat.depth, form)
    tile = SumTile(flat.sums, flat.batch, tiled, flat.terms, flat.depth, stages=stages)
    start, tile.uses = neighbours_of(tile)
    if count > 1:
        how = SplitTile(parts(row_parts), parts(column_parts), flat.depth or 1, count, stages)
        around = ([] if start is None else [start]), (tile.uses if way.with_uses else [])
        do_in_parts(product, flat.terms, how, around, steps, ContractionTiling)
        return flat.sums
    (ContractionTiling if is_flat else ImageTiling)(tile, start, steps).run()
    return flat.sums


def _choice(flat: FlatProduct, product: Product, form: Form, gpu: Gpu, way: Way) -> tuple[Tiles, int]:
    """The tile, and in how many parts the terms are: many of these where a result is small (a gradient by weights)."""
    extents = [extent_of(loop) for loop in flat.terms]
    terms = None if None in extents or len(flat.rows) > 1 else prod(n or 0 for n in extents)
    found = ways_of(product, terms, form, gpu)
    if way.is_square:
        return next(((tiles, count) for tiles, count in found if tiles is SQUARE), (SQUARE, 1))
    if flat.depth is None:
        return found[0]
    few = ((tiles, count) for tiles, count in found if sums_of_lane(tiles) <= MOST_SUMS)
    return next(few, (next(one for one in SIZES if sums_of_lane(one) <= MOST_SUMS), 1))


def sums_of_lane(tiles: Tiles) -> int:
    """How many sums each lane of a tile's warps has."""
    return tiles.rows * tiles.columns // (tiles.warp_rows * tiles.warp_columns * LANES)


def _stages(tiles: Tiles, loop: ForOp, depth: int | None, form: Form) -> int:
    """In how many parts the copies of a step are in shared memory: as many as fit, and as there are steps of a loop."""
    size = (tiles.rows + tiles.columns) * (depth or STEPS * form.terms) * form.bits // 8
    stages = max(1, min(STAGES, STATIC_SHARED_BYTES // size))
    count = extent_of(loop)
    return stages if count is None else max(1, min(stages, -(-count // (depth or 1))))


def _in_steps(
    form: Form, found: Contraction, loops: Sequence[ForOp], steps: Steps
) -> tuple[list[ForOp], int | None]:
    """The loops over terms inside of all others, and how many terms of them as one loop are a step.

    None where a step is what the last one has: of elements that are copied 16 bytes at a time.
    """
    depth = STEPS * form.terms
    last = next((loop for loop in found.terms if _is_in_vectors(found, loop, form)), None)
    if last is None:
        steps.do(reorder, [*loops, *found.terms])
        return found.terms, _depth([extent_of(loop) for loop in found.terms], form)
    count = extent_of(last)
    assert count is not None
    if _padded(count, form.terms) < _padded(count, depth):
        depth = form.terms
    tail = "perfect" if why_not_split(last, depth, "perfect") is None else "mask"
    outer, inner = steps.do(split, last, factor=depth, tail=tail)
    terms = [*(loop for loop in found.terms if loop is not last), outer, inner]
    steps.do(reorder, [*loops, *terms])
    return terms, None


def _depth(extents: Sequence[int | None], form: Form) -> int:
    """How many terms a step has, of loops over so many: all, or whole windows, so that a term's place in one is constant.

    Else whole rows of windows; what is copied while threads continue has an instruction or two.

    >>> from xdsl.dialects.builtin import f16
    >>> half = form_of(f16)
    >>> [_depth(extents, half) for extents in ([64, 3, 3], [3, 7, 7], [None, 2, 2], [64, 7, 7], [None])]
    [144, 160, 64, 112, 64]
    """
    if form.bits >= IN_FLIGHT:
        return STEPS * form.terms
    most, least = (size // (form.bits // 8) for size in (MOST_OF_STEP, LEAST_OF_STEP))
    inner, depth = 1, form.terms
    for extent in reversed(extents):
        if extent is None:
            break
        inner *= extent
        if inner <= most and extents[0] is not None and inner == prod(n or 0 for n in extents):
            return _padded(inner, form.terms)
        if lcm(inner, form.terms) <= most:
            depth = lcm(inner, form.terms)
    return depth * max(1, least // depth)


def _is_in_vectors(found: Contraction, loop: ForOp, form: Form) -> bool:
    """Whether neighbours of the image along a loop are adjacent, and pieces of 16 bytes begin at multiples of that."""
    count = extent_of(loop)
    return (
        count is not None
        and count % form.contiguous == 0
        and pattern_in(found.left, found.left.memref, loop) == UNIT
    )


def _padded(count: int, size: int) -> int:
    return -(-count // size) * size
