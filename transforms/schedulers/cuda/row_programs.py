"""Programs on whole rows on the GPU (part of nest-schedule-cuda): a warp or a block computes a row, in registers.

    nest.for "i" %i = 0 to 4096 {                                  softmax
      nest.for "j" %j = 0 to 1000 { ... accumulate %maximum[] }
      nest.for "j.1" %j = 0 to 1000 { ... store %result[%i, %j] ... accumulate %add[] }
      nest.for "j.2" %j = 0 to 1000 { ... load %result[%i, %j] ... store %result[%i, %j] }
    }
  becomes
    nest.for "i.o" ... bind "block.x" {
      nest.for "i.i" ... bind "thread.x" {                         a warp for each row
        %x_local = nest.alloc : memref<32x32xf32, 5>               the row, element [%l, %o] in a register of lane %l
        nest.for "x.load.i" %l = 0 to 32 bind "lane" { nest.for "x.load.o" ... unrolled { ... } }
        nest.for "j.i" %l = 0 to 32 bind "lane" {
          %maximum_local = nest.alloc : memref<f32>                what this lane has seen
          nest.for "j.o" %o = 0 to 32 unrolled { ... %x_local[%l, %o] ... accumulate %maximum_local[] }
          nest.accumulate "maximum" ... %maximum[]                 by shuffles
        }
        ...

Each pass over the row is shared out by element: neighbouring lanes, neighbouring elements. Rows of up to `WARP_ROW` elements
are one for each warp, and no thread waits for another one; longer rows are one for each block: the warps' results go
to shared memory, and after one barrier every thread combines them. Rows that several passes read or
write are loaded and stored once and kept in registers where a thread has at most `MOST_KEPT` of their elements; longer
rows are read by each pass. Where only the run time knows the length there are two kernels, of which the host takes one
(nest-specialise): rows that shared memory has room for are there meanwhile, each thread having elements of its own.

One thread per row remains where a row is shorter than `SHORTEST`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from ....analysis.machine import ACCESS_BYTES, REGISTERS_OF_BLOCK, STATIC_SHARED_BYTES
from ....analysis.nest.buffers import buffer_name, element_bytes
from ....analysis.nest.kernels.barriers import change_with_places
from ....analysis.nest.loop_structure import enclosing_function, perfect_band, statements
from ....analysis.nest.sets.access_patterns import buffer_accesses
from ....analysis.nest.sets.accesses import is_defined_outside, root_of
from ....analysis.nest.values.powers_of_two import power_below
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.attributes import UNROLL
from ....dialects.diagnostic import NestorError
from ....dialects.nest import LANES, MAX_THREADS, AccumulateOp, AllocOp, ForOp, LoadOp
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.normalise import remove_unit_loop
from ...nest.loops.rename import rename_freely
from ...nest.loops.reorder import reorder
from ...nest.loops.specialise import specialise
from ...nest.loops.split import split
from ...nest.mapping.annotate import annotate
from ...nest.mapping.bind import bind
from ...nest.mapping.vectorize import vectorize
from ...nest.memory.cache_read import cache_read
from ...nest.memory.cache_write import cache_write
from ...nest.memory.resize_buffer import resize_buffer
from ...nest.memory.set_memory import set_memory
from ...nest.memory.transform_layout import transform_layout
from ...nest.reductions.privatise import privatise
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..patterns.costs import bits_of
from .grid import grid_axes, make_perfect
from .row_program_parts import (
    Pass,
    bands_in,
    buffers_of,
    is_row_program,
    is_worth_keeping,
    length_of,
    product_of,
)

WARP_ROW = 1024
"""Maximum length of a row that a warp computes, in elements of 32 bits."""

SHORTEST_PASS = 8
"""Neighbouring elements below which most lanes of a warp would have nothing to do in a pass."""

MOST_KEPT = 64
"""Maximum number of elements of 32 bits, of all rows together, that a thread keeps in registers."""

OTHERS = 4
"""Registers of a thread, beside a row's, for each buffer that it accesses, and again for each 32 bits of an element there.

