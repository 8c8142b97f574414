"""The body of a function."""

from __future__ import annotations

from ..control.structured import RESULT, structured
from ..control.unbound_names import flagged
from ..frame.frame import Frame, ReturnSignal
from ..frame.objects import current
from ..frame.recursion import execute
from ..values.values import UNBOUND


def run_body(frame: Frame) -> None:
    """Execute the body of the frame's function. Raises ReturnSignal at `return`."""
    body = structured(frame.source.node)
    if body.has_result:
        frame.variables[RESULT] = UNBOUND
    execute(frame, flagged(frame.source.node, body.body, frame.flagged_names()))
    if body.has_result:
        raise ReturnSignal(current(frame, frame.variables[RESULT]))
