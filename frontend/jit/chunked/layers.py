"""The tasks of a function, in layers where it has a loop over many steps: some steps at a time, then the rest.

    for _ in range(100): x = step(x)       25 layers of 4 steps: a chunk needs the one before it, and the rows beside it

A loop of a few steps is written out, and its halo is the sum of theirs. Of many steps that would be most of the array; so
what is carried from step to step becomes an array in chunks, after every few. These layers are one program
(`nest-split-steps`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interface.errors import NestorError, UnsupportedError
from .chunk_program import ChunkTarget
from .detection import is_dask
from .facts import chunk_facts
from .graph import Graph
from .plan import Place, Planner, Step, dtype_in, function_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....transforms.nest.loops.split_steps import SplitLoop, Stage

COUNTS = (4, 2)
"""How many steps a layer does: the first for which a chunk does not need much more than itself, or else one."""

MOST_READ = 1.5
"""Elements that a box reads of what is carried, for each that it has, at most: else a layer does fewer steps."""

MOST_LAYERS = 4096
"""Loops of more layers stay one task for the axes that their steps move along."""

MOST_WRITTEN_OUT = 8
"""Loops of more steps are done in layers: those of fewer are written out (`nest-unroll-steps`)."""


_Known = dict[Any, tuple[Any, Planner]]
"""Stages of one loop, with their plans."""


class Layers:
    """The plans and tasks of a function: of one layer, or of several. `shapes` and `dtypes` are those of results."""

    def __init__(
        self,
        name: str,
        target: ChunkTarget,
        shapes: Mapping[int, tuple[int, ...]],
        dtypes: Mapping[int, np.dtype],
        scalars: Mapping[int, Any],
    ):
        self._name = name
        self._target = target
        self._shapes, self._dtypes, self._scalars = dict(shapes), dict(dtypes), dict(scalars)
        self._made: list[tuple[Planner, Graph, dict[Place, str]]] = []
        """Each layer: its plan, its tasks, and what it takes from the one before and hands on, with names."""
        self._outer: dict[Place, str] = {}
        """Names of what the loops before have handed on."""
        self.results: dict[int, Any] = {}
        """The results as Dask arrays, by the number of the argument."""

    @property
    def remarks(self) -> list[str]:
        """What is not divided."""
        return list(dict.fromkeys(remark for planner, _, _ in self._made for remark in planner.remarks))

    def held(self, names: Mapping[Place, str]) -> Iterator[tuple[str, bool]]:
        """What there is to say of sources that several phases read, and whether all of one is to be held for that."""
        found: dict[str, bool] = {}
        for _, graph, carried in self._made:
            found |= graph.readings.remarks(graph.arrays, dict(names) | carried)
        yield from found.items()

    def facts(self, names: Mapping[Place, str]) -> dict[str, Any]:
        """What `explain` says of the chunks, and of what each task reads."""
        sources: dict[str, Any] = {}
        steps: list[dict[str, Any]] = []
        phases = 0
        for planner, graph, carried in self._made:
            known = dict(names) | planner.names() | carried
            facts = chunk_facts(planner.steps, graph.readings, graph.arrays, known, planner.origins())
            for one in facts["sources"]:
                if one["name"] in sources:
                    sources[one["name"]]["readings"] += one["readings"]
                elif one["name"] in names.values():
                    sources[one["name"]] = one
            count = max((one["phase"] for one in facts["steps"]), default=0)
            own = [
                one | {"phase": one["phase"] + phases, "times": 1, "every": count} for one in facts["steps"]
            ]
            last = steps[-len(own) :]
            if own and [_without_phase(one) for one in last] == [_without_phase(one) for one in own]:
                for one in last:
                    one["times"] += 1
            else:
                steps += own
            phases += count
        remarks = [*self.remarks, *(remark for remark, _ in self.held(names))]
        return {"sources": list(sources.values()), "steps": steps, "remarks": remarks}

    # ---- making them ----------------------------------------------------------------------------------

    def make(self, module: ModuleOp, arrays: Mapping[int, Any], wanted: Sequence[int]) -> None:
        """Plan the tasks that make the results with these numbers, of arrays by the number of the argument."""
        self.results |= self._results(module, arrays, wanted)

    def _results(self, module: ModuleOp, arrays: Mapping[int, Any], wanted: Sequence[int]) -> dict[int, Any]:
        from ....transforms.nest.loops.split_steps import step_loop

        is_split = step_loop(function_of(module, self._name), MOST_WRITTEN_OUT) is not None
        whole = module.clone() if is_split else None
        planner = self._planner(module, arrays, {})
        planner.plan(wanted)
        if whole is not None and planner.remarks:
            before = len(self._made)
            try:
                return self._in_layers(whole, arrays, wanted)
            except NestorError:
                del self._made[before:]
        return self._graph(planner, arrays, wanted, self._outer)

    def _in_layers(
        self, module: ModuleOp, arrays: Mapping[int, Any], wanted: Sequence[int]
    ) -> dict[int, Any]:
        """The same, of a function with a loop over steps. Raises NestorError where chunks are not divided all the same."""
        from ....transforms.nest.loops.split_steps import AFTER, BEFORE, STEPS

        split = _split(module, self._name)
        shaped = self._planner(module, arrays, {})
        shapes = [_shape_of(shaped, buffer) for buffer in split.buffers]
        number_of = {_place(split, k): k for k in split.results}
        writers = {place: split.last_writer(number_of[place]) for place in wanted}
        found: dict[int, Any] = {}
        states: dict[int, Any] = {}
        known: _Known = {}
        last_of_steps = {number_of[place] for place in wanted if writers[place] == STEPS}
        carried = split.written[STEPS] & (split.taken(AFTER) | last_of_steps)
        chunked = self._of_stage(known, module, BEFORE, 0, arrays, {}, shapes, split.written[BEFORE])
        count, carried = self._count_of_steps(module, arrays, chunked, shapes, carried)
        if split.steps > MOST_LAYERS * count:
            raise UnsupportedError(f"{split.steps} steps are more layers than a graph is to have")
        del self._made[-1]
        others = split.written[BEFORE] - split.written[STEPS]
        states |= self._of_stage(known, module, BEFORE, count, arrays, {}, shapes, others | carried)
        found |= {place: states[number_of[place]] for place in wanted if writers[place] == BEFORE}
        done = count
        while done < split.steps:
            several = min(count, split.steps - done)
            states |= self._of_stage(known, module, STEPS, several, arrays, states, shapes, carried, done)
            done += several
        found |= {place: states[number_of[place]] for place in wanted if writers[place] == STEPS}
        rest = [place for place in wanted if writers[place] == AFTER]
        if rest:
            last = self._stage(module, AFTER)
            inputs = self._inputs(last, arrays, states)
            self._outer |= _names_of(last)
            found |= self._results(_module_of(last), inputs, rest)
        return found

    def _count_of_steps(
        self,
        module: ModuleOp,
        arrays: Mapping[int, Any],
        states: Mapping[int, Any],
        shapes: Sequence[tuple[int, ...] | None],
        carried: set[int],
    ) -> tuple[int, set[int]]:
        """How many steps a layer does, and the buffers that are carried from one to the next."""
        from ....transforms.nest.loops.split_steps import STEPS

        for count in (1, *COUNTS):
            while True:
                stage = self._stage(module, STEPS, count)
                inputs = self._inputs(stage, arrays, states)
                planner = self._planner(_module_of(stage), inputs, self._first(stage, 0), stage, shapes)
                planner.plan([stage.gives[b] for b in sorted(carried)])
                if planner.remarks:
                    raise UnsupportedError(planner.remarks[0])
                used = {place for step in planner.steps for place in step.sources}
                needed = {b for b, argument in stage.takes.items() if ("input", argument) in used}
                if needed - set(states):
                    raise UnsupportedError("a step reads what was not written before")
                more = needed & set(stage.gives)
                if more <= carried:
                    break
                carried = carried | more
            if any(place[0] != "result" for step in planner.steps for place in step.makes):
                return 1, carried  # several steps would compute the first ones once for each reduction
            if count > 1 and _reads(planner.steps, set(stage.takes.values())) <= MOST_READ:
                return count, carried
        return 1, carried

    def _stage(self, module: ModuleOp, part: str, count: int = 1) -> Stage:
        """A copy of the module in which the function is this stage; its reductions are nests of their own."""
        from ..specialise.stages import run_pipeline

        copy = module.clone()
        stage = _split(copy, self._name).make(part, count)
        run_pipeline(copy, ("nest-separate-reductions", "nest-loop-borders"), machine=self._target.machine)
        return stage

    def _first(self, stage: Stage, done: int) -> dict[int, Any]:
        return {} if stage.first is None else {stage.first: done}

    def _inputs(self, stage: Stage, arrays: Mapping[int, Any], states: Mapping[int, Any]) -> dict[int, Any]:
        """The arrays that a stage takes, by the number of the argument."""
        return {**arrays, **{argument: states[b] for b, argument in stage.takes.items() if b in states}}

    def _of_stage(
        self,
        known: _Known,
        module: ModuleOp,
        part: str,
        count: int,
        arrays: Mapping[int, Any],
        states: Mapping[int, Any],
        shapes: Sequence[tuple[int, ...] | None],
        wanted: Collection[int],
        first: int = 0,
    ) -> dict[int, Any]:
        """Some buffers that a stage makes, as Dask arrays; its first step has the number `first`. Stages are `known` by
        their steps, and by the chunks of what is carried: layers in the middle are the same."""
        chunks = tuple((b, one.chunks) for b, one in sorted(states.items()))
        key = part, count, chunks, frozenset(wanted)
        stage, planner = known.get(key, (None, None))
        if stage is None or stage.first is not None:
            stage, planner = self._stage(module, part, count), None
        inputs = self._inputs(stage, arrays, states)
        places = {b: stage.gives[b] for b in sorted(wanted) if b in stage.gives}
        if planner is None:
            planner = self._planner(_module_of(stage), inputs, self._first(stage, first), stage, shapes)
            planner.plan(list(places.values()))
            known[key] = stage, planner
        made = self._graph(planner, inputs, list(places.values()), self._outer | _names_of(stage))
        return {b: made[place] for b, place in places.items()}

    def _planner(
        self,
        module: ModuleOp,
        arrays: Mapping[int, Any],
        scalars: Mapping[int, Any],
        stage: Stage | None = None,
        buffers: Sequence[tuple[int, ...] | None] = (),
    ) -> Planner:
        shapes, dtypes = dict(self._shapes), dict(self._dtypes)
        chunks: dict[int, Any] = {}
        for k, value in arrays.items():
            chunks[k] = value.chunks if is_dask(value) else tuple((n,) for n in value.shape)
            shapes[k], dtypes[k] = tuple(map(int, value.shape)), value.dtype
        if stage is not None:
            for places in (stage.takes, stage.gives):
                for b, argument in places.items():
                    if (shape := buffers[b]) is None:
                        raise UnsupportedError(f"only a run of '{self._name}' knows the extents of a buffer")
                    shapes.setdefault(argument, shape)
                    dtypes.setdefault(argument, dtype_in(stage.function.args[argument]))
                    if places is stage.takes:
                        chunks.setdefault(argument, tuple((n,) for n in shape))
        return Planner(module, self._name, chunks, shapes, dtypes, {**self._scalars, **scalars}, self._target)

    def _graph(
        self, planner: Planner, arrays: Mapping[int, Any], wanted: Sequence[int], names: dict[Place, str]
    ) -> dict[int, Any]:
        graph = Graph(arrays, planner.steps, self._target.memory)
        for step in planner.steps:
            graph.add(step)
        self._made.append((planner, graph, names))
        return {place: graph.array(planner.source_of(place)) for place in wanted}


def _shape_of(planner: Planner, buffer: Any) -> tuple[int, ...] | None:
    """The extents of a buffer; None where only a run knows them. Those of a step alone are not asked for."""
    try:
        return planner.shape_of_buffer(buffer)
    except NestorError:
        return None


def _names_of(stage: Stage) -> dict[Place, str]:
    """What is called what a layer takes from the one before, and what it hands on."""
    arguments = stage.function.args
    names = {("input", k): arguments[k].name_hint or "an array" for k in stage.takes.values()}
    return names | {("result", k): f"{arguments[k].name_hint} after steps" for k in stage.gives.values()}


def _without_phase(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("phase", "times")}


def _reads(steps: Sequence[Step], carried: set[int]) -> float:
    """Elements that a box in the middle reads of what is carried, for each that it has itself."""
    most = 0.0
    for step in steps:
        recipe = step.recipe
        box = recipe.box([(len(ends) - 1) // 2 for ends in recipe.cuts])
        own = prod(high - low for low, high in box) or 1
        plain = [
            prod(
                high - low if limits is not None else 1
                for limits, (low, high) in zip(form.axes, form.where(box), strict=True)
            )
            for place, form in zip(step.sources, recipe.any_box.parts, strict=True)
            if place[0] == "input" and place[1] in carried
        ]
        most = max([most, *(one / own for one in plain)])
    return most


def _split(module: ModuleOp, name: str) -> SplitLoop:
    from ....transforms.nest.loops.split_steps import SplitLoop, step_loop

    function = function_of(module, name)
    loop = step_loop(function, MOST_WRITTEN_OUT)
    assert loop is not None
    return SplitLoop(function, loop)


def _place(split: SplitLoop, k: int) -> int:
    return next(n for n, argument in enumerate(split.function.args) if argument is split.buffers[k])


def _module_of(stage: Stage) -> Any:
    return stage.function.parent_op()


def step_counts(program: Any) -> set[str]:
    """The names of the integers of a program that are numbers of steps."""
    from xdsl.dialects import scf
    from xdsl.ir import SSAValue
    from xdsl.traits import is_side_effect_free

    from ....dialects.nest import ForOp
    from ....transforms.nest.loops.unroll_steps import is_step

    arguments = [one for one in program.arguments if one.kind not in ("static", "same")]
    if not any(one.kind == "int" for one in arguments):
        return set()
    function = function_of(program.module, program.name)
    found: set[str] = set()
    for value, argument in zip(function.args, arguments, strict=True):
        pending = [value] if argument.kind == "int" else []
        seen: set[SSAValue] = set(pending)
        while pending:
            for user in [use.operation for use in pending.pop().uses]:
                if isinstance(user, scf.ForOp) or (isinstance(user, ForOp) and is_step(user)):
                    found.add(argument.name)
                elif user.name.startswith("arith.") and is_side_effect_free(user):
                    pending += [one for one in user.results if one not in seen]
                    seen.update(user.results)
    return found
