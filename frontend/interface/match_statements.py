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
    if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
        return [*bound, ast.copy_location(ast.If(case.guard, case.body, following), case.pattern)]
    statements: list[ast.stmt] = [ast.copy_location(ast.If(test, bound, []), case.pattern)] if bound else []
    guard, again = _Filled(read, case.pattern).visit(copy.deepcopy(case.guard)), bound
    if _assigned(case.guard) & set(
        names_of(case.pattern)
    ):  # `if (v := v + 1) > 0`: they are variables in the guard
        guard, again = case.guard, []
    both = ast.copy_location(ast.BoolOp(ast.And(), [test, guard]), case.guard)
    return [*statements, ast.copy_location(ast.If(both, [*again, *case.body], following), case.pattern)]


def _assigned(guard: ast.expr) -> set[str]:
    """The variables that a guard assigns to."""
    return {node.target.id for node in ast.walk(guard) if isinstance(node, ast.NamedExpr)}


class _Filled(ast.NodeTransformer):
    """A guard with what the pattern binds in the place of the names, but those that it binds itself."""

    def __init__(self, subject: ast.expr, pattern: ast.pattern):
        self.subject, self.pattern = subject, pattern
        self.names = set(names_of(pattern))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return Bound(self.subject, self.pattern, node.id) if node.id in self.names else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args = self.visit(node.args)
        own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        node.body = self._without(own).visit(node.body)
        return node

    def _comprehension(self, node: ast.expr) -> ast.expr:
        generators: list[ast.comprehension] = node.generators  # pyright: ignore
        targets = [one for generator in generators for one in ast.walk(generator.target)]
        inner = self._without({one.id for one in targets if isinstance(one, ast.Name)})
        first = self.visit(generators[0].iter)  # in the scope around, as Python has it
        node = inner.generic_visit(node)  # pyright: ignore[reportAssignmentType]
        node.generators[0].iter = first  # pyright: ignore
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _without(self, names: set[str]) -> _Filled:
        inner = _Filled(self.subject, self.pattern)
        inner.names = self.names - names
        return inner


def without_match(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function itself, with `if` in the place of `match`."""
    if any(isinstance(node, ast.Match) for node in ast.walk(function)):
        _Rewriter().visit(function)
    return function