With fewer, kernels of layer norm spill."""

PER_THREAD = 8
"""Elements of a row for each thread of a block, where there are threads enough."""

SHARED = STATIC_SHARED_BYTES - (8 << 10)
"""Maximum size of all rows that a block keeps in shared memory, in bytes; the rest is for its partial results."""


@dataclass(frozen=True)
class Team:
    """Who computes a row: a warp, `rows` of them in a block, or a block of `warps` warps."""

    warps: int
    rows: int
    is_kept: bool
    """Whether rows stay in registers."""
    width: int = 1
    """Neighbouring elements that a thread moves in one access."""
    staged: int = 0
    """Elements of a row for which shared memory has room: rows stay there, not in registers."""

    @property
    def elements(self) -> int:
        """Elements that the team moves in one access of each thread."""
        return self.warps * LANES * self.width


def schedule_rows(band: list[ForOp], block: int, steps: Steps) -> bool:
    """Let warps or blocks compute the iterations of a band of independent loops; False where these are not rows."""
    row = band[-1]
    if len(band) > 3 or not is_row_program(row):
        return False
    for one in bands_in(row):  # threads share out the innermost loop: as long a one as memory allows
        flatten_neighbours(one, steps)
    if all((extent_of(one[-1]) or LANES) < SHORTEST_PASS for one in bands_in(row)):
        return False
    if length_of(bands_in(row)) is None and _split_off_short_rows(band, block, steps):
        return True
    for team in _teams(band, block):
        if _is_legal(band, team):
            Rows(band, team, steps).run()
            return True
    return False


def _split_off_short_rows(band: list[ForOp], block: int, steps: Steps) -> bool:
    """Let rows of unknown length have two kernels, the host takes one: rows that shared memory has room for, and others."""
    staged = _staged_elements(band[-1])
    if not staged:
        return False
    inner = bands_in(band[-1])[0][-1]
    teams = [Team(max(1, block // LANES), 1, True, staged=staged), *_teams(band, block)]
    when = f"upper({inner.label}) <= {staged}"

    def change(*copies: ForOp) -> None:
        function = enclosing_function(copies[0])
        change_with_places(function, lambda: _bind_both(list(copies), when, teams, UNRECORDED))

    try:
        trial(change, *band)
    except NestorError:
        return False
    _bind_both(band, when, teams, steps)
    return True


def _bind_both(band: list[ForOp], when: str, teams: list[Team], steps: Steps) -> None:
    for nest, team in zip(steps.do(specialise, band[0], when=when), teams, strict=True):
        Rows(perfect_band(nest)[: len(band)], team, steps).run()


def _staged_elements(row: ForOp) -> int:
    """How long rows may be of which copies are in shared memory; 0 where no copy is of use."""
    kept = [buffer.type for buffer in buffers_of(row) if is_worth_keeping(buffer, row)]
    size = sum(element_bytes(type_.element_type) for type_ in kept if isinstance(type_, MemRefType))
    return SHARED // size if size else 0


def _is_legal(band: list[ForOp], team: Team) -> bool:
    """Whether every step is, and all barriers that the kernel then needs have a place."""

    def change(*copies: ForOp) -> None:
        change_with_places(enclosing_function(copies[0]), Rows(list(copies), team, UNRECORDED).run)

    try:
        trial(change, *band)
    except NestorError:
        return False
    return True


# ---- who computes a row -----------------------------------------------------------------------------


def _teams(band: list[ForOp], block: int) -> list[Team]:
    """The teams to try, the best one first."""
    row = band[-1]
    bands = bands_in(row)
    length = length_of(bands)
    inner = [extent_of(one[-1]) for one in bands]
    if length is None:
        return [Team(max(1, block // LANES), 1, False)]
    widest = max(n for n in inner if n is not None)
    rows = product_of([extent_of(loop) for loop in band])
    width = width_of(bands)
    words = max(1, max(element_bytes(b.type.element_type) for b in buffers_of(row)) // 4)  # pyright: ignore
    if length * words <= WARP_ROW:
        many = power_below(min(block // LANES, rows or block))
        return [Team(1, many, kept, width) for kept in (True, False)]
    warps = power_below(min(MAX_THREADS // LANES, max(block // LANES, length // (PER_THREAD * LANES))))
    while warps > 1 and LANES * warps * width >= 2 * widest:
        warps //= 2
    return [Team(warps, 1, kept, width) for kept in (True, False)]


def width_of(bands: list[list[ForOp]]) -> int:
    """How many elements a thread moves in one access: 16 bytes of the largest ones, where rows are made of so many.

    Fewer in short rows, of which half of a warp's lanes would have nothing.
    """
    largest, width = 1, ACCESS_BYTES
    for band in bands:
        extent = extent_of(band[-1])
        while extent is None or extent % width or (width > 1 and 2 * extent <= LANES * width):
            width //= 2
            if extent is None or width == 1:
                return 1
        for op, buffer in buffer_accesses(band[-1]):
            assert isinstance(buffer.type, MemRefType)
            if any(band[-1].iv in op.indices[k].operands for k in range(len(op.indices))):
                largest = max(largest, element_bytes(buffer.type.element_type))
    return min(width, ACCESS_BYTES // largest)


# ---- scheduling -------------------------------------------------------------------------------------


class Rows:
    """The steps for one band; raises a diagnostic where one is refused."""

    def __init__(self, band: list[ForOp], team: Team, steps: Steps):
        self.band = band
        self.team = team
        self.steps = steps
        self.row = band[-1]
        self.warps: list[ForOp] = []
        self.lanes: list[ForOp] = []
        self.shared: list[AllocOp] = []
        self.local: list[AllocOp] = []
        self.kept: list[AllocOp] = []

    def run(self) -> None:
        blocks = self._share_rows()
        if self.team.is_kept:
            self._keep_rows()
        self._own_elements()
        for op in list(self.row.body.block.ops):
            if isinstance(op, ForOp):
                self._share_pass(Pass(flatten_neighbours(perfect_band(op), self.steps)))
        self.local += [self._deal_out(alloc) for alloc in self.kept]
        self._bind(blocks)

    def _share_rows(self) -> list[ForOp]:
        """The loops over blocks; `row` is then the loop whose iterations warps run, or blocks."""
        if self.team.warps > 1:
            return self.band
        outer, inner = self.steps.do(split, self.row, factor=self.team.rows, tail="clamp")
        self.row = inner
        self.warps.append(inner)
        return [*self.band[:-1], outer]

    def _bind(self, blocks: list[ForOp]) -> None:
        axes = grid_axes([extent_of(loop) for loop in blocks])
        if axes is None:
            raise NestorError("the grid would have more than 65535 blocks along two axes")
        for loop, axis in zip(blocks, axes, strict=True):
            self.steps.do(bind, loop, axis=axis)
        for loops, axis in ((self.warps, "thread.x"), (self.lanes, "lane")):
            for loop in loops:
                self.steps.do(bind, loop, axis=axis)
        for op in list(self.row.body.block.ops):
            if isinstance(op, AllocOp) and op not in self.shared and op not in self.local:
                self.local.append(op)
        for alloc in self.shared:
            self.steps.do(set_memory, alloc, space="shared")
        for alloc in self.local:
            self.steps.do(set_memory, alloc, space="local")

    # ---- rows in registers ----

    def _keep_rows(self) -> None:
        """Copies in registers of the rows that several passes touch."""
        kept = [buffer for buffer in buffers_of(self.row) if is_worth_keeping(buffer, self.row)]
        if not kept:
            raise NestorError("no row is touched by several passes")
        sizes: list[int] = []
        around = [buffer for buffer in buffers_of(self.row) if is_defined_outside(buffer, self.row)]
        others = sum(OTHERS * (1 + max(1, bits_of(b.type.element_type) // 32)) for b in around)  # pyright: ignore
        for buffer in kept:
            writes = any(
                not isinstance(op, LoadOp) for op, other in buffer_accesses(self.row) if other is buffer
            )
            stage = cache_write if writes else cache_read
            space = "global" if self.team.staged else "local"
            alloc, *copies = self.steps.do(stage, buffer, self.row, space=space, name=f"{_stem(buffer)}_row")
            for loop in copies:
                if loop is not None:
                    rename_freely(self.steps, loop, "k")
            if self.team.staged:
                sizes.append(self._stage(alloc))
                continue
            self.kept.append(alloc)
            sizes.append(self._registers_of(alloc))
        if self.team.staged and sum(sizes) > SHARED:
            raise NestorError("the rows are too long for shared memory")
        most = REGISTERS_OF_BLOCK // (LANES * self.team.warps)
        if not self.team.staged and (sum(sizes) > MOST_KEPT or max(sizes) + others > most):
            raise NestorError("the rows are too long for registers")

    def _stage(self, alloc: AllocOp) -> int:
        """Keep a row in shared memory; the bytes that it takes."""
        shape = alloc.memref.type.get_shape()
        if shape[-1] == DYNAMIC_INDEX:
            alloc = self.steps.do(resize_buffer, alloc, dimension=len(shape) - 1, size=self.team.staged)
        if DYNAMIC_INDEX in alloc.memref.type.get_shape():
            raise NestorError("the rows are of unknown length")
        self.shared.append(alloc)
        return prod(alloc.memref.type.get_shape()) * element_bytes(alloc.memref.type.element_type)

    def _registers_of(self, alloc: AllocOp) -> int:
        """The registers of a thread that its elements of a row take."""
        buffer = alloc.memref.type
        assert isinstance(buffer, MemRefType)
        if DYNAMIC_INDEX in buffer.get_shape():
            raise NestorError("the rows are of unknown length")
        *outer, last = buffer.get_shape()
        return (
            prod(outer) * -(-last // (LANES * self.team.warps)) * max(1, bits_of(buffer.element_type) // 32)
        )

    def _deal_out(self, alloc: AllocOp) -> AllocOp:
        """Let lane %l of each warp %w have elements of a row: axes for these, so that the rest are its registers."""
        buffer = alloc.memref.type
        assert isinstance(buffer, MemRefType)
        outer = buffer.get_shape()[:-1]
        names = [f"n{k}" for k in range(len(outer))]
        width, warps = self.team.width, self.team.warps
        warp = [f"j/{LANES * width}%{warps}"] if warps > 1 else []
        element = [f"j%{width}"] if width > 1 else []
        lane = f"j/{width}%{LANES}" if width > 1 else f"j%{LANES}"
        layout = " ".join([*names, "j", "->", *warp, lane, *names, f"j/{self.team.elements}", *element])
        return self.steps.do(transform_layout, alloc, layout=layout)

    # ---- passes ----

    def _own_elements(self) -> None:
        """Elements that passes reduce into go to variables of the row, unless they are."""
        passes = [Pass(perfect_band(op)) for op in self.row.body.block.ops if isinstance(op, ForOp)]
        for op in [op for one in passes for op in one.updates]:
            if is_defined_outside(op.memrefs[0], self.row):
                label = f"{_stem(op.memrefs[0])}_total"
                self.steps.do(cache_write, op.memrefs[0], self.row, space="local", name=label)

    def _share_pass(self, one: Pass) -> None:
        """Let the threads of the team share out the innermost loop of a pass."""
        steps, team, inner = self.steps, self.team, one.band[-1]
        name, updates, outside = inner.label, one.updates, one.band[:-1]
        vectors: list[ForOp] = []
        if team.width > 1:
            inner, vector = steps.do(split, inner, factor=team.width, tail="perfect")
            vectors = [vector]
        rounds, lanes = steps.do(split, inner, factor=LANES * team.warps, tail="mask")
        warps: list[ForOp] = []
        if team.warps > 1:
            warp, lanes = steps.do(split, lanes, factor=LANES, tail="perfect")
            warps = [warp]
        make_perfect([*outside, rounds][0], steps)
        steps.do(reorder, [*warps, lanes, *outside, rounds, *vectors])
        if warps:
            warps = [self._reduce_warps(warps[0], updates)]
        for op in updates:
            buffer = op.memrefs[0]
            label = f"{_stem(buffer)}_lane"
            steps.do(cache_write, buffer, lanes, init="identity", space="local", name=label)
        for loop in vectors:
            steps.do(vectorize, loop, width=team.width)
        rename_freely(self.steps, rounds, name)
        if rounds.constant_trip_count() == 1:
            steps.do(remove_unit_loop, rounds)
        elif (rounds.constant_trip_count() or MOST_KEPT + 1) <= MOST_KEPT:
            steps.do(annotate, rounds, mark="unrolled" if _ends_in(vectors) else UNROLL)
        rename_freely(self.steps, lanes, "lane")
        for loop in warps:
            rename_freely(self.steps, loop, "warp")
        self.warps += warps
        self.lanes.append(lanes)

    def _reduce_warps(self, warp: ForOp, updates: list[AccumulateOp]) -> ForOp:
        """Results of the warps go to shared memory, and all threads combine them; the loop over the warps."""
        if not updates:
            return warp
        steps = self.steps
        parts, combine = steps.do(privatise, warp, parts=self.team.warps)
        steps.do(remove_unit_loop, warp)
        results = [op.memrefs for op in updates]
        self.shared += [b.owner for buffers in results for b in buffers if isinstance(b.owner, AllocOp)]
        for buffer in dict.fromkeys(buffers[0] for buffers in results):
            steps.do(cache_write, buffer, parts, space="local", name=f"{_stem(buffer)}_warp")
        steps.do(annotate, combine, mark="unrolled")
        return parts


def _ends_in(vectors: list[ForOp]) -> bool:
    """Whether the row may end inside of a vector: whole ones are then distinguished, all rounds at once."""
    return any(
        op.where is not None and loop.iv in op.where.operands for loop in vectors for op in statements(loop)
    )


def _stem(buffer: SSAValue) -> str:
    """The name of a buffer without what says whose part of it this is."""
    name = buffer_name(root_of(buffer))
    while (shorter := re.sub(r"_(parts|total|warp|lane)(\.\d+)?$", "", name)) != name:
        name = shorter
    return name


__all__ = ["Rows", "Team", "is_row_program", "schedule_rows"]
