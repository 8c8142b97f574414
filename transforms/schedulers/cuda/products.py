"""Products of matrices on a GPU (part of nest-schedule-cuda): which tile a product gets (sum_tiles.py does the rest).

    nest.for "i" %i = 0 to %m {
      nest.for "j" %j = 0 to %n {
        nest.for "k" %k = 0 to %l {
          nest.accumulate "c" add %p, %c[%i, %j]        // of %x[%i, %k] and %y[%k, %j], in any order of their indices
  becomes for 1024 x 1024 elements
    128 x 128 a block, in steps of 16 terms: 8 x 8 a thread, in registers

The same tiles are for any combiner, and for any function of two factors: `((x[:, None] - y) ** 2).sum(-1)`, or the
largest of the smaller ones (analysis/nest/kernels/sum_factors.py).

Larger tiles read less of the operands and more of a term's work is arithmetic; smaller ones are more blocks. The tile with
the least time is chosen: the work of the busiest multiprocessor, by how well a tile of its size keeps it busy. While
one step is multiplied the tiles of the next are copied, where elements of 4 or 8 bytes are copied as they are
(tile_copies.py): the threads wait once per step.

Where a product has too few elements for that, and terms enough, blocks share these out, too (split_terms.py): the
time of adding up the parts, and of another launch, is weighed against what is gained. Such products, and those that are
very long, may have a few rows or columns only, and then a tile of as many, for the larger factor is then read once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....analysis.machine import Gpu, gpu
from ....analysis.nest.buffers import element_bytes
from ....analysis.nest.kernels.sum_factors import NoFactors, SumFactors, sum_factors
from ....analysis.nest.loop_structure import enclosing_loops, loops_in, perfect_band
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.nest import ForOp
from ....dialects.remarks import remark
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import copies
from ..patterns.products import FEWEST, Product, product_in, sum_of_products_in
from ..patterns.tiles import axes_of
from .grid import make_perfect as make_perfect_nest
from .split_terms import SplitTile, tile_parts
from .sum_tiles import SumTile, make_perfect, parts, size_of, tile_sum

_DEFAULT = gpu()

UNKNOWN_EXTENT = 1024
"""Assumed value of an extent that is known at run time only."""

DEPTH = 64
"""Bytes of the terms of a step, in a row: two tiles of them in shared memory let several blocks share a multiprocessor."""

STAGES = 2
"""Steps whose tiles are in shared memory: one is added up while the next one's are copied."""


@dataclass(frozen=True)
class Shape:
    """A tile: how its rows and columns are shared out, and how busy it keeps a multiprocessor (1: all the time)."""

    rows: str
    columns: str
    rate: float
    together: int = 1
    """Blocks that keep a multiprocessor as busy as `rate` says."""

    @property
    def height(self) -> int:
        """Rows of the tile."""
        return size_of(self.rows)

    @property
    def width(self) -> int:
        """Columns of the tile."""
        return size_of(self.columns)

    @property
    def sums(self) -> int:
        """Elements that a thread has."""
        both = (*parts(self.rows), *parts(self.columns))
        return prod(part.size for part in both if part.axis not in "xyz")


SHAPES = (
    Shape("z8 y2 r8", "r2 x16 v4", 1.0),
    Shape("z8 y2 r8", "x16 v4", 0.85),
    Shape("z4 y2 r8", "r2 x16 v4", 0.9),
    Shape("z4 y2 r8", "x16 v4", 0.75),
    Shape("z4 y2 r4", "x16 v4", 0.6),
    Shape("z4 y2 r4", "x16 v2", 0.45),
    Shape("z4 y2 r2", "x16 v4", 0.4),
    Shape("z4 y2 r2", "x16 v2", 0.3),
    Shape("z4 y2 r8", "x16 v1", 0.35),
)
"""The tiles, the best for a large product first; doubles take two registers each, and begin with the second."""

MOST_DOUBLES = 32
"""Maximum number of sums of a thread for functions of doubles that are no products: their terms take registers, too."""

SMALL = (Shape("z4 r4", "x8 v2", 0.2, 8), Shape("z4 r2", "x8", 0.1, 8))
"""Tiles for many small products: a warp each."""

