"""`break`, `continue`, `return` in the middle and the `else` of loops, rewritten as conditions before compiling.

    for k in range(n):                    .break1 = False
        if x * x > 4:                     for k in range(n):          (ends when .break1 holds)
            break                             if x * x > 4:
        x = x * x + c                             .break1 = True
    return x                                  else:
                                                  x = x * x + c

Flags that stay known at compile time cost nothing: a `return` under `if y is None` is decided there and then. The names
begin with a dot, which no Python name does.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RESULT, RETURNED = ".result", ".returned"
"""What a `return` inside of loops or branches leaves, and whether one was reached."""

STOPS = "nestor_stops"
"""The attribute of a loop with the flags that end it early."""


ELSE = "nestor_else"
"""The attribute of a loop with the flags that say whether its `else` runs: they are read after it."""


class Step(ast.Pass):
    """A statement of this compiler's own: what it does, at the place of a loop or of another node."""

    _fields = ("target",)

    def __init__(self, run: Callable[[], None], at: ast.AST):
        super().__init__()
        self.run = run
        if isinstance(at, ast.For):
            self.target = at.target
        ast.copy_location(self, at)


@dataclass(frozen=True, eq=False)
class Structured:
    """A function's body without jumps. `has_result`: every path leaves what it returns in RESULT."""

    body: Sequence[ast.stmt]
    has_result: bool = False


def is_synthetic(name: str) -> bool:
    """Whether the variable is one of this file's."""
    return name.startswith(".")


def stops_of(loop: ast.For | ast.While) -> tuple[str, ...]:
    """The flags that end a loop early."""
    return getattr(loop, STOPS, ())


def read_after(loop: ast.AST) -> tuple[str, ...]:
    """The flags that are read after a loop, by its `else`."""
    return getattr(loop, ELSE, ())


@functools.lru_cache(maxsize=1024)
def structured(function: ast.FunctionDef) -> Structured:
    """The body of `function` with jumps and the `else` of loops rewritten; the body itself where there are none."""
    if not any(_is_rewritten(s) for s in function.body):
        return Structured(function.body)
    statements = list(function.body)
    if not _always_leaves(statements):
        last = ast.copy_location(ast.Constant(None), statements[-1])
        statements.append(ast.copy_location(ast.Return(last), statements[-1]))
    body, _ = _Rewriter().rewrite(statements, None)
    is_read = _reads(body)
    body = _without_unread(body, is_read)
    start = [_assign(RETURNED, ast.Constant(False), function)] if RETURNED in is_read else []
    return Structured([*start, *body], True)


def rewrite(statements: Sequence[ast.stmt], new_name: Callable[[str], str]) -> list[ast.stmt]:
    """Statements that the compiler itself made, without jumps; `new_name` makes a name from a prefix."""
    return _Rewriter(new_name).rewrite(statements, None)[0]


def _is_rewritten(statement: ast.stmt) -> bool:
    """Whether a statement has a `return` inside of it, a jump of a loop, or the `else` of one."""
    if isinstance(statement, ast.Return):
        return False
    return any(
        isinstance(n, ast.Return | ast.Break | ast.Continue)
        or (isinstance(n, ast.For | ast.While) and n.orelse)
        for n in _own_nodes(statement)
    )


