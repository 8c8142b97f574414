"""`match` as `if` and `elif`, before anything else reads a function.

match p:                         .subject = p
    case Point(x=0, y=y):        if .subject matches Point(x=0, y=y):
        ...                          y = what the pattern binds
    case [a, b] if a > b:            ...
        ...                      else: ...
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

PREFIX = ".match"
"""What the names of subjects begin with. No Python name begins with a dot."""


class Matches(ast.expr):
    """Whether the subject matches a pattern."""

    _fields = ("subject",)

    def __init__(self, subject: ast.expr, pattern: ast.pattern):
        super().__init__()
        self.subject = subject
        self.pattern = pattern
        ast.copy_location(self, pattern)


class Bound(ast.expr):
    """What a pattern that matches binds to a name."""

    _fields = ("subject",)

    def __init__(self, subject: ast.expr, pattern: ast.pattern, name: str):
        super().__init__()
        self.subject = subject
        self.pattern = pattern
        self.name = name
        ast.copy_location(self, pattern)


def names_of(pattern: ast.AST) -> Iterator[str]:
    """The names that a pattern binds."""
    found: dict[str, None] = {}
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None:
            found[node.name] = None
        if isinstance(node, ast.MatchMapping) and node.rest is not None:
            found[node.rest] = None
    yield from found


class _Rewriter(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        subject = f"{PREFIX}.subject{node.lineno}.{node.col_offset}"
        first = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
        statements: list[ast.stmt] = [first, *_cases(subject, node.cases)]
        for statement in statements:
            for one in ast.walk(statement):
                if isinstance(one, ast.expr | ast.stmt) and not hasattr(one, "lineno"):
                    ast.copy_location(one, node)
        return statements


def _cases(subject: str, cases: list[ast.match_case]) -> list[ast.stmt]:
    if not cases:
        return []
    case, *rest = cases
    following = _cases(subject, rest)
    read = ast.copy_location(ast.Name(subject, ast.Load()), case.pattern)
    bound: list[ast.stmt] = [
        ast.copy_location(
            ast.Assign([ast.Name(name, ast.Store())], Bound(read, case.pattern, name)), case.pattern
        )
        for name in names_of(case.pattern)
    ]
    test = Matches(read, case.pattern)
    if case.guard is None:
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            return [*bound, *case.body]
        return [ast.copy_location(ast.If(test, [*bound, *case.body], following), case.pattern)]
    guard = _Filled(read, case.pattern).visit(copy.deepcopy(case.guard))
    if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
        return [*bound, ast.copy_location(ast.If(case.guard, case.body, following), case.pattern)]
    both = ast.copy_location(ast.BoolOp(ast.And(), [test, guard]), case.guard)
    statements: list[ast.stmt] = [ast.copy_location(ast.If(test, bound, []), case.pattern)] if bound else []
    return [*statements, ast.copy_location(ast.If(both, [*bound, *case.body], following), case.pattern)]


class _Filled(ast.NodeTransformer):
    """A guard with what the pattern binds in the place of the names."""

    def __init__(self, subject: ast.expr, pattern: ast.pattern):
        self.subject, self.pattern = subject, pattern
        self.names = set(names_of(pattern))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return Bound(self.subject, self.pattern, node.id) if node.id in self.names else node


def without_match(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function itself, with `if` in the place of `match`."""
    if any(isinstance(node, ast.Match) for node in ast.walk(function)):
        _Rewriter().visit(function)
    return function
