"""What a `raise` of compiled code raises: plain data that says how the exception is made, kept with the checks of a kernel.

    raise ValueError(f"{n} is negative")      Raise(Call(ValueError, (Text((Number(0, int), None, ""), ...),)))

The exception is made when the `raise` was reached, by Python, from the numbers in the error record. No compiler is needed.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ...dialects.diagnostic import Diagnostic, SourceLocation
from ...dialects.records import record
from ..interface.structures import build


@record(eq=False)
class Constant:
    """An object known at compile time."""

    value: Any


@record(eq=False)
class Number:
    """A number of the error record: a Python type, or the dtype of a NumPy scalar."""

    place: int
    kind: Any


@record(eq=False)
class Items:
    """A tuple, list, dict, NamedTuple or dataclass."""

    kind: type
    names: tuple[Any, ...] | None
    parts: tuple[Any, ...]


@record(eq=False)
class Text:
    """A string: parts, each with its conversion and format."""

    parts: tuple[tuple[Any, Any, str], ...]


@record(eq=False)
class Call:
    """An exception of class `kind`, made anew each time."""

    kind: type
    args: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()


@record(eq=False)
class Raise:
    """`raise exception`, or `raise exception from cause`."""

    exception: Any
    cause: Any = None
    has_cause: bool = False

    def error(self, words: Sequence[int], place: SourceLocation | None) -> BaseException:
        """What Python would raise for these numbers."""
        try:
            made = _exception(_built(self.exception, words), "exceptions must derive from BaseException")
            if self.has_cause:
                cause = _built(self.cause, words)
                text = "exception causes must derive from BaseException"
                made.__cause__ = None if cause is None else _exception(cause, text)
        except Exception as error:  # of its class, as in Python
            return error
        if place is not None and not isinstance(self.exception, Constant):
            made.add_note(Diagnostic("note", "raised here", place).render())
        return made


def _exception(value: Any, otherwise: str) -> BaseException:
    """An exception, or one of an exception class. Raises TypeError for other objects."""
    if isinstance(value, type) and issubclass(value, BaseException):
        value = value()
    if not isinstance(value, BaseException):
        raise TypeError(otherwise)
    return value


def _built(part: Any, words: Sequence[int]) -> Any:
    """The object that a part stands for."""
    if isinstance(part, Number):
        return _number(words[part.place], part.kind)
    if isinstance(part, Items):
        return build(part.kind, part.names, [_built(p, words) for p in part.parts])
    if isinstance(part, Text):
        return "".join([_formatted(_built(p, words), convert, spec) for p, convert, spec in part.parts])
    if isinstance(part, Call):
        keywords = {name: _built(p, words) for name, p in part.keywords}
        return part.kind(*[_built(p, words) for p in part.args], **keywords)
    return part.value


def _formatted(value: Any, convert: Any, spec: str) -> str:
    return format(convert(value) if convert else value, spec)


def is_float(kind: Any) -> bool:
    """Whether such a number travels as the bits of a float64, and not as an integer."""
    return kind is float or (isinstance(kind, np.dtype) and kind.kind not in "iub")


def _number(word: int, kind: Any) -> Any:
    value = struct.unpack("<d", struct.pack("<q", word))[0] if is_float(kind) else word
    if isinstance(kind, type):
        return kind(value)
    return np.asarray(value, np.float64 if is_float(kind) else np.int64).astype(kind)[()]


_NUMBERS = itertools.count()
_RAISES: WeakValueDictionary[int, Raise] = WeakValueDictionary()
"""What lives as long as the program or the kernel that raises it."""


def register(raised: Raise) -> int:
    """The number by which IR names what is raised."""
    number = next(_NUMBERS)
    _RAISES[number] = raised
    return number


def registered(number: int) -> Raise | None:
    """What the number stands for in this process; None in IR that was written by another one."""
    return _RAISES.get(number)
