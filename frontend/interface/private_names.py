"""Private names in the code of a class: `__w` in `class _A` is `_A__w`, as Python's compiler has it.

class _A:
    def scale(self, x):              def scale(self, x):
        return x * self.__w     ->       return x * self._A__w
"""

from __future__ import annotations

import ast
import copy
from itertools import pairwise
from types import CodeType

_MADE = "nestor_mangled"
"""The attribute of a definition with its copy that has Python's names."""


def class_around(code: CodeType) -> str:
    """The innermost class that a function is written in; empty where there is none."""
    parts = code.co_qualname.split(".")
    around = [part for part, after in pairwise(parts) if part != "<locals>" and after != "<locals>"]
    return around[-1].lstrip("_") if around else ""


def mangled(name: str, owner: str) -> str:
    """What Python calls `name` in the code of the class `owner`, whose underscores in front are gone."""
    is_private = name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner}{name}" if owner and is_private else name


def with_private_names(function: ast.FunctionDef, owner: str) -> ast.FunctionDef:
    """The function as Python compiles it in the class: itself where it has no private name, else a copy."""
    if not owner or not any(_is_private(text) for node in ast.walk(function) for text in _texts(node)):
        return function
    made = getattr(function, _MADE, None)
    if made is None:
        made = copy.deepcopy(function)
        _Mangler(owner).generic_visit(made)
        setattr(function, _MADE, made)
    return made


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: ("id",),
    ast.Attribute: ("attr",),
    ast.arg: ("arg",),
    ast.alias: ("name", "asname"),
    ast.ImportFrom: ("module",),
    ast.Global: ("names",),
    ast.Nonlocal: ("names",),
    ast.ExceptHandler: ("name",),
    ast.FunctionDef: ("name",),
    ast.AsyncFunctionDef: ("name",),
    ast.ClassDef: ("name",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
}
"""Where nodes have names. Keywords of calls and of class patterns are not here: Python leaves them as they are."""


def _texts(node: ast.AST) -> list[str]:
    found = [getattr(node, field) for field in _FIELDS.get(type(node), ())]
    return [text for one in found if one for text in (one if isinstance(one, list) else [one])]


def _is_private(name: str) -> bool:
    return mangled(name, "C") != name


class _Mangler(ast.NodeVisitor):
    def __init__(self, owner: str):
        self.owner = owner

    def visit(self, node: ast.AST) -> None:
        super().visit(node)  # what is in a class has the class's own name
        for field in _FIELDS.get(type(node), ()):
            value = getattr(node, field)
            if isinstance(value, list):
                setattr(node, field, [mangled(name, self.owner) for name in value])
            elif value is not None:
                setattr(node, field, mangled(value, self.owner))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        inner = _Mangler(node.name.lstrip("_"))
        for statement in node.body:
            inner.visit(statement)
