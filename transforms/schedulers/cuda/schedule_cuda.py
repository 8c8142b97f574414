"""nest-schedule-cuda: bind the loops of every nest to blocks and threads.

    nest.for "i" %i = 0 to 100 {
      nest.for "j" %j = 0 to 1000 {
        %v = nest.load %x[%i, %j] : memref<100x1000xf32>
        nest.store "y" %v, %y[%i, %j] : memref<100x1000xf32>
      }
    }
  with block=256 becomes
    %x_flat = memref.collapse_shape %x [[0, 1]] : memref<100x1000xf32> into memref<100000xf32>
    %y_flat = memref.collapse_shape %y [[0, 1]] : memref<100x1000xf32> into memref<100000xf32>
    nest.for "i_j.o.o" %o = 0 to 196 bind "block.x" {
      nest.for "i_j.o.i" %t = 0 to 256 bind "thread.x" {
        nest.for "i_j.i" %v = 0 to 2 vectorized(2) {
          %a = nest.load %x_flat[512 * %o + 2 * %t + %v] : memref<100000xf32>
          nest.store "y" %a, %y_flat[512 * %o + 2 * %t + %v] where (256 * %o + %t < 50000) : memref<100000xf32>
        }
      }
    }

Before that, elementwise nests are made fewer (kernels.py): each nest is a kernel.

Sums of short columns and what is computed with them become one kernel (column_programs.py). Reductions of long ones and
sums relative to their results are combined, part by part (long_columns.py).

Products of matrices, reductions of other functions of two factors, convolutions and attention take the nests before and
after them along: tiles of sums in registers (sum_tiles.py; with tensor cores cuda/tensor_cores.py). So do reductions over
windows: pooling, and convolutions of separate channels (cuda/pooling.py). A factor that is computed of other products, as in
the reverse of attention, is computed in the tiles that use it (cuda/attention/chains.py).

For each nest, the first of these that the primitives find legal:

* The outermost independent loops become one where memory allows (nest-flatten). One loop is split into blocks
  of `block` threads; two or three into tiles of `block` threads, say 32 x 8; more stay inside the thread.
  Loops that are not independent (reductions) stay inside: one thread per output element or row.
* Elementwise bands move 16 bytes per thread, some vectors in flight, in one or two axes (pointwise.py); one that
  reads across what it writes goes through tiles in shared memory (cuda/transposes.py).
* A band whose innermost body passes over rows (reductions, normalisation): a warp or a block computes a row, which
  stays in registers where it is short enough (row_programs.py); running results of rows: stretches (scans.py). Of a few
  long rows, several blocks have parts each (long_rows.py).
* A reduction to one element: partial results by blocks, and their total by one block (cuda/reductions.py).
* Sums of columns: threads across columns and down rows, parts of the rows by blocks (column_sums.py). A long running
  result: blocks (cuda/scans.py).
* An outermost loop with dependences changes places with an inner one that has none (nest-reorder): a recurrence
  down the rows.
* A sweep whose elements depend on those before them in both loops: diagonals, a launch each (cuda/wavefronts.py).
* An outermost loop with dependences stays on the host and launches the nests inside it in every iteration:
  time steps.
* The nest is left as it is, one thread, and a remark says why.

What was decided against is said in remarks. Only x of a grid takes more than 65535 blocks; where the extents of
two loops of a tile are known at run time only, x is the outer loop's and y the inner one's: rows of more than
65535 * 32 elements that cannot be flattened need static extents. TVM calls such schedules default GPU
schedules (`dlight`), Halide the GPU part of its autoscheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....analysis.machine import DEFAULT_GPU, Gpu, gpu
from ....analysis.nest.loop_structure import functions, loops_in, may_fail, perfect_band, sole_inner_loop
from ....analysis.nest.sets.dependence import Dependences
from ....analysis.nest.values.trip_counts import extent_of
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import MAX_THREADS, AllocOp, ForOp, IfOp
from ....dialects.remarks import remark
from ....lowering.nest_common.custom_calls import called, launches
from ...nest.loops.flatten import flatten_neighbours
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.loops.reorder import reorder, why_not_reorder
from ...nest.loops.split import split, why_not_split
from ...nest.mapping.bind import bind
from ...nest.mapping.parallel import why_not_independent
from ...nest.rewrite.steps import UNRECORDED, Steps
from ...nest.rewrite.trials import trial
from ..refusals import never_refused, optional, unless_refused
from ..strategies import Strategy, first_of
from .column_sums import bind_columns
from .few_threads import remark_few_threads
from .grid import (
    FEW,
    Refusal,
    blocks_of,
    grid_axes,
    in_turn,
    independent_band,
    is_known_to_host,
    is_scheduled,
    iterations,
    make_perfect,
    row_width,
    stays_on_host,
    tile_width,
    units,
    why_not_bind,
    why_not_guarded,
)
from .long_rows import share_long_rows
from .long_sums import share_long_sums
from .pointwise import bind_pointwise
from .reductions import bind_whole_reduction
from .row_programs import schedule_rows
from .scans import bind_scans, share_column_scans, share_long_row_scans, share_long_scan
from .transposes import bind_transposed
from .updates import share_updates
from .wavefronts import share_diagonals
from .whole_functions import schedule_whole

DEFAULT = gpu()

MANY = 1 << 14
"""Independent iterations that are threads enough."""


def schedule_function(
    function: FuncOp, block: int = 256, steps: Steps = UNRECORDED, gpu: Gpu = DEFAULT
) -> None:
    """Bind the loops of every nest of a function: first what takes several nests together. Never refuses.

    Of a function that calls Python no kernel is made: convert-nest-to-gpu says so. Kernels of the user's are
    launched as they are.
    """
    if all(launches(op) for op in function.walk() if called(op)):
        never_refused(function, steps, lambda: _schedule_function(function, block, steps, gpu))


def _schedule_function(function: FuncOp, block: int, steps: Steps, gpu: Gpu) -> None:
    schedule_whole(function, gpu, steps)
    for nest in in_turn(units(function.body.block)):
        if nest.parent is not None:
            optional(partial(schedule, nest, block, steps, gpu))
    remark_few_threads(function)


def schedule(nest: ForOp | IfOp, block: int = 256, steps: Steps = UNRECORDED, gpu: Gpu = DEFAULT) -> None:
    """Bind the loops of one nest, or say in a remark why it runs as one thread. Scheduled nests stay as they are."""
    if is_scheduled(nest):
        return
    if isinstance(nest, IfOp):
        if any(isinstance(op, ForOp) for op in nest.walk()):
            remark(
                nest, "the loops in this branch run as one GPU thread: it depends on an element of a buffer"
            )
        return
    nest = _flattened(perfect_band(nest), steps)[0]
    if (refusal := _bind_nest(nest, block, gpu, steps)) is not None:
        _remark_one_thread(nest, refusal)


@dataclass(eq=False)
class Nest:
    """A nest that is bound: what the rows of strategies ask about it."""

    nest: ForOp
    block: int
    gpu: Gpu
    steps: Steps
    left: Refusal | None = None
    """Why a strategy that took it left it as it is after all."""
    refusal: Refusal | None = None
    """Why its outermost loop is not independent; of a band, why it is not bound in tiles."""

    @cached_property
    def dependences(self) -> Dependences:
        return Dependences(self.nest)

    @cached_property
    def band(self) -> list[ForOp]:
        """The independent loops, of which those without others between them are one."""
        band = independent_band(self.nest, self.dependences)
        if len(loops_in(band[0])) == len(band):
            optional(lambda: make_perfect(band[0], self.steps))
        return _flattened(band, self.steps)


def _bind_nest(nest: ForOp, block: int, gpu: Gpu, steps: Steps) -> Refusal | None:
    found = Nest(nest, block, gpu, steps)
    found.refusal = why_not_bind(nest, nest, found.dependences)
    if found.refusal is None:
        first_of(INDEPENDENT, nest.label, found)
        return found.left
    if unless_refused(lambda: _remove_unit_loops(nest, steps), lambda _: False):
        del found.dependences
    return found.refusal if first_of(DEPENDENT, nest.label, found) is None else found.left


def _bind_band(nest: Nest) -> bool:
    first_of(BANDS, nest.nest.label, nest)
    return True


def _remove_unit_loops(nest: ForOp, steps: Steps) -> bool:
    """Of a nest that reduces: a sum of one column is one of all elements. False where there is no such loop in it."""
    units_in = [loop for loop in perfect_band(nest)[1:] if extent_of(loop) == 1]
    units_in = [loop for loop in units_in if why_not_remove_unit_loop(loop) is None]
    for loop in units_in:
        steps.do(remove_unit_loop, loop)
    return bool(units_in)


def _remark_one_thread(nest: ForOp, refusal: Refusal) -> None:
    extent = extent_of(nest)
    count = "all" if extent is None else extent
    text = f'the nest "{nest.label}" runs as one GPU thread, {count} iterations in sequence: '
    remark(nest, text + refusal.reason, hint=refusal.hint, notes=refusal.notes)


# ---- nests whose outermost loop is not independent --------------------------------------------------


def _share_long_scan(nest: Nest) -> bool:
    return _bind_parts(share_long_scan(nest.nest, nest.steps), nest)


def _share_updates(nest: Nest) -> bool:
    return _bind_parts(share_updates(nest.nest, nest.steps), nest)


def _bind_parts(parts: list[ForOp], nest: Nest) -> bool:
    """Bind the nests that a nest became; False where there are none."""
    for part in parts:
        if (refusal := _bind_nest(part, nest.block, nest.gpu, nest.steps)) is not None:
            _remark_one_thread(part, refusal)
    return bool(parts)


def _share_column_scans(nest: Nest) -> bool:
    bands = share_column_scans(nest.nest, nest.steps)
    for band in bands:
        if len(band) > 1:
            refusal = _bind_tiles(band, nest.block, nest.steps)
        else:
            refusal = _bind_rows(band[0], nest.block, nest.steps)
        if refusal is not None:
            _remark_one_thread(band[0], refusal)
    return bool(bands)


def _bind_outward(nest: Nest) -> bool:
    outward = _independent_loop_outward(nest.nest, nest.dependences, nest.steps)
    if outward is None:
        return False
    found = Nest(outward, nest.block, nest.gpu, nest.steps)
    _bind_band(found)
    nest.left = found.left
    return True


def _independent_loop_outward(nest: ForOp, dependences: Dependences, steps: Steps) -> ForOp | None:
    """Make a loop outermost that is independent there; None (and nothing changed) when there is none."""
    band = perfect_band(nest)
    for k, loop in enumerate(band[1:], 1):
        order = [loop, *band[:k]]
        if why_not_bind(loop, nest, dependences) or why_not_reorder(order, dependences, False):
            continue
        steps.do(reorder, order, dependences=dependences)
        if why_not_bind(loop, loop, Dependences(loop)) is None:
            return loop
        steps.do(reorder, band[: k + 1])
    return None


def _bind_diagonals(nest: Nest) -> bool:
    """Bind the elements of a diagonal, of which the host runs one after the other."""
    return _bind_parts(share_diagonals(nest.nest, nest.steps), nest)


def _bind_inside_host_loop(nest: Nest) -> bool:
    """Bind the nests in the body of `loop`, which the host then runs; False when it cannot or none can be bound."""
    loop, steps, refusal = nest.nest, nest.steps, nest.refusal
    assert refusal is not None
    body = list(loop.body.block.ops)
    bounds = [*loop.lower_operands, *loop.upper_operands]
    if loop.kind != "serial" or not is_known_to_host(bounds):
        return False
    if not all(isinstance(op, ForOp) or stays_on_host(op) for op in body) or not _is_worth_launching(body):
        return False
    inner = [_flattened(perfect_band(op), steps)[0] for op in body if isinstance(op, ForOp)]
    tried = [(one, _bind_nest(one, nest.block, nest.gpu, steps)) for one in inner]
    if not is_scheduled(loop):
        return False
    text = f'the loop "{loop.label}" stays on the host, which launches {len(inner)} nests in each iteration: '
    remark(loop, text + refusal.reason, hint=refusal.hint, notes=refusal.notes)
    for one, reason in tried:
        if reason is not None:
            _remark_one_thread(one, reason)
    return True


def _is_worth_launching(body: list[Operation]) -> bool:
    """Whether a nest in the body of a host loop may be longer than a launch takes; temporaries are the host's."""
    counts = [iterations(op) for op in body if isinstance(op, ForOp)]
    return any(n is None or n > FEW for n in counts) or any(isinstance(op, AllocOp) for op in body)


