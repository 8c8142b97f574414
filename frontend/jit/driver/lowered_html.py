"""What a notebook shows of a lowered function, and of a compiled one: its text, nests, schedule, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from ..explain.cell_html import Part, code, module_of, note, of_difference, picture_of, shown

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from ....dialects.schedule.ops import SequenceOp
    from ...interface.program_parts import Program
    from .lowered import Compiled, Lowered

MOST_OPERATIONS = 3000
"""Maximum number of operations of a program of which nests and a schedule are made to be shown."""


def of_lowered(low: Lowered) -> str:
    """The nt text; nests, schedule, and what that makes of them behind a click."""
    program = low.program
    arguments = ", ".join(map(str, program.arguments)) or "no arguments"
    title = f"<b>{escape(program.name)}</b> lowered for {escape(arguments)}"
    parts: list[Part] = [("nt", lambda: code(low.as_text(), 'print(low.as_text("nt"))'))]
    return shown(title, [*parts, *_nests(program, low.owner.target, low.owner.machine, None)])


def of_compiled(one: Compiled) -> str:
    """Arguments and target; nests and schedule, where the program is here as IR."""
    program = one.program
    title = f"<b>{escape(program.name)}</b> compiled for {escape(one.target)}"
    arguments = "\n".join(map(str, program.arguments)) or "none"
    parts: list[Part] = [("arguments", lambda: code(arguments, ""))]
    if program.module is not None:
        parts += _nests(program, one.target, getattr(one._owner, "machine", None), one.chosen)
    return shown(title, parts)


def _nests(
    program: Program, target: str, machine: str | None, chosen: Sequence[SequenceOp] | None
) -> Iterator[Part]:
    """Parts on what becomes of a program at the nest level, by a schedule or the automatic one of a target."""
    from .schedule_steps import nest_of

    count = sum(1 for _ in program.module.walk())
    if count > MOST_OPERATIONS:
        yield "nests and schedule", lambda: note(f"not shown: the program has {count} operations")
        return
    is_gpu = target.startswith("cuda")
    made: list[str] = []

    def plain() -> FuncOp:
        return nest_of(program, pipeline="cuda-to-nest" if is_gpu else "to-nest")

    def scheduled() -> tuple[str, str]:
        """The schedule, and the nests as it leaves them."""
        if not made:
            made.extend(_scheduled(program, plain(), is_gpu, machine, chosen))
        return made[0], made[1]

    yield "nests", lambda: picture_of(plain())
    if target != "interp":
        heads = "nests", "nests as the schedule leaves them"
        yield "schedule", lambda: code(scheduled()[0], "print(f.lower(...).schedule())")
        yield "before and after the schedule", lambda: of_difference(str(plain()), scheduled()[1], heads)


def _scheduled(
    program: Program, function: FuncOp, is_gpu: bool, machine: str | None, chosen: Sequence[SequenceOp] | None
) -> tuple[str, str]:
    from ....transforms.schedule.apply_schedule import apply_sequence
    from .schedule_steps import automatic

    if chosen is None:
        found = automatic(program, "cuda" if is_gpu else "cpu", machine)
        return str(found), found.nest
    module = module_of(function)
    for sequence in chosen:
        apply_sequence(sequence, module)
    return "\n".join(map(str, chosen)), "\n".join(map(str, module.ops))
