"""Jitted functions called with Dask arrays: a graph of Dask, in which each task computes one chunk by machine code.

    @nt.jit
    def anomaly(x):
        return x - x.mean(0)

    anomaly(da.from_zarr("t2m.zarr"))       # a Dask array; nothing is computed yet

A box of a result needs parts of the chunks of inputs (`plan.py`): a task gets these chunks, or a slice of one where it needs
less of it. Scalars, NumPy arrays and what the function reads outside are those of the time of the call.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ....dialects.records import changed
from ....lowering.abi.kernel_signature import LARGEST_SMALL
from ....runtime.real_parts import PARTS, complex_view, real_view
from ...interface.errors import ShapeError, UnsupportedError
from ...interface.spec import spec
from ..call.invoke import Invocation
from .boxes import SPLIT_EVERY, Recipe, combine_parts, compute_box, first_before, next_before, take_borders
from .chunk_program import ChunkTarget
from .detection import is_dask, refuse_cycles
from .facts import chunk_facts
from .memory import Memory, is_cupy, memory_of
from .plan import Chunks, Place, Planner, Step
from .reading_again import Readings

MOST_BORDERS = 4
"""The parts of a chunk that boxes need are taken by one task where the chunk has as many times their elements."""


def chunked_call(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The results of a call with Dask arrays, as Dask arrays. Raises UnsupportedError for what cannot be in chunks."""
    return _Call(function, args, kwargs).results()


def explained_call(
    function: Any, args: tuple, kwargs: dict[str, Any]
) -> tuple[tuple, dict[str, Any], dict[str, Any]]:
    """The arguments of a call with Dask arrays, described instead of given, and what there is to say of its chunks.

    Raises UnsupportedError for what cannot be in chunks."""
    call = _Call(function, args, kwargs)
    return call.described, call.named, call.facts()


