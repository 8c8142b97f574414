"""Stand-ins: what code of importers makes of names that are not there yet is what it would have made of the names."""

from __future__ import annotations

import importlib
import sys
import threading
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from nestor.frontend.stand_ins import Group, ModuleStandIn, StandIn, real

LATE = """
import enum

class Delimiter(enum.Enum):
    ANGLE = 1
    NONE = 2

class Parser:
    Delimiter = Delimiter
    __match_args__ = ("text",)

    def __init__(self, text=""):
        self.text = text

class Base:
    def hello(self):
        return f"{type(self).__name__} of {type(self).kinds}"

def directive(cls):
    cls.kinds = [*cls.__annotations__.values()]
    return cls

LIMIT = 3
"""

DIALECT = """
from st_late import Base, Delimiter, Parser, directive
from st_late import Parser as P

class Flags:
    delimiter = Parser.Delimiter.ANGLE

    @classmethod
    def parse(cls, parser: Parser, by: dict[str, list[P]] | None = None) -> "Parser | None":
        return parser

    @staticmethod
    def text(given: Parser | None, delimiter: Parser.Delimiter = Parser.Delimiter.NONE, *, only=Delimiter.NONE):
        return delimiter, only

@directive
class Directive(Base):
    part: Parser

    def hello(self):
        return "! " + super().hello()

class Op:
    directives = (Directive,)

def made(text):
    return Parser(text)

def of(value):
    match value:
        case Parser(text="x"):
            return "x"
        case P(text):
            return text
        case _:
            return isinstance(value, Parser)
"""


class _Finder:
    def __init__(self, group: Group):
        self.group = group

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != "st_late" or self.group.is_used or not self.group.has_stand_ins(sys._getframe(1)):
            return None
        return ModuleSpec(name, self)  # pyright: ignore

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.group.module(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    (tmp_path / "st_late.py").write_text(LATE)
    (tmp_path / "st_dialect.py").write_text(DIALECT)
    (tmp_path / "st_stars.py").write_text("from st_dialect import *\n")
    (tmp_path / "st_other.py").write_text("from st_late import LIMIT, Parser\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    group = Group(["st_late"], ["st_dialect", "st_stars"])
    finder: Any = _Finder(group)
    sys.meta_path.insert(0, finder)
    importlib.import_module("st_dialect")
    yield group
    sys.meta_path.remove(finder)
    for name in ("st_late", "st_dialect", "st_stars", "st_other"):
        sys.modules.pop(name, None)


def _dialect() -> Any:
    return sys.modules["st_dialect"]


def _is_real(dialect: Any) -> None:
    late = sys.modules["st_late"]
    assert type(late) is types.ModuleType
    assert dialect.Parser is dialect.P is late.Parser
    assert dialect.Flags.delimiter is late.Delimiter.ANGLE
    parse, text = dialect.Flags.parse.__func__, dialect.Flags.text
    assert parse.__annotations__["parser"] is late.Parser
    assert parse.__annotations__["by"] == dict[str, list[late.Parser]] | None
    assert text.__annotations__["given"] == late.Parser | None
    assert text(None) == (late.Delimiter.NONE, late.Delimiter.NONE)
    assert isinstance(dialect.Directive, type) and dialect.Directive.__mro__[1] is late.Base
    assert dialect.Directive().hello() == f"! Directive of {[late.Parser]}"
    assert dialect.Op.directives == (dialect.Directive,) and type(dialect.Directive) is type


def test_nothing_is_imported_before_a_use(group: Group):
    assert type(sys.modules["st_late"]) is ModuleStandIn and not group.is_used
    assert type(_dialect().Parser) is StandIn and type(_dialect().Directive) is StandIn
    assert _dialect().Directive.__name__ == "Directive" and not group.is_used


USES = {
    "a call": lambda d: d.made("x").text,
    "a test": lambda d: d.of(3),
    "an attribute": lambda d: d.Flags.delimiter.name,
    "an object of a class": lambda d: d.Directive().hello(),
    "its text": lambda d: repr(d.Parser),
    "a subclass": lambda d: type("Sub", (real(d.Parser),), {}),
    "a module": lambda d: importlib.import_module("st_other"),
    "a module's names": lambda d: dir(sys.modules["st_late"]),
    "a module's namespace": lambda d: vars(sys.modules["st_late"]),
    "a module's attribute": lambda d: setattr(sys.modules["st_late"], "LIMIT", 4),
}


@pytest.mark.parametrize("use", USES.values(), ids=[*USES])
def test_after_a_use_all_is_real(group: Group, use: Any):
    use(_dialect())
    assert group.is_used
    _is_real(_dialect())


def test_results_are_those_of_the_real_thing(group: Group):
    dialect = _dialect()
    parser = dialect.Parser
    assert (
        dialect.of(3) is False
        and dialect.of(dialect.made("x")) == "x"
        and dialect.of(dialect.made("y")) == "y"
    )
    kept: Any = parser  # a stand-in that was kept elsewhere
    assert type(kept) is StandIn and isinstance(kept("z"), dialect.Parser)
    assert (
        isinstance(dialect.Parser(), kept)
        and issubclass(dialect.Parser, kept)
        and kept.Delimiter.NONE.value == 2
    )
    assert repr(kept) == repr(dialect.Parser)


def test_other_modules_have_the_real_thing(group: Group):
    other: Any = importlib.import_module("st_other")
    assert other.LIMIT == 3 and other.Parser is _dialect().Parser


def test_names_that_went_on_are_replaced(group: Group):
    stars: Any = importlib.import_module("st_stars")
    assert type(stars.Parser) is StandIn
    _dialect().made("x")
    assert stars.Parser is _dialect().Parser and stars.Directive is _dialect().Directive


def test_a_name_that_is_not_there_is_an_error(group: Group):
    late: Any = sys.modules["st_late"]
    with pytest.raises(AttributeError, match="nothing"):
        late.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        late.nothing  # noqa: B018


def test_threads_have_one_thing(group: Group):
    dialect, found = _dialect(), []
    barrier = threading.Barrier(4)

    def use() -> None:
        barrier.wait()
        found.append(type(dialect.made("x")))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [sys.modules["st_late"].Parser] * 4
    _is_real(dialect)