# ---- bands of independent loops ---------------------------------------------------------------------


def _bind_inner_outward(nest: Nest) -> bool:
    """Make loops that are independent outer ones, which are in a reduction: results beside each other are threads then."""
    band = perfect_band(nest.band[0])
    own, inside = band[: len(nest.band)], band[len(nest.band) :]
    count = 1
    for loop in own:
        count *= extent_of(loop) or MANY
    dependences = Dependences(own[0])
    moved = [loop for loop in inside if why_not_bind(loop, own[0], dependences) is None]
    others = [loop for loop in inside if loop not in moved]
    if count >= MANY or own != nest.band or not moved or not others:
        return False
    order = [*own, *moved, *others]
    if why_not_reorder(order, dependences, False) is not None:
        return False
    try:
        trial(partial(_reorder_independent, len(own) + len(moved)), *order)
    except NestorError:
        return False
    nest.steps.do(reorder, order, dependences=dependences)
    found = Nest(order[0], nest.block, nest.gpu, nest.steps)
    first_of(BANDS, nest.nest.label, found)
    nest.left = found.left
    return True


def _reorder_independent(count: int, *order: ForOp) -> None:
    """Reorder a band; raises where one of the first `count` loops is not independent there.

    Of `y[2 * i + j] += ...` each loop is independent inside of the other one, and neither is outside of it.
    """
    reorder(order)
    dependences = Dependences(order[0])
    for loop in order[:count]:
        if (refusal := why_not_independent(loop, "bind", dependences)) is not None:
            raise refusal


