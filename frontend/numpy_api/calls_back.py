"""Which handlers call NumPy: what docs/numpy.md marks."""

from __future__ import annotations

from .registry import Handler

_CALLS_BACK: set[Handler] = set()


def calls_back(handler: Handler) -> Handler:
    """Note that what the handler makes is run by NumPy."""
    _CALLS_BACK.add(handler)
    return handler


def is_call_back(handler: Handler) -> bool:
    """Whether what the handler makes is run by NumPy."""
    return handler in _CALLS_BACK
