"""Functions of Nestor that mean something else in compiled code, which is found there by a name."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable)

_MARK = "nestor_inside"


def inside(name: str) -> Callable[[Function], Function]:
    """Mark a function: in compiled code, the handler called `name` takes its place."""

    def mark(function: Function) -> Function:
        setattr(function, _MARK, name)
        return function

    return mark


def name_inside(target: Any) -> str | None:
    """The name that a function is marked with."""
    return vars(target).get(_MARK) if isinstance(target, FunctionType) else None