FLAT = (
    Shape("r4", "x32 v4", 0.12, 8),
    Shape("r8", "x32 v4", 0.2, 8),
    Shape("x32 r4", "v4", 0.12, 8),
    Shape("x32 r4", "r2 v4", 0.2, 8),
)
"""Tiles for few rows or columns: a warp each, of which there are many, for the larger factor is read once."""

PARTS = (2, 4, 8, 16, 32)
"""Numbers of parts that the terms of a product may be split into (split-k)."""

FEWEST_TERMS = 128
"""Minimum number of terms of a part."""

LAUNCH = 640_000
"""Multiply-adds that a multiprocessor does while another kernel is launched."""

COMBINED = 0.4
"""Multiply-adds of a multiprocessor in the time in which an element of a part is stored and added up by one of all."""


def shape_for(
    rows: int | None,
    columns: int | None,
    others: int | None,
    size: int,
    gpu: Gpu = _DEFAULT,
    is_product: bool = True,
) -> Shape:
    """The tile for a product of this many rows and columns, `others` of them in a batch, of elements of `size` bytes.

    >>> [(s.height, s.width) for s in (shape_for(4096, 4096, 1, 4), shape_for(512, 512, 1, 4), shape_for(32, 64, 8, 4))]
    [(128, 128), (32, 64), (16, 32)]
    >>> [(s.height, s.width) for s in (shape_for(16, 16, 20000, 4), shape_for(8, 8, 20000, 4))]
    [(16, 16), (8, 8)]
    """
    extents = [UNKNOWN_EXTENT if extent is None else extent for extent in (rows, columns)]
    batch = 1 if others is None else others
    large = SHAPES[1 if size > 4 else 0 :]
    if size > 4 and not is_product:
        large = [shape for shape in large if shape.sums <= MOST_DOUBLES]
    shapes = (*large, *SMALL, *(FLAT if min(extents) < FEWEST else ()))
    return min(shapes, key=lambda shape: _time(shape, extents[0], extents[1], batch, gpu))


