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

from ....analysis.machine import STATIC_SHARED_BYTES, Gpu, gpu
from ....analysis.nest.kernels.matrix_tiles import COLUMNS, ROWS, Form, form_of, may_round
from ....analysis.nest.loop_structure import perfect_band
from ....analysis.nest.sets.access_patterns import UNIT
from ....analysis.nest.values.powers_of_two import power_above
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, ForOp, LoadOp
from ....dialects.remarks import remark
from ...nest.rewrite.steps import UNRECORDED, Steps
from ..patterns.product_casts import Cast, inline_casts
from ..patterns.products import Product, product_in
from ..patterns.tiles import axes_of, pattern_in
from .grid import units
from .matrix_tiles import MatrixTiling
from .split_terms import SplitTile, tile_parts
from .sum_tiles import SumTile, make_perfect, parts, tile_sum

_DEFAULT = gpu()


@dataclass(frozen=True)
class Tiles:
    """Rows and columns of a block, and its warps along them."""

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int

    @property
    def warps(self) -> int:
        return self.warp_rows * self.warp_columns

    @property
    def of_warp(self) -> tuple[int, int]:
        """Tiles of the instruction along rows and along columns that a warp has."""
        return self.rows // self.warp_rows // ROWS, self.columns // self.warp_columns // COLUMNS

    @property
    def parts(self) -> tuple[str, str]:
        """Which rows and columns are those of a warp, of one of its tiles, of a lane."""
        m, n = self.of_warp
        warp_row = f"y{self.warp_rows} " if self.warp_rows > 1 else ""
        warp_column = f"x{self.warp_columns} " if self.warp_columns > 1 else ""
        return f"{warp_row}r{m} r2 l8", f"{warp_column}r{n} l4 v2"

    @property
    def steps(self) -> int:
        """Instructions along the sum in a tile: rows of 64 bytes, longer ones where some threads would have none to copy."""
        pieces = 2 * min(self.rows, self.columns)
        return max(STEPS, LANES * self.warps // pieces)

    @property
    def step_bytes(self) -> int:
        """Bytes of the factors of a step."""
        return (self.rows + self.columns) * self.steps * TERM_BYTES

    @property
    def cycles(self) -> float:
        """Cycles of a multiprocessor for an instruction's terms: what takes longest of three things that go on at a time."""
        m, n = self.of_warp
        across = self.rows + self.columns
        products = self.warps * m * n * PRODUCT / QUARTERS
        fragments = self.warps * (4 * m + 2 * n) + across * TERM_BYTES / BANKS
        return max(products, fragments, across * TERM_BYTES / FROM_MEMORY)

    @property
    def together(self) -> float:
        """Blocks that hide the latencies of each other."""
        return max(1.0, ENOUGH_WARPS / self.warps)


SIZES = (
    Tiles(128, 256, 2, 4),
    Tiles(256, 128, 4, 2),
    Tiles(128, 128, 2, 2),
    Tiles(128, 64, 2, 2),
    Tiles(64, 128, 2, 2),
    Tiles(64, 64, 2, 2),
    Tiles(32, 128, 1, 4),
    Tiles(128, 32, 4, 1),
    Tiles(32, 64, 1, 2),
    Tiles(64, 32, 2, 1),
    Tiles(32, 32, 1, 1),
    Tiles(16, 128, 1, 4),
    Tiles(128, 16, 4, 1),
    Tiles(16, 64, 1, 2),
    Tiles(64, 16, 2, 1),
    Tiles(16, 32, 1, 1),
    Tiles(32, 16, 1, 1),
)
"""The tiles, the largest first: an element of a tile is used as often as the tile is long."""

TRIED = 3
"""The best tiles that are tried: copies of a tile may not be shared out evenly over the threads of its block."""

PRODUCT, QUARTERS = 8, 4
"""Cycles of an instruction, in each quarter of a multiprocessor."""

TERM_BYTES = 32
"""Bytes of the terms of an instruction, in a row."""

BANKS, FROM_MEMORY = 128, 32
"""Bytes a cycle: of shared memory, and those that a multiprocessor gets from the second-level cache, about."""

ENOUGH_WARPS = 8
"""Warps that keep a multiprocessor busy."""

ALONE = 0.5
"""Share of the time of enough blocks that one of them takes by itself, at least."""

STEPS = 2
"""Instructions along the sum in a tile: rows of 64 bytes."""

STAGES = 4
"""Tiles of the sum that are in shared memory at a time, one in use and the others in flight, at most."""

SHARED = 72 << 10
"""Bytes of these, of a block: two blocks of 64 KiB share a multiprocessor of 164."""

PARTS = (2, 4, 8, 16, 32, 64)
"""Numbers of parts that the terms of a product may be split into (split-k)."""

FEWEST_STEPS = 4
"""Minimum number of steps of a part."""

LAUNCH = 5000.0
"""Cycles in which another kernel is launched."""

COMBINED = 0.3
"""Cycles of a multiprocessor in which an element of a part is stored and added up."""

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
    refusal: NestorError | None = None
    for tiles, count in ways(product, form, gpu)[:TRIED]:
        how = _in_parts if count > 1 else _whole
        refused = how(product, tiles, form, count, gpu, steps)
        if refused is None:
            return True
        refusal = refusal or refused
    assert refusal is not None
    text = f'the product in the nest "{nest.label}" cannot use tensor cores: '
    remark(nest, text + refusal.diagnostic.message)
    return False


def _whole(
    product: Product, tiles: Tiles, form: Form, count: int, gpu: Gpu, steps: Steps
) -> NestorError | None:
    """Tile it; the refusal, and nothing changed, where a step is refused."""
    make_perfect(product.outermost, steps)
    rows, columns = map(parts, tiles.parts)
    stages = _stages(tiles, extent_of(product.term), form, gpu)
    tile = SumTile(
        product.sums,
        list(product.batch),
        [(product.row, rows), (product.column, columns)],
        [product.term],
        tiles.steps * form.terms,
        stages=stages,
        results=_room_for_results(tiles, stages, gpu),
    )
    return tile_sum(tile, steps, MatrixTiling)


def _in_parts(
    product: Product, tiles: Tiles, form: Form, count: int, gpu: Gpu, steps: Steps
) -> NestorError | None:
    """Tile it in parts of its terms; the refusal, and nothing changed, where a step is refused."""
    make_perfect(product.outermost, steps)
    rows, columns = map(parts, tiles.parts)
    terms = extent_of(product.term)
    own = None if terms is None else -(-terms // count)
    how = SplitTile(rows, columns, tiles.steps * form.terms, count, _stages(tiles, own, form, gpu))
    return tile_parts(product, how, steps, MatrixTiling)


def _stages(tiles: Tiles, terms: int | None, form: Form, gpu: Gpu) -> int:
    """Tiles of the sum that are in shared memory: as many as fit, and as there are."""
    size = tiles.step_bytes
    room = min(SHARED, gpu.limits.shared_of_block, int(gpu.limits.shared / tiles.together))
    of_buffer = max(tiles.rows, tiles.columns) * tiles.steps * TERM_BYTES
    stages = max(1, min(STAGES, room // size, STATIC_SHARED_BYTES // of_buffer))
    return stages if terms is None else max(1, min(stages, -(-terms // (tiles.steps * form.terms))))


def _room_for_results(tiles: Tiles, stages: int, gpu: Gpu) -> int:
    """Bytes of shared memory for results that leave as many blocks as hide latencies room on a multiprocessor."""
    limits = gpu.limits
    room = min(limits.shared_of_block, int(limits.shared / tiles.together) - limits.reserved)
    return max(0, room - stages * tiles.step_bytes)


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
    narrow = [narrow_factor(value) for value in factors.operands]
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


def narrow_factor(value: SSAValue) -> SSAValue:
    """What a factor was before it was made wider."""
    cast = value.owner
    return cast.operands[0] if isinstance(cast, arith.ExtFOp | arith.ExtSIOp) else value


def _moves_along_rows(load: LoadOp, loop: ForOp) -> bool:
    """Whether an access is to adjacent elements in the iterations of a loop."""
    return len(load.indices) > 1 and pattern_in(load, load.memref, loop) == UNIT


def ways(product: Product, form: Form, gpu: Gpu) -> list[tuple[Tiles, int]]:
    """Tiles, and into how many parts the terms go, the way of the least time first."""
    terms = extent_of(product.term)
    return ways_of(product, terms, form, gpu)


def ways_of(product: Product, terms: int | None, form: Form, gpu: Gpu) -> list[tuple[Tiles, int]]:
    """Tiles, and into how many parts so many terms go, the way of the least time first."""
    rows, columns, others = _extents(product)
    known = [terms, *(extent_of(loop) for loop in (product.row, product.column, *product.batch))]
    found: list[tuple[float, int, Tiles, int]] = []
    for place, tiles in enumerate(candidates(rows, columns)):
        depth = tiles.steps * form.terms
        for count in (1, *(() if None in known else PARTS)):
            own = -(-(terms or UNKNOWN_EXTENT) // (count * depth)) * tiles.steps
            if count > 1 and own < FEWEST_STEPS * tiles.steps:
                break
            combined = LAUNCH + COMBINED * count * others * rows * columns / gpu.multiprocessors
            time = time_of(tiles, rows, columns, others * count, gpu) * own
            found.append((time + (combined if count > 1 else 0), place, tiles, count))
    return [(tiles, count) for _, _, tiles, count in sorted(found, key=lambda way: way[:2])]


def candidates(rows: int, columns: int) -> list[Tiles]:
    """The tiles that are no larger than the extents, or than the power of two above these.

    >>> [(t.rows, t.columns) for t in candidates(8, 60)]
    [(16, 64), (16, 32)]
    """
    most = max(ROWS, power_above(rows)), max(SIZES[-1].columns, power_above(columns))
    return [tiles for tiles in SIZES if tiles.rows <= most[0] and tiles.columns <= most[1]] or [SIZES[-1]]


def time_of(tiles: Tiles, rows: int, columns: int, others: int, gpu: Gpu = _DEFAULT) -> float:
    """Cycles of the busiest multiprocessor, for an instruction's terms.

    >>> extents = (4096, 4096, 1), (1024, 1024, 1), (8, 4096, 1)
    >>> best = [min(candidates(*e[:2]), key=lambda t: time_of(t, *e)) for e in extents]
    >>> [(t.rows, t.columns) for t in best]
    [(128, 256), (128, 64), (16, 128)]
    """
    blocks = others * -(-rows // tiles.rows) * -(-columns // tiles.columns)
    each = -(-blocks // gpu.multiprocessors)
    return max(each, ALONE * tiles.together) * tiles.cycles


def _extents(product: Product) -> tuple[int, int, int]:
    """Rows, columns, and how many such products, as far as is known."""
    rows, columns, *others = (
        UNKNOWN_EXTENT if (n := extent_of(loop)) is None else n
        for loop in (product.row, product.column, *product.batch)
    )
    return rows, columns, prod(others)
