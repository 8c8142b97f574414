"""nest-schedule-cpu: vectorize the inner loops of every nest and give the outer ones to threads.

    nest.for "i" %i = 0 to 999 {
      nest.for "j" %j = 0 to 1000 {
        %v = nest.load %x[%i, %j] : memref<999x1000xf32>
        nest.store "y" %v, %y[%i, %j] : memref<999x1000xf32>
      }
    }
  becomes
    %x_flat = memref.collapse_shape %x [[0, 1]] : memref<999x1000xf32> into memref<999000xf32>
    %y_flat = memref.collapse_shape %y [[0, 1]] : memref<999x1000xf32> into memref<999000xf32>
    nest.for "i_j.o" %o = 0 to 15609 parallel attributes {nestor.grain = 1024 : i64} {
      nest.for "i_j.i" %v = 0 to 64 vectorized(64) {
        ... %x_flat[64 * %o + %v] ...
      }
    }
    nest.for "i_j.t" %t = 0 to 24 vectorized(32) { ... }

What is done to a nest, from the outside in, wherever the primitives find it legal:

* Loops that memory allows to are made one (nest-flatten); a loop whose accesses are contiguous goes inside, an
  independent one outside (nest-reorder).
* The outermost independent loop is parallel; its grain is the iterations below which a thread does not pay.
* An innermost loop becomes vectors of several registers, the remainder one masked vector. A reduction gets one
  accumulator a lane (nest-rfactor), in blocks when it is a long sum of floats, so that errors do not grow
  with its length.
* A long reduction is done in parts, a number of them that depends on extents alone, by threads, and sums of columns a
  few rows at a time (cpu_reductions.py).
* A product of matrices is done in tiles of sums that stay in registers (cpu_products.py).
* A sum over several loops (a convolution) is done so, too, a block of the result at a time with what it is computed
  from and what is computed from it (cpu_convolutions.py).
* A matrix that serves one sum only is made in tiles, and never whole (cpu_pairs.py).
* What is read across what is written is done in tiles that are transposed in registers (cpu_transposes.py).
* Matrices of batches are made and used slice by slice (cpu_slices.py), a stack of them times one matrix is one product
  (cpu_stacks.py).
* Sums of independent rows whose order is given stand side by side (cpu_recurrences.py).
* A long running result is computed in blocks, by threads (cpu_scans.py).
* Where only an outer loop is contiguous (sums over columns) that one becomes vectors, around the inner loops.
  What these update in each iteration is kept in registers (nest-registerise), and a variable of the body gets an
  element a lane (nest-expand-buffer).
* Big arrays are fetched ahead, where they are read and where they are written; stores pass the caches
  (`nestor.nontemporal`) where much is read for them (cpu_streams.py). Where several passes are made over a row, the
  later ones fetch the next row (cpu_rows.py).

What stays serial or scalar is said in a remark, with the dependence or the access that is the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, StoreOp
from ...dialects.remarks import remark
from .buffers import buffer_name, buffers_in
from .cpu_lanes import (
    SCATTERED,
    SEVERAL,
    UNIT,
    access_patterns,
    arithmetic_in,
    extent_of,
    has_transcendental,
    machine_lanes,
    padded_width,
    work_inside,
)
from .cpu_recurrences import is_recurrence, jam_rows
from .cpu_reductions import (
    STREAMS,
    block_rows,
    column_sums_in,
    has_many_rows,
    in_turn,
    jam_sums,
    share_reduction,
)
from .cpu_rows import fetch_rows, rows_of
from .cpu_scans import block_long_scan, has_lanes, is_long_scan, scan_in_lanes
from .cpu_streams import fetch_ahead, stream_results
from .cpu_transposes import tile_transposed
from .dependence import Dependences
from .loops import enclosing_function, functions, loops_in, parent_loop, perfect_band, sole_inner_loop
from .nest_expand_buffer import expand_buffer
from .nest_flatten import flatten_neighbours
from .nest_parallel import parallelize, why_not_parallel
from .nest_registerise import registerise, why_not_registerise
from .nest_reorder import reorder, why_not_reorder
from .nest_rfactor import reductions_of, rfactor, why_not_rfactor
from .nest_set_memory import set_memory
from .nest_split import split, why_not_split
from .nest_vectorize import vectorize, why_not_lanes
from .steps import UNRECORDED, Steps
from .trials import trial

if TYPE_CHECKING:
    from .cpu_convolutions import Convolution

WORK_PER_THREAD = 1 << 17
"""Element operations below which waking a thread costs more than it saves."""

FEW = 4
"""Iterations that are too few to share among threads when an inner loop can be shared instead."""

GATHER_COST = 12
"""Element operations that must come with each access that is not contiguous for a vector to pay: LLVM is as good
at loops of scattered accesses, and finds out at run time which of them are contiguous after all."""

TILE = 32
"""Iterations of both loops of a tile: so many cache lines of each buffer stay in the first-level cache."""

BLOCK_STEPS = 32
"""Vectors that are added up before the sum goes to the next accumulator."""


@dataclass(frozen=True, eq=False)
class Machine:
    """What is scheduled for: the bits of a vector register, and the threads (None: as many as there are)."""

    vector_bits: int = 512
    threads: int | None = None
    steps: Steps = UNRECORDED
    """Does the steps; a recorder writes them down as well."""
    in_rows: bool = False
    """Whether a loop around makes several passes over a row, and what is fetched ahead is the next row."""


def schedule_nests(function: FuncOp, machine: Machine = Machine()) -> None:
    """Schedule all nests of a function: first those that take others into their blocks."""
    if any(isinstance(op, AccumulateOp | AllocOp) for op in function.walk()):
        _schedule_sums_of_products(function, machine)
    for nest in in_turn(outermost_loops(function)):
        schedule(nest, machine)


def _schedule_sums_of_products(function: FuncOp, machine: Machine) -> None:
    """Convolutions, products, and the matrices that they make and use. A program without any does not import how."""
    from .cpu_convolutions import convolution_in
    from .cpu_pairs import pairs_in, tile_pairs
    from .cpu_slices import do_slices, join_axes, slices_in
    from .cpu_stacks import join_stacks

    for nest in list(outermost_loops(function)):
        if nest.parent is not None and (sum_ := convolution_in(nest)) is not None:
            _tile_convolution(sum_, machine)
    for pairs in list(pairs_in(function)):
        tile_pairs(pairs, machine.vector_bits, _share if machine.threads != 1 else None, machine.steps)
    join_axes(function, machine.steps)
    for sliced in slices_in(function):
        schedule(do_slices(sliced, machine.steps), machine)
    join_stacks(function, machine.steps)
    schedule_products(function, machine)


def _tile_convolution(sum_: Convolution, machine: Machine) -> None:
    from .cpu_convolutions import tile_convolution

    def rest(beside: ForOp) -> None:
        _schedule(beside, machine, for_threads=False)

    share = _share if machine.threads != 1 else None
    tile_convolution(sum_, machine.vector_bits, share, rest, machine.steps)


def schedule(nest: ForOp, machine: Machine = Machine()) -> None:
    """Schedule one nest. Loops that are marked already stay as they are."""
    if all(loop.kind == "serial" for loop in loops_in(nest)):
        _schedule(nest, machine, for_threads=machine.threads != 1)


def _schedule(nest: ForOp, machine: Machine, for_threads: bool, in_parts: bool = True) -> None:
    """Schedule a nest; `for_threads`: no loop around it is parallel yet; `in_parts`: reductions may be shared."""
    steps = machine.steps
    band = flatten_neighbours(perfect_band(nest), steps)
    if _schedule_column_sums(band, machine, for_threads, in_parts):
        return
    band = _best_order(band, steps)
    if _tile_product(band, machine, for_threads):
        return
    loop, dependences = band[0], Dependences(band[0])
    refusal = why_not_parallel(loop, dependences) if for_threads else None
    is_parallel = for_threads and refusal is None
    if refusal is not None and in_parts and _schedule_parts(loop, machine):
        return
    if _is_better_outside(loop, dependences):
        _vectorize(loop, machine, is_parallel, dependences)
        return
    if (tiles := tile_transposed(band, machine.vector_bits, steps)) is not None:
        if for_threads and why_not_parallel(tiles) is None:
            _share(tiles, steps)
        return
    if (tiles := _tiled(band, steps)) is not None:
        if is_parallel:
            _share(tiles, steps)
        return
    inner = list(outermost_loops(loop))
    if for_threads and (scans := block_long_scan(loop, steps)) is not None:
        for blocks in scans:
            _schedule(blocks, machine, for_threads)
        return
    if not inner:
        if not is_parallel and scan_in_lanes(loop, machine.vector_bits, steps):
            return
        _schedule_innermost(loop, machine, is_parallel, dependences)
        return
    in_lanes = any(has_lanes(child, machine.vector_bits) for child in inner)
    if not in_lanes and (rows := jam_rows(loop, dependences, steps)) is not None:
        if is_parallel:
            _share(rows, steps)
        return
    if is_parallel and not _is_better_shared_inside(loop, dependences):
        if (sums := jam_sums(loop, dependences, steps)) is not None:
            loop, inner = sums, list(outermost_loops(sums))
        _share(loop, steps)
        for_threads = False
    rows = rows_of(loop)
    for child in inner:
        _schedule(child, replace(machine, in_rows=bool(rows) or machine.in_rows), for_threads)
    fetch_rows(loop, rows, steps)
    if refusal is not None and not any(loop.kind == "parallel" for loop in loops_in(loop)):
        _remark(loop, "runs on one thread", refusal)


def _schedule_column_sums(band: list[ForOp], machine: Machine, for_threads: bool, in_parts: bool) -> bool:
    """Read the rows of sums of columns a few at a time, and share them among threads; False where that is of no use."""
    found = column_sums_in(band)
    if found is None:
        return False
    if for_threads:
        return in_parts and _schedule_parts(band[0], machine)
    row, column = found
    extent = extent_of(column)
    if not has_many_rows(row) or (
        extent is not None and extent <= 4 * machine_lanes(column, machine.vector_bits)
    ):
        return False
    if not _is_better_outside(column, Dependences(column)) and why_not_lanes(column) is not None:
        return False
    blocked = block_rows(row, column, machine.steps)
    if blocked is None:
        return False
    _vectorize(blocked[1], machine, False, Dependences(blocked[1]))
    return True


def _schedule_parts(loop: ForOp, machine: Machine) -> bool:
    """Share a reduction among threads, each part with a result of its own; False where that is of no use."""
    parts = share_reduction(loop, machine.steps)
    if parts is None:
        return False
    _share(parts.outer, machine.steps)
    for child in list(outermost_loops(parts.outer)):
        _schedule(child, machine, for_threads=False)
    for nest in parts.beside:
        _schedule(nest, machine, for_threads=False)
    if parts.short is not None:
        _schedule(parts.short, machine, for_threads=True, in_parts=False)
    return True


def schedule_products(function: FuncOp, machine: Machine) -> None:
    """Tile the products of a function, with the nests around them."""
    for nest in list(outermost_loops(function)):
        if nest.parent is not None:
            _tile_product(perfect_band(nest), machine, for_threads=machine.threads != 1)


def _tile_product(band: list[ForOp], machine: Machine, for_threads: bool) -> bool:
    """Tile a band that is a product of matrices; whether it was one."""
    if not any(isinstance(op, AccumulateOp) for op in band[-1].body.block.ops):
        return False
    from .cpu_product_tiles import ProductTiling
    from .cpu_products import product_in

    product = product_in(band)
    if product is None:
        return False
    tiling = ProductTiling(
        product,
        machine.vector_bits,
        _share if for_threads else None,
        lambda nest: _schedule(nest, machine, for_threads=False),
        machine.steps,
    )
    if not tiling.is_legal():
        return False
    tiling.run()
    return True


def outermost_loops(op: Operation) -> Iterator[ForOp]:
    """The outermost loops below `op`."""
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.ops):
                if isinstance(child, ForOp):
                    yield child
                else:
                    yield from outermost_loops(child)


def _remark(loop: ForOp, what: str, refusal: NestorError) -> None:
    reason = refusal.diagnostic
    notes = [(note.location, note.message) for note in reason.notes]
    remark(loop, f'the loop "{loop.label}" {what}: {reason.message}', hint=reason.hint, notes=notes)


# ---- order ------------------------------------------------------------------------------------------


def _best_order(band: list[ForOp], steps: Steps) -> list[ForOp]:
    """Reorder a perfect band: contiguous accesses innermost, an independent loop outermost."""
    if len(band) < 2:
        return band
    dependences = Dependences(band[0])
    innermost = min(reversed(band), key=_scattered)
    order = [*(loop for loop in band if loop is not innermost), innermost]
    if why_not_parallel(order[0], dependences) is not None:
        free = [loop for loop in order if why_not_parallel(loop, dependences) is None]
        order = [*free[:1], *(loop for loop in order if loop not in free[:1])]
    if order == band or why_not_reorder(order, dependences, new_bounds=False) is not None:
        return band
    return steps.do(reorder, order, dependences=dependences)


def _tiled(band: list[ForOp], steps: Steps) -> ForOp | None:
    """Tiles of the two innermost loops where some accesses are contiguous along one, some along the other.

    Returns the loop over the rows of tiles, None (and nothing changed) when tiles would not help.
    """
    if len(band) != 2 or list(outermost_loops(band[1])):
        return None
    if not all(_scattered(loop) and _contiguous(loop) for loop in band):
        return None
    row, column = band
    if _why_not_worthwhile(column, Dependences(row)) is None:
        return None
    if why_not_reorder([column, row], new_bounds=False) is not None:
        return None
    if any(why_not_split(loop, TILE, "clamp") is not None for loop in band):
        return None
    rows, row = steps.do(split, row, factor=TILE, tail="clamp")
    columns, column = steps.do(split, column, factor=TILE, tail="clamp")
    if why_not_reorder([rows, columns, row, column], new_bounds=False) is None:
        steps.do(reorder, [rows, columns, row, column])
    return rows


def _scattered(loop: ForOp) -> int:
    """How many accesses are not contiguous as the loop's variable grows; stores count twice."""
    patterns = access_patterns(loop)
    return sum(
        count * (2 if writes else 1) for (pattern, writes), count in patterns.items() if pattern in _APART
    )


