"""The body of a function."""

from __future__ import annotations

from ..control.structured import RESULT, RETURNED, structured
from ..control.unbound_names import flagged
from ..frame.frame import Frame, ReturnSignal
from ..frame.objects import current
from ..frame.recursion import execute
from ..values.values import Static


def run_body(frame: Frame) -> None:
    """Execute the body of the frame's function. Raises ReturnSignal at `return`."""
    body = structured(frame.source.node)
    execute(frame, flagged(frame.source.node, body.body, frame.flagged_names()))
    if not body.has_result:
        return
    returned = frame.variables.get(RETURNED)
    if isinstance(returned, Static) and not returned.value:
        return
    if returned is not None and not isinstance(returned, Static) and not body.always:
        frame.fail(
            frame.source.node,
            f"'{frame.source.node.name}' returns a value on some paths only, and which is known at run time",
            "end the function with a return",
        )
    raise ReturnSignal(current(frame, frame.variables[RESULT]))
