"""Which handlers call NumPy: what docs/numpy.md marks."""

from __future__ import annotations

from .registry import Handler

_CALLS_BACK: set[Handler] = set()
_TAKE_SELECTED: set[Handler] = set()


def calls_back(handler: Handler) -> Handler:
    """Note that what the handler makes is run by NumPy."""
    _CALLS_BACK.add(handler)
    return handler


def takes_selected(handler: Handler) -> Handler:
    """Note that the first operand may be what a mask selects: the shape of the result does not depend on it."""
    _TAKE_SELECTED.add(handler)
    return handler


def may_take_selected(handler: Handler) -> bool:
    """Whether the first operand may be what a mask selects."""
    return handler in _TAKE_SELECTED


def is_call_back(handler: Handler) -> bool:
    """Whether what the handler makes is run by NumPy."""
    return handler in _CALLS_BACK
