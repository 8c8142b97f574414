"""The body of a function."""

from __future__ import annotations

from ..control.structured import RESULT, structured
from ..control.unbound_names import flagged
from ..frame.frame import Frame, ReturnSignal
from ..frame.objects import current
from ..frame.recursion import execute
from ..interface.structures import Maybe
from ..values.values import UNBOUND, Group, Value


def run_body(frame: Frame) -> None:
    """Execute the body of the frame's function. Raises ReturnSignal at `return`."""
    body = structured(frame.source.node)
    if body.has_result:
        frame.variables[RESULT] = UNBOUND
    execute(frame, flagged(frame.source.node, body.body, frame.flagged_names()))
    if not body.has_result:
        return
    result = current(frame, frame.variables[RESULT])
    if frame.depth and _may_be_none(result):
        frame.fail(
            frame.source.node,
            f"'{frame.source.node.name}' returns None on some paths only, and which is known at run time",
            "return a value on every path, and a number that says which it is",
        )
    raise ReturnSignal(result)


def _may_be_none(result: Value) -> bool:
    """Whether the run decides if it is None, or a part of it."""
    return isinstance(result, Group) and (result.kind is Maybe or any(map(_may_be_none, result.items)))
