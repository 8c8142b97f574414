"""The run of a traced function: its errors and operations are at the line of the user that runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError, SourceLocation
from ..frame.frame import Frame
from ..frame.reachable import note_reachable
from ..interface.errors import Respecialise, UnsupportedError
from ..interface.source import FunctionSource
from ..numpy_api.symbols import WAY_OUT, Recording
from ..values import arithmetic
from ..values.graph import Graph
from ..values.values import Group, Static, Value

_INTERNAL = (
    str(Path(__file__).parents[1]),
    str(Path(np.__file__).parent),
    "<__array_function__",
    "<nt.trace",
)
"""Files whose lines are not the user's."""


class _UserSource(FunctionSource):
    """Everything is at the user's present line."""

    graph: Graph

    def place(self, node: ast.AST) -> SourceLocation:
        return self.graph.place


class Trace(Recording):
    """One run of a function on symbolic arguments."""

    def __init__(self, frame: Frame, most: int | None = None):
        """`most` is the maximum number of its operations."""
        source = _UserSource(frame.source.function, frame.source.node, frame.source.file)  # pyright: ignore
        object.__setattr__(source, "graph", frame.graph)
        super().__init__(Frame(frame.graph, source, frame.captured))
        self.refusal: NestorError | None = None
        self._left = most
        self._lists: list[tuple[Any, list[Any]]] = []
        """Lists and dicts given to the function, and what they held."""

    def run(self, function: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]) -> Value:
        """The value of `function(*args, **kwargs)`."""
        note_reachable(self.frame.captured, function)
        arguments = [self.object(v) for v in args]
        named = {k: self.object(v) for k, v in kwargs.items()}
        try:
            result = function(*arguments, **named)
        except Exception as error:
            # NumPy has errors of its own for arrays whose elements it cannot have.
            if self.wish is None and self.refusal is not None and not isinstance(error, NestorError):
                raise self.refusal from error
            raise
        finally:
            if self.wish is not None:  # also where the function caught it
                raise self.wish
        for container, held in self._lists:
            now = _held(container)
            if len(now) != len(held) or any(a is not b for a, b in zip(now, held, strict=True)):
                raise self.error(
                    f"a {type(container).__name__} that was passed is changed", "return the new contents"
                )
        value = self.value(result)
        self.active = False
        return value

    def object(self, value: Value) -> Any:
        if isinstance(value, Static):
            note_reachable(self.frame.captured, value.raw)
            return value.raw
        seen = super().object(value)
        if isinstance(value, Group) and isinstance(seen, list | dict):
            self._lists.append((seen, _held(seen)))
        return seen

    def error(
        self, message: str, hint: str | None = None, kind: type[NestorError] = UnsupportedError
    ) -> NestorError:
        """Build an error at the user's line."""
        self.locate()
        self.refusal = self.graph.error(kind, message, hint)
        return self.refusal

    def locate(self) -> ast.Call:
        """What follows comes from the line of the user that runs; a node that stands for it."""
        self.graph.locate(_user_place() or self.graph.place)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._left = None
                raise self.error(
                    "the loops of this function are unrolled, for its text is not known: that is too long"
                )
        return ast.Call(ast.Name("traced", ast.Load()), [], [])

    def static(self, value: Value, what: str) -> Any:
        """A number that Python needs now: known, or compiled for its value; else an error at the user's line."""
        self.locate()
        try:
            return arithmetic.require_static(self.graph, value, what, WAY_OUT)
        except Respecialise as wish:
            self.wish = wish
            raise
        except NestorError as refusal:
            self.refusal = refusal
            raise


def _held(container: Any) -> list[Any]:
    """What a list or a dict holds: of a dict the keys, too."""
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def _user_place() -> SourceLocation | None:
    """The innermost line that is neither Nestor's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())
    line, _, column, _ = positions[frame.f_lasti // 2]
    return SourceLocation(
        frame.f_code.co_filename, line or frame.f_lineno, 0 if column is None else column + 1
    )


def run(frame: Frame, node: ast.Call, function: Value, *args: Value, **kwargs: Value) -> Value:
    """What a call of `traced_call` is worth."""
    assert isinstance(function, Static)
    return Trace(frame).run(function.raw, list(args), kwargs)
