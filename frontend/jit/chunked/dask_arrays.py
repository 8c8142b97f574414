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
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import pairwise, product
from typing import Any

import numpy as np

from ....dialects.records import changed
from ....runtime.real_parts import PARTS
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...interface.spec import spec
from ..call.invoke import Invocation
from .detection import is_dask
from .plan import Chunks, Place, Planner, Step

SPLIT_EVERY = 8
"""Partial results that one task combines."""


def chunked_call(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The results of a call with Dask arrays, as Dask arrays. Raises UnsupportedError for what cannot be in chunks."""
    return _Call(function, args, kwargs).results()


class _Call:
    """One call with Dask arrays."""

    def __init__(self, function: Any, args: tuple, kwargs: dict[str, Any]):
        self._function = function
        self._arrays: dict[int, Any] = {}
        """The Dask array that a description stands for, by the identity of the description."""
        if function.target != "cpu":
            raise UnsupportedError(
                f"'{function.__name__}' is for target \"{function.target}\", and chunks are computed on CPUs",
                hint="nt.jit(f) without a target",
            )
        described = [self._described(value) for value in args]
        named = {name: self._described(value) for name, value in kwargs.items()}
        self._program = function.lower(*described, **named).program
        leaves = function._leaves(tuple(described), named)
        if self._program.inputs:
            leaves = function._with_inputs(leaves, self._program.inputs)
            assert leaves is not None
        self._values = [self._arrays.get(id(value), value) for value in leaves[1]]
        self._refuse()
        self._invocation = self._invoked()
        self._sources = {k: self._in_memory_order(leaf) for k, leaf in enumerate(self._invocation.passed)}

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
        kind = type(getattr(value, "_meta", None))
        if kind is not np.ndarray:
            raise UnsupportedError(
                f"a Dask array has chunks that are {kind.__module__}.{kind.__qualname__}",
                hint="pass one with chunks of NumPy: x.map_blocks(np.asarray)",
            )
        extents = [int(n) if n < 2 else f"n{int(n)}" for n in value.shape]
        made = spec(tuple(extents), value.dtype)
        self._arrays[id(made)] = value
        self._kept.append(made)
        return made

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
        complexes = [one for one in (*program.arguments, *program.outputs) if one.dtype in PARTS]
        if complexes:
            raise UnsupportedError(f"'{name}' has complex numbers, which are not computed in chunks yet")
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
                raise ShapeError(f"'{program.name}' is not for these extents: {guard.why or guard}")
        invocation.outputs = [changed(output, kind="array") for output in program.outputs]
        return invocation

    # ---- the graph ----------------------------------------------------------------------------------

    def results(self) -> Any:
        from ..specialise.stages import lowered_copy

        invocation, program = self._invocation, self._program
        chunks: dict[int, Chunks] = {}
        shapes: dict[int, tuple[int, ...]] = {}
        scalars: dict[int, Any] = {}
        for k, value in self._sources.items():
            if is_dask(value) or isinstance(value, np.ndarray):
                chunks[k] = getattr(value, "chunks", None) or tuple((n,) for n in value.shape)
                shapes[k] = tuple(map(int, value.shape))
            else:
                scalars[k] = value
        dtypes: dict[int, np.dtype] = {}
        sizes = invocation.output_shapes(self._values)
        for j, (output, shape) in enumerate(zip(program.outputs, sizes, strict=True)):
            place = len(self._sources) + j
            shapes[place] = tuple(shape if output.order is None else (shape[axis] for axis in output.order))
            dtypes[place] = output.dtype
        nests = lowered_copy(program.module, ("to-loops-for-chunks",), machine=self._function.machine)
        planner = Planner(nests, program.name, chunks, shapes, dtypes, scalars, self._function.machine)
        wanted = sorted(dtypes)
        graph = _Graph(planner, {k: self._sources[k] for k in chunks}, dtypes)
        for step in planner.plan(wanted):
            graph.add(step)
        for remark in planner.remarks:
            self._function._log.note("schedule", remark)
            if self._function.strict == "fast":
                raise UnsupportedError(
                    f"'{program.name}' is not divided: {remark}",
                    hint="x.rechunk({axis: -1}) makes them one; without strict= it is computed all the same",
                )
        made = [graph.array(planner.source_of(place)) for place in wanted]
        return invocation.assembled(made, self._values, {})


class _Graph:
    """The tasks of the steps of a plan, as Dask arrays."""

    def __init__(self, planner: Planner, inputs: Mapping[int, Any], dtypes: Mapping[int, np.dtype]):
        da: Any = import_module("dask.array")
        self._planner = planner
        self._arrays: dict[Place, Any] = {}
        for k, value in inputs.items():
            if not is_dask(value):  # as it is now
                value = da.from_array(value.copy(), chunks=-1)
            self._arrays["input", k] = value

    def array(self, place: Place) -> Any:
        return self._arrays[place]

    def add(self, step: Step) -> None:
        """Add the tasks of a step."""
        from dask.base import tokenize
        from dask.highlevelgraph import HighLevelGraph

        from ....transforms.nest.producers.restrict import Part

        parts = [
            one for one in step.arguments if isinstance(one, Part) and one.kind in ("input", "reduction")
        ]
        sources = [self._arrays[part.kind, part.place] for part in parts]
        scalars = self._planner.scalars_of(step.arguments)
        token = tokenize(
            step.program,
            step.boxes,
            step.loops,
            step.shape,
            scalars,
            [one.name for one in sources],
            parts_text(parts),
        )
        name = f"{step.program.name}-{token}"
        program = f"program-{name}"
        tasks: dict[Any, Any] = {program: step.program}
        if step.combine is not None:
            tasks[f"combine-{name}"] = step.combine
        for index, words, shapes in self._boxes(step):
            self._add_box(tasks, step, name, program, index, words, shapes, sources)
        layers = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
        for k, place in enumerate(step.makes):
            chunks, dtype = step.chunks(k), list(step.program.results.values())[k]
            self._arrays[place] = self._output(layers, name, k, len(step.makes), chunks, dtype)

    def _output(self, layers: Any, name: str, k: int, count: int, chunks: Chunks, dtype: Any) -> Any:
        da: Any = import_module("dask.array")
        HighLevelGraph: Any = import_module("dask.highlevelgraph").HighLevelGraph
        if count == 1:
            return da.Array(layers, name, chunks, dtype=dtype)
        one = f"{name}-{k}"
        indices = product(*(range(len(axis)) for axis in chunks))
        tasks = {(one, *index): (operator.getitem, (name, *index), k) for index in indices}
        graph = HighLevelGraph({**layers.layers, one: tasks}, {**layers.dependencies, one: {name}})
        return da.Array(graph, one, chunks, dtype=dtype)

    def _boxes(
        self, step: Step
    ) -> Iterator[tuple[tuple[int, ...], list[dict[Any, int]], list[tuple[int, ...]]]]:
        """Each box: its place among the chunks, the numbers of its parts (iterations of a reduction), and the shapes."""
        from ....transforms.nest.producers.restrict import Word

        kind, place = step.target
        ends = [step.boxes.get(axis, [0, extent]) for axis, extent in enumerate(step.shape[0])]
        for index in product(*(range(len(one) - 1) for one in ends)):
            box = [(one[k], one[k + 1]) for one, k in zip(ends, index, strict=True)]
            known = {}
            for axis, (low, high) in enumerate(box):
                known[Word("lo", kind, place, axis)], known[Word("hi", kind, place, axis)] = low, high
            shape = tuple(high - low for low, high in box)
            pieces = []
            for iterations in product(*(pairwise(one) for one in step.loops)):
                words = dict(known)
                for number, (low, high) in enumerate(iterations):
                    words[Word("lo", "partial loop", 0, number)] = low
                    words[Word("hi", "partial loop", 0, number)] = high
                pieces.append(words)
            yield index, pieces, [shape] * len(step.makes)

    def _add_box(
        self,
        tasks: dict[Any, Any],
        step: Step,
        name: str,
        program: str,
        index: tuple[int, ...],
        pieces: list[dict[Any, int]],
        shapes: list[tuple[int, ...]],
        sources: Sequence[Any],
    ) -> None:
        made = []
        for number, words in enumerate(pieces):
            numbers, parts, wanted = self._arguments(tasks, step, words)
            task = (run_chunk, program, numbers, parts, wanted, shapes)
            if len(pieces) == 1:
                tasks[(name, *index)] = task
                return
            made.append((f"part-{name}", number, *index))
            tasks[made[-1]] = task
        combine, level = f"combine-{name}", 0
        while len(made) > 1:
            groups = [made[k : k + SPLIT_EVERY] for k in range(0, len(made), SPLIT_EVERY)]
            made = []
            for k, group in enumerate(groups):
                key = (name, *index) if len(groups) == 1 else (f"combine-{name}-{level}", k, *index)
                tasks[key] = (combine_parts, combine, group)
                made.append(key)
            level += 1

    def _arguments(
        self, tasks: dict[Any, Any], step: Step, words: dict[Any, int]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """The numbers of a task, None for arrays; the blocks of which its arrays consist; and what these are to be."""
        from ....transforms.nest.producers.restrict import Part, Word

        planner, parts, wanted = self._planner, [], []
        for one in step.arguments:
            if isinstance(one, Part) and one.kind in ("input", "reduction"):
                where = planner.slices(one, words)
                for axis in one.axes:
                    words[Word("first", one.kind, one.place, axis)] = where[axis][0]
                source = self._arrays[one.kind, one.place]
                parts.append(self._blocks(tasks, source, where))
                wanted.append([[high - low for low, high in where], str(source.dtype)])
        numbers = [None if isinstance(one, Part) else planner.value(one, words) for one in step.arguments]
        return numbers, parts, wanted

    def _blocks(self, tasks: dict[Any, Any], source: Any, where: Sequence[tuple[int, int]]) -> Any:
        """The keys of the chunks that a part consists of, nested by axis; of a chunk that is not needed whole, a slice."""
        by_axis = [
            _pieces(chunks, low, high) for chunks, (low, high) in zip(source.chunks, where, strict=True)
        ]

        def nested(chosen: tuple[tuple[int, slice, bool], ...]) -> Any:
            if len(chosen) < len(by_axis):
                return [nested((*chosen, one)) for one in by_axis[len(chosen)]]
            key = (source.name, *(block for block, _, _ in chosen))
            if all(is_whole for _, _, is_whole in chosen):
                return key
            part = tuple(one for _, one, _ in chosen)
            cut = ("slice-" + source.name, key[1:], tuple((one.start, one.stop) for one in part))
            tasks[cut] = (operator.getitem, key, part)
            return cut

        return nested(())


def _pieces(chunks: Sequence[int], low: int, high: int) -> list[tuple[int, slice, bool]]:
    """The chunks that have some of the indices from `low` to `high`: number, which of it, and whether that is all of it."""
    found, begin = [], 0
    for k, size in enumerate(chunks):
        first, last = max(low - begin, 0), min(high - begin, size)
        if first < last:
            found.append((k, slice(first, last), (first, last) == (0, size)))
        begin += size
    return found or [(0, slice(0, 0), False)]


def parts_text(parts: Sequence[Any]) -> str:
    """What parts are of, for the name of a graph."""
    return repr([(part.kind, part.place, sorted(part.axes.items())) for part in parts])


# ---- in a task ----------------------------------------------------------------------------------------


def run_chunk(
    program: Any, numbers: list[Any], parts: list[Any], wanted: list[Any], shapes: list[tuple[int, ...]]
) -> Any:
    """Compute one box: blocks are put together, and the program runs on them.

    Raises ShapeError and DTypeError where a chunk is not what its Dask array says: machine code would read beside it."""
    arrays = [_joined(blocks, 0) for blocks in parts]
    for array, (shape, dtype) in zip(arrays, wanted, strict=True):
        if list(array.shape) != shape:
            raise ShapeError(
                f"chunks of a Dask array are {list(array.shape)} where it says {shape}",
                hint="say what map_blocks and from_delayed make: chunks=, shape=",
            )
        if str(array.dtype) != dtype:
            raise DTypeError(
                f"chunks of a Dask array are {array.dtype} where it says {dtype}",
                hint="say what map_blocks and from_delayed make: dtype=",
            )
    return program(numbers, arrays, shapes)


def combine_parts(program: Any, parts: list[Any]) -> Any:
    """Partial results of a reduction as one."""
    return program.combined(parts)


def _joined(blocks: Any, axis: int) -> np.ndarray:
    if not isinstance(blocks, list):
        return np.asarray(blocks)
    joined = [_joined(one, axis + 1) for one in blocks]
    return joined[0] if len(joined) == 1 else np.concatenate(joined, axis)
