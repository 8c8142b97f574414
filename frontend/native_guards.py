"""The guards of an entry: what was compiled in from outside the function must be what it was."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from types import CellType, ModuleType
from typing import Any

from ..lowering.call_kinds import Guarded
from ..lowering.call_layout import GUARD_GROUP
from .frame_values import is_same
from .native_call import Declined
from .source import FunctionSource

_ABSENT = object()


def guards(captured: Mapping[tuple[Any, str], Any], keep: Callable[[Any], int]) -> list[list[int]]:
    """What was compiled in from outside the function: one group a dict, one a cell of a closure.

    `keep` makes an object live as long as the entry, and gives its address. What is no longer what was compiled in
    (another thread has changed it since the call began) is declined.
    """
    tables: dict[int, tuple[dict, dict[str, Any]]] = {}
    cells: dict[int, tuple[Any, Any]] = {}
    for (source, name), value in captured.items():
        if isinstance(source, FunctionSource):
            function: Any = source.function
            code = function.__code__
            if name in code.co_freevars and function.__closure__ is not None:
                cell = function.__closure__[code.co_freevars.index(name)]
                present = _contents(cell)
                cells[id(cell)] = (cell, present)
            else:
                present = _expect(tables, function.__globals__, name)
                if present is _ABSENT:
                    present = _expect(tables, vars(builtins), name)
        elif isinstance(source, ModuleType):
            present = _expect(tables, vars(source), name)
        else:
            raise Declined
        if not is_same(present, value):
            raise Declined
    groups = []
    for cell, value in cells.values():
        head = GUARD_GROUP.pack(kind=Guarded.CELL, object=keep(cell), count=1)
        groups.append([*head, 0, keep(value)])
    for table, expected in tables.values():
        head = GUARD_GROUP.pack(kind=Guarded.DICT, object=keep(table), count=len(expected))
        pairs = [
            word
            for name, value in expected.items()
            for word in (keep(sys.intern(name)), 0 if value is _ABSENT else keep(value))
        ]
        groups.append([*head, *pairs])
    return groups


def _expect(tables: dict[int, Any], table: Any, name: str) -> Any:
    """Note what a dict has by this name; that."""
    present = table.get(name, _ABSENT)
    tables.setdefault(id(table), (table, {}))[1][name] = present
    return present


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty by now
        raise Declined from None
