"""Marks functions that stay one operation of the nt level until `nt-decompose`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)


def composite(function: Function) -> Function:
    """Mark `function`: compiled code keeps it whole, as `nt.composite` of its name."""
    function.nestor_composite = function.__name__  # pyright: ignore
    return function
