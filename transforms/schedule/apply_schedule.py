"""apply-schedule: do what a `schedule.sequence` says, to the functions of the module.

    func.func @f(%x: memref<?xf32>, %n: index) {
      nest.for "i" %i = 0 to %n { ... }
    }
    schedule.sequence @cpu for @f {
      %i = schedule.match loops ["i"]
      %o, %v = schedule.split %i by 16 tail(mask)
      schedule.parallel %o
    }

becomes

    func.func @f(%x: memref<?xf32>, %n: index) {
      nest.for "i.o" %o = 0 to %n ceildiv 16 parallel {
        nest.for "i.i" %v = 0 to 16 { ... }
      }
    }

The sequences of the module itself are applied, in order, and removed; with `file=...` those of that file. Every
step is proved by its primitive; a step that is refused fails the pass, and then nothing of the schedule was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.nest.loop_structure import functions
from ...dialects.diagnostic import FileError, fail, text_of_file
from ...dialects.parse import parse_module
from ...dialects.schedule.ops import SequenceOp
from .payload import State


def sequences_in(module: ModuleOp, name: str | None = None) -> list[SequenceOp]:
    """The schedules of a module, or the one called `name`. Raises a diagnostic when there is none."""
    found = [op for op in module.ops if isinstance(op, SequenceOp)]
    chosen = [op for op in found if name is None or op.sym_name.data == name]
    if not chosen:
        names = ", ".join(op.sym_name.data for op in found)
        what = "there is no schedule.sequence" if name is None else f"there is no schedule.sequence @{name}"
        raise fail(module, f"{what} to apply", hint=f"sequences here: {names}" if names else None)
    return chosen


def load_sequences(path: str, name: str | None = None) -> list[SequenceOp]:
    """The schedules that a file has. Raises a diagnostic when it cannot be read or has none."""
    hint = "s.save(path) of a schedule writes one; text with a schedule.sequence is taken as it is"
    module = parse_module(text_of_file(path, "the schedule", hint), path)
    if not any(isinstance(op, SequenceOp) for op in module.ops):
        raise FileError(f"'{path}' has no schedule.sequence", hint="s.save(path) of a schedule writes one")
    return sequences_in(module, name)


def apply_sequence(
    sequence: SequenceOp, module: ModuleOp, parameters: Mapping[str, int] | None = None
) -> State:
    """Do the steps of `sequence` to `module`; `parameters` replaces the values that it states.

    Raises `StepFailure` for the first step that is refused, and leaves the module as it was.
    """
    values = sequence.parameters
    for name in parameters or {}:
        if name not in values:
            known = ", ".join(values) or "none"
            raise fail(
                sequence,
                f"unknown parameter '{name}'",
                hint=f"parameters of @{sequence.sym_name.data}: {known}",
            )
    target = sequence.function.string_value() if sequence.function is not None else None
    present = [function.sym_name.data for function in functions(module)]
    if target is not None and target not in present:
        raise fail(
            sequence, f'unknown function "{target}"', hint=f"functions here: {', '.join(present) or 'none'}"
        )
    work = module.clone()
    state = State(functions(work, target), {**values, **(parameters or {})}, restores=False)
    for op in sequence.body.block.ops:
        state.run(op)
    for function, scheduled in zip(functions(module, target), list(state.functions), strict=True):
        done = scheduled.detach_region(scheduled.body)
        function.detach_region(function.body)
        function.add_region(done)
    state.functions = functions(module, target)
    return state


@dataclass(frozen=True, eq=False)
class ApplySchedulePass(ModulePass):
    """Apply the schedules of the module, or of `file`; `params="T=8, U=4"` gives parameters other values."""

    name = "apply-schedule"

    file: str | None = None
    sequence: str | None = None
    params: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        own = self.file is None
        chosen = sequences_in(op, self.sequence) if own else load_sequences(self.file or "", self.sequence)
        parameters = dict(_assignment(op, text) for text in self.params.split(",") if text.strip())
        for sequence in chosen:
            apply_sequence(sequence, op, parameters)
        if own:
            for sequence in chosen:
                sequence.detach()
                sequence.erase()


@dataclass(frozen=True, eq=False)
class ApplySequencesPass(ModulePass):
    """Apply schedules that are at hand as IR: what `nt.jit` does with those of its user."""

    name = "apply-schedule"

    sequences: tuple[SequenceOp, ...]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for sequence in self.sequences:
            apply_sequence(sequence, op)


def _assignment(op: ModuleOp, text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        raise fail(op, f"'{text}' does not set a parameter", hint='write params="T=8, U=4"') from None