_APART = (SCATTERED, SEVERAL)


def _contiguous(loop: ForOp) -> int:
    patterns = access_patterns(loop)
    return patterns[UNIT, False] + patterns[UNIT, True]


# ---- threads ----------------------------------------------------------------------------------------


def _is_better_shared_inside(loop: ForOp, dependences: Dependences) -> bool:
    """Whether `loop` has too few iterations for threads and the loop in it can be shared, too."""
    extent, inner = extent_of(loop), sole_inner_loop(loop)
    if extent is not None and extent < FEW and any(is_long_scan(other) for other in outermost_loops(loop)):
        return True
    if extent is None or extent >= FEW or inner is None:
        return False
    inner_extent = extent_of(inner)
    return (inner_extent is None or inner_extent > extent) and why_not_parallel(inner, dependences) is None


def _share(loop: ForOp, steps: Steps) -> None:
    """Give a loop, or the outer part of a loop, that was found independent to the threads, if that can pay."""
    grain = max(1, WORK_PER_THREAD // work_inside(loop))
    extent = extent_of(loop)
    if extent is not None and extent < 2 * grain:
        return
    loop.set_kind("parallel")
    loop.attributes["nestor.grain"] = IntegerAttr(grain, i64)
    steps.did(parallelize, loop, grain=grain)


# ---- vectors ----------------------------------------------------------------------------------------


def _is_better_outside(loop: ForOp, dependences: Dependences) -> bool:
    """Whether `loop` makes better vectors than the loops in it: it is contiguous, and they are not or are recurrences."""
    inner = [other for other in loops_in(loop) if not list(outermost_loops(other))]
    if (
        inner == [loop]
        or _scattered(loop)
        or not any(_scattered(other) or is_recurrence(other) for other in inner)
    ):
        return False
    if why_not_split(loop, 2) is not None:
        return False
    variables = _variables(loop)
    if not variables:
        return why_not_lanes(loop, dependences) is None
    function = enclosing_function(loop)
    assert isinstance(function, FuncOp)
    names = [buffer_name(buffer) for buffer in buffers_in(function)]
    if any(names.count(buffer_name(variable.memref)) > 1 for variable in variables):
        return False  # a recorded schedule could not say which one is meant
    try:
        trial(_check_lanes_of_variables, loop)
    except NestorError:
        return False
    return True


def _variables(loop: ForOp) -> list[AllocOp]:
    """The buffers of one element that each iteration of `loop` makes for itself."""
    return [op for op in loop.body.block.ops if isinstance(op, AllocOp) and not op.memref.type.get_shape()]  # pyright: ignore[reportAttributeAccessIssue]


def _check_lanes_of_variables(loop: ForOp) -> None:
    """Raise why `loop` cannot become vectors even when its variables have an element a lane."""
    for variable in _variables(loop):
        expand_buffer(variable, loop)
    if (refusal := why_not_lanes(loop)) is not None:
        raise refusal


def _updated_by(op: Operation, piece: ForOp) -> Sequence[SSAValue]:
    """The buffers that `op` updates and a register may take the place of."""
    if isinstance(op, StoreOp):
        return [op.memref]
    is_known = piece.constant_trip_count() is not None and len(piece.lower) == 1
    return op.memrefs if isinstance(op, AccumulateOp) and is_known else []


def _give_registers(piece: ForOp, steps: Steps) -> None:
    """What loops inside of `piece` update in each iteration, and its variables: an element a lane, in registers."""
    own = [variable.memref for variable in _variables(piece)]
    for inner in outermost_loops(piece):
        updated = [b for op in inner.body.block.ops for b in _updated_by(op, piece) if b not in own]
        for buffer in dict.fromkeys(updated):
            if why_not_registerise(buffer, inner) is None:
                for register in steps.do(registerise, buffer, inner):
                    steps.do(set_memory, register, space="global")
    for variable in _variables(piece):
        steps.do(expand_buffer, variable, piece)


def _schedule_innermost(loop: ForOp, machine: Machine, is_parallel: bool, dependences: Dependences) -> None:
    refusal = why_not_lanes(loop, dependences) or _why_not_worthwhile(loop, dependences)
    if refusal is None:
        _vectorize(loop, machine, is_parallel, dependences)
        return
    _remark(loop, "stays scalar", refusal)
    if is_parallel:
        _share(loop, machine.steps)


def _why_not_worthwhile(loop: ForOp, dependences: Dependences) -> NestorError | None:
    """Why vectors would not be faster (or cannot be made) although the order of iterations allows them."""
    patterns = access_patterns(loop)
    if patterns[SEVERAL, False] or patterns[SEVERAL, True]:
        return fail(loop, "an access moves along several axes of its buffer")
    gathers, scatters = patterns[SCATTERED, False], patterns[SCATTERED, True]
    if arithmetic_in(loop) < GATHER_COST * (gathers + scatters):
        return fail(loop, f"{gathers + scatters} accesses are not contiguous, and there is little to compute")
    reductions = _reductions(loop, dependences)
    for op in reductions:
        if op.combiner.data == "custom":
            return fail(loop, "a custom reduction combines one element after the other", notes=[(op, "here")])
    refusal = why_not_split(loop, 2)
    return refusal if refusal is None or reductions else why_not_split(loop, 2, "mask")


def _reductions(loop: ForOp, dependences: Dependences) -> list[AccumulateOp]:
    """The accumulates whose element is the same in all iterations."""
    reduced = {d.source for d in dependences.carried_by(loop) if d.kind == "reduction"}
    return [op for op in loop.body.walk() if isinstance(op, AccumulateOp) and op in reduced]


def _vectorize(loop: ForOp, machine: Machine, is_parallel: bool, dependences: Dependences) -> None:
    """Make vectors of a loop for which that is legal, and share what is around them."""
    steps, lanes = machine.steps, machine_lanes(loop, machine.vector_bits)
    width = lanes * (2 if has_transcendental(loop) else 4)
    extent = loop.constant_trip_count()
    if extent is not None and extent <= width:
        if extent > 1:
            if _variables(loop) or list(outermost_loops(loop)):
                _give_registers(loop, steps)
                dependences = Dependences(loop)
            steps.do(vectorize, loop, width=padded_width(extent, lanes), dependences=dependences)
            _fetch_ahead(loop, machine)
        return
    if reductions := _reductions(loop, dependences):
        _vectorize_reduction(loop, lanes if len(reductions) >= STREAMS else width, lanes, reductions, steps)
        return
    stream_results(loop, steps)
    tail = "remainder" if why_not_split(loop, width) is None else "mask"
    vectors, *pieces = steps.do(split, loop, factor=width, tail=tail)
    for piece in pieces:
        _give_registers(piece, steps)
        _mark_vectorized(piece, _width_of(piece, width, lanes), steps)
    if is_parallel:
        _share(vectors, steps)
    _fetch_ahead(pieces[0], machine)


def _fetch_ahead(lanes: ForOp, machine: Machine) -> None:
    if not machine.in_rows:
        fetch_ahead(lanes, machine.steps)


def _mark_vectorized(loop: ForOp, width: int, steps: Steps) -> None:
    """Mark a piece of a loop that was found to have independent iterations."""
    loop.set_kind("vectorized", width)
    steps.did(vectorize, loop, width=width, results=[loop])


def _width_of(piece: ForOp, width: int, lanes: int) -> int:
    """A remainder of known length takes no more registers than it needs."""
    extent = piece.constant_trip_count()
    return width if extent is None or extent == width else padded_width(extent, lanes)


def _vectorize_reduction(
    loop: ForOp, width: int, lanes: int, reductions: list[AccumulateOp], steps: Steps
) -> None:
    """One accumulator a lane; the lanes are combined after the loop, or after each block of it."""
    vectors, whole, *tail = steps.do(split, loop, factor=width)
    extent = extent_of(vectors)
    is_long = any(_rounds(op) for op in reductions) and (extent is None or extent > BLOCK_STEPS)
    is_factored = len(reductions_of(whole)) == len(reductions) and _can_factor(whole)
    marked = [whole, *tail]
    if is_factored and is_long:
        blocks, _ = steps.do(split, vectors, factor=BLOCK_STEPS, tail="clamp")
        start, combine = steps.do(rfactor, whole, dependences=Dependences(blocks))
        marked += [start, combine]
        if _can_factor(combine):
            marked += steps.do(rfactor, combine, dependences=Dependences(blocks))
    elif is_factored:
        marked += steps.do(rfactor, whole, dependences=Dependences(vectors))
    for piece in marked:
        is_rest = piece in tail
        piece_width = _width_of(piece, width, lanes) if is_rest else width
        steps.do(vectorize, piece, width=piece_width, dependences=Dependences(piece))


def _can_factor(loop: ForOp) -> bool:
    around = parent_loop(loop)
    return around is not None and why_not_rfactor(loop, Dependences(around)) is None


def _rounds(op: AccumulateOp) -> bool:
    """Whether the result depends on the order: errors add up."""
    return op.combiner.data in ("add", "mul") and isinstance(op.values[0].type, AnyFloat)


@dataclass(frozen=True, eq=False)
class NestScheduleCpuPass(ModulePass):
    """Vectorize and parallelize every nest; `vector_bits` is a register's width, `threads=1` makes no parallel loops."""

    name = "nest-schedule-cpu"

    vector_bits: int = 512
    threads: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_bits < 64 or self.vector_bits & (self.vector_bits - 1):
            raise fail(op, f"vector-bits is {self.vector_bits}; a power of two of at least 64 is expected")
        machine = Machine(self.vector_bits, self.threads)
        for function in functions(op):
            schedule_nests(function, machine)
