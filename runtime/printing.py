"""What compiled code prints: templates by site, and the functions it calls with the numbers (`lowering/abi/print_calls.py`).

A call says which site it is, sends the numbers in order, and ends; then Python's `print` writes the line, as it would have.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..lowering.abi.print_calls import PRINT_CALLS

Form = Callable[[Iterator[Any]], Any]
"""Makes an object from the numbers that are sent for it."""


@dataclass(frozen=True, eq=False)
class Site:
    """A call of `print`: the forms of its arguments, and its keywords."""

    forms: tuple[Form, ...]
    sep: str | None
    end: str | None


class _State(threading.local):
    site: Site | None = None
    numbers: list[Any]
    error: BaseException | None = None


_SITES: list[Site] = []
_STATE = _State()


def register(site: Site) -> int:
    """The number by which compiled code names the site."""
    _SITES.append(site)
    return len(_SITES) - 1


def begin(number: int) -> None:
    _STATE.site, _STATE.numbers = _SITES[number], []


def send(value: float) -> None:
    _STATE.numbers.append(value)


def end() -> None:
    """Print. An error of the stream is raised when the kernel has returned (`raise_error`)."""
    site = _STATE.site
    assert site is not None
    numbers = iter(_STATE.numbers)
    try:
        print(*[form(numbers) for form in site.forms], sep=site.sep, end=site.end)
    except Exception as error:
        _STATE.error = _STATE.error or error


def raise_error() -> None:
    """Raise what went wrong while a kernel printed."""
    error, _STATE.error = _STATE.error, None
    if error is not None:
        raise error


FUNCTIONS: dict[str, Callable[..., None]] = {
    "nestor_print_begin": begin,
    "nestor_print_float": send,
    "nestor_print_int": send,
    "nestor_print_end": end,
}
"""What the interpreter calls."""

_CTYPES = {"i64": ctypes.c_int64, "f64": ctypes.c_double}
_CALLBACKS: dict[str, Any] = {
    name: ctypes.CFUNCTYPE(None, *(_CTYPES[argument] for argument in arguments))(FUNCTIONS[name])
    for name, arguments in PRINT_CALLS.items()
}


def addresses() -> dict[str, int]:
    """The functions that machine code calls, by name."""
    return {name: ctypes.cast(callback, ctypes.c_void_p).value or 0 for name, callback in _CALLBACKS.items()}
