"""Which programs compute a function on inputs in chunks, and which part of which source each box needs.

    y = x - x.mean(0)                 sums       a program for each chunk of rows of x; their results are combined
    x in chunks of rows               y          a program for each chunk of rows, of x and of all sums

What may be cut is read off the function restricted to boxes (`nest-restrict`): reductions whose terms come from several
chunks are made in parts and combined; results are cut along axes that inputs in several chunks move along.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation

from ...interface.errors import NestorError, UnsupportedError
from ..specialise.stages import print_module
from .chunk_program import ChunkProgram, chunk_program

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from ....dialects.affine import AffineList
    from ....dialects.nest import AccumulateOp, ForOp
    from ....transforms.nest.producers.restrict import Part, Restricted, Word, WordBound

Chunks = tuple[tuple[int, ...], ...]
"""The extents of the chunks of an array, by axis, as Dask has them."""

MOST_KNOWN = 256
_KNOWN: OrderedDict[Any, Any] = OrderedDict()
"""Restricted functions, by the text of the whole one and by what they are restricted to: calls make the same ones again."""

Place = tuple[str, int]
"""A source: an input ("input", number of the argument), or a buffer of a reduction ("reduction", number)."""


@dataclass(eq=False)
class Step:
    """Boxes that one program computes: of results, or (`loops`) of the updates of a reduction, which `combine` makes one.

    `makes` are the sources or results of it. `boxes`: where the boxes begin and end along each axis that is cut; `loops`:
    the same for iterations.
    """

    program: ChunkProgram
    arguments: list[Any]
    makes: list[Place]
    shape: list[tuple[int, ...]]
    boxes: dict[int, list[int]]
    loops: list[list[int]] = field(default_factory=list)
    combine: ChunkProgram | None = None

    @property
    def target(self) -> tuple[str, int]:
        """The kind and the number that the words of its boxes have."""
        kind, place = self.makes[0]
        return ("partial", 0) if kind == "reduction" else (kind, place)

    def chunks(self, k: int) -> Chunks:
        """The chunks of what it makes."""
        shape = self.shape[k]
        ends = [self.boxes.get(axis, [0, extent]) for axis, extent in enumerate(shape)]
        return tuple(tuple(high - low for low, high in pairwise(one)) for one in ends)


class Planner:
    """Makes the steps for a function at nest level; `extents` are the shapes of its array arguments, by number.

    `chunks` are those of inputs; `scalars` the other arguments.
    """

    def __init__(
        self,
        module: ModuleOp,
        name: str,
        chunks: Mapping[int, Chunks],
        shapes: Mapping[int, tuple[int, ...]],
        dtypes: Mapping[int, np.dtype],
        scalars: Mapping[int, Any],
        machine: str | None = None,
    ):
        self._module = module
        self._name = name
        self._machine = machine
        self._function = _function(module, name)
        self._text = print_module(module, places=True)
        self._place: dict[Any, int] = {op: k for k, op in enumerate(module.walk())}
        self._chunks: dict[Place, Chunks] = {("input", k): one for k, one in chunks.items()}
        self._shapes: dict[Place, tuple[int, ...]] = {("input", k): shape for k, shape in shapes.items()}
        self._shapes |= {("result", k): shape for k, shape in shapes.items()}
        self._dtypes: dict[Place, np.dtype] = {("result", k): one for k, one in dtypes.items()}
        self._scalars = scalars
        self._given: list[AccumulateOp] = []
        self.steps: list[Step] = []
        self.remarks: list[str] = []
        """What is not divided: inputs in several chunks of which each task needs all chunks along an axis."""

    def plan(self, results: Sequence[int]) -> list[Step]:
        """The steps that make these results, in order."""
        for update, loops in self._reductions():
            self._add_reduction(update, loops)
        for place in results:
            made = self._made_by_a_reduction(place)
            if made is None:
                self._add_result(place)
        return self.steps

    def source_of(self, place: int) -> Place:
        """What a result is."""
        made = self._made_by_a_reduction(place)
        return ("result", place) if made is None else made

    # ---- reductions ---------------------------------------------------------------------------------

    def _reductions(self) -> Iterator[tuple[AccumulateOp, list[ForOp]]]:
        """The reductions that sources in several chunks are reduced by, in order, with the loops that these move with."""
        from ....analysis.nest.loop_structure import enclosing_loops
        from ....dialects.nest import AccumulateOp
        from ....transforms.nest.producers.restrict import Word

        for update in [op for op in self._function.walk() if isinstance(op, AccumulateOp)]:
            reduced = [loop for loop in enclosing_loops(update) if loop.iv not in update.indices.operands]
            if update.order_name != "any" or any(map(enclosing_loops, _makers(update))):
                continue
            loops = []
            for loop in reduced:
                try:
                    _, restricted = self._restricted_update(update, [loop], [])
                except NestorError:
                    continue
                if self._ends(restricted, Word("lo", "partial loop", 0, 0)) is not None:
                    loops.append(loop)
            if loops:
                yield update, loops

    def _is_cut(self, source: Place, axis: int) -> bool:
        chunks = self._chunks.get(source)
        return chunks is not None and len(chunks[axis]) > 1

    def _add_reduction(self, update: AccumulateOp, loops: list[ForOp]) -> None:
        """Compute a reduction in parts, where it can be; where not, who needs it computes all of it."""
        try:
            whole = self._restricted_update(update, loops, list(range(_rank(update))))
            shape = self._shape_of_reduction(whole[1], update)
            axes = self._axes_to_cut(whole[1], "partial", 0, shape)
            made, restricted = self._restricted_update(update, loops, list(axes))
            iterations = [self._iterations(restricted, k, loop) for k, loop in enumerate(loops)]
        except NestorError:
            return
        begin = sum(len(op.memrefs) for op in self._given)
        places: list[Place] = [("reduction", begin + k) for k in range(len(update.memrefs))]
        dtypes = [_dtype(buffer) for buffer in update.memrefs]
        outs = _places_of(restricted, "partial")
        program = self._compiled(made, {outs[k]: dtypes[k] for k in sorted(outs)})
        combine = self._combining(update, dtypes)
        step = Step(
            program,
            restricted.arguments,
            [places[k] for k in sorted(outs)],
            [shape] * len(outs),
            axes,
            iterations,
            combine,
        )
        self._given.append(update)
        self.steps.append(step)
        for k, place in enumerate(step.makes):
            self._chunks[place], self._shapes[place] = step.chunks(k), shape

    def _restricted_update(
        self, update: AccumulateOp, loops: Sequence[ForOp], axes: Sequence[int]
    ) -> tuple[ModuleOp, Restricted]:
        from ....transforms.nest.producers.restrict import restrict_update

        def make() -> tuple[ModuleOp, Restricted]:
            module, copy_of = self._copied()
            function = _function(module, self._name)
            given = [copy_of[op] for op in self._given]
            copies = [copy_of[loop] for loop in loops]
            return module, restrict_update(function, copy_of[update], copies, axes, given)

        return self._known("update", [update, *loops], axes, make)

    def _known(
        self,
        what: str,
        ops: Sequence[Any],
        axes: Sequence[int],
        make: Callable[[], tuple[ModuleOp, Restricted]],
    ) -> tuple[ModuleOp, Restricted]:
        """A restricted function, kept for the next call. What refused once refuses again."""
        everything: list[Any] = [*ops, None, *self._given]
        places = tuple(self._place.get(op, op) for op in everything)
        key = self._text, self._name, what, places, tuple(axes)
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

    def _shape_of_reduction(self, restricted: Restricted, update: AccumulateOp) -> tuple[int, ...]:
        """The extents of what is reduced to, which are those of arguments."""
        from ....analysis.nest.values.extent_keys import extent_key

        buffer, known, found = update.memrefs[0], self._known_values(), []
        for axis in range(_rank(update)):
            key = extent_key(buffer, axis)
            extent = key if isinstance(key, int) else known.get(key)
            if extent is None:
                raise UnsupportedError(
                    f"the extents of a reduction of '{self._name}' are not those of arguments"
                )
            found.append(extent)
        return tuple(found)

    def _made_by_a_reduction(self, place: int) -> Place | None:
        """The source that is a result, where the buffer that is reduced to is that of the result."""
        result, begin = self._function.args[place], 0
        for update in self._given:
            for k, buffer in enumerate(update.memrefs):
                if buffer is result:
                    return "reduction", begin + k
            begin += len(update.memrefs)
        return None

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
        from ....transforms.nest.producers.restrict import Word

        found = self._ends(restricted, Word("lo", "partial loop", 0, number))
        if found is None:
            raise UnsupportedError(f"no input of '{self._name}' moves with a reduction")
        first, last = max(self._numbers(loop.lower)), min(self._numbers(loop.upper))
        cuts, shift, factor = found
        inner = {-(-(end - shift) // factor) for end in cuts[1:-1]}
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
        return chunk_program(module, "combine", {k: dtypes[k] for k in range(count)}, self._machine)

    # ---- results ------------------------------------------------------------------------------------

    def _add_result(self, place: int) -> None:
        shape = self._shapes["result", place]
        axes = list(range(len(shape)))
        cut: dict[int, list[int]] = {}
        for axis in axes:
            try:
                _, restricted = self._restricted(place, [axis])
            except NestorError:
                continue
            cut |= self._axes_to_cut(restricted, "result", place, shape)
        made, restricted = self._restricted(place, list(cut))
        outs = _places_of(restricted, "result")
        program = self._compiled(made, {at: self._dtypes["result", place] for at in outs.values()})
        step = Step(program, restricted.arguments, [("result", place)], [shape], cut)
        self.steps.append(step)
        self._note_whole(restricted)

    def _note_whole(self, restricted: Restricted) -> None:
        from ....transforms.nest.producers.restrict import Part

        for part in restricted.arguments:
            if not isinstance(part, Part) or part.kind != "input":
                continue
            for axis, chunks in enumerate(self._chunks[part.kind, part.place]):
                if len(chunks) > 1 and axis not in part.axes:
                    text = f"each chunk of a result needs all {len(chunks)} chunks of '{part.name}' along axis {axis}"
                    self.remarks += [] if text in self.remarks else [text]

    def _restricted(self, place: int, axes: Sequence[int]) -> tuple[ModuleOp, Restricted]:
        from ....transforms.nest.producers.restrict import restrict

        def make() -> tuple[ModuleOp, Restricted]:
            module, copy_of = self._copied()
            function = _function(module, self._name)
            given = [copy_of[op] for op in self._given]
            return module, restrict(function, [function.args[place]], axes, given)

        return self._known("result", [place], axes, make)

    def _axes_to_cut(
        self, restricted: Restricted, kind: str, place: int, shape: tuple[int, ...]
    ) -> dict[int, list[int]]:
        """Where boxes begin and end along the axes that sources in several chunks move along."""
        from ....transforms.nest.producers.restrict import Word

        found = {}
        for axis, extent in enumerate(shape):
            ends = self._ends(restricted, Word("lo", kind, place, axis))
            if ends is None or extent == 0:
                continue
            cuts, shift, factor = ends
            if (cuts[-1], factor) == (extent, 1):
                shift = 0
            inner = {max(0, min(extent, -(-(end - shift) // factor))) for end in cuts[1:-1]}
            if factor < 0:
                inner = {extent - end for end in inner}
            found[axis] = sorted({0, extent, *inner})
        return {axis: ends for axis, ends in found.items() if len(ends) > 2}

    def _ends(self, restricted: Restricted, low: Word) -> tuple[list[int], int, int] | None:
        """Where the chunks begin of the source that moves with a box, its distance, and its step; None where none does."""
        from ....transforms.nest.producers.restrict import Part

        best = None
        for part in restricted.arguments:
            if not isinstance(part, Part) or part.kind not in ("input", "reduction"):
                continue
            for axis, (lower, _) in part.axes.items():
                factors = dict(lower.factors)
                source = part.kind, part.place
                if low not in factors or factors[low] <= 0 or not self._is_cut(source, axis):
                    continue
                factor = factors.pop(low)
                ends = [0, *np.cumsum(self._chunks[source][axis]).tolist()]
                shift = lower.constant + sum(n * self.value(word, {}) for word, n in factors.items())
                rank = (factor == 1 and shift == 0, factor == 1, len(ends))
                if best is None or rank > best[0]:
                    best = rank, (ends, shift, factor)
        return None if best is None else best[1]

    # ---- numbers ------------------------------------------------------------------------------------

    def value(self, word: Word | int, known: Mapping[Any, int]) -> int:
        """What an index argument is."""
        if isinstance(word, int):
            return self._scalars[word]
        if word.kind == "extent":
            return self._shapes[word.of, word.place][word.axis]
        return known[word]

    def scalars_of(self, arguments: Sequence[Any]) -> dict[int, Any]:
        """The scalars among the arguments of a program."""
        return {one: self._scalars[one] for one in arguments if isinstance(one, int)}

    def bound(self, bound: WordBound, known: Mapping[Any, int]) -> int:
        return bound.constant + sum(factor * self.value(word, known) for word, factor in bound.factors)

    def slices(self, part: Part, known: Mapping[Any, int]) -> list[tuple[int, int]]:
        """The part of a source that a box needs, by axis."""
        found = []
        for axis, extent in enumerate(self._shapes[part.kind, part.place]):
            if axis not in part.axes:
                found.append((0, extent))
                continue
            lower, upper = (self.bound(one, known) for one in part.axes[axis])
            low = min(max(lower, 0), extent)
            found.append((low, max(low, min(upper, extent))))
        return found

    def _copied(self) -> tuple[ModuleOp, dict[Any, Any]]:
        module = self._module.clone()
        return module, dict(zip(self._module.walk(), module.walk(), strict=True))

    def _compiled(self, module: ModuleOp, results: dict[int, np.dtype]) -> ChunkProgram:
        return chunk_program(module, self._name, results, self._machine)


def _function(module: ModuleOp, name: str) -> FuncOp:
    from ....analysis.nest.loop_structure import functions

    return next(f for f in functions(module) if f.sym_name.data == name)


def _makers(update: AccumulateOp) -> list[Operation]:
    """What makes the buffers that are reduced to."""
    return [buffer.owner for buffer in update.memrefs if isinstance(buffer.owner, Operation)]


def _rank(update: AccumulateOp) -> int:
    return update.memrefs[0].type.get_num_dims()  # pyright: ignore[reportAttributeAccessIssue]


def _dtype(buffer: Any) -> np.dtype:
    from ....runtime.scalar_eval import dtype_of

    return dtype_of(buffer.type.element_type)


def _places_of(restricted: Restricted, kind: str) -> dict[int, int]:
    """The numbers of the parts of a kind, with their places among the arguments."""
    from ....transforms.nest.producers.restrict import Part

    return {
        one.place: k
        for k, one in enumerate(restricted.arguments)
        if isinstance(one, Part) and one.kind == kind
    }
