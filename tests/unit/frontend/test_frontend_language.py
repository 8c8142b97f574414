"""The table through which statements, expressions and calls compile each other is whole."""

import ast
import inspect

import pytest
from nestor.frontend.frame import recursion
from nestor.frontend.script import expressions, statements
from nestor.frontend.script.language import LANGUAGE

PARTS = {"Starred", "Slice", "FormattedValue", "Interpolation"}
"""What is a part of one kind of expression, which compiles it."""


def kinds_of(base: type) -> set[type]:
    """The kinds that the parser of this Python makes."""
    return {
        kind
        for kind in base.__subclasses__()
        if kind.__module__ in ("ast", "_ast") and not kind.__subclasses__()
    }


def test_expressions_are_compiled_or_named():
    kinds = {kind for kind in kinds_of(ast.expr) if kind.__name__ not in PARTS}
    unknown = kinds - {*expressions.EXPRESSIONS} - {*expressions._WORDS}
    assert {kind.__name__ for kind in unknown} <= {"TemplateStr"}, "it has a word, or one who compiles it"


def test_statements_are_compiled_or_named():
    unknown = kinds_of(ast.stmt) - {*statements._HANDLERS} - {*statements._WORDS}
    assert {kind.__name__ for kind in unknown} <= {"Break", "Continue", "Match", "TryStar", "TypeAlias"}


@pytest.mark.parametrize("name", ["evaluate", "test", "execute", "bind", "call", "inline", "listed"])
def test_the_table_is_called_as_its_functions_are_declared(name):
    declared, filled = getattr(recursion, name), getattr(LANGUAGE, name)
    assert [*inspect.signature(filled).parameters] == [*inspect.signature(declared).parameters]
