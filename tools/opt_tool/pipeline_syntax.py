"""The text of a pass pipeline: `cse,nest-split{loop=i factor=16},func.func(canonicalize)`.

    pipeline  ::= (element (`,` element)*)?
    element   ::= name (`{` options `}` | `(` pipeline `)`)?
    options   ::= (key (`=` value (`,` value)*)?)*        separated by spaces
    value     ::= "quoted" | 'quoted' | any characters except spaces, quotes and `{},`
                | `{` value (`,` value)* `}` (a list)

Both `-p` and `--pass-pipeline` speak it; the latter is anchored at the top, as in mlir-opt:
`builtin.module(...)`. This module knows syntax only; `resolve` looks the names up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...dialects.diagnostic import NestorError, SourceLocation

SOURCE_NAME = "<pipeline>"
"""The file name under which errors in a pipeline are reported."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_BARE_VALUE = re.compile(r"[^\s{}(),\"'=]+")
_QUOTED_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"' + r"|'((?:[^'\\]|\\.)*)'")
_SPACE = re.compile(r"\s*")


class PipelineError(NestorError):
    """A pipeline that cannot be read, names an unknown pass, or gives a pass a bad option."""


@dataclass(frozen=True)
class Option:
    """`key=value,value`; no values for a bare `key`. Values are the text as written, without quotes."""

    key: str
    values: tuple[str, ...]
    place: SourceLocation = field(compare=False)


@dataclass(frozen=True)
class Element:
    """A pass (or named pipeline) with its options, or an anchor with the pipeline inside."""

    name: str
    place: SourceLocation = field(compare=False)
    options: tuple[Option, ...] = ()
    children: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.children is not None:
            return f"{self.name}({print_pipeline(self.children)})"
        if not self.options:
            return self.name
        return f"{self.name}{{{' '.join(_print_option(option) for option in self.options)}}}"


def parse_pipeline(text: str, source: str = SOURCE_NAME) -> tuple[Element, ...]:
    """The elements of `text`. Raises `PipelineError` with the column of the first fault."""
    return _Reader(text, source).read_all()


def print_pipeline(elements: tuple[Element, ...]) -> str:
    """The text of a pipeline: `parse_pipeline` of it gives the same elements."""
    return ",".join(str(element) for element in elements)


def _print_option(option: Option) -> str:
    if not option.values:
        return option.key
    return f"{option.key}={','.join(_print_value(value) for value in option.values)}"


def _print_value(value: str) -> str:
    if _BARE_VALUE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Reader:
    def __init__(self, text: str, source: str):
        self._text = text
        self._source = source
        self._at = 0

    def read_all(self) -> tuple[Element, ...]:
        elements = self._elements(closing="")
        if self._at < len(self._text):
            raise self._error(f"unexpected '{self._text[self._at]}' in the pipeline")
        return elements

    def _elements(self, closing: str) -> tuple[Element, ...]:
        self._skip_space()
        elements: list[Element] = []
        if self._peek() == closing:
            return ()
        while True:
            elements.append(self._element())
            self._skip_space()
            if self._peek() != ",":
                return tuple(elements)
            self._at += 1
            self._skip_space()

    def _element(self) -> Element:
        place = self._place()
        name = self._match(_NAME, "expected the name of a pass")
        self._skip_space()
        if self._peek() == "{":
            return Element(name, place, options=self._options())
        if self._peek() != "(":
            return Element(name, place)
        opening = self._place()
        self._at += 1
        children = self._elements(closing=")")
        if self._peek() != ")":
            raise self._unclosed("(", ")", opening)
        self._at += 1
        return Element(name, place, children=children)

    def _options(self) -> tuple[Option, ...]:
        opening = self._place()
        self._at += 1
        options: list[Option] = []
        while True:
            self._skip_space()
            if self._peek() == "}":
                self._at += 1
                return tuple(options)
            if not self._peek():
                raise self._unclosed("{", "}", opening)
            options.append(self._option())

    def _option(self) -> Option:
        place = self._place()
        key = self._match(_KEY, "expected the name of an option")
        if self._peek() != "=":
            return Option(key, (), place)
        self._at += 1
        values = self._values()
        if self._peek() not in ("", "}") and not self._peek().isspace():
            raise self._error(
                f"unexpected '{self._peek()}' after the value of '{key}'", "options are separated by spaces"
            )
        return Option(key, values, place)

    def _values(self) -> tuple[str, ...]:
        values = list(self._value())
        while self._peek() == ",":
            self._at += 1
            values += self._value()
        return tuple(values)

    def _value(self) -> tuple[str, ...]:
        if self._peek() == "{":
            opening = self._place()
            self._at += 1
            values = self._values()
            if self._peek() != "}":
                raise self._unclosed("{", "}", opening)
            self._at += 1
            return values
        if found := _QUOTED_VALUE.match(self._text, self._at):
            self._at = found.end()
            quoted = found[1] if found[1] is not None else found[2]
            return (re.sub(r"\\(.)", r"\1", quoted),)
        return (self._match(_BARE_VALUE, "expected a value"),)

    def _match(self, pattern: re.Pattern[str], expected: str) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            here = f"found '{self._peek()}'" if self._peek() else "found the end"
            raise self._error(f"{expected}, {here}")
        self._at = found.end()
        return found[0]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]

    def _place(self) -> SourceLocation:
        line_start = self._text.rfind("\n", 0, self._at) + 1
        line = self._text.count("\n", 0, self._at) + 1
        return SourceLocation(self._source, line, self._at - line_start + 1)

    def _error(self, message: str, hint: str | None = None) -> PipelineError:
        return PipelineError(message, self._place(), hint=hint)

    def _unclosed(self, opening: str, closing: str, place: SourceLocation) -> PipelineError:
        if self._peek():
            return self._error(f"expected '{closing}' or ',', found '{self._peek()}'")
        shell = "quote the pipeline for the shell when it has spaces: -p 'pass{a=1 b=2}'"
        hint = shell if opening == "{" else None
        return PipelineError(f"'{opening}' without a matching '{closing}'", place, hint=hint)
