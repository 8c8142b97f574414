"""Sources that are read once for each phase: after a reduction of all chunks they are read anew, instead of held until then.

    x - x.mean(0)        phase 0: the sums, of x        phase 1: the differences, of x read again, when the sums are there

Two tasks that take one chunk share it, and Dask holds it until both have run. Where a reduction lies between them, that is
all of x. So a later phase reads x under other keys, where its graph says that this gives the same numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from math import prod
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from .chunk_program import ChunkProgram
from .memory import is_cupy
from .plan import Place, Step

HELD = "128 MiB"
"""What is held of a source between two phases, where the configuration of Dask does not say it (`nestor.held`)."""

REPEATABLE = frozenset({"builtins", "numpy", "_operator", "dask", "nestor", "cupy", "xarray", "zarr", "h5py"})
"""Packages of functions that give the same numbers again: Dask gives random numbers with their seeds."""

COMBINE_CHUNKS = ("dask.array.reductions.", "dask.array.linalg.")
"""Modules of functions that combine many chunks: to make these again is another pass over all of them."""

COMBINING = frozenset({"combine_parts", "_concatenate2", "_sum_wo_cat", "_matmul", "_tensordot"})
"""Functions of other modules that do."""

FEW = 4
"""A reduction of at least so many chunks to one is held, where what is made of it is made again."""


class Readings:
    """The phases of the steps of a plan, and the arrays that they read."""

    def __init__(self, steps: Sequence[Step]):
        da_utils: Any = import_module("dask.utils")
        config: Any = import_module("dask.config")
        bound = da_utils.parse_bytes(config.get("nestor", {}).get("held", HELD))
        self._phases: dict[int, int] = {}
        self.phases_of: dict[Place, set[int]] = {}
        """The phases that read a source; the first of them takes the chunks of the call."""
        self.held: dict[Place, int] = {}
        """Bytes of a source that would be held for a later phase, for those of which that is much."""
        self._made: dict[int, list[Place]] = {}
        """The reductions of a phase."""
        phase_of: dict[Place, int] = {}
        needs: dict[Place, dict[Place, int]] = {}
        """For a reduction: what one box of it needs, directly or through other reductions."""
        for step in steps:
            own = _bytes_of_a_box(step)
            mine = dict(own)
            before = [place for place in own if place in phase_of]
            far = [phase_of[place] + (max(needs[place].values(), default=0) > bound) for place in before]
            phase = max(far, default=0)
            for place in before:
                for source, size in needs[place].items():
                    if source in own and size > bound:
                        self.held[source] = max(self.held.get(source, 0), size)
                    mine[source] = max(mine.get(source, 0), size)
            self._phases[id(step)] = phase
            for source in own:
                self.phases_of.setdefault(source, set()).add(phase)
            for place in step.makes:
                if place[0] != "result":
                    self._made.setdefault(phase, []).append(place)
                    phase_of[place] = phase
                    needs[place] = {source: size for source, size in mine.items() if source[0] == "input"}
        self._arrays: dict[tuple[Place, int], Any] = {}

    def remarks(self, arrays: Mapping[Place, Any], names: Mapping[Place, str]) -> Iterator[tuple[str, bool]]:
        """What there is to say of sources that several phases read, and whether all of one is to be held for that."""
        written: Any = import_module("dask.utils").format_bytes
        for place, size in self.held.items():
            why, much = why_not_again(arrays[place]), f"{written(size)} of '{names[place]}'"
            times = self.times(place, arrays)
            if why is None:
                text = f"'{names[place]}' is read {times} times, once for each phase: to share it would hold {much}"
                yield text, False
            elif why != IN_MEMORY:
                yield f"{much} are held, or spilled, until reductions of them are complete: {why}", True

    def times(self, place: Place, arrays: Mapping[Place, Any]) -> int:
        """How many times a source is read."""
        is_again = place in self.held and why_not_again(arrays[place]) is None
        return len(self.phases_of[place]) if is_again else 1

    def phase(self, step: Step) -> int:
        """The number of times that all of a source has been gone through before."""
        return self._phases[id(step)]

    def array(self, place: Place, step: Step, arrays: Mapping[Place, Any]) -> Any:
        """What a step reads for a source: the array itself in its first phase, or one that is read when that has ended."""
        phase = self.phase(step)
        if (place, phase) not in self._arrays:
            array = arrays[place]
            is_later = place in self.held and phase > min(self.phases_of[place])
            if is_later and why_not_again(array) is None:
                array = read_again(array, [arrays[one] for one in self._made[phase - 1]])
            self._arrays[place, phase] = array
        return self._arrays[place, phase]


def _bytes_of_a_box(step: Step) -> dict[Place, int]:
    """How many bytes of each input the first box of results needs, in all its iterations; reductions count as 0."""
    recipe = step.recipe
    box = [
        (ends[0], ends[-1] if axis is None else ends[1])
        for axis, ends in zip(recipe.axes, recipe.cuts, strict=True)
    ]
    found: dict[Place, int] = {}
    for place, form in zip(step.sources, recipe.any_box.parts, strict=True):
        size = prod(high - low for low, high in form.where(tuple(box))) * np.dtype(form.dtype).itemsize
        found[place] = max(found.get(place, 0), size if place[0] == "input" else 0)
    return found


def read_again(array: Any, after: Sequence[Any]) -> Any:
    """The same array under other keys, whose tasks run when the arrays `after` are there.

    Data, and reductions that it is made of, stay under their keys."""
    da: Any = import_module("dask.array")
    base: Any = import_module("dask.base")
    specification: Any = import_module("dask._task_spec")
    Graph: Any = import_module("dask.highlevelgraph").HighLevelGraph
    Task, Reference, Data = (getattr(specification, name) for name in ("Task", "TaskRef", "DataNode"))
    seed = base.tokenize("nestor reads again", array.name, [one.name for one in after])
    ended: dict[Any, Any] = {}
    for one in after:
        for key in base.flatten(one.__dask_keys__()):
            ended[f"ended-{seed}", len(ended)] = (_nothing, key)
    barrier = f"after-{seed}"
    tasks: dict[Any, Any] = {**ended, barrier: (_nothing, *ended)}
    again, _ = layers_again(array)
    own = {key: task for name in again for key, task in array.dask.layers[name].items()}
    nodes = specification.convert_legacy_graph(own, all_keys=array.dask.keys())
    keys = {key: base.clone_key(key, seed) for key, node in nodes.items() if not isinstance(node, Data)}
    for key, new in keys.items():
        node = nodes[key]
        made = node.substitute(keys, key=new)
        if not any(one in keys for one in node.dependencies):
            made = Task(new, _first, made, Reference(barrier))
        tasks[new] = made
    name = base.clone_key(array.name, seed)
    graph = Graph.from_collections(name, tasks, dependencies=[array, *after])
    return da.Array(graph, name, array.chunks, meta=array._meta)


def _nothing(*_: Any) -> None:
    """What a task gives that only waits."""


def _first(value: Any, _: None) -> Any:
    return value


IN_MEMORY = "is in memory"


def layers_again(array: Any) -> tuple[set[str], str | None]:
    """The layers whose tasks are to run again for the chunks of a Dask array, or why that does not give the same numbers.

    Those before what is in memory, or before a reduction of many chunks to few, are not among them."""
    layers, dependencies = array.dask.layers, array.dask.dependencies
    found: set[str] = set()
    waiting = [array.name]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        layer = layers[name]
        if _is_in_memory(layer):
            if name == array.name:
                return set(), IN_MEMORY
            continue
        combined = _combines(layer)
        if combined is not None:
            made = sum(isinstance(key, tuple) and key[0] == name for key in layer)
            if name == array.name or made * FEW > array.npartitions:
                return set(), f"'{combined}' combines many chunks"
            continue
        if (why := _why_not(_values(layer))) is not None:
            return set(), why
        found.add(name)
        waiting += dependencies[name]
    return found, None


def why_not_again(array: Any) -> str | None:
    """Why the chunks of a Dask array are not read a second time; None where they can be, with the same numbers.

    `IN_MEMORY` for arrays of NumPy and what was persisted: no reading frees that."""
    return layers_again(array)[1]


def _is_in_memory(layer: Any) -> bool:
    return all(
        type(value) is np.ndarray or is_cupy(type(value)) or _is_future(value) for value in _values(layer)
    )


def _is_future(value: Any) -> bool:
    return type(value).__module__.startswith("distributed.")


def _values(layer: Any) -> Iterable[Any]:
    """What the tasks of a layer are, or the one task that stands for all, with what it is given in all of them."""
    task = getattr(layer, "task", None)
    if task is None:
        return layer.values()
    return [task, *(value for value, indices in layer.indices if indices is None)]


def _combines(layer: Any) -> str | None:
    """The function of a layer that combines chunks, or None."""
    outer = set(getattr(layer, "output_indices", ()))
    inner = {one for _, indices in getattr(layer, "indices", ()) for one in indices or ()} - outer
    if inner:
        return layer.output
    functions = (one for value in _values(layer) for one in _functions(value))
    return next((_name(one) for one in functions if _is_combining(one)), None)


def _functions(value: Any) -> Iterator[Any]:
    """The functions that a task calls or is given, with what they close over."""
    if isinstance(value, tuple | list):
        parts: Iterable[Any] = value
    elif isinstance(value, dict):
        parts = value.values()
    elif hasattr(value, "func") and hasattr(value, "keywords"):  # a partial application
        parts = (value.func, *value.args, *value.keywords.values())
    elif hasattr(value, "first") and hasattr(value, "funcs"):  # functions one after another
        parts = (value.first, *value.funcs)
    elif hasattr(value, "dependencies") and hasattr(value, "func"):  # a task of Dask
        parts = (value.func, *value.args, *value.kwargs.values())
    elif hasattr(value, "dependencies") and hasattr(value, "value"):  # data
        parts = (value.value,)
    elif hasattr(value, "dependencies") and hasattr(value, "target"):  # another name of a task
        parts = ()
    elif isinstance(value, MethodType):
        parts = (value.__self__, value.__func__)
    elif callable(value) and not isinstance(value, ChunkProgram):
        yield value
        parts = _closed_over(value) if _is_repeatable(value) else ()
    else:
        parts = ()
    for part in parts:
        yield from _functions(part)


def _closed_over(function: Any) -> list[Any]:
    cells = function.__closure__ or () if isinstance(function, FunctionType) else ()
    return [cell.cell_contents for cell in cells if cell != CellType()]


def _why_not(tasks: Iterable[Any]) -> str | None:
    """Why tasks may give other numbers in a second run."""
    functions = (one for task in tasks for one in _functions(task))
    unknown = next((_name(one) for one in functions if not _is_repeatable(one)), None)
    return None if unknown is None else f"'{unknown}' may give other numbers when it is called again"


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _module(function: Any) -> str:
    """The module that a function is of, "" where that is not known."""
    if isinstance(function, FunctionType):
        return function.__globals__.get("__name__", "")
    return "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", None) or ""


def _is_combining(function: Any) -> bool:
    return f"{_module(function)}.".startswith(COMBINE_CHUNKS) or _name(function) in COMBINING


def _is_repeatable(function: Any) -> bool:
    """Functions of the packages of `REPEATABLE` give the same again; others are not known."""
    module = _module(function)
    if module.partition(".")[0] not in REPEATABLE:
        return False
    if isinstance(function, FunctionType | type):
        return True
    return getattr(sys.modules.get(module), _name(function), None) is function
