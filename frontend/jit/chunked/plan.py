"""Which programs compute a function on inputs in chunks, and which part of which source each box needs.

    y = x - x.mean(0)                 sums       a program for each chunk of rows of x; their results are combined
    x in chunks of rows               y          a program for each chunk of rows, of x and of all sums

What may be cut is read off the function restricted to boxes (`nest-restrict`): reductions whose terms come from several
chunks are made in parts and combined; results are cut along axes that inputs in several chunks move along.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, MemRefType, StridedLayoutAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....analysis.nest.sets.accesses import root_of
from ....dialects.diagnostic import op_location
from ....dialects.nest import LoadOp
from ....transforms.nest.producers.box_loops import run_from_zero
from ....transforms.nest.producers.restrict import (
    Part,
    Word,
    WordBound,
    restrict,
    restrict_running,
    restrict_update,
)
from ...interface.errors import NestorError, UnsupportedError
from ..specialise.stages import print_module
from .boxes import BoxProgram, First, Linear, PartForm, Recipe
from .chunk_program import ChunkProgram, ChunkTarget, chunk_program

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from ....analysis.nest.sets import restriction
    from ....analysis.nest.sets.running import Running
    from ....dialects.affine import AffineList
    from ....dialects.nest import AccumulateOp, ForOp
    from ....transforms.nest.producers.restrict import Restricted

    Made = tuple[ModuleOp, Restricted]
    """A module, and its function that is restricted."""

Chunks = tuple[tuple[int, ...], ...]
"""The extents of the chunks of an array, by axis, as Dask has them."""

Cut = dict[int, list[int]]
"""Where boxes begin and end along the axes that are cut."""

MOST_KNOWN = 256
_KNOWN: OrderedDict[Any, Any] = OrderedDict()
"""Restricted functions, by the text of the whole one and by what they are restricted to: calls make the same ones again."""

_ARITHMETIC: dict[str, Callable[..., int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.index_cast": int,
}
"""How extents are computed from others."""

Place = tuple[str, int]
"""A source: an input ("input", number of the argument), a buffer of a reduction or of a running result ("reduction",
number), what is before each chunk of a running result ("total", number), or a sum relative to a reduction, of all chunks,
with what it takes to combine such sums ("relative", number)."""


@dataclass(eq=False)
class Step:
    """Boxes that one recipe computes: of results, or of the updates of a reduction, which its `combine` makes one.

    `makes` are the sources or results of it; `sources` what it is computed from.
    """

    recipe: Recipe
    makes: list[Place]
    sources: list[Place]

    def chunks(self, k: int) -> Chunks:
        """The chunks of what it makes."""
        ends: list[Sequence[int]] = [(0, extent) for extent in self.recipe.shapes[k]]
        for axis, cut in zip(self.recipe.axes, self.recipe.cuts, strict=True):
            if axis is not None:
                ends[axis] = cut
        return tuple(tuple(high - low for low, high in pairwise(one)) for one in ends)


class Planner:
    """Makes the steps for a function at nest level.

    `chunks` are those of inputs, by number of the argument; `shapes` and `dtypes` those of inputs and results; `scalars`
    the other arguments.
    """

    def __init__(
        self,
        module: ModuleOp,
        name: str,
        chunks: Mapping[int, Chunks],
        shapes: Mapping[int, tuple[int, ...]],
        dtypes: Mapping[int, np.dtype],
        scalars: Mapping[int, Any],
        target: ChunkTarget,
    ):
        self._module = module
        self._name = name
        self._target = target
        self._function = function_of(module, name)
        self._text, self._place = "", dict[Any, int]()
        self._look_again()
        self._chunks: dict[Place, Chunks] = {("input", k): one for k, one in chunks.items()}
        self._shapes: dict[Place, tuple[int, ...]] = {("input", k): shape for k, shape in shapes.items()}
        self._shapes |= {("result", k): shape for k, shape in shapes.items()}
        self._dtypes: dict[Place, np.dtype] = {("input", k): one for k, one in dtypes.items()}
        self._dtypes |= {("result", k): one for k, one in dtypes.items()}
        self._scalars = scalars
        self._given: list[restriction.Made] = []
        self._relative: dict[int, Place] = {}
        """The arguments that the function got for sums relative to a reduction (`_add_relative`)."""
        self.steps: list[Step] = []
        self.remarks: list[str] = []
        """What is not divided: inputs in several chunks of which each task needs all chunks along an axis."""

    def plan(self, results: Sequence[int]) -> list[Step]:
        """The steps that make these results, in order."""
        from ....analysis.nest.loop_structure import enclosing_loops
        from ....analysis.nest.sets.running import reads_so_far, running_results
        from ....analysis.nest.values.relative_pairs import relative_pairs
        from ....dialects.nest import AccumulateOp

        self._make_pairs_perfect()
        sums_of = dict(relative_pairs(self._function.body.block))
        for update in [op for op in self._function.walk() if isinstance(op, AccumulateOp)]:
            if update.parent is None:  # made relative to another one
                continue
            for running in running_results(update):
                self._add_running(running)
            if not reads_so_far(update) and (loops := self._loops_to_cut(update)):
                bases = enclosing_loops(update)[0]
                if bases not in sums_of or not self._add_relative(bases, sums_of[bases], loops):
                    self._add_reduction(update, loops)
        wanted = [place for place in results if self._made_by_a_reduction(place) is None]
        for places, cut, axes in self._groups([(place, *self._cut_of(place)) for place in wanted]):
            self._add_results(places, cut, axes)
        return self.steps

    def source_of(self, place: int) -> Place:
        """What a result is."""
        made = self._made_by_a_reduction(place)
        return ("result", place) if made is None else made

    def names(self) -> dict[Place, str]:
        """What results are called, and what is computed before them."""
        made = [place for step in self.steps for place in step.makes]
        results = [place for place in made if place[0] == "result"]
        found = {place: f"{place[0]} {place[1] + 1}" for place in made}
        for step in self.steps:
            base, *others = step.makes
            if others and others[0][0] == "relative":
                kinds = [
                    "sums",
                    *(f"powers {k}" if k > 1 else "differences" for k in range(1, len(others) - 1)),
                    "count",
                ]
                found |= {one: f"{kind} of {found[base]}" for one, kind in zip(others, kinds, strict=False)}
        several = len(results) > 1
        return found | {one: f"result {k}" if several else "the result" for k, one in enumerate(results)}

    def origins(self) -> dict[Place, str]:
        """Where in Python reductions stand."""
        counts = [len(getattr(op, "memrefs", (None,))) for op in self._given]
        ops = [op for op, count in zip(self._given, counts, strict=True) for _ in range(count)]
        places = [op_location(op) for op in ops]
        return {
            ("reduction", k): f"line {at.line}" for k, at in enumerate(places) if at is not None and at.line
        }

    # ---- reductions ---------------------------------------------------------------------------------

    def _loops_to_cut(self, update: AccumulateOp) -> list[ForOp]:
        """The loops that a reduction is over and that sources in several chunks move with."""
        from ....analysis.nest.loop_structure import enclosing_loops

        reduced = [loop for loop in enclosing_loops(update) if loop.iv not in update.indices.operands]
        if update.order_name != "any" or any(map(enclosing_loops, _makers(update))):
            return []
        return [loop for loop in reduced if self._moves_with(update, loop)]

    def _moves_with(self, update: AccumulateOp, loop: ForOp, *, is_read: bool = False) -> bool:
        try:
            _, restricted = self._restricted_update(update, [loop], [], is_read=is_read)
        except NestorError:
            return False
        return self._ends(restricted, "partial loop", 0, 0) is not None

    def _is_cut(self, source: Place, axis: int) -> bool:
        chunks = self._chunks.get(source)
        return chunks is not None and len(chunks[axis]) > 1

    def _add_reduction(self, update: AccumulateOp, loops: list[ForOp]) -> None:
        """Compute a reduction in parts, where it can be; where not, who needs it computes all of it."""
        try:
            shape = self.shape_of_buffer(update.memrefs[0])
            axes = self._axes_of_partial(update, loops, shape)
            made = self._restricted_update(update, loops, list(axes))
            iterations = [self._iterations(made[1], k, loop) for k, loop in enumerate(loops)]
        except NestorError:
            return
        places = self._places_for("reduction", update)
        dtypes = [dtype_in(buffer) for buffer in update.memrefs]
        words = [("partial loop", 0, k) for k in range(len(loops))] + [("partial", 0, axis) for axis in axes]
        cuts = [*iterations, *axes.values()]
        outs = sorted(_places_of(made[1], "partial"))
        step = self._step(
            made,
            lambda: self._restricted_update(update, loops, list(axes), inside=True),
            words,
            cuts,
            [None] * len(loops) + list(axes),
            [places[k] for k in outs],
            [shape] * len(outs),
            [dtypes[k] for k in outs],
            self._combining(update, dtypes),
        )
        self._given.append(update)
        self._dtypes |= dict(zip(places, dtypes, strict=True))
        self.steps.append(step)
        for k, place in enumerate(step.makes):
            self._chunks[place], self._shapes[place] = step.chunks(k), shape

    def _add_relative(self, bases: ForOp, sums: ForOp, loops: list[ForOp]) -> bool:
        """Compute a reduction and the sum relative to it in one step, from the same chunks, where that can be.

        The function then takes the sum of all chunks, relative to their own base, and shifts it to what it subtracts."""
        from ....analysis.nest.loop_structure import perfect_band
        from ....transforms.nest.producers.restrict_relative import (
            pair_in_parts,
            sums_from_parts,
            types_of_parts,
        )
        from .combining import relative_combining_module

        try:
            pair = pair_in_parts(bases, sums)
            update, numbers = pair.base, [perfect_band(bases).index(loop) for loop in loops]
            shape = self.shape_of_buffer(update.memrefs[0])
            if self.shape_of_buffer(pair.total.memrefs[0]) != shape:
                return False
            axes = self._axes_of_partial(update, loops, shape)
            made = self._restricted_relative(bases, sums, numbers, list(axes))
            iterations = [self._iterations(made[1], k, loop) for k, loop in enumerate(loops)]
            dtypes = [_dtype_of(one) for one in types_of_parts(pair)]
            module, count = relative_combining_module(pair)
            (place,) = self._places_for("reduction", update)
            relative = [("relative", len(self._relative) + k) for k in range(count - 1)]
            step = self._step(
                made,
                lambda: self._restricted_relative(bases, sums, numbers, list(axes), inside=True),
                [("partial loop", 0, k) for k in range(len(loops))] + [("partial", 0, axis) for axis in axes],
                [*iterations, *axes.values()],
                [None] * len(loops) + list(axes),
                [place, *relative],
                [shape] * count,
                dtypes,
                chunk_program(module, "combine", dict(enumerate(dtypes)), self._target),
                is_read_twice=True,
            )
        except NestorError:
            return False
        arguments = sums_from_parts(self._function, bases, sums)
        for k, (one, argument) in enumerate(zip(relative, arguments, strict=True), start=1):
            self._relative[argument.index] = one
            for same in (one, ("input", argument.index)):
                self._chunks[same], self._shapes[same], self._dtypes[same] = step.chunks(k), shape, dtypes[k]
        self._chunks[place], self._shapes[place], self._dtypes[place] = step.chunks(0), shape, dtypes[0]
        self._given.append(update)
        self.steps.append(step)
        self._look_again()
        return True

    def _make_pairs_perfect(self) -> None:
        """Let reductions along rows in several chunks, and the sums relative to them, be perfect nests."""
        from ....analysis.nest.values.relative_pairs import relative_pairs, update_of
        from ....transforms.nest.reductions.separate import make_perfect

        block = self._function.body.block
        perfect = set(relative_pairs(block))
        for pair in relative_pairs(block, of_any_loops=True):
            updates = [update_of(nest, of_any_loops=True) for nest in pair]
            if pair not in perfect and all(one is not None and self._loops_to_cut(one) for one in updates):
                for update in updates:
                    make_perfect(update)  # pyright: ignore[reportArgumentType]
                self._look_again()

    def _look_again(self) -> None:
        """The function has changed."""
        self._text = print_module(self._module, places=True)
        self._place = {op: k for k, op in enumerate(self._module.walk())}

    def _restricted_relative(
        self, bases: ForOp, sums: ForOp, loops: Sequence[int], axes: Sequence[int], *, inside: bool = False
    ) -> Made:
        from ....transforms.nest.producers.restrict_relative import restrict_relative

        def make() -> Made:
            module, copy_of = self._copied()
            function = function_of(module, self._name)
            given = [copy_of[op] for op in self._given]
            nests = copy_of[bases], copy_of[sums]
            made = restrict_relative(function, *nests, loops, axes, given, inside=inside)
            return module, _with_rows_apart(made)

        return self._known(f"relative {loops}", [bases, sums], axes, inside, make)

    def _axes_of_partial(
        self, update: AccumulateOp, loops: Sequence[ForOp], shape: tuple[int, ...], *, is_read: bool = False
    ) -> dict[int, list[int]]:
        """Where boxes of what is reduced to begin and end, along the axes whose elements are followed."""
        found: dict[int, list[int]] = {}
        for axis in range(_rank(update)):
            try:
                _, restricted = self._restricted_update(update, loops, [axis], is_read=is_read)
            except NestorError:
                continue
            found |= self._axes_to_cut(restricted, "partial", 0, shape)
        return found

    def _places_for(self, kind: str, op: restriction.Made) -> list[Place]:
        from ....analysis.nest.sets.restriction import buffers_of

        begin = sum(len(buffers_of(one)) for one in self._given)
        return [(kind, begin + k) for k in range(len(buffers_of(op)))]

    def _restricted_update(
        self,
        update: AccumulateOp,
        loops: Sequence[ForOp],
        axes: Sequence[int],
        *,
        is_read: bool = False,
        inside: bool = False,
    ) -> Made:
        def make() -> Made:
            module, copy_of = self._copied()
            function = function_of(module, self._name)
            given = [copy_of[op] for op in self._given]
            copies = [copy_of[loop] for loop in loops]
            made = restrict_update(
                function, copy_of[update], copies, axes, given, is_read=is_read, inside=inside
            )
            return module, _with_rows_apart(made)

        return self._known("totals" if is_read else "update", [update, *loops], axes, inside, make)

    # ---- running results ----------------------------------------------------------------------------

    def _add_running(self, running: Running) -> None:
        """Compute a running result in chunks, where it can be: the totals of chunks, then each from what is before it."""
        update, store, along = running.update, running.store, running.axis
        if not self._moves_with(update, running.loop, is_read=True):
            return
        try:
            shape = self.shape_of_buffer(store.memref)
            cut: dict[int, list[int]] = {}
            for axis in range(len(shape)):
                _, restricted = self._restricted_running(running, [axis])
                cut |= self._axes_to_cut(restricted, "partial", 0, shape)
            whole = [max(self._numbers(running.loop.lower)), min(self._numbers(running.loop.upper))]
            if along not in cut or whole != [0, shape[along]]:
                return
            made = self._restricted_running(running, list(cut))
            totals = self._totals(running, cut[along])
        except NestorError:
            return
        (place,) = self._places_for("reduction", store)
        self.steps.append(totals)
        for k, before in enumerate(totals.makes):
            self._chunks[before] = _chunks_of(cut[along]), *totals.chunks(k)
            self._shapes[before] = shape[along], *totals.recipe.shapes[k]
            self._dtypes[before] = totals.recipe.dtypes[k]
        step = self._step(
            made,
            lambda: self._restricted_running(running, list(cut), inside=True),
            [("partial", 0, axis) for axis in cut],
            list(cut.values()),
            list(cut),
            [place],
            [shape],
            [dtype_in(store.memref)],
            carries=totals.makes,
        )
        self._given.append(store)
        self.steps.append(step)
        self._chunks[place], self._shapes[place] = step.chunks(0), shape
        self._dtypes[place] = dtype_in(store.memref)

    def _totals(self, running: Running, ends: list[int]) -> Step:
        """What is before each chunk of a running result: first nothing, then the totals of the chunks before it."""
        update, loops = running.update, [running.loop]
        shape = self.shape_of_buffer(update.memrefs[0])
        axes = self._axes_of_partial(update, loops, shape, is_read=True)
        dtypes = [dtype_in(buffer) for buffer in update.memrefs]
        made = self._restricted_update(update, loops, list(axes), is_read=True)
        outs = sorted(_places_of(made[1], "partial"))
        places = self._places_for("total", update)
        return self._step(
            made,
            lambda: self._restricted_update(update, loops, list(axes), is_read=True, inside=True),
            [("partial loop", 0, 0), *(("partial", 0, axis) for axis in axes)],
            [[ends[0], *ends[:-1]], *axes.values()],
            [None, *axes],
            [places[k] for k in outs],
            [shape] * len(outs),
            [dtypes[k] for k in outs],
            self._combining(update, dtypes),
            is_running=True,
        )

    def _restricted_running(self, running: Running, axes: Sequence[int], *, inside: bool = False) -> Made:
        from ....analysis.nest.sets.running import Running

        def make() -> Made:
            module, copy_of = self._copied()
            function = function_of(module, self._name)
            given = [copy_of[op] for op in self._given]
            update, loop, store = (copy_of[op] for op in (running.update, running.loop, running.store))
            one = Running(update, loop, store, running.axis)
            made = restrict_running(function, one, axes, given, inside=inside)
            return module, _with_rows_apart(made)

        return self._known("running", [running.store], axes, inside, make)

    # ---- what restricted functions are made of ------------------------------------------------------

    def _known(
        self,
        what: str,
        ops: Sequence[Any],
        axes: Sequence[int],
        inside: bool,
        make: Callable[[], Made],
    ) -> Made:
        """A restricted function, kept for the next call. What refused once refuses again."""
        everything: list[Any] = [*ops, None, *self._given]
        places = tuple(self._place.get(op, op) for op in everything)
        key = self._text, self._name, what, places, tuple(axes), inside
        if key not in _KNOWN:
            try:
                _KNOWN[key] = make()
            except NestorError as error:
                _KNOWN[key] = error
            while len(_KNOWN) > MOST_KNOWN:
                _KNOWN.popitem(last=False)
        found = _KNOWN[key]
        if isinstance(found, NestorError):
            raise found
        return found

    def shape_of_buffer(self, buffer: Any) -> tuple[int, ...]:
        """The extents of a buffer, which are those of arguments."""
        from ....analysis.nest.values.extent_keys import extent_key

        known, found = self._known_values(), []
        for axis in range(buffer.type.get_num_dims()):
            key = extent_key(buffer, axis)
            extent = key if isinstance(key, int) else known.get(key)
            if extent is None:
                extent = self._computed_extent(buffer, axis, known)
            found.append(extent)
        return tuple(found)

    def _computed_extent(self, buffer: Any, axis: int, known: Mapping[Any, int]) -> int:
        """An extent that is computed from those of arguments (`n - 2`). Raises UnsupportedError for others."""
        from ....analysis.nest.values.extent_keys import value_key
        from ....dialects.nest import AllocOp

        def number(value: Any) -> int:
            key = value_key(value)
            found = key if isinstance(key, int) else known.get(key)
            if found is not None:
                return found
            compute = _ARITHMETIC.get(getattr(value.owner, "name", ""))
            if compute is None:
                raise UnsupportedError(f"only a run of '{self._name}' knows the extents of a buffer")
            return compute(*map(number, value.owner.operands))

        if not isinstance(buffer.owner, AllocOp):
            raise UnsupportedError(f"the extents of a buffer of '{self._name}' are not those of arguments")
        position = sum(extent == DYNAMIC_INDEX for extent in buffer.type.get_shape()[:axis])
        return number(buffer.owner.sizes[position])

    def _made_by_a_reduction(self, place: int) -> Place | None:
        """The source that is a result, where the buffer that is reduced to is that of the result."""
        from ....analysis.nest.sets.restriction import buffers_of

        result = self._function.args[place]
        buffers = [buffer for op in self._given for buffer in buffers_of(op)]
        return ("reduction", buffers.index(result)) if result in buffers else None

    def _known_values(self) -> dict[Any, int]:
        """The extents of arguments, and the scalars, by their keys."""
        from ....analysis.nest.values.extent_keys import extent_key

        known: dict[Any, int] = {}
        for k, argument in enumerate(self._function.args):
            if k in self._scalars:
                known[argument] = self._scalars[k]
            for axis, extent in enumerate(self._shapes.get(("input", k), ())):
                known[extent_key(argument, axis)] = extent
        return known

    def _iterations(self, restricted: Restricted, number: int, loop: ForOp) -> list[int]:
        """Where the iterations of a loop are cut, from the first to the last one: as the chunks of what moves with it."""
        found = self._ends(restricted, "partial loop", 0, number)
        if found is None:
            raise UnsupportedError(f"no input of '{self._name}' moves with a reduction")
        first, last = max(self._numbers(loop.lower)), min(self._numbers(loop.upper))
        cuts, shift, factor = found
        inner = {-((shift - end) // factor) for end in cuts[1:-1]}
        return [first, *sorted(end for end in inner if first < end < last), max(first, last)]

    def _numbers(self, bounds: AffineList) -> list[int]:
        """The bounds of a loop. Raises UnsupportedError for what is not known before the function runs."""
        from ....analysis.nest.values.extent_keys import value_key

        known, values = self._known_values(), []
        for operand in bounds.operands:
            key = value_key(operand)
            value = key if isinstance(key, int) else known.get(key)
            if value is None:
                raise UnsupportedError(f"only a run of '{self._name}' knows how long a loop is")
            values.append(value)
        return [expression.eval(values, []) for expression in bounds.exprs]

    def _combining(self, update: AccumulateOp, dtypes: Sequence[np.dtype]) -> ChunkProgram:
        from .combining import combining_module

        module, count = combining_module(update)
        return chunk_program(module, "combine", {k: dtypes[k] for k in range(count)}, self._target)

    # ---- results ------------------------------------------------------------------------------------

    def _cut_of(self, place: int) -> tuple[Cut, list[int]]:
        """Where a result is cut, by axis, and the axes that it is restricted along: those, and some with borders."""
        shape = self._shapes["result", place]
        cut: Cut = {}
        movable: list[int] = []
        for axis in range(len(shape)):
            try:
                _, restricted = self._restricted([place], [axis])
            except NestorError:
                continue
            movable.append(axis)
            cut |= self._axes_to_cut(restricted, "result", place, shape)
        return cut, sorted({*cut, *self._axes_with_borders(place, movable, cut)})

    def _groups(
        self, each: Sequence[tuple[int, Cut, list[int]]]
    ) -> Iterator[tuple[list[int], Cut, list[int]]]:
        """Results that one program makes: of equal extents and boxes, from the same sources."""
        groups: dict[Any, list[int]] = {}
        of_key: dict[Any, tuple[Cut, list[int]]] = {}
        for place, cut, axes in each:
            _, restricted = self._restricted([place], axes)
            sources = frozenset(map(self._source_of, _parts_of(restricted)))
            key = self._shapes["result", place], repr(sorted(cut.items())), tuple(axes), sources
            groups.setdefault(key, []).append(place)
            of_key[key] = cut, axes
        for key, places in groups.items():
            cut, axes = of_key[key]
            try:
                self._restricted(places, axes)
            except NestorError:
                yield from (([place], cut, axes) for place in places)
            else:
                yield places, cut, axes

    def _add_results(self, places: Sequence[int], cut: Cut, axes: Sequence[int]) -> None:
        shape = self._shapes["result", places[0]]
        made = self._restricted(places, axes)
        step = self._step(
            made,
            lambda: self._restricted(places, axes, inside=True),
            [("result", places[0], axis) for axis in axes],
            [cut.get(axis, [0, shape[axis]]) for axis in axes],
            axes,
            [("result", place) for place in places],
            [shape] * len(places),
            [self._dtypes["result", place] for place in places],
        )
        self.steps.append(step)
        self._note_whole(made[1])

    def _axes_with_borders(self, place: int, movable: Sequence[int], cut: Collection[int]) -> list[int]:
        """The axes that are not cut along which a function is simpler away from borders, and reads less for less of it."""
        if not cut or len(movable) == len(cut):
            return []
        try:
            _, restricted = self._restricted([place], movable, inside=True)
        except NestorError:
            return []
        words = [("result", place, axis) for axis in movable]
        shape = self._shapes["result", place]
        ranges = self._inside(restricted, words, [[0, shape[axis]] for axis in movable])
        parts = [one for one in restricted.arguments if isinstance(one, Part) and one.kind == "input"]
        moving = {
            word.axis
            for part in parts
            for limits in part.axes.values()
            for word, _ in limits[0].factors
            if isinstance(word, Word) and word.kind == "lo"
        }
        return [
            axis
            for axis, (low, high) in zip(movable, ranges, strict=True)
            if (low, high) != (0, shape[axis]) and 2 * (high - low) > shape[axis] and axis in moving
        ]

    def _note_whole(self, restricted: Restricted) -> None:
        for argument, part in zip(restricted.function.args, restricted.arguments, strict=True):
            if not isinstance(part, Part) or part.kind != "input" or part.place in self._relative:
                continue
            for axis, chunks in enumerate(self._chunks[part.kind, part.place]):
                count = self._chunks_for_every_box(part, axis)
                if count > 1:
                    which = f"all {count}" if count == len(chunks) else f"{count} of {len(chunks)}"
                    text = f"each chunk of a result needs {which} chunks of '{part.name}' along axis {axis}"
                    text += self._because(restricted.function, argument, part)
                    self.remarks += [] if text in self.remarks else [text]

    def _because(self, restricted: FuncOp, argument: SSAValue, part: Part) -> str:
        """What reads an argument first, as the whole function does it, with its line of Python."""
        from ....analysis.nest.sets.chunking_text import access_text
        from ....analysis.nest.sets.readable import NestText

        for reader in _readers(restricted, argument):
            for op in _readers(self._function, self._function.args[part.place]):
                if op_location(op) == op_location(reader):
                    text = access_text(op, NestText(self._function), lambda _: part.name)
                    return f", because of {text}"
        return ""

    def _chunks_for_every_box(self, part: Part, axis: int) -> int:
        """Of how many chunks along an axis every box needs something."""
        chunks = self._chunks[part.kind, part.place][axis]
        if axis not in part.axes:
            return len(chunks)
        words = [word for limit in part.axes[axis] for word, _ in limit.factors]
        if any(isinstance(word, Word) and word.kind in ("lo", "hi") for word in words):
            return 1
        first, last = (self.bound(one, {}) for one in part.axes[axis])
        ends = [0, *np.cumsum(chunks).tolist()]
        return sum(low < last and high > first for low, high in pairwise(ends))

    def _restricted(self, places: Sequence[int], axes: Sequence[int], *, inside: bool = False) -> Made:
        def make() -> Made:
            module, copy_of = self._copied()
            function = function_of(module, self._name)
            given = [copy_of[op] for op in self._given]
            results = [function.args[place] for place in places]
            made = restrict(function, results, axes, given, inside=inside)
            return module, _with_rows_apart(made)

        return self._known("result", places, axes, inside, make)

    def _axes_to_cut(
        self, restricted: Restricted, kind: str, place: int, shape: tuple[int, ...]
    ) -> dict[int, list[int]]:
        """Where boxes begin and end along the axes that sources in several chunks move along."""
        found = {}
        for axis, extent in enumerate(shape):
            ends = self._ends(restricted, kind, place, axis)
            if ends is None or extent == 0:
                continue
            cuts, shift, factor = ends
            if (cuts[-1], factor) == (extent, 1):
                shift = 0
            inner = {max(0, min(extent, -((shift - end) // factor))) for end in cuts[1:-1]}
            found[axis] = sorted({0, extent, *inner})
        return {axis: ends for axis, ends in found.items() if len(ends) > 2}

    def _ends(
        self, restricted: Restricted, kind: str, place: int, axis: int
    ) -> tuple[list[int], int, int] | None:
        """Where the chunks begin of the source that moves with a box, its distance, and its step; None where none does.

        The step is negative where the source goes the other way: it begins where the box ends."""
        low, high = Word("lo", kind, place, axis), Word("hi", kind, place, axis)
        best = None
        for part in restricted.arguments:
            if not isinstance(part, Part) or part.kind not in ("input", "reduction"):
                continue
            for axis, (lower, _) in part.axes.items():
                factors = dict(lower.factors)
                source = self._source_of(part)
                factor = factors.pop(low, 0) or factors.pop(high, 0)
                is_followed = factor > 0 if low in dict(lower.factors) else factor < 0
                if not is_followed or not self._is_cut(source, axis):
                    continue
                ends = [0, *np.cumsum(self._chunks[source][axis]).tolist()]
                shift = lower.constant + sum(n * self.value(word, {}) for word, n in factors.items())
                rank = (factor == 1 and shift == 0, factor == 1, factor == -1, len(ends))
                if best is None or rank > best[0]:
                    best = rank, (ends, shift, factor)
        return None if best is None else best[1]

    # ---- recipes ------------------------------------------------------------------------------------

    def _step(
        self,
        made: Made,
        make_inner: Callable[[], Made],
        words: Sequence[tuple[str, int, int]],
        cuts: Sequence[Sequence[int]],
        axes: Sequence[int | None],
        makes: Sequence[Place],
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[np.dtype],
        combine: ChunkProgram | None = None,
        carries: Sequence[Place] = (),
        *,
        is_running: bool = False,
        is_read_twice: bool = False,
    ) -> Step:
        """The step whose boxes are along cuts, of which each has the words of an array and an axis, or of a loop."""
        sources = [self._source_of(part, carries) for part in _parts_of(made[1])]
        target = self._target.beside(prod(len(one) - 1 for one in cuts))
        any_box = self._box_program(made, words, sources, makes, dtypes, carries, target)
        inner, inside = None, tuple((one[0], one[-1]) for one in cuts)
        try:
            simpler = make_inner()
            ranges = self._inside(simpler[1], words, cuts)
            if ranges != list(inside) and all(low < high for low, high in ranges):
                inner = self._box_program(simpler, words, sources, makes, dtypes, carries, target)
                inside = tuple(ranges)
        except NestorError:
            inner = None
        recipe = Recipe(
            any_box,
            inner,
            inside,
            tuple(tuple(map(int, one)) for one in cuts),
            tuple(axes),
            tuple(shapes),
            tuple(
                tuple((0, *map(int, np.cumsum(chunks))) for chunks in self._chunks[place])
                for place in sources
            ),
            combine,
            is_running,
            is_read_twice,
        )
        return Step(recipe, list(makes), sources)

    def _source_of(self, part: Part, carries: Sequence[Place] = ()) -> Place:
        """The source of a part; of what a running result begins with, one of `carries`."""
        if part.kind == "input" and part.place in self._relative:
            return self._relative[part.place]
        return carries[part.place] if part.kind == "carry" else (part.kind, part.place)

    def _inside(
        self, restricted: Restricted, words: Sequence[tuple[str, int, int]], cuts: Sequence[Sequence[int]]
    ) -> list[tuple[int, int]]:
        """Where the boxes begin at least that a restricted function is for, and end at most, by cut."""
        found = [(one[0], one[-1]) for one in cuts]
        if not words:
            return found
        for k, (lower, upper) in enumerate(restricted.inside):
            low, high = found[k]
            found[k] = (
                max([low, *(self.bound(one, {}) for one in lower)]),
                min([high, *(self.bound(one, {}) for one in upper)]),
            )
        return found

    def _box_program(
        self,
        made: Made,
        words: Sequence[tuple[str, int, int]],
        sources: Sequence[Place],
        makes: Sequence[Place],
        dtypes: Sequence[np.dtype],
        carries: Sequence[Place],
        target: ChunkTarget,
    ) -> BoxProgram:
        module, restricted = made
        cut_of = {
            Word(end, *word): (k, number)
            for k, word in enumerate(words)
            for number, end in enumerate(("lo", "hi"))
        }
        parts = _parts_of(restricted)
        number_of = {(part.kind, part.place, part.number): k for k, part in enumerate(parts)}
        arguments: list[Linear | First | tuple[Any] | None] = []
        for one in restricted.arguments:
            if isinstance(one, Part):
                arguments.append(None)
            elif isinstance(one, int):
                arguments.append((self._scalars[one],))
            elif one.kind == "first":
                arguments.append(First(number_of[one.of, one.place, one.number], one.axis))
            else:
                arguments.append(self._linear(WordBound(((one, 1),), 0), cut_of))
        forms = tuple(self._form(part, cut_of, self._source_of(part, carries)) for part in parts)
        kind = "result" if makes[0][0] == "result" else "partial"
        places = _places_of(restricted, kind)
        results = {places[k]: dtype for k, dtype in zip(sorted(places), dtypes, strict=True)}
        takes = tuple(
            tuple(k for k, one in enumerate(sources) if one == self._source_of(part, carries))
            for part in parts
        )
        program = chunk_program(module, self._name, results, target)
        return BoxProgram(program, tuple(arguments), forms, takes)

    def _form(self, part: Part, cut_of: Mapping[Word, tuple[int, int]], source: Place) -> PartForm:
        shape = self._shapes[source]
        axes = [
            (self._linear(part.axes[axis][0], cut_of), self._linear(part.axes[axis][1], cut_of))
            if axis in part.axes
            else None
            for axis in range(len(shape))
        ]
        return PartForm(shape, str(self._dtypes[source]), tuple(axes))

    def _linear(self, bound: WordBound, cut_of: Mapping[Word, tuple[int, int]]) -> Linear:
        terms: list[tuple[int, int, int]] = []
        constant = bound.constant
        for word, factor in bound.factors:
            if isinstance(word, Word) and word in cut_of:
                terms.append((*cut_of[word], factor))
            else:
                constant += factor * self.value(word, {})
        return Linear(tuple(terms), int(constant))

    # ---- numbers ------------------------------------------------------------------------------------

    def value(self, word: Word | int, known: Mapping[Any, int]) -> int:
        """What an index argument is."""
        if isinstance(word, int):
            return self._scalars[word]
        if word.kind == "extent":
            return self._shapes[word.of, word.place][word.axis]
        return known[word]

    def bound(self, bound: WordBound, known: Mapping[Any, int]) -> int:
        return bound.constant + sum(factor * self.value(word, known) for word, factor in bound.factors)

    def _copied(self) -> tuple[ModuleOp, dict[Any, Any]]:
        module = self._module.clone()
        return module, dict(zip(self._module.walk(), module.walk(), strict=True))


def function_of(module: ModuleOp, name: str) -> FuncOp:
    """The function of a module that is called so."""
    from ....analysis.nest.loop_structure import functions

    return next(f for f in functions(module) if f.sym_name.data == name)


def _readers(function: FuncOp, buffer: SSAValue) -> Iterator[Operation]:
    """The loads from a buffer, and the calls that get it."""
    for op in function.walk():
        if isinstance(op, LoadOp | CallOp) and buffer in map(root_of, op.operands):
            yield op


def _makers(update: AccumulateOp) -> list[Operation]:
    """What makes the buffers that are reduced to."""
    return [buffer.owner for buffer in update.memrefs if isinstance(buffer.owner, Operation)]


def _rank(update: AccumulateOp) -> int:
    return update.memrefs[0].type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]


def dtype_in(buffer: Any) -> np.dtype:
    """The dtype of the elements of a buffer."""
    return _dtype_of(buffer.type.element_type)


def _dtype_of(element: Any) -> np.dtype:
    from ....runtime.scalar_eval import dtype_of

    return dtype_of(element)


def _places_of(restricted: Restricted, kind: str) -> dict[int, int]:
    """The numbers of the parts of a kind, with their places among the arguments."""
    return {
        one.place: k
        for k, one in enumerate(restricted.arguments)
        if isinstance(one, Part) and one.kind == kind
    }


def _parts_of(restricted: Restricted) -> list[Part]:
    """The parts of sources among the arguments, in order."""
    return [
        one
        for one in restricted.arguments
        if isinstance(one, Part) and one.kind in ("input", "reduction", "carry")
    ]


def _chunks_of(ends: Sequence[int]) -> tuple[int, ...]:
    return tuple(high - low for low, high in pairwise(ends))


def _with_rows_apart(restricted: Restricted) -> Restricted:
    """What is a part along inner axes may lie in a larger array: only its rows are contiguous. Loops begin at 0."""
    function = restricted.function
    run_from_zero(function, restricted.boxes)
    for argument, part in zip(function.args, restricted.arguments, strict=True):
        if isinstance(part, Part) and any(axis > 0 for axis in part.axes):
            type_ = argument.type
            assert isinstance(type_, MemRefType)
            layout = StridedLayoutAttr([None] * (type_.get_num_dims() - 1) + [1], 0)
            replaced = MemRefType(type_.element_type, type_.get_shape(), layout, type_.memory_space)
            Rewriter.replace_value_with_new_type(argument, replaced)
    types = [argument.type for argument in function.args]
    function.function_type = FunctionType.from_lists(types, [])
    return restricted
