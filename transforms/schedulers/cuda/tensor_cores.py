"""Products of matrices by tensor cores (part of nest-schedule-cuda): 16-bit floats, bytes, tf32, summed up in 32 bits.

    nest.for "i" %i = 0 to 512 {                                  (and a nest before it that sets %t,
      nest.for "j" %j = 0 to 512 {                                 nests after it that use %t)
        nest.for "k" %k = 0 to 512 {
          ... nest.accumulate "t" add %p, %t[%i, %j]              // of %a[%i, %k] and %b[%k, %j]
  becomes
    nest.for "i.o" ... bind "block.y" {                           // a block: 128 x 128 sums, 8 warps
      nest.for "j.o" ... bind "block.x" {
        %sums = nest.alloc "sums" : memref<2x4x32x4x4x2x2xf32, 5> // warps, lanes; tiles of a warp, a lane's corner of one
        ... they are set
        nest.for "k.o" ... {                                      // 32 terms
          ... tiles of %a and %b are copied to shared memory, with zeros where these end
          nest.for "warp_row" ... bind "thread.y" {
            nest.for "warp_column" ... bind "thread.x" {
              nest.for "lane" ... bind "lane" {
                nest.for "k_step" ... {
                  nest.for "m" ... attributes {nestor.matrix} {   // ldmatrix and mma.sync: see kernels/matrix_tiles.py
        ... what uses %t is done to %sums

Here is which products these are, and which tile each gets; the steps are in cuda/matrix_tiles.py. Factors that a program
computes are computed where they are copied, casts to 32 bits are the instruction's. Products of other types are left to
the schedules of threads (those of float32, too, unless the function is granted tf32), and so are operands of which no
adjacent elements follow each other along a loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.machine import Gpu
from ....analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS, Form, form_of, may_round
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.nest import ForOp, LoadOp
from ....dialects.remarks import remark
from ...nest.rewrite.steps import UNRECORDED, Steps
from ..patterns.product_casts import Cast, inline_casts
from ..patterns.products import Product, product_in
from ..patterns.tiles import axes_of, pattern_in
from .grid import units
from .matrix_tiles import MatrixTiling
from .sum_tiles import SumTile, make_perfect, parts, tile_sum


@dataclass(frozen=True)
class Tiles:
    """Rows and columns of a block, and its warps along them."""

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int

    @property
    def parts(self) -> tuple[str, str]:
        """Which rows and columns are those of a warp, of one of its tiles, of a lane."""
        m = self.rows // self.warp_rows // ROWS
        n = self.columns // self.warp_columns // COLUMNS
        rows, columns = f"r{m} r2 l8", f"r{n} l4 v2"
        if self.warp_rows * self.warp_columns == 1:
            return rows, columns
        return f"y{self.warp_rows} {rows}", f"x{self.warp_columns} {columns}"


SIZES = (Tiles(128, 128, 2, 4), Tiles(64, 64, 2, 2), Tiles(32, 32, 1, 1))
"""The largest first: an element of a tile is used as often as the tile is long."""

STEPS = 2
"""Instructions along the sum in a tile: rows of 64 bytes."""

STAGES = 3
"""Tiles of the sum that are in shared memory at a time, one in use and the others in flight."""

UNKNOWN_EXTENT = 1024
"""Assumed value of an extent that is known at run time only."""


def schedule_tensor_cores(function: FuncOp, gpu: Gpu, steps: Steps = UNRECORDED) -> None:
    """Tile the products of a function that tensor cores can compute, each with the nests around it."""
    _inline_casts(function, steps)
    for nest in list(units(function.body.block)):
        if isinstance(nest, ForOp) and nest.parent is not None:
            product = product_in(perfect_band(nest))
            if product is not None and not product.batch:
                schedule_matrix_product(nest, gpu, steps)


def schedule_matrix_product(nest: ForOp, gpu: Gpu, steps: Steps) -> bool:
    """Tile a product for tensor cores, with the nests around it; False, and nothing changed, where it is none for them."""
    product = product_in(perfect_band(nest))
    if product is None or axes_of(product.sums.indices) is None:
        return False
    form = _form_of(product)
    if form is None:
        return False
    make_perfect(nest, steps)
    tiles = tiles_for(product, gpu)
    rows, columns = map(parts, tiles.parts)
    terms = extent_of(product.term)
    depth = STEPS * form.terms
    stages = STAGES if terms is None else max(1, min(STAGES, -(-terms // depth)))
    tile = SumTile(
        product.sums,
        list(product.batch),
        [(product.row, rows), (product.column, columns)],
        [product.term],
        depth,
        stages=stages,
    )
    refusal = tile_sum(tile, steps, MatrixTiling)
    if refusal is not None:
        text = f'the product in the nest "{nest.label}" cannot use tensor cores: '
        remark(nest, text + refusal.diagnostic.message)
        return False
    return True


def _inline_casts(function: FuncOp, steps: Steps) -> None:
    """Let products read what tensor cores multiply, where it was made wider for them: they widen it themselves."""
    nests = [nest for nest in units(function.body.block) if isinstance(nest, ForOp)]
    found = [product for nest in nests if (product := product_in(perfect_band(nest))) is not None]
    for product in found:
        inline_casts(product, nests, _is_of_instruction, steps)


def _is_of_instruction(cast: Cast) -> bool:
    return not isinstance(cast, arith.ExtUIOp) and form_of(cast.input.type) is not None


def _form_of(product: Product) -> Form | None:
    """The instruction that multiplies the factors, if neighbours along one of the loops are adjacent in memory."""
    factors = product.sums.values[0].owner
    if not isinstance(factors, arith.MulfOp | arith.MuliOp) or factors.results[0].type not in (
        Float32Type(),
        i32,
    ):
        return None
    narrow = [_narrow(value) for value in factors.operands]
    if narrow[0].type != narrow[1].type or (form := form_of(narrow[0].type)) is None:
        return None
    if not may_round(product.sums, form):
        return None
    loads = [op for op in product.outermost.walk() if isinstance(op, LoadOp)]
    is_known = len(loads) == 2 and all(
        any(_moves_along_rows(load, loop) for loop in (product.term, product.row, product.column))
        for load in loads
    )
    return form if is_known else None


def _narrow(value: SSAValue) -> SSAValue:
    """What a factor was before it was made wider."""
    cast = value.owner
    return cast.operands[0] if isinstance(cast, arith.ExtFOp | arith.ExtSIOp) else value


def _moves_along_rows(load: LoadOp, loop: ForOp) -> bool:
    """Whether an access is to adjacent elements in the iterations of a loop."""
    return len(load.indices) > 1 and pattern_in(load, load.memref, loop) == UNIT


def tiles_for(product: Product, gpu: Gpu) -> Tiles:
    """The largest tiles of which there are enough to fill a GPU, or the smallest."""
    rows, columns, *others = (
        UNKNOWN_EXTENT if (n := extent_of(loop)) is None else n
        for loop in (product.row, product.column, *product.batch)
    )
    for tiles in SIZES:
        if prod(others) * -(-rows // tiles.rows) * -(-columns // tiles.columns) >= gpu.multiprocessors:
            return tiles
    return SIZES[-1]
