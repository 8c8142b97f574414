"""A program as bytes: what is known of it beside its machine code, in the one form in which the cache keeps it and a saved
file holds it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from ...interface.program_parts import Program

_FIELDS = ("name", "arguments", "results", "outputs", "written", "guards", "remarks", "changes", "may_change")
"""What is stored of a program."""


class ProgramData:
    """What a program is made of again: its parts by name, how the kernel takes its arguments, its checks, whether all
    extents had to be known, what fills the last arguments once, if anything does, and the functions of NumPy it calls."""

    __slots__ = ("calls", "forms", "frozen", "parts", "rigid", "sites")

    def __init__(self, parts: dict[str, Any], forms: Any, sites: Any, rigid: bool, frozen: Any, calls: Any):
        self.parts = parts
        self.forms = forms
        self.sites = sites
        self.rigid = rigid
        self.frozen = frozen
        self.calls = calls


def dumped(
    program: Program,
    kernel: Any,
    pickler: Callable[[Any], pickle.Pickler],
    *,
    rigid: bool = False,
    **other: Any,
) -> bytes:
    """A program and what is known of its kernel; `other` parts take the place of the program's. Raises what pickling
    raises."""
    file = io.BytesIO()
    parts = [other.get(name, getattr(program, name)) for name in _FIELDS]
    forms, sites, *more = kernel.as_data()
    pickler(file).dump((parts, forms, sites, rigid, *more))
    return file.getvalue()


def loaded(unpickler: pickle.Unpickler) -> ProgramData:
    """What `dumped` wrote. Raises what unpickling raises."""
    parts, *rest = unpickler.load()
    return ProgramData(dict(zip(_FIELDS, parts, strict=True)), *rest)