class _Call:
    """One call with Dask arrays."""

    def __init__(self, function: Any, args: tuple, kwargs: dict[str, Any]):
        self._function = function
        self._arrays: dict[int, Any] = {}
        """The Dask array that a description stands for, by the identity of the description."""
        if function.target == "interp":
            raise UnsupportedError(
                f"'{function.__name__}' is for target \"interp\", which has no programs of chunks",
                hint="nt.jit(f) without a target",
            )
        refuse_cycles(args, kwargs)
        try:
            self._bind(args, kwargs)
        except _OfOtherExtents:
            self._is_of_any_extents = False
            self._bind(args, kwargs)
        self._sources = {
            k: _real(self._in_memory_order(leaf)) for k, leaf in enumerate(self._invocation.passed)
        }
        self._memory = memory_of(self._sources.values())

    _is_of_any_extents = True
    """Whether the program is for any extents but 0 and 1: one for these alone is made where that one does not fit."""

    def _bind(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Make the program, and bind it to the arguments."""
        function = self._function
        self.described = described = tuple([self._described(value) for value in args])
        self.named = named = {name: self._described(value) for name, value in kwargs.items()}
        self._program = function.lower(*described, **named).program
        leaves = function._leaves(described, named)
        if self._program.inputs:
            leaves = function._with_inputs(leaves, self._program.inputs)
            assert leaves is not None
        self._values = [self._arrays.get(id(value), value) for value in leaves[1]]
        self._refuse()
        self._invocation = self._invoked()

    def _in_memory_order(self, leaf: int) -> Any:
        """A value with its axes as the program has them: outermost in memory first."""
        value, order = self._values[leaf], self._invocation.orders.get(leaf)
        return value if order is None else value.transpose(order)

    def _described(self, value: Any) -> Any:
        """The description of a Dask array, in its place."""
        if isinstance(value, dict):
            return {key: self._described(one) for key, one in value.items()}
        if type(value) in (tuple, list):
            return type(value)([self._described(one) for one in value])
        if not is_dask(value):
            return value
        if any(np.isnan(extent) for extent in value.shape):
            raise UnsupportedError(
                "a Dask array has chunks of unknown size", hint="call x.compute_chunk_sizes() before"
            )
        self._check_chunks(type(getattr(value, "_meta", None)))
        is_any = self._is_of_any_extents
        extents = [f"n{int(n)}" if is_any and n > 1 else int(n) for n in value.shape]
        made = spec(tuple(extents), value.dtype)
        self._arrays[id(made)] = value
        self._kept.append(made)
        return made

    def _check_chunks(self, kind: type) -> None:
        """Raise UnsupportedError where programs of this target do not take chunks of a class."""
        if kind is np.ndarray or (is_cupy(kind) and self._function.target == "cuda"):
            return
        numpys = "pass one with chunks of NumPy: x.map_blocks(np.asarray)"
        cupys = 'nt.jit(f, target="cuda") computes them on the device; or chunks of NumPy: x.map_blocks(cupy.asnumpy)'
        raise UnsupportedError(
            f"a Dask array has chunks that are {kind.__module__}.{kind.__qualname__}, "
            f'and the function is for target "{self._function.target}"',
            hint=cupys if is_cupy(kind) else numpys,
        )

    @cached_property
    def _kept(self) -> list[Any]:
        return []

    def _refuse(self) -> None:
        name, program = self._program.name, self._program
        if program.written or program.changes:
            raise UnsupportedError(
                f"'{name}' writes to its arguments, and Dask arrays are not written",
                hint="write to a copy: y = x.copy()",
            )
        if any(one.dtype in PARTS and one.kind != "array" for one in program.arguments):
            raise UnsupportedError(
                f"'{name}' is given a complex number, and numbers are given to chunks as they are in registers",
                hint="write it in the function, or pass an array of one element",
            )
        if any(output.allocated is not None or output.kind in ("tag", "told") for output in program.outputs):
            raise UnsupportedError(
                f"only a run of '{name}' knows the extents of a result, or which one it is",
                hint="call it on x.compute()",
            )

    def _invoked(self) -> Invocation:
        """The results of the program for these extents. Raises ShapeError where they do not fit."""
        program = self._program
        types = [
            changed(one, extents=tuple(map(int, value.shape))) if one.kind == "array" else one
            for one, value in zip(program.arguments, self._values, strict=True)
        ]
        invocation = Invocation(program, lambda _: None, types)
        names = {**invocation.names, **{k: self._values[k] for k in invocation.integers}}
        for guard in program.guards:
            if not guard.holds(names):
                error = _OfOtherExtents if self._is_of_any_extents else ShapeError
                raise error(f"'{program.name}' is not for these extents: {guard.why or guard}")
        invocation.outputs = [changed(output, kind="array") for output in program.outputs]
        return invocation

    # ---- the graph ----------------------------------------------------------------------------------

    def results(self) -> Any:
        """The results, as Dask arrays."""
        planner, graph, wanted = self._planned
        name, log = self._program.name, self._function._log
        is_strict = self._function.strict == "fast"
        for remark in planner.remarks:
            log.note("schedule", remark)
            if is_strict:
                raise UnsupportedError(
                    f"'{name}' is not divided: {remark}",
                    hint="x.rechunk({axis: -1}) makes them one; without strict= it is computed all the same",
                )
        for remark, holds_all in graph.readings.remarks(graph.arrays, self._names()):
            log.note("schedule", remark)
            if holds_all and is_strict:
                raise UnsupportedError(
                    f"'{name}' does not stream: {remark}",
                    hint="store it and read that (x.to_zarr), or hold it (x.persist()); without strict= Dask spills it",
                )
        made = [graph.array(planner.source_of(place)) for place in wanted]
        made = [
            _complex(one, output.dtype) if output.dtype in PARTS else one
            for one, output in zip(made, self._program.outputs, strict=True)
        ]
        return self._invocation.assembled(made, self._values, {})

    def facts(self) -> dict[str, Any]:
        """What `explain` says of the chunks, and of what each task reads."""
        planner, graph, _ = self._planned
        names = self._names() | planner.names()
        remarks = [*planner.remarks, *(one for one, _ in graph.readings.remarks(graph.arrays, names))]
        facts = chunk_facts(planner.steps, graph.readings, graph.arrays, names, planner.origins())
        return facts | {"remarks": remarks}

    @cached_property
    def _planned(self) -> tuple[Planner, _Graph, list[int]]:
        """The plan, its tasks, and the numbers of the results."""
        from ..specialise.stages import lowered_copy

        invocation, program = self._invocation, self._program
        chunks: dict[int, Chunks] = {}
        dtypes: dict[int, np.dtype] = {}
        shapes: dict[int, tuple[int, ...]] = {}
        scalars: dict[int, Any] = {}
        for k, value in self._sources.items():
            if is_dask(value) or isinstance(value, np.ndarray) or is_cupy(type(value)):
                chunks[k] = getattr(value, "chunks", None) or tuple((n,) for n in value.shape)
                shapes[k] = tuple(map(int, value.shape))
                dtypes[k] = value.dtype
            else:
                scalars[k] = value
        wanted: list[int] = []
        sizes = invocation.output_shapes(self._values)
        for j, (output, shape) in enumerate(zip(program.outputs, sizes, strict=True)):
            place = len(self._sources) + j
            shapes[place] = tuple(shape if output.order is None else (shape[axis] for axis in output.order))
            shapes[place] += (2,) * (output.dtype in PARTS)
            dtypes[place] = PARTS.get(output.dtype, output.dtype)
            wanted.append(place)
        nests = lowered_copy(program.module, ("to-loops-for-chunks",), machine=self._function.machine)
        is_large = any(prod(shape) >= LARGEST_SMALL for shape in shapes.values())
        target = ChunkTarget(self._function.target, self._function.machine, self._memory, is_large)
        planner = Planner(nests, program.name, chunks, shapes, dtypes, scalars, target)
        graph = _Graph({k: self._sources[k] for k in chunks}, planner.plan(wanted), self._memory)
        for step in planner.steps:
            graph.add(step)
        return planner, graph, wanted

    def _names(self) -> dict[Place, str]:
        """The names of the inputs."""
        arguments = self._program.arguments
        return {("input", k): arguments[leaf].name for k, leaf in enumerate(self._invocation.passed)}


class _OfOtherExtents(ShapeError):
    """A program for any extents is not for those of a call."""


def _real(value: Any) -> Any:
    """A value as programs take it: complex numbers as real ones along an axis more, of 2."""
    dtype = getattr(value, "dtype", None)
    if dtype not in PARTS:
        return value
    if not is_dask(value):
        return real_view(value if is_cupy(type(value)) else np.asarray(value))
    return value.map_blocks(
        real_view,
        dtype=PARTS[dtype],
        chunks=(*value.chunks, (2,)),
        new_axis=[value.ndim],
        meta=memory_of([value]).meta(value.ndim + 1, PARTS[dtype]),
    )


def _complex(array: Any, dtype: np.dtype) -> Any:
    """A Dask array of complex numbers, of their parts along its last axis."""
    return array.map_blocks(
        complex_view,
        dtype=dtype,
        chunks=array.chunks[:-1],
        drop_axis=[array.ndim - 1],
        meta=memory_of([array]).meta(array.ndim - 1, dtype),
    )


class _Graph:
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
