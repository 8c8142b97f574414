"""Strings with numbers that are known at run time: they are put together by Python, when they are printed or raised.

f"{n} rows"      "%d rows" % n      "{} rows".format(n)      str(n) + " rows"
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..values.values import Chosen, Group, Static, Text, Value, is_number


def is_text(value: Value) -> bool:
    """Whether it is a string."""
    return isinstance(value, Text | Chosen) or (isinstance(value, Static) and type(value.raw) is str)


def joined(left: Value, right: Value) -> Text:
    """`left + right`, of strings."""
    return Text(((left, None, ""), (right, None, "")))


def percent(template: str, value: Value) -> Text:
    """`template % value`."""
    return Text(((value, partial(operator.mod, template), ""),))


def text_call(target: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Text | None:
    """`str(x)`, `repr(x)`, `format(x, spec)`, `template.format(...)`; None for other calls."""
    template = getattr(target, "__self__", None)
    if type(template) is str and target.__name__ == "format":
        given = Group((Group(tuple(args)), Group(tuple(kwargs.values()), dict, tuple(kwargs))))
        return Text(((given, partial(_format, template), ""),))
    if kwargs or not args or not (is_number(args[0]) or isinstance(args[0], Text)):
        return None
    if target in (str, repr, ascii) and len(args) == 1:
        return Text(((args[0], target, ""),))
    if target is format and len(args) == 2 and isinstance(args[1], Static):
        return Text(((args[0], None, args[1].value),))
    return None


def _format(template: str, given: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
    return template.format(*given[0], **given[1])
