"""Who compiles expressions, statements and calls. What few programs have is imported when one has it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType

from ..frame.frame import Frame
from ..numpy_api.elements.ufuncs import COMPOSITES
from ..values.contents import refresh
from ..values.language import Language
from ..values.reshaped import write_through
from ..values.selection import settled
from ..values.values import Closure, Late, Value
from .assignments import bind
from .calls import call
from .expressions import evaluate
from .special_methods import items_of, truth_of
from .statements import execute


def _test(frame: Frame, node: ast.expr) -> Value:
    from .conditions import test

    return test(frame, node)


def _inline(
    frame: Frame,
    node: ast.expr,
    function: FunctionType | Closure,
    args: Sequence[Value],
    kwargs: dict[str, Value],
) -> Value:
    from .functions import inline

    return inline(frame, node, function, args, kwargs)


def _listed(frame: Frame, node: ast.AST, value: Value) -> tuple[Value, ...]:
    from ..control.sequences import listed

    return listed(frame, node, value)


def _late(frame: Frame, node: ast.Name, late: Late) -> Value:
    from ..control.loop_variables import value_of

    return value_of(frame, node, late)


LANGUAGE = Language(
    COMPOSITES,
    evaluate,
    _test,
    execute,
    bind,
    call,
    _inline,
    _listed,
    _late,
    truth_of,
    items_of,
    refresh,
    write_through,
    settled,
)
