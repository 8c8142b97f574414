"""Affine expressions as options of passes: layouts (`i j -> j/16 i j%16`) and windows (`16*i.o:16*i.o+16, 0:n`).

An expression is made of names, integers, `+`, `-`, and `*`, `/` (rounding down) and `%` by an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_][\w.]*)|(?P<number>\d+)|(?P<sign>->|[-+*/%():,]))")

Lookup = Callable[[str], AffineList | None]
"""What a name stands for, None when it stands for nothing."""


class AffineText:
    """A parser of `text`. Errors are about `at`, and say which option (`what`) is wrong and where."""

    def __init__(self, text: str, what: str, at: Operation, lookup: Lookup, known: str):
        self._text = text
        self._what = what
        self._at = at
        self._lookup = lookup
        self._known = known
        self._position = 0

    def error(self, message: str, position: int | None = None) -> NestorError:
        """A diagnostic that shows the text with a caret."""
        column = self._skip() if position is None else position
        lead = " " * (len("  help: ") + column)
        return fail(self._at, f"bad {self._what}: {message}", hint=f"{self._text}\n{lead}^")

    def _skip(self) -> int:
        rest = self._text[self._position :]
        return self._position + len(rest) - len(rest.lstrip())

    def peek(self) -> str:
        """The next token, empty at the end."""
        match = _TOKEN.match(self._text, self._position)
        return "" if match is None else match.group().strip()

    def accept(self, token: str) -> bool:
        """Read `token` if it is next."""
        if self.peek() != token:
            return False
        self._position = self._skip() + len(token)
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected '{token}'")

    @property
    def at_end(self) -> bool:
        return self._skip() == len(self._text)

    def name(self) -> tuple[str, int]:
        """A name, and where it starts."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["name"] is None:
            raise self.error("expected a name")
        start, self._position = self._skip(), match.end()
        return match["name"], start

    def sum(self) -> AffineList:
        """`16 * i + j - 1`"""
        total = self._product()
        while self.peek() in ("+", "-"):
            negative = self.accept("-") or not self.accept("+")
            other = self._product()
            total = total.minus(other) if negative else total.plus(other)
        return total.canonical()

    def _product(self) -> AffineList:
        value = self._factor()
        while (sign := self.peek()) in ("*", "/", "%"):
            self.accept(sign)
            start = self._skip()
            other = self._factor()
            if sign == "*" and (number := value.constants()) is not None:
                value = other.times(number[0])
                continue
            number = other.constants()
            if number is None:
                raise self.error(f"expected an integer on the right of '{sign}'", start)
            if sign == "*":
                value = value.times(number[0])
            elif number[0] < 1:
                raise self.error(f"'{sign}' needs a positive integer", start)
            else:
                kind = AffineBinaryOpKind.FloorDiv if sign == "/" else AffineBinaryOpKind.Mod
                value = value.divided(kind, number[0])
        return value

    def _factor(self) -> AffineList:
        match = _TOKEN.match(self._text, self._position)
        if match is not None and match["number"] is not None:
            self._position = match.end()
            return AffineList.of(int(match["number"]))
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        if match is None or match["name"] is None:
            raise self.error("expected a name, a number or '('")
        name, start = self.name()
        found = self._lookup(name)
        if found is None:
            raise self.error(f'unknown name "{name}"; {self._known}', start)
        return found


def parse_layout(text: str, at: Operation, axes: Sequence[SSAValue]) -> AffineList:
    """`i j -> j/16 i j%16`: the new indices over `axes`, which stand for the old ones in the order of the names."""
    names: dict[str, SSAValue] = {}

    def lookup(name: str) -> AffineList | None:
        return AffineList.of(names[name]) if name in names else None

    parser = AffineText(text, "layout", at, lookup, "axes have their names on the left of '->'")
    while not parser.accept("->"):
        name, start = parser.name()
        if name in names:
            raise parser.error(f'two axes are called "{name}"', start)
        if len(names) == len(axes):
            raise parser.error(f"the buffer has {len(axes)} axes", start)
        names[name] = axes[len(names)]
    if len(names) != len(axes):
        raise parser.error(f"{len(names)} names for the {len(axes)} axes of the buffer", 0)
    new = AffineList((), ())
    while not parser.at_end:
        new = new.concat(parser.sum())
    return new.canonical()


def parse_window(
    text: str, at: Operation, lookup: Lookup, known: str, rank: int
) -> tuple[AffineList, AffineList]:
    """`16*i.o:16*i.o+16, k`: the origin and the extents; an index alone is one element."""
    parser = AffineText(text, "window", at, lookup, known)
    origin, extents = AffineList((), ()), AffineList((), ())
    while True:
        first = parser.sum()
        extent = parser.sum().minus(first) if parser.accept(":") else AffineList.of(1)
        origin, extents = origin.concat(first), extents.concat(extent)
        if not parser.accept(","):
            break
    if not parser.at_end:
        raise parser.error("expected ',' or the end")
    if len(origin) != rank:
        raise parser.error(f"{len(origin)} ranges for the {rank} axes of the buffer", 0)
    return origin.canonical(), extents.canonical()
