"""docs/errors.md: every error that Nestor raises, from the docstrings of its classes.

python -m nestor.tools.docs.errors > docs/errors.md
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

from ...dialects.diagnostic import NestorError, page_of

MODULES = (
    "frontend.interface.errors",
    "frontend.numpy_api.custom_calls",
    "transforms.schedule.payload",
    "dialects.diagnostic",
    "dialects.parse",
    "dialects.verifier",
    "runtime.cuda_sim.faults",
    "runtime.errors",
)
"""The modules whose errors reach users."""

INTRODUCTION = """\
# Errors

What Nestor raises on purpose is a `NestorError`, and the exception that Python or NumPy would raise as well:
`except IndexError` catches an index outside, compiled or not. The message is a diagnostic: where (file, line and column,
with the source line and a caret), what is wrong, and after `help:` what to do.

    rates.py:5:12: error: operands could not be broadcast together with shapes (3,) (4,)
        return x + y
               ^
      help: extents are equal or 1, counted from the last axis: x[:, None] adds an axis, x.T turns them round
      see: docs/errors.md#shapeerror

The traceback above it shows the lines of the program only. With NESTOR_TRACEBACK=full in the environment it has those of
Nestor too, and the exceptions that were met on the way; an error that nobody raised on purpose always has them: it is a
defect, please report it. Each error below has a program that raises it, and the mend. `nt.NestorError` is the base of all;
`nt.errors` has those of calls (`except nt.errors.ShapeError`).

This page is generated from the docstrings of the classes: `make docs`.
"""


def documented() -> list[type[NestorError]]:
    """The classes with a section, in the order of their modules."""
    found: dict[type[NestorError], None] = {}
    for name in MODULES:
        module = import_module(f"...{name}", __package__)
        for value in vars(module).values():
            is_error = isinstance(value, type) and issubclass(value, NestorError)
            if is_error and value.__module__ == module.__name__ and page_of(value):
                found[value] = None
    return list(found)


def example(kind: type[NestorError]) -> str:
    """The program of a class's docstring that raises it."""
    lines = inspect.cleandoc(kind.__doc__ or "").split("\n")
    return "\n".join(line[4:] for line in lines if line.startswith("    ") or not line).strip("\n") + "\n"


def page() -> str:
    """The text of the page."""
    parts = [INTRODUCTION]
    for kind in documented():
        bases = [
            base.__name__ for base in kind.__mro__[1:] if base.__module__ != "builtins" or base is not object
        ]
        python = [name for name in bases if name not in ("Exception", "BaseException", "NestorError")]
        also = f"Also a `{'`, `'.join(python)}`.\n\n" if python else ""
        parts.append(f"## {kind.__name__}\n\n{also}{inspect.cleandoc(kind.__doc__ or '')}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