def _share_long_rows(nest: Nest) -> bool:
    return _schedule_parts(share_long_rows(nest.band, nest.block, nest.gpu, nest.steps), nest)


def _schedule_parts(parts: list[ForOp], nest: Nest) -> bool:
    """Schedule the nests that a band became, those of which are bound already left alone; False where there are none."""
    for part in parts:
        schedule(part, nest.block, nest.steps, nest.gpu)
    return bool(parts)


def _share_long_row_scans(nest: Nest) -> bool:
    return _schedule_parts(share_long_row_scans(nest.band, nest.steps), nest)


def _share_long_sums(nest: Nest) -> bool:
    return _schedule_parts(share_long_sums(nest.band, nest.gpu, nest.steps), nest)


def _bind_unguarded(nest: Nest) -> bool:
    """One thread per iteration where none may be made up, so that the last block has fewer threads at work."""
    loop = nest.band[0]
    width = row_width(extent_of(loop), nest.block)
    if (error := why_not_split(loop, width, "clamp")) is not None:
        nest.left = Refusal.of(error)
        return True
    outer, inner = nest.steps.do(split, loop, factor=width, tail="clamp")
    _bind([outer, inner], ["block.x", "thread.x"], nest.steps)
    return True


def _bind_in_tiles(nest: Nest) -> bool:
    nest.refusal = _bind_tiles(nest.band, nest.block, nest.steps)
    return nest.refusal is None


