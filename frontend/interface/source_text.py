"""Whether a text is what a code object was compiled from: it is compiled again, and the code objects are compared.

def f(x): return x + 1        the file, edited after it was imported: f.__code__ adds 1, the text adds 2
def f(x): return x + 2        refused
"""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import operator
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of code that was compiled with `from __future__ import ...`, in its file or where `compile` was called."""


def is_text_of(text: str, code: CodeType) -> bool:
    """Whether Python compiles the text of a file to this code, among others."""
    try:
        return _has(_compiled(text, code.co_filename, code.co_flags & FUTURE), code)
    except (SyntaxError, ValueError):
        return False


def codes_of(text: str, file: str, flags: int) -> list[CodeType]:
    """All code that Python makes of a text; none of one that it does not compile."""
    try:
        return list(_codes(_compiled(text, file, flags)))
    except (SyntaxError, ValueError):
        return []


def is_tree_of(tree: ast.Module, code: CodeType) -> bool:
    """Whether Python compiles a definition, read by itself, to this code. What it is inside of may say otherwise."""
    return _has(compile(tree, code.co_filename, "exec", code.co_flags & FUTURE, dont_inherit=True), code)


def is_text_with_asserts_of(text: str, function: FunctionType) -> bool:
    """Whether it is the text of a function in a module whose `assert`s its importer replaced, as pytest does."""
    if not any(isinstance(name, str) and name.startswith("@") for name in function.__globals__):
        return False
    code = function.__code__
    try:
        outer = _compiled(text, code.co_filename, code.co_flags & FUTURE)
        asserts = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    except (SyntaxError, ValueError):
        return False
    wanted = _steps(code, asserts)
    return any(_steps(one, asserts) == wanted for one in _codes(outer) if _is_at(one, code))


@functools.lru_cache(maxsize=16)
def _compiled(text: str, file: str, flags: int) -> CodeType:
    try:
        return compile(text, file, "exec", flags, dont_inherit=True)
    except SyntaxError:  # a cell may wait outside of functions
        return compile(text, file, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _has(outer: CodeType, wanted: CodeType) -> bool:
    return any(one == wanted for one in _codes(outer))


def _codes(outer: CodeType) -> Iterator[CodeType]:
    yield outer
    for constant in outer.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_at(one: CodeType, other: CodeType) -> bool:
    return one.co_name == other.co_name and one.co_firstlineno == other.co_firstlineno


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs, dis.EXTENDED_ARG))


def _steps(code: CodeType, asserts: list[ast.Assert]) -> list[Any]:
    """The instructions outside of `assert`s, by their operands and places."""
    found = []
    for step in dis.get_instructions(code):
        at = step.positions
        if at is None or at.lineno is None or step.opcode in _JUMPS:
            continue
        place = (at.lineno, at.col_offset or 0)
        if any((n.lineno, n.col_offset) <= place < (n.end_lineno, n.end_col_offset) for n in asserts):
            continue
        operand = step.argval
        shown = _steps(operand, asserts) if isinstance(operand, CodeType) else repr(operand)
        found.append((step.opname, shown, place))
    return found
