"""What type checkers know of the steps of `nt.schedule`: a method for each primitive of the table.

python -m nestor.tools.docs.step_types > frontend/jit/driver/step_types.py
"""

from __future__ import annotations

import sys

from ...dialects.schedule.table import PRIMITIVES, Option, Primitive, Target

HEAD = '''\
"""The steps of a schedule as type checkers and editors see them. `make docs` writes this file from the table of primitives.

At run time the class is empty: `schedule_steps.py` makes the methods of the same table.
"""
# ruff: noqa: E501

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from xdsl.dialects.builtin import SymbolRefAttr

    from .schedule_steps import Handle

    Place = Handle | str
    """A handle, or the name of a loop, statement or buffer."""
    Integer = int | SymbolRefAttr
    """A number, or a parameter of the schedule."""


class StepMethods:
    """The methods of `nt.schedule(...)` that are steps."""

    if TYPE_CHECKING:

'''

TYPES = {
    "int": "Integer",
    "ints": "Sequence[Integer]",
    "string": "str",
    "place": "str | Integer",
    "flag": "bool",
}
WIDTH = 110


def generate() -> str:
    return HEAD + "\n".join(map(_method, PRIMITIVES.values()))


def _method(row: Primitive) -> str:
    parts = ["self", *map(_target, row.targets), *map(_option, row.options)]
    head, tail = f"        def {row.name}(", f") -> {_results(row)}:"
    line = head + ", ".join(parts) + tail
    if len(line) > WIDTH:
        line = head + "".join(f"\n            {part}," for part in parts) + "\n        " + tail
    return f'{line}\n            """{row.summary}"""\n            ...\n'


def _target(target: Target) -> str:
    return f"*{target.name}: Place" if target.variadic else f"{target.name}: Place"


def _option(option: Option) -> str:
    words = ", ".join(f'"{word}"' for word in option.choices)
    kind = f"Literal[{words}]" if option.type == "word" else TYPES[option.type]
    if option.required:
        return f"{option.name}: {kind}"
    if option.default is None:
        return f"{option.name}: {kind} | None = None"
    default = f'"{option.default}"' if isinstance(option.default, str) else repr(option.default)
    return f"{option.name}: {kind} = {default}"


def _results(row: Primitive) -> str:
    if not row.results:
        return "None"
    if len(row.results) == 1 and not row.results[0].variadic:
        return "Handle"
    if any(result.variadic or result.when for result in row.results):
        return "tuple[Handle, ...]"
    return f"tuple[{', '.join(['Handle'] * len(row.results))}]"


if __name__ == "__main__":
    sys.stdout.write(generate())