def _bind_iterations(nest: Nest) -> bool:
    loop, refusal = nest.band[0], nest.refusal
    if refusal is not None:
        text = f'one thread per iteration of "{loop.label}", the loops in it in sequence: '
        remark(loop, text + refusal.reason, hint=refusal.hint, notes=refusal.notes)
    nest.left = _bind_rows(loop, nest.block, nest.steps)
    return True


def _flattened(band: list[ForOp], steps: Steps) -> list[ForOp]:
    """Neighbours of the band made one wherever memory allows."""
    return unless_refused(lambda: flatten_neighbours(band, steps), lambda _: band)


def _bind_rows(loop: ForOp, block: int, steps: Steps) -> Refusal | None:
    """One thread per iteration, at most `block` of them a block."""
    width = row_width(extent_of(loop), block)
    if (error := why_not_split(loop, width, "mask")) is not None:
        return Refusal.of(error)
    outer, inner = steps.do(split, loop, factor=width, tail="mask")
    _bind([outer, inner], ["block.x", "thread.x"], steps)
    return None


def _bind_tiles(band: list[ForOp], block: int, steps: Steps) -> Refusal | None:
    """Tiles of `block` threads over the two innermost of at most three loops; further loops go inside."""
    outside, inside = band[-3:], band[:-3]
    row, column = outside[-2:]
    width = tile_width(extent_of(column), block)
    height = block // width
    if sole_inner_loop(row) is not column or why_not_split(row, height, "mask") is not None:
        width, height = row_width(extent_of(column), block), 1
    if (error := why_not_split(column, width, "mask")) is not None:
        return Refusal.of(error)
    if inside and why_not_reorder([*outside, *inside], new_bounds=False) is not None:
        return Refusal(f"a grid has three axes, and the loops of {len(band)} are not perfectly nested")
    counts = [*map(blocks_of, outside[:-2]), blocks_of(row, height), blocks_of(column, width)]
    axes = grid_axes(counts)
    if axes is None:
        return Refusal("the grid would have more than 65535 blocks along two axes")
    if inside:
        steps.do(reorder, [*outside, *inside])
    blocks, threads = outside[:-2], []
    if height == 1:
        blocks.append(row)
    else:
        row_blocks, row_threads = steps.do(split, row, factor=height, tail="mask")
        blocks.append(row_blocks)
        threads.append(row_threads)
    column_blocks, column_threads = steps.do(split, column, factor=width, tail="mask")
    if threads:
        steps.do(reorder, [blocks[-1], column_blocks, threads[0], column_threads])
    blocks.append(column_blocks)
    threads.append(column_threads)
    _bind(blocks, axes, steps)
    _bind(threads, ["thread.y", "thread.x"][-len(threads) :], steps)
    return None


