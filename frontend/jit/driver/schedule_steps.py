"""`nt.schedule`: a schedule made step by step from Python, as the same IR that `opt-tool --apply-schedule` reads.

    low = softmax.lower(x)
    s = nt.schedule(low)                    # nothing decided yet; low.schedule() starts from what Nestor would do
    i, j = s.loops("i", "j")
    o, v = s.split(j, 16, tail="mask")
    s.vectorize(v)
    print(s)                                # the schedule;  print(s.nest) the loops as they are now
    s.save("softmax.mlir")
    fast = low.compile(schedule=s)          # or schedule="softmax.mlir", on this shape or another

Every step is proved when it is asked for; one that is illegal raises `NestorError`, which says why, and changes nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import enclosing_function, functions
from ....dialects.diagnostic import NestorError
from ....dialects.parse import parse_module
from ....dialects.schedule.ops import MatchOp, SequenceOp
from ....dialects.schedule.table import BUFFER, LOOP, PRIMITIVES, STATEMENT, Primitive
from ....dialects.tracebacks import boundaries, boundary
from ....dialects.verifier import verify
from ....transforms.nest.cleanup.print_dependences import dependence_report
from ....transforms.schedule.apply_schedule import load_sequences, sequences_in
from ....transforms.schedule.automatic import record
from ....transforms.schedule.payload import name_of
from ....transforms.schedule.recorder import Recorder
from ...interface.errors import DTypeError
from ...interface.program_parts import Program
from .step_types import StepMethods

MOST_NAMES = 8
"""Loops that `repr` names."""


@boundaries
class Handle:
    """Loops, statements or buffers of a schedule: what its steps take and give. Usually one; a tail may be none."""

    def __init__(self, schedule: Schedule, value: SSAValue):
        self._schedule = schedule
        self.value = value

    @property
    def names(self) -> list[str]:
        """What it stands for now. Raises the error that says which step replaced it."""
        return [name_of(payload) for payload in self._schedule.recorder.state.payload(self.value)]

    def __repr__(self) -> str:
        kind = str(self.value.type).rpartition(".")[2]
        try:
            return f"<{kind} {', '.join(self.names) or 'none'}>"
        except NestorError:
            return f"<{kind}, replaced by a later step>"


@boundaries
class Schedule(StepMethods):
    """Steps, and the nests they were done to. One method a primitive: docs/schedules.md describes each.

    Where a handle is expected, the name of a loop (or buffer) does as well: `s.split("i", 16)`.
    """

    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    # ---- what it speaks of --------------------------------------------------------------------------

    def loop(self, name: str) -> Handle:
        """The loop called `name`. Raises NestorError when there is none, or a step replaced it."""
        return self._match("loops", name)[0]

    def loops(self, *names: str) -> list[Handle]:
        """The loops called so."""
        return self._match("loops", *names)

    def buffer(self, name: str) -> Handle:
        """The argument or allocation called `name`."""
        return self._match("buffers", name)[0]

    def statement(self, label: str) -> Handle:
        """The stores and accumulates with this label."""
        return self._match("statements", label)[0]

    def loops_containing(self, operation: str) -> Handle:
        """All loops with such an operation (`nest.accumulate`) directly in their body."""
        return self._match("loops", operation, pattern="containing")[0]

    def loops_contiguous_in(self, buffer: str) -> Handle:
        """All loops along which every access to the buffer goes to the next element."""
        return self._match("loops", buffer, pattern="contiguous")[0]

    def loops_reducing(self, label: str) -> Handle:
        """All loops that accumulate into one element under this label."""
        return self._match("loops", label, pattern="reducing")[0]

    def parameter(self, name: str, value: int) -> SymbolRefAttr:
        """An integer for options that whoever replays the schedule may change; `value` is its default."""
        sequence, state = self.recorder.sequence, self.recorder.state
        sequence.set_parameter(name, value)
        state.parameters[name] = value
        return SymbolRefAttr(name)

    def _match(self, kind: str, *names: str, pattern: str | None = None) -> list[Handle]:
        return [Handle(self, value) for value in self.recorder.match(kind, *names, pattern=pattern)]

    # ---- what there is now --------------------------------------------------------------------------

    @property
    def nest(self) -> str:
        """The functions as the steps so far left them, as text."""
        return "\n".join(str(function) for function in self.recorder.state.functions)

    @property
    def loop_names(self) -> list[str]:
        """The loops there are now, in program order."""
        return [loop.label for loop in self.recorder.state.loops()]

    def dependences(self, loop: Handle | str | None = None) -> str:
        """What depends on what now, as text: each dependence with its distances and the loop that carries it.

        With `loop`, those in one iteration of the loops around it. `nest-print-dependences` prints the same.
        """
        if loop is None:
            return "\n".join(map(dependence_report, self.recorder.state.functions))
        state = self.recorder.state
        (chosen,) = state.find("loops", loop, None) if isinstance(loop, str) else state.payload(loop.value)
        return dependence_report(enclosing_function(chosen), chosen)

    def __str__(self) -> str:
        return str(self.recorder.sequence) + "\n"

    def __repr__(self) -> str:
        names = ", ".join(function.sym_name.data for function in self.recorder.state.functions)
        count = sum(not isinstance(op, MatchOp) for op in self.recorder.sequence.body.block.ops)
        loops = self.loop_names
        more = f", and {len(loops) - MOST_NAMES} more" if len(loops) > MOST_NAMES else ""
        steps = f"{count} step{'s' * (count != 1)}"
        return f"<schedule of {names}: {steps}; loops {', '.join(loops[:MOST_NAMES]) or 'none'}{more}>"

    def _repr_html_(self) -> str:
        from ..explain.cell_html import of_schedule

        return of_schedule(self)

    def save(self, path: str | Path) -> None:
        """Write the schedule as text. The file is written whole or not at all."""
        target = Path(path)
        part = target.with_name(target.name + ".part")
        part.write_text(str(self), encoding="utf-8")
        part.replace(target)

    @property
    def sequences(self) -> list[SequenceOp]:
        """The schedule as IR."""
        return [self.recorder.sequence]

    # ---- steps --------------------------------------------------------------------------------------

    def _step(self, row: Primitive, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        targets, given = _bind(row, arguments, options)
        with self.recorder.undone_when_refused():
            handles = [self._handle_of(value, kind) for value, kind in targets]
            results = [Handle(self, value) for value in self.recorder.step(row.name, handles, **given)]
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _handle_of(self, value: Any, kind: str) -> SSAValue:
        if isinstance(value, Handle):
            if value._schedule is not self:
                raise DTypeError(
                    f"{value!r} is a handle of another schedule", hint="a name does as well, in any schedule"
                )
            return value.value
        if isinstance(value, str):
            return self.recorder.match(
                {LOOP: "loops", BUFFER: "buffers", STATEMENT: "statements"}[kind], value
            )[0]
        raise DTypeError(
            f"a {kind} is a handle or a name, not {value!r}",
            hint=f"loops here: {', '.join(self.loop_names) or 'none'}",
        )


def _bind(row: Primitive, arguments: Sequence[Any], options: dict[str, Any]):
    """Which arguments are targets, and which are options. Raises DTypeError where a Python function would."""
    try:
        bound = _signature(row).bind(None, *arguments, **options).arguments
    except TypeError as error:
        raise DTypeError(f"{row.name}(): {error}", hint=f"it is {row.name}{_call_text(row)}") from None
    targets = []
    for target in row.targets:
        values = bound.get(target.name, ())
        targets += [(value, target.kind) for value in (values if target.variadic else (values,))]
    return targets, {option.name: bound[option.name] for option in row.options if option.name in bound}


def _signature(row: Primitive) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_ONLY)]
    is_variadic = any(target.variadic for target in row.targets)
    for target in row.targets:
        kind = kinds.VAR_POSITIONAL if target.variadic else kinds.POSITIONAL_OR_KEYWORD
        parameters.append(kinds(target.name, kind))
    kind = kinds.KEYWORD_ONLY if is_variadic else kinds.POSITIONAL_OR_KEYWORD
    for option in row.options:
        default = kinds.empty if option.required else option.default
        parameters.append(kinds(option.name, kind, default=default))
    return inspect.Signature(parameters)


def _call_text(row: Primitive) -> str:
    """`(loop, factor, tail='remainder')`: the parameters of a primitive, as it is called."""
    parameters = list(_signature(row).parameters.values())[1:]
    return str(inspect.Signature(parameters))


def _method(row: Primitive) -> Callable[..., Any]:
    def method(self: Schedule, *arguments: Any, **options: Any) -> Any:
        return self._step(row, arguments, options)

    results = ", ".join(result.name for result in row.results) or "nothing"
    method.__name__ = row.name
    method.__doc__ = f"`schedule.{row.name}`, gives {results}: see docs/schedules.md."
    method.__signature__ = _signature(row)  # type: ignore[attr-defined]
    return method


for _row in PRIMITIVES.values():
    setattr(Schedule, _row.name, boundary(_method(_row)))


# ---- making and reading schedules -------------------------------------------------------------------


def automatic(program: Program, target: str, machine: str | None = None) -> Schedule:
    """The schedule that Nestor would use for `target`, to look at, go on with, or replay."""
    from ..specialise.machines import cpu_of, gpu_of

    if target not in ("cpu", "cuda"):
        raise NestorError(f"no automatic schedule for target '{target}'", hint="targets with one: cpu, cuda")
    pipeline = "cuda-to-nest" if target == "cuda" else "to-nest"
    described = gpu_of(machine) if target == "cuda" else cpu_of(machine)
    return Schedule(record(nest_of(program, pipeline=pipeline), target, described))


def nest_of(
    source: Program | ModuleOp | str, function: str | None = None, pipeline: str = "to-nest"
) -> FuncOp:
    """The nest of a program, or a function of nest-level IR, which may be text."""
    from ..specialise.stages import lowered_copy

    if isinstance(source, Program):
        module = lowered_copy(source.module, (pipeline,))
        function = function or source.name
    elif isinstance(source, ModuleOp | str):
        module = _read(source) if isinstance(source, str) else source.clone()
    else:
        raise DTypeError(
            f"a schedule is of a lowered program, or of nest-level IR, not of {source!r}",
            hint="nt.schedule(f.lower(x)) with a function of nt.jit",
        )
    found = functions(module, function)
    if len(found) != 1:
        names = ", ".join(f.sym_name.data for f in found) or "none"
        raise NestorError(
            "a schedule is of one function", hint=f"name one: function=...; functions here: {names}"
        )
    return found[0]


def _read(text: str) -> ModuleOp:
    """A module of nest-level IR, which a user wrote."""
    module = parse_module(text, "<schedule>")
    verify(module)
    return module


def sequences_of(source: Schedule | SequenceOp | str | Path) -> list[SequenceOp]:
    """What `schedule=` takes, as sequences: a `Schedule`, the path of a file, or the text of a schedule."""
    if isinstance(source, Schedule):
        return source.sequences
    if isinstance(source, SequenceOp):
        return [source]
    if isinstance(source, str) and "schedule.sequence" in source:
        return sequences_in(parse_module(source, "<schedule>"))
    if isinstance(source, str | Path):
        return load_sequences(str(source))
    raise DTypeError(f"a schedule is what nt.schedule makes, a path, or text, not {source!r}")
