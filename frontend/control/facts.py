"""What the text of a statement alone says: the names that it stores and deletes, how, and what it calls. Found once each.

for i in range(n):      bound: i, s      rebound: i
    s += x[i]           calls: range(n), out.append(s)
    out.append(s)
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..interface.match_statements import PREFIX
from ..values.values import flag_of


@dataclass(frozen=True, eq=False)
class Facts:
    """Of a statement, with all that is in it. Names are in the order in which they are found."""

    bound: tuple[str, ...]
    """Names that are given a value."""
    changed: tuple[str, ...]
    """Those, but for what `match` looks at, which is set where it is read; and the flags of these, and of names that are
    deleted (`unbound_names.py`)."""
    rebound: frozenset[str]
    """Names that are given a value otherwise than by `op=`, which writes to an array."""
    items: tuple[tuple[str, Any], ...]
    """Attributes and items at constants, of what names are, that are given another value, otherwise than by `op=`."""
    last_lines: dict[str, int]
    """Names, and the last lines that have them."""
    calls: tuple[ast.Call, ...]
    has_functions: bool
    has_named: bool
    """Whether a part of an expression is assigned: `:=`."""


@functools.lru_cache(maxsize=4096)
def facts(node: ast.AST) -> Facts:
    """What the text of a statement or an expression says."""
    bound: dict[str, None] = {}
    changed: dict[str, None] = {}
    last_lines: dict[str, int] = {}
    calls: list[ast.Call] = []
    stores: list[ast.Name] = []
    items: list[ast.Attribute | ast.Subscript] = []
    augmented: set[ast.AST] = set()
    has_functions = has_named = False
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            line = getattr(child, "lineno", 0)
            last_lines[child.id] = max(last_lines.get(child.id, 0), line)
            if isinstance(child.ctx, ast.Load):
                continue
            if isinstance(child.ctx, ast.Store):
                stores.append(child)
                bound[child.id] = None
                if not child.id.startswith(PREFIX):
                    changed[child.id] = None
            changed[flag_of(child.id)] = None
        elif isinstance(child, ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store):
            items.append(child)
        elif isinstance(child, ast.AugAssign):
            augmented.add(child.target)
        elif isinstance(child, ast.Call):
            calls.append(child)
        elif isinstance(child, ast.NamedExpr):
            has_named = True
        elif isinstance(child, ast.Lambda | ast.FunctionDef):
            has_functions = True
    rebound = frozenset(name.id for name in stores if name not in augmented)
    return Facts(
        tuple(bound),
        tuple(changed),
        rebound,
        tuple(_items(items, augmented)),
        last_lines,
        tuple(calls),
        has_functions,
        has_named,
    )


def _items(stores: list[ast.Attribute | ast.Subscript], augmented: set[ast.AST]) -> Iterator[tuple[str, Any]]:
    for store in stores:
        if store in augmented or not isinstance(store.value, ast.Name):
            continue
        if isinstance(store, ast.Attribute):
            yield store.value.id, store.attr
        elif isinstance(store.slice, ast.Constant):
            yield store.value.id, store.slice.value
