"""`nt.schedule`: a schedule of a lowered program, or of nest-level IR, with nothing decided yet."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ....dialects.tracebacks import boundary
from ....transforms.schedule.recorder import Recorder
from .lowered import Lowered
from .schedule_steps import Schedule, nest_of


@boundary
def schedule(source: Lowered | ModuleOp | str, function: str | None = None) -> Schedule:
    """A new schedule of a lowered program, or of nest-level IR (a module, or its text); `function` when it has several.

    Raises NestorError when there is no such function, or when the text is no IR.
    """
    return Schedule(Recorder([nest_of(source.program if isinstance(source, Lowered) else source, function)]))