def _time(shape: Shape, rows: int, columns: int, others: int, gpu: Gpu) -> float:
    """Multiply-adds of the busiest multiprocessor a term, by how well the tile keeps it busy."""
    blocks = others * -(-rows // shape.height) * -(-columns // shape.width)
    waves = -(-blocks // (gpu.multiprocessors * shape.together))
    return waves * shape.together * shape.height * shape.width / shape.rate


def split_for(
    rows: int, columns: int, others: int, terms: int, size: int, gpu: Gpu = _DEFAULT
) -> tuple[Shape, int] | None:
    """The tile, and into how many parts the terms go, of a product with few elements; None where parts do not pay.

    >>> split_for(4096, 4096, 1, 4096, 4), split_for(128, 128, 1, 512, 4)
    (None, None)
    >>> [(s.height, s.width, n) for s, n in [split_for(4, 4096, 1, 4096, 4), split_for(128, 128, 1, 8192, 4)]]
    [(4, 128, 32), (32, 32, 8)]
    """
    whole = _time(shape_for(rows, columns, others, size, gpu), rows, columns, others, gpu) * terms
    found: list[tuple[float, Shape, int]] = []
    for count in PARTS:
        if terms < count * FEWEST_TERMS:
            break
        combined = LAUNCH + COMBINED * count * others * rows * columns
        for shape in (*SHAPES[1 if size > 4 else 0 :], *FLAT):
            time = _time(shape, rows, columns, others * count, gpu) * terms / count + combined
            found.append((time, shape, count))
    best = min(found, key=lambda entry: entry[0], default=None)
    return None if best is None or best[0] >= whole else best[1:]


def schedule_product(nest: ForOp, gpu: Gpu, steps: Steps) -> bool:
    """Tile a product with the nests around it; False, and nothing changed, where the nest is none or a step is refused."""
    if not is_product(nest):
        if not _is_product_when_perfect(nest):
            return False
        make_perfect_nest(nest, steps)
    product = sum_of_products_in(perfect_band(nest))
    assert product is not None
    size = element_bytes(product.sums.values[0].type)
    if _schedule_parts(product, size, gpu, steps):
        return True
    if product_in(perfect_band(nest)) is None and not _is_long(product, size, gpu):
        return False
    what = _what(product)
    make_perfect(nest, steps)
    counts = [extent_of(loop) for loop in product.batch]
    batch = None if None in counts else prod(n for n in counts if n is not None)
    rows, columns = extent_of(product.row), extent_of(product.column)
    shape = shape_for(rows, columns, batch, size, gpu, what == "product")
    terms = extent_of(product.term)
    depth = max(1, DEPTH // max(4, size))
    if terms is not None:
        depth = min(depth, max(4, power_above(terms)))
    tile = SumTile(
        product.sums,
        list(product.batch),
        [(product.row, parts(shape.rows)), (product.column, parts(shape.columns))],
        [product.term],
        depth,
        stages=STAGES,
    )
    text = _text(product, shape)
    refusal = tile_sum(tile, steps)
    if refusal is not None:
        remark(nest, f'the {what} "{nest.label}" is not computed in tiles: {refusal.diagnostic.message}')
        return False
    remark(tile.nest, text)
    return True


def is_product(nest: ForOp) -> bool:
    """Whether a nest is a product of matrices, or combines another function of two factors by another combiner."""
    band = perfect_band(nest)
    product = sum_of_products_in(band)
    if product is None or axes_of(product.sums.indices) is None:
        return False
    return not isinstance(sum_factors(product.sums, band), NoFactors)


def _is_product_when_perfect(nest: ForOp) -> bool:
    """Whether it is one when what its loops load is loaded in the innermost one."""
    loops = loops_in(nest)
    if len(loops) < 3 or [loop.body.block.last_op for loop in loops[:-1]] != loops[1:]:
        return False
    found = copies(nest)[nest]
    make_perfect_nest(found, UNRECORDED)
    return is_product(found)


def _schedule_parts(product: Product, size: int, gpu: Gpu, steps: Steps) -> bool:
    """Tile a product with few elements and many terms in parts of these; False, and nothing changed, where it is none."""
    extents = [extent_of(loop) for loop in (product.row, product.column, product.term, *product.batch)]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents) or min(known) < 2:
        return False
    rows, columns, terms, *batch = known
    if (found := split_for(rows, columns, prod(batch), terms, size, gpu)) is None:
        return False
    shape, count = found
    nest = product.outermost
    make_perfect(nest, steps)
    how = SplitTile(parts(shape.rows), parts(shape.columns), DEPTH // max(4, size), count, STAGES)
    text = f"{_text(product, shape)}, and in {count} parts of the terms"
    refusal = tile_parts(product, how, steps)
    if refusal is not None:
        remark(nest, f'the terms of "{nest.label}" are not split into parts: {refusal.diagnostic.message}')
        return False
    remark(product.sums, text)
    return True


def _is_long(product: Product, size: int, gpu: Gpu) -> bool:
    """Whether a product of few rows, or columns, has so many of the others that tiles of them fill a GPU."""
    rows, columns, terms, *batch = (
        extent_of(loop) for loop in (product.row, product.column, product.term, *product.batch)
    )
    if rows is None or columns is None or terms is None or None in batch:
        return False
    if min(rows, columns) < 2 or terms < FEWEST:
        return False
    others = prod(n for n in batch if n is not None)
    shape = shape_for(rows, columns, others, size, gpu)
    return others * -(-rows // shape.height) * -(-columns // shape.width) >= 2 * gpu.multiprocessors


def _what(product: Product) -> str:
    """What a remark calls it."""
    factors = sum_factors(product.sums, enclosing_loops(product.sums))
    is_product = (
        isinstance(factors, SumFactors) and factors.is_product and product.sums.combiner.data == "add"
    )
    return "product" if is_product else "reduction"


def _text(product: Product, shape: Shape) -> str:
    extents = [extent_of(loop) for loop in (*product.batch, product.row, product.column)]
    whole = " x ".join("?" if extent is None else str(extent) for extent in extents)
    threads = prod(
        part.size for text in (shape.rows, shape.columns) for part in parts(text) if part.axis in "xyz"
    )
    own = shape.height * shape.width // threads
    return (
        f'the {_what(product)} "{product.outermost.label}" of {whole} elements is computed in tiles of {shape.height} x '
        f"{shape.width} by {threads} threads, {own} elements each"
    )
