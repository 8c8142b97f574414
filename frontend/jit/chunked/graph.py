"""The tasks of a plan's steps, as arrays of Dask: one for each box, for borders, and for what combines partial results."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

from .boxes import SPLIT_EVERY, Recipe, combine_parts, compute_box, first_before, next_before, take_borders
from .detection import is_dask
from .memory import Memory, is_cupy
from .plan import Chunks, Place, Step
from .reading_again import Readings

MOST_BORDERS = 4
"""The parts of a chunk that boxes need are taken by one task where the chunk has as many times their elements."""


class Graph:
    """The tasks of the steps of a plan, as Dask arrays."""

    def __init__(self, inputs: Mapping[int, Any], steps: Sequence[Step], memory: Memory):
        self._memory = memory
        self.arrays: dict[Place, Any] = {}
        self.readings = Readings(steps)
        for k, value in inputs.items():
            self.arrays["input", k] = value if is_dask(value) else self._as_it_is(value)

    def _as_it_is(self, value: Any) -> Any:
        """An array of the call as it is now, in the memory of the chunks."""
        da: Any = import_module("dask.array")
        array = da.from_array(value.copy(), chunks=-1, asarray=False)
        if not self._memory.is_device or is_cupy(type(value)):
            return array
        meta = self._memory.meta(value.ndim, value.dtype)
        return array.map_blocks(self._memory.taken, dtype=value.dtype, meta=meta)

    def array(self, place: Place) -> Any:
        return self.arrays[place]

    def add(self, step: Step) -> None:
        """Add the tasks of a step."""
        from dask.base import tokenize
        from dask.highlevelgraph import HighLevelGraph

        sources = [self.readings.array(place, step, self.arrays) for place in step.sources]
        name = f"{step.recipe.any_box.program.name}-{tokenize(step.recipe, [one.name for one in sources])}"
        tasks = _Tasks(name, step.recipe, sources).made()
        layers = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
        for k, (place, dtype) in enumerate(zip(step.makes, step.recipe.dtypes, strict=True)):
            chunks = step.chunks(k)
            if step.recipe.is_running:
                chunks = ((1,) * (len(step.recipe.cuts[0]) - 1), *chunks)
            self.arrays[place] = self._output(layers, name, k, len(step.makes), chunks, dtype)

    def _output(self, layers: Any, name: str, k: int, count: int, chunks: Chunks, dtype: Any) -> Any:
        da: Any = import_module("dask.array")
        HighLevelGraph: Any = import_module("dask.highlevelgraph").HighLevelGraph
        meta = self._memory.meta(len(chunks), dtype)
        if count == 1:
            return da.Array(layers, name, chunks, meta=meta)
        one = f"{name}-{k}"
        indices = product(*(range(len(axis)) for axis in chunks))
        tasks = {(one, *index): (operator.getitem, (name, *index), k) for index in indices}
        graph = HighLevelGraph({**layers.layers, one: tasks}, {**layers.dependencies, one: {name}})
        return da.Array(graph, one, chunks, meta=meta)


class _Tasks:
    """The tasks of a step: one for each box, one for each chunk of which other boxes need borders, and what combines
    partial results.

    Which chunks a box needs along an axis of a source depends on few cuts, mostly one: it is looked up once for each."""

    def __init__(self, name: str, recipe: Recipe, sources: Sequence[Any]):
        from dask.task_spec import DataNode, Task, TaskRef

        self._task, self._ref = Task, TaskRef
        self._name = name
        self._recipe = recipe
        self._sources = [(source.name, source.chunks) for source in sources]
        self._cuts_of = [
            [sorted(set() if one is None else one[0].cuts | one[1].cuts) for one in form.axes]
            for form in recipe.any_box.parts
        ]
        self._chunks: list[list[dict[tuple[int, ...], list[_Piece]]]] = [
            [{} for _ in form.axes] for form in recipe.any_box.parts
        ]
        self._borders: list[dict[Any, dict[Any, None]]] = [{} for _ in sources]
        """By source and chunk: where what boxes need of it begins and ends."""
        self._boxes: list[tuple[Any, tuple[int, ...], list[Any]]] = []
        """The key and the place of each box that needs parts of chunks, and what refers to each block, or is to be: its
        source, chunk and part."""
        self._parts: dict[Any, Any] = {}
        """What refers to a part, by source, chunk and part."""
        self._plain = TaskRef(f"program-{name}")
        self._tasks: dict[Any, Any] = {self._plain.key: DataNode(self._plain.key, recipe)}
        if recipe.combine is not None:
            self._combine = TaskRef(f"combine-{name}")
            self._tasks[self._combine.key] = DataNode(self._combine.key, recipe.combine)

    def made(self) -> dict[Any, Any]:
        """All of them, by their keys."""
        recipe = self._recipe
        loops = sum(axis is None for axis in recipe.axes)
        counts = [range(len(ends) - 1) for ends in recipe.cuts]
        rank = len(recipe.shapes[0])
        places = [recipe.axes.index(axis) - loops if axis in recipe.axes else None for axis in range(rank)]
        parts = list(product(*counts[:loops]))
        for boxes in product(*counts[loops:]):
            key = (self._name, *[0 if k is None else boxes[k] for k in places])
            if len(parts) == 1 and not recipe.is_running:
                self._add_box(key, (*parts[0], *boxes))
                continue
            made = [(f"part-{self._name}", *iterations, *boxes) for iterations in parts]
            for one, iterations in zip(made, parts, strict=True):
                self._add_box(one, (*iterations, *boxes))
            if recipe.is_running:
                self._add_running(key[1:], made)
            else:
                self._add_combining(key, made)
        for k in range(len(self._sources)):
            self._add_borders(k)
        for key, index, blocks in self._boxes:
            refs = [self._parts[one] if type(one) is tuple else one for one in blocks]
            self._tasks[key] = self._task(key, compute_box, self._plain, index, *refs)
        return self._tasks

    def _add_combining(self, key: Any, made: list[Any]) -> None:
        """Combine partial results, some at a time."""
        level = 0
        while len(made) > 1:
            groups = [made[k : k + SPLIT_EVERY] for k in range(0, len(made), SPLIT_EVERY)]
            made = []
            for k, group in enumerate(groups):
                one = key if len(groups) == 1 else (f"combine-{self._name}-{level}", k, *key[1:])
                self._tasks[one] = self._task(one, combine_parts, self._combine, *map(self._ref, group))
                made.append(one)
            level += 1

    def _add_running(self, index: tuple[int, ...], made: Sequence[Any]) -> None:
        """For each chunk of a running result, what is before it."""
        before = None
        for k, one in enumerate(made):
            key = (self._name, k, *index)
            if before is None:
                self._tasks[key] = self._task(key, first_before, self._ref(one))
            else:
                refs = self._ref(before), self._ref(one)
                self._tasks[key] = self._task(key, next_before, self._combine, *refs)
            before = key

    def _add_box(self, key: Any, index: tuple[int, ...]) -> None:
        blocks: list[Any] = []
        is_whole = True
        for k, (name, _) in enumerate(self._sources):
            chosen = [self._along(k, axis, index) for axis in range(len(self._cuts_of[k]))]
            for pieces in product(*chosen):
                chunk = tuple([piece[0] for piece in pieces])
                if all([piece[2] for piece in pieces]):
                    blocks.append(self._ref((name, *chunk)))
                    continue
                part = tuple([piece[1] for piece in pieces])
                self._borders[k].setdefault(chunk, {})[part] = None
                blocks.append((k, chunk, part))
                is_whole = False
        if is_whole:
            self._tasks[key] = self._task(key, compute_box, self._plain, index, *blocks)
        else:
            self._boxes.append((key, index, blocks))

    def _along(self, source: int, axis: int, index: tuple[int, ...]) -> list[_Piece]:
        """The chunks of a source that a box needs along an axis, and which part of each."""
        known = self._chunks[source][axis]
        at = tuple([index[cut] for cut in self._cuts_of[source][axis]])
        if (found := known.get(at)) is None:
            sizes = self._sources[source][1][axis]
            found = known[at] = [
                (k, (first, last), (first, last) == (0, sizes[k]))
                for k, first, last in self._recipe.chunks_along(source, axis, self._recipe.box(index))
            ]
        return found

    def _add_borders(self, source: int) -> None:
        """Add the tasks that take what boxes need of chunks.

        Small parts of a chunk are one task: a box gets them all, which is one task less to schedule for each."""
        name, chunks = self._sources[source]
        for chunk, parts in self._borders[source].items():
            elements = sum([prod([last - first for first, last in part]) for part in parts])
            is_small = elements * MOST_BORDERS <= prod(
                [axis[k] for axis, k in zip(chunks, chunk, strict=True)]
            )
            whole = self._ref((name, *chunk))
            for k, group in enumerate([parts] if is_small else [(part,) for part in parts]):
                key = (f"borders-{self._name}-{source}", *chunk, k)
                self._tasks[key] = self._task(key, take_borders, whole, tuple(group))
                ref = self._ref(key)
                for part in group:
                    self._parts[source, chunk, part] = ref


_Piece = tuple[int, tuple[int, int], bool]
"""A chunk along an axis: its number, where what is needed of it begins and ends, and whether that is all of it."""
