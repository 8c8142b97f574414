"""The definition of a function is found by parsing its own lines, with the places that the whole file gives it."""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FunctionType
from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface import source

TEXT: str = '''
import functools


def plain(x):
    return x + 1
    "behind the return"


# between
def last_lines_without_code(x):
    y = x

    if False:
        y = 2
  # a comment further left
    pass


def with_text_at_the_margin(x):
    """A text
with lines at the margin.
"""
    return x, """
at the margin"""


def with_arguments_at_the_margin(
    x, y=(
1,
2),
):
    return (x +
y)


class Holder:
    @functools.lru_cache
    @functools.wraps(
        plain
    )
    def method(self, é):
        def inner(x):
            return x + é

        return inner

    if True:
        def deeper(self): return self; return None
        other = 1


def outer():
    def same(x):
        return x
    a = same

    def same(x):
        return -x
    return a, same


def one_line(x): return x
def next_line(x): return -x
\tif_tabs = 1
'''.replace("\tif_tabs = 1\n", "def tabs(x):\n\tif x:\n\t\treturn x\n\treturn 2")


def _codes(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return inner + [deeper for each in inner for deeper in _codes(each)]


FUNCTIONS = [code for code in _codes(compile(TEXT, "margin.py", "exec")) if code.co_name != "Holder"]


@pytest.mark.parametrize("code", FUNCTIONS, ids=lambda code: f"{code.co_name}-{code.co_firstlineno}")
def test_a_definition_is_the_same_alone_and_in_its_file(code: CodeType):
    lines: list[str] = TEXT.splitlines(keepends=True)
    whole = source._find(ast.parse(TEXT), code.co_name, code.co_firstlineno)
    found = source._definition(lines, "margin.py", code)
    assert whole is not None and found is not None
    assert ast.dump(found, include_attributes=True) == ast.dump(whole, include_attributes=True)


def test_the_rest_of_a_file_is_not_parsed():
    text: str = "def first(x):\n    return x\n\n\n" + "def broken(:\n" * 3
    code = next(c for c in compile(text[:27], "broken.py", "exec").co_consts if isinstance(c, CodeType))
    lines = [*map(str, text.splitlines(keepends=True))]
    linecache.cache["broken.py"] = len(text), None, lines, "broken.py"
    function: Any = FunctionType(code, {})
    assert ast.unparse(source.source_of(function).node) == "def first(x):\n    return x"


def test_texts_of_derivatives_outlive_linecache(monkeypatch):
    def cubes(x):
        return (x**3).sum()

    slope = nt.grad(cubes)
    monkeypatch.setattr(linecache, "cache", {})
    assert np.allclose(slope(np.array([1.0, 2.0])), [3.0, 12.0])
    assert np.allclose(slope(np.array([1.0, 2.0, 3.0], np.float32)), [3.0, 12.0, 27.0])
