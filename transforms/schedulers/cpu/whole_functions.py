"""What takes several nests of a function together (part of nest-schedule-cpu), before each nest is scheduled by itself.

    nest.for "i" ... { ... nest.accumulate "c" add %p, %c[%i, %j] }       // a product
    nest.for "i.1" ... { ... relu of %c[%i, %j] to %y[%i, %j] }           // and what uses it
  becomes
    nest.for "product" ... { ... tiles of sums, which are used in registers }

The rows are `WHOLE`, in their order; each is done as far as it is legal, and leaves to the next what it does not take. Of
nests of sums, of convolutions and of products `SUMS` and the rows of dispatch.py say which tiles they get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp

from ....analysis.machine import Cpu
from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....analysis.nest.sets.access_patterns import INVARIANT
from ....analysis.nest.sets.loop_bounds import is_known_before
from ....analysis.nest.values.trip_counts import largest_extent
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ...nest.loops.flatten import flatten, why_not_contiguous
from ...nest.loops.normalise import remove_unit_loop, why_not_remove_unit_loop
from ...nest.rewrite.steps import Steps
from ..patterns.tiles import pattern_in, sum_in
from ..patterns.tuples import has_tuples, lift_tuples
from ..refusals import optional, unless_refused
from ..strategies import Strategy, each_of, first_of
from .dispatch import PRODUCTS, Nest, schedule_nest, sums_in_innermost
from .streams import has_big_arrays
from .vectors import Machine, outermost_loops, share

if TYPE_CHECKING:
    from ..patterns.convolutions import Convolution
    from ..patterns.windows import Windows


@dataclass(eq=False)
class Whole:
    """A function whose nests are scheduled."""

    function: FuncOp
    machine: Machine
    drivers: set[ForOp]
    """Loops whose iterations are programs of their own."""

    def nests(self) -> Iterator[ForOp]:
        """The nests that are scheduled one by one."""
        for nest in outermost_loops(self.function):
            if nest in self.drivers:
                yield from outermost_loops(nest)
            else:
                yield nest

    @property
    def cpu(self) -> Cpu:
        return self.machine.cpu

    @property
    def steps(self) -> Steps:
        return self.machine.steps

    @property
    def share(self) -> Callable[[ForOp, Steps], None] | None:
        """What gives a loop to threads; None where there is one thread."""
        return share if self.cpu.threads != 1 else None


def schedule_whole(function: FuncOp, machine: Machine) -> Iterator[ForOp]:
    """Do to the nests of a function what takes several of them; those that are then scheduled one by one."""
    drivers = {nest for nest in outermost_loops(function) if _has_own_extents(nest)}
    whole = Whole(function, machine, drivers)
    each_of(WHOLE, function.sym_name.data, whole, machine.steps)
    return whole.nests()


def _has_own_extents(loop: ForOp) -> bool:
    """Whether an iteration makes buffers of extents that it computes itself, for the rows of one sequence of many: what
    is in it is a program of its own, and its nests are scheduled as those of a function are."""
    allocs = [op for op in loop.body.block.ops if isinstance(op, AllocOp)]
    return loop.kind == "serial" and any(
        not is_known_before(size, loop) for alloc in allocs for size in alloc.sizes
    )


# ---- what is done -----------------------------------------------------------------------------------


def _lift_tuples(whole: Whole) -> None:
    lift_tuples(whole.function, whole.steps, whole.cpu.l2_bytes)


def _remove_unit_loops(whole: Whole) -> None:
    """Loops of one iteration around sums hide what these are: a row times a matrix is not a product of matrices."""
    for nest in list(outermost_loops(whole.function)):
        if not any(isinstance(op, AccumulateOp) for op in nest.walk()):
            continue
        loops = loops_in(nest)
        units = [loop for loop in loops if largest_extent(loop) == 1 and loop.kind == "serial"]
        for loop in units if len(units) < len(loops) else units[1:]:
            if why_not_remove_unit_loop(loop) is None:
                whole.steps.do(remove_unit_loop, loop)


def _join_axes(whole: Whole) -> None:
    from .joined_axes import join_axes

    join_axes(whole.function, whole.steps)


def _widen(whole: Whole) -> None:
    from .matrix_tiles import MATRIX_UNIT, VECTORS, widen_in_products

    widen_in_products(whole.function, whole.steps, MATRIX_UNIT if whole.cpu.amx else VECTORS)


def _tile_sums(whole: Whole) -> None:
    for nest in list(whole.nests()):
        if nest.parent is not None:
            joined = unless_refused(partial(_join_terms, nest, whole.steps), lambda _, nest=nest: nest)
            first_of(SUMS, nest.label, Sums(joined, whole))


def _join_terms(nest: ForOp, steps: Steps) -> ForOp:
    """A sum over axes that are one in memory, of both factors, is a product: `x[n, t, i] * y[n, t, j]` over n and t."""
    band = perfect_band(nest)
    found = sum_in(band) if len(band) > 3 else None
    if found is None:
        return nest
    _, sums = found
    terms = [loop for loop in band if pattern_in(sums, sums.memrefs[0], loop) == INVARIANT]
    pairs = list(pairwise(terms))
    if not pairs or any(why_not_contiguous(outer, inner) is not None for outer, inner in pairs):
        return nest
    is_outermost, joined = terms[0] is nest, terms[0]
    for term in terms[1:]:
        if why_not_contiguous(joined, term) is not None:
            break
        joined = steps.do(flatten, joined, term)
    return joined if is_outermost else nest


def _tile_pairs(whole: Whole) -> None:
    from .pairs import pairs_in, tile_pairs

    for pairs in list(pairs_in(whole.function)):
        optional(partial(tile_pairs, pairs, whole.cpu, whole.share, whole.steps))


def _schedule_slices(whole: Whole) -> None:
    from .batch_slices import do_slices, slices_in

    def do(sliced: Any) -> None:
        made = do_slices(sliced, whole.cpu, whole.steps)
        schedule_nest(made, whole.machine, whole.cpu.threads != 1)

    for sliced in slices_in(whole.function, whole.cpu):
        optional(partial(do, sliced))


def _join_stacks(whole: Whole) -> None:
    from .matrix_stacks import join_stacks

    join_stacks(whole.function, whole.steps)


def _tile_products(whole: Whole) -> None:
    """Tile the products of a function, with the nests around them."""
    from .skinny_products import sink_vector

    for nest in list(whole.nests()):
        if nest.parent is not None:
            optional(partial(sink_vector, nest, whole.steps))
            product = Nest(perfect_band(nest), whole.machine, whole.cpu.threads != 1, in_parts=True)
            if sums_in_innermost(product):
                first_of(PRODUCTS, nest.label, product)


def _relative_sums_in_parts(whole: Whole) -> None:
    from .relative_sums import do_relative_sums_in_parts

    do_relative_sums_in_parts(whole.function, whole.cpu, whole.steps)


# ---- sums over several loops ------------------------------------------------------------------------


@dataclass(eq=False)
class Sums:
    """A nest that may be a sum over several loops."""

    nest: ForOp
    whole: Whole

    @cached_property
    def convolution(self) -> Convolution | None:
        from ..patterns.convolutions import convolution_in

        return convolution_in(self.nest)

    @cached_property
    def windows(self) -> Windows | None:
        from ..patterns.windows import windows_in

        return None if self.convolution is not None else windows_in(self.nest)

    def beside(self, nest: ForOp) -> None:
        """Schedule a nest that tiles have in them."""
        schedule_nest(nest, self.whole.machine, for_threads=False)


def _tile_convolution(sums: Sums) -> bool:
    from .convolutions import tile_convolution

    whole = sums.whole

    def before(nest: ForOp) -> None:
        schedule_nest(nest, whole.machine, for_threads=whole.cpu.threads != 1)

    assert sums.convolution is not None
    return tile_convolution(sums.convolution, whole.cpu, whole.share, sums.beside, before, whole.steps)


def _tile_windows(sums: Sums) -> bool:
    from .windows import tile_windows

    whole = sums.whole
    assert sums.windows is not None
    return tile_windows(sums.windows, whole.cpu, whole.share, sums.beside, whole.steps)


# ---- the rows ---------------------------------------------------------------------------------------

SUMS = (
    Strategy(
        "convolution", "sums over several loops", _tile_convolution, lambda sums: sums.convolution is not None
    ),
    Strategy("windows", "reductions over windows", _tile_windows, lambda sums: sums.windows is not None),
)
"""What takes a nest of sums with the nests around it, before these are scheduled."""

WHOLE = (
    Strategy(
        "reductions of tuples apart",
        "reductions of several values at once",
        _lift_tuples,
        lambda whole: has_tuples(whole.function),
    ),
    Strategy("loops of one iteration removed", "sums with loops of one iteration", _remove_unit_loops),
    Strategy("joined axes", "sums over axes that are one in memory", _join_axes),
    Strategy(
        "bytes widened in products",
        "products of bytes, on a processor with instructions for them",
        _widen,
        lambda whole: whole.cpu.amx or whole.cpu.vnni,
    ),
    Strategy("sums over several loops", "convolutions, and reductions over windows", _tile_sums),
    Strategy("pairs of rows", "sums over all pairs of rows", _tile_pairs),
    Strategy("slices of a batch", "nests that hand each other slices of a batch", _schedule_slices),
    Strategy("stacks of matrices", "products of stacks of matrices with one matrix", _join_stacks),
    Strategy("products", "products of matrices, with the nests around them", _tile_products),
    Strategy(
        "parts of relative sums",
        "sums of big arrays, and of squares around their means",
        _relative_sums_in_parts,
        lambda whole: has_big_arrays(whole.function, whole.cpu),
    ),
)
"""What is done to a function, in this order."""