def _own_nodes(node: ast.AST):
    """The nodes of a statement, without those of functions defined in it."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


@dataclass
class _Loop:
    stop: str
    skip: str


class _Rewriter:
    def __init__(self, new_name: Callable[[str], str] | None = None) -> None:
        self.loops = 0
        self.new_name = new_name

    def rewrite(self, statements: Sequence[ast.stmt], loop: _Loop | None) -> tuple[list[ast.stmt], set[str]]:
        """The statements without jumps, and the flags that they may set."""
        result: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                done, flag = self._jump(statement, loop)
                return [*result, *done], {flag}
            if isinstance(statement, ast.If):
                more, flags = self._branch(statement, rest, loop)
            elif isinstance(statement, ast.For | ast.While):
                more, flags = self._loop(statement, rest, loop)
            else:
                result.append(statement)
                continue
            result += more
            if flags is not None:
                return result, flags
        return result, set()

    def _jump(self, node: ast.stmt, loop: _Loop | None) -> tuple[list[ast.stmt], str]:
        if isinstance(node, ast.Return):
            value = node.value or ast.copy_location(ast.Constant(None), node)
            stored = _assign(RESULT, value, node)
            return [stored, _assign(RETURNED, ast.Constant(True), node)], RETURNED
        assert loop is not None
        flag = loop.stop if isinstance(node, ast.Break) else loop.skip
        return [_assign(flag, ast.Constant(True), node)], flag

    def _branch(
        self, node: ast.If, rest: Sequence[ast.stmt], loop: _Loop | None
    ) -> tuple[list[ast.stmt], set[str] | None]:
        """The branch; with jumps in it, all that follows as well."""
        then, then_flags = self.rewrite(node.body, loop)
        other, other_flags = self.rewrite(node.orelse, loop)
        flags = then_flags | other_flags
        if not flags:
            return [_if(node, node.test, then, other)], None
        if not other_flags and _always_leaves(node.body):
            other, more = self.rewrite([*node.orelse, *rest], loop)
            return [_if(node, node.test, then, other)], flags | more
        if not then_flags and _always_leaves(node.orelse):
            then, more = self.rewrite([*node.body, *rest], loop)
            return [_if(node, node.test, then, other)], flags | more
        following, more = self.rewrite(rest, loop)
        return [_if(node, node.test, then, other), *_unless(flags, following, node)], flags | more

    def _loop(
        self, node: ast.For | ast.While, rest: Sequence[ast.stmt], loop: _Loop | None
    ) -> tuple[list[ast.stmt], set[str] | None]:
        """The loop; with a `return` in it, all that follows as well."""
        self.loops += 1
        kinds = (".break", ".continue")
        own = _Loop(*[self.new_name(k) if self.new_name else f"{k}{self.loops}" for k in kinds])
        body, flags = self.rewrite(node.body, own)
        if own.skip in flags:
            body.insert(0, _assign(own.skip, ast.Constant(False), node))
        stops = tuple([f for f in (own.stop, RETURNED) if f in flags])
        if isinstance(node, ast.For):
            copy: ast.For | ast.While = ast.For(node.target, node.iter, body, [])
        else:
            copy = ast.While(node.test, body, [])
        ast.copy_location(copy, node)
        setattr(copy, STOPS, stops)
        if node.orelse:
            copy.end_lineno = node.body[-1].end_lineno
            setattr(copy, ELSE, stops)
        result: list[ast.stmt] = [copy]
        if own.stop in flags:
            result.insert(0, _assign(own.stop, ast.Constant(False), node))
        leaves = flags & {RETURNED}
        after, after_flags = self.rewrite(node.orelse, loop)
        result += _unless(set(stops), after, node)
        leaves |= after_flags
        if not leaves:
            return result, None
        following, more = self.rewrite(rest, loop)
        return [*result, *_unless(leaves, following, node)], leaves | more


def _always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether no path reaches the end of the statements."""
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return True
        if isinstance(statement, ast.If) and all(map(_always_leaves, (statement.body, statement.orelse))):
            return True
        if isinstance(statement, ast.While) and _never_ends(statement):
            return True
    return False


def _never_ends(loop: ast.While) -> bool:
    """Whether only a `return` leaves the loop."""
    is_true = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return is_true and not any(isinstance(n, ast.Break) for n in _own_nodes(loop))


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.Assign:
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(
        ast.Assign([target], ast.copy_location(value, value if hasattr(value, "lineno") else at)), at
    )


def _if(at: ast.AST, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> ast.If:
    return ast.copy_location(
        ast.If(test, list(body) or [ast.copy_location(ast.Pass(), at)], list(orelse)), at
    )


def _unless(flags: set[str], body: Sequence[ast.stmt], at: ast.AST) -> list[ast.stmt]:
    """`if not (one flag or another): body`."""
    if not body:
        return []
    return [_if(at, without(sorted(flags), at), body, [])] if flags else list(body)


def without(flags: Sequence[str], at: ast.AST) -> ast.expr:
    """The expression that none of the flags is set."""
    parts: list[ast.expr] = []
    for flag in flags:
        name = ast.copy_location(ast.Name(flag, ast.Load()), at)
        parts.append(ast.copy_location(ast.UnaryOp(ast.Not(), name), at))
    return parts[0] if len(parts) == 1 else ast.copy_location(ast.BoolOp(ast.And(), parts), at)


def _reads(statements: Sequence[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            if isinstance(node, ast.For | ast.While):
                found.update(stops_of(node))
    return found


def _without_unread(statements: Sequence[ast.stmt], read: set[str]) -> list[ast.stmt]:
    """The statements without assignments to flags that nothing reads."""
    kept: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if is_synthetic(name) and name != RESULT and name not in read:
                continue
        if isinstance(statement, ast.If | ast.For | ast.While):
            statement.body = _without_unread(statement.body, read) or [
                ast.copy_location(ast.Pass(), statement)
            ]
            statement.orelse = _without_unread(statement.orelse, read)
        kept.append(statement)
    return kept
