"""The errors of the frontend: each is a diagnostic with a Python location, and the exception Python or NumPy would raise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation


class UnsupportedError(NestorError):
    """Valid Python and NumPy that Nestor does not compile."""


class ShapeError(NestorError, ValueError):
    """Shapes, axes or values that do not go together."""


class AxisError(NestorError, np.exceptions.AxisError):
    """An axis that the array does not have."""


class DTypeError(NestorError, TypeError):
    """Element types, or arguments of a call, that do not go together."""


class NonFiniteError(NestorError, FloatingPointError):
    """NaN or an infinity, where `nt.debug_nans()` asks for none."""


class IndexRangeError(NestorError, IndexError):
    """An index outside its axis, or too many indices."""


class RangeError(NestorError, OverflowError):
    """A Python integer that its element type cannot hold."""


class UndefinedNameError(NestorError, NameError):
    """A name without a value."""


class UnboundError(UndefinedNameError, UnboundLocalError):
    """A local variable without a value: it was not assigned yet, or is that of a loop that had no iteration."""


class MissingKeyError(UnsupportedError, KeyError):
    """A key that a dict does not have."""


class MissingAttributeError(NestorError, AttributeError):
    """An attribute that the value does not have."""


class ReadOnlyError(NestorError, ValueError):
    """A write to an array that NumPy marks read-only."""


class DivisionError(NestorError, ZeroDivisionError):
    """A Python number divided by zero."""


class KernelAssertionError(NestorError, AssertionError):
    """A check of a kernel that failed."""


class KernelMemoryError(NestorError, MemoryError):
    """A kernel that could not allocate."""

    __new__ = Exception.__new__  # MemoryError's makes no subclass, and who unpickles one may ask for it


class FileError(NestorError, OSError):
    """A file or folder that cannot be read or written."""


class NotPickledError(UnsupportedError, TypeError, pickle.PicklingError):
    """What cannot be pickled: no other process can have it."""


class SavedProgramError(NestorError, ValueError):
    """A file that holds no saved program, or one that is damaged or of another version."""


def kind_of(error: Exception) -> type[NestorError]:
    """The class of this file for what Python raised in a call on constants."""
    kinds = {
        OverflowError: RangeError,
        ZeroDivisionError: DivisionError,
        IndexError: IndexRangeError,
        KeyError: MissingKeyError,
        AttributeError: MissingAttributeError,
        ValueError: ShapeError,
    }
    return next((kind for python, kind in kinds.items() if isinstance(error, python)), DTypeError)


class Stopped(Exception):
    """Internal: a `raise` was compiled, and what follows on its path is not reached."""


class ListGrows(Exception):
    """Internal: a loop appends `item` to the list `ref`, which has no room for what this `place` of the source appends.
    `turns` are the iterations of the loops around, None where they are not counted; None where an item is taken away."""

    def __init__(self, ref: str, item: Any, place: Any, turns: tuple[Any, ...] | None):
        super().__init__(ref)
        self.ref = ref
        self.item = item
        self.place = place
        self.turns = turns


class Respecialise(Exception):
    """Internal: lowering needs the values of scalar `arguments`, or all extents (`shapes`), at compile time; or
    arguments are written (`writes`), so that read-only and overlapping ones must be distinguished; or the attributes of
    `objects` that are arguments; or an array from outside overlaps an argument (`overlap`); or
    whether variables have a value has to be kept (`unbound`: the places of functions, and names)."""

    def __init__(
        self,
        arguments: frozenset[int] = frozenset(),
        *,
        shapes: bool = False,
        writes: bool = False,
        objects: bool = False,
        overlap: bool = False,
        unbound: frozenset[Any] = frozenset(),
        why: str = "",
    ):
        super().__init__(why)
        self.arguments = arguments
        self.shapes = shapes
        self.writes = writes
        self.objects = objects
        self.overlap = overlap
        self.unbound = unbound
        self.why = why
        self.place: SourceLocation | None = None
        """Where in the source it was found; known once the lowering has ended."""
