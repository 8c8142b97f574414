"""Names that may have no value where they are read: first bound in a loop that may not run, on one path, or deleted.

    for i in range(n):            .bound_last = False
        last = a[i]               for .i in range(n):
    return last                       i = .i; last = a[i]; .bound_last = True
                                  check .bound_last; return last

Such a name has a flag, a variable like any other: known while compiling where every path agrees, carried by loops and
branches where not. A name has one only after lowering has found it read where nothing is known of it; then lowering
begins again with the flag.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..values.values import UNBOUND, Static, flag_of
from .structured import ELSE, STOPS

if TYPE_CHECKING:
    from ..frame.frame import Frame


class Unbind(ast.Pass):
    """The statement that names have no value yet."""

    _fields = ()

    def __init__(self, names: Iterable[str], at: ast.AST):
        super().__init__()
        self.names = tuple(names)
        ast.copy_location(self, at)


def unbind(frame: Frame, node: Unbind) -> None:
    """Give names their flags. Parameters have a value."""
    for name in node.names:
        frame.variables[flag_of(name)] = Static(name in frame.variables)
        frame.variables.setdefault(name, UNBOUND)


def flagged(function: ast.FunctionDef, body: Sequence[ast.stmt], names: frozenset[str]) -> Sequence[ast.stmt]:
    """The body of a function in which `names` have flags."""
    return _flagged(function, tuple(body), names) if names else body


@functools.lru_cache(maxsize=256)
def _flagged(
    function: ast.FunctionDef, body: tuple[ast.stmt, ...], names: frozenset[str]
) -> Sequence[ast.stmt]:
    return [Unbind(sorted(names), function), *_with_targets(body, names)]


def _with_targets(statements: Sequence[ast.stmt], names: frozenset[str]) -> list[ast.stmt]:
    """The statements, with the targets of loops that are such names bound in the body."""
    return [_with_target(statement, names) for statement in statements]


def _with_target(statement: ast.stmt, names: frozenset[str]) -> ast.stmt:
    if not isinstance(statement, ast.For | ast.While | ast.If):
        return statement
    body, orelse = _with_targets(statement.body, names), _with_targets(statement.orelse, names)
    if isinstance(statement, ast.If):
        return ast.copy_location(ast.If(statement.test, body, orelse), statement)
    if isinstance(statement, ast.While):
        made: ast.For | ast.While = ast.While(statement.test, body, orelse)
    else:
        target = statement.target
        if any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(target)):
            own = f".{target.id}" if isinstance(target, ast.Name) else ".item"
            item = ast.copy_location(ast.Name(own, ast.Load()), target)
            body.insert(0, ast.copy_location(ast.Assign([target], item), target))
            target = ast.copy_location(ast.Name(own, ast.Store()), target)
        made = ast.For(target, statement.iter, body, orelse)
    ast.copy_location(made, statement)
    for attribute in (STOPS, ELSE):
        if hasattr(statement, attribute):
            setattr(made, attribute, getattr(statement, attribute))
    return made
