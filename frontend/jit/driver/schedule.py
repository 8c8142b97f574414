"""`nt.schedule`: a schedule of a lowered program, or of nest-level IR, with nothing decided yet."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ....transforms.schedule.recorder import Recorder
from .lowered import Lowered
from .schedule_steps import Schedule, nest_of


def schedule(source: Lowered | ModuleOp | str, function: str | None = None) -> Schedule:
    """A new schedule of a lowered program, or of nest-level IR (a module, or its text); `function` when it has several.

    Raises NestorError when there is no such function, or when the text is no IR.
    """
<<<<<<< HEAD
    return Schedule(Recorder([_nest_of(source, function)]))


def automatic(source: Lowered | ModuleOp | str, target: str, function: str | None = None) -> Schedule:
    """The schedule that Nestor would use for `target`, to look at, go on with, or replay."""
    from ..specialise.machines import cpu_of, gpu_of
    from .lowered import Lowered

    if target not in ("cpu", "cuda"):
        raise NestorError(f"no automatic schedule for target '{target}'", hint="targets with one: cpu, cuda")
    pipeline = "cuda-to-nest" if target == "cuda" else "to-nest"
    machine = source.owner.machine if isinstance(source, Lowered) else None
    described = gpu_of(machine) if target == "cuda" else cpu_of(machine)
    return Schedule(record(_nest_of(source, function, pipeline), target, described))


def _nest_of(source: Lowered | ModuleOp | str, function: str | None, pipeline: str = "to-nest") -> FuncOp:
    from ..specialise.stages import lowered_copy
    from .lowered import Lowered

    if not isinstance(source, Lowered | ModuleOp | str):
        raise DTypeError(
            f"a schedule is of a lowered program, or of nest-level IR, not of {source!r}",
            hint="nt.schedule(f.lower(x)) with a function of nt.jit",
        )
    if isinstance(source, Lowered):
        module = lowered_copy(source.program.module, (pipeline,))
        function = function or source.program.name
    else:
        module = parse_module(source, "<schedule>") if isinstance(source, str) else source.clone()
    found = functions(module, function)
    if len(found) != 1:
        names = ", ".join(f.sym_name.data for f in found) or "none"
        raise NestorError(
            "a schedule is of one function", hint=f"name one: function=...; functions here: {names}"
        )
    return found[0]


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
=======
    return Schedule(Recorder([nest_of(source.program if isinstance(source, Lowered) else source, function)]))
>>>>>>> 5fac229 (No circle of imports in the frontend: what is in each other is compiled through a table that the graph holds)
