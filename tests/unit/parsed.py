"""Modules from text: tests read a text again and again, so it is parsed once, and each reader has a copy of its own."""

from __future__ import annotations

import functools

from nestor.dialects import parse
from xdsl.dialects.builtin import ModuleOp


def parse_module(text: str, name: str = "<string>") -> ModuleOp:
    """What `nestor.dialects.parse.parse_module` gives, names and locations too; a copy takes a tenth of the time."""
    return _parsed(text, name).clone()


@functools.lru_cache(maxsize=256)
def _parsed(text: str, name: str) -> ModuleOp:
    return parse.parse_module(text, name)