def _bind(loops: list[ForOp], axes: list[str], steps: Steps) -> None:
    """Bind loops that are parts of loops found independent, or these themselves."""
    for loop, axis in zip(loops, axes, strict=False):
        steps.do(bind, loop, axis=axis)


# ---- the rows ---------------------------------------------------------------------------------------

INDEPENDENT = (
    Strategy(
        "checks of indices",
        "nests that may raise",
        _bind_unguarded,
        lambda nest: may_fail(nest.nest) is not None,
    ),
    Strategy("updates at indices in rows", "rows of elements that are found at run time", _share_updates),
    Strategy("independent loops", "nests whose outermost loop is independent", _bind_band),
)

DEPENDENT = (
    Strategy("updates at indices", "elements that are found at run time", _share_updates),
    Strategy(
        "sum of all elements",
        "reductions to one element",
        lambda nest: bind_whole_reduction(nest.nest, nest.block, nest.dependences, nest.gpu, nest.steps),
    ),
    Strategy(
        "sums of columns",
        "reductions down the rows",
        lambda nest: bind_columns(nest.nest, nest.block, nest.dependences, nest.gpu, nest.steps),
    ),
    Strategy("long running result", "running results that several blocks share", _share_long_scan),
    Strategy("running results of columns", "running results down few columns", _share_column_scans),
    Strategy("independent loop outward", "nests with an independent loop inside", _bind_outward),
    Strategy("diagonals of a sweep", "sweeps whose elements depend on their neighbours", _bind_diagonals),
    Strategy("loop of the host", "loops whose nests are worth a launch each", _bind_inside_host_loop),
)
"""For nests whose outermost loop is not independent."""

BANDS = (
    Strategy(
        "independent loops in reductions",
        "results that a reduction has beside each other",
        _bind_inner_outward,
    ),
    Strategy("parts of long rows", "few long rows", _share_long_rows),
    Strategy("parts of long running results", "running results of few long rows", _share_long_row_scans),
    Strategy(
        "row programs",
        "nests that pass over rows",
        lambda nest: schedule_rows(nest.band, nest.block, nest.steps),
    ),
    Strategy("parts of long sums", "few results of long reductions", _share_long_sums),
    Strategy(
        "stretches of running results",
        "running results of rows",
        lambda nest: bind_scans(nest.band, nest.steps),
    ),
    Strategy(
        "iterations without masks",
        "nests whose iterations cannot be masked",
        _bind_unguarded,
        lambda nest: why_not_guarded(nest.band[0]) is not None,
    ),
    Strategy(
        "transposed tiles",
        "nests that read across what they write",
        lambda nest: bind_transposed(nest.band, nest.block, nest.steps),
    ),
    Strategy(
        "elementwise vectors",
        "perfect bands around statements",
        lambda nest: bind_pointwise(nest.band, nest.block, nest.gpu, nest.steps),
    ),
    Strategy("tiles of threads", "bands of several loops", _bind_in_tiles, lambda nest: len(nest.band) > 1),
    Strategy("a thread per iteration", "all others", _bind_iterations),
)
"""For bands of independent loops."""


@dataclass(frozen=True)
class NestScheduleCudaPass(ModulePass):
    """Bind the loops of every nest to blocks and threads of a `machine` of `analysis/machine.py`, or one with other
    `multiprocessors`; `block` is the number of threads of a block."""

    name = "nest-schedule-cuda"

    block: int = 256
    machine: str = DEFAULT_GPU
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not 1 <= self.block <= MAX_THREADS:
            raise fail(op, f"block is {self.block}; a block has from 1 to {MAX_THREADS} threads")
        if self.multiprocessors is not None and self.multiprocessors < 1:
            raise fail(op, f"multiprocessors is {self.multiprocessors}; a positive number is expected")
        target = gpu(self.machine, multiprocessors=self.multiprocessors)
        for function in functions(op):
            if len(function.body.blocks) == 1:  # loop nests have no branches from block to block
                schedule_function(function, self.block, gpu=target)
