"""A Python function during compilation: its source, its variables, and how its errors are placed."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from ...dialects.diagnostic import NestorError
from ..interface.captured import Captured, Step
from ..interface.errors import UnboundError, UndefinedNameError, UnsupportedError
from ..interface.source import FunctionSource
from ..values.graph import Graph
from ..values.values import Late, Scope, Value
from .objects import current
from .outside import attribute, found


class ReturnSignal(Exception):
    """Internal: `return` was executed."""

    def __init__(self, value: Value):
        self.value = value


class Frame:
    """One activation of a Python function. `captured` collects the globals it depends on."""

    def __init__(
        self,
        graph: Graph,
        source: FunctionSource,
        captured: Captured,
        depth: int = 0,
        home: Frame | None = None,
    ):
        self.graph = graph
        self.source = source
        self.scope = Scope()
        self.captured = captured
        self.depth = depth
        self.home = home
        """For a function defined in another: the frame of that one."""
        self.unrolling = 0
        self.looping = 0
        """Loops on tensors around: what they compute may be read in the next iteration."""
        self.handed_on: frozenset[str] = frozenset()
        """Variables that the frame around takes over in the end."""

    @property
    def variables(self) -> dict[str, Value]:
        return self.scope.variables

    def at(self, node: ast.AST) -> None:
        """Operations and errors from here on belong to `node`."""
        self.graph.locate(self.source.place(node))

    def fail(
        self,
        node: ast.AST,
        message: str,
        hint: str | None = None,
        error: type[NestorError] = UnsupportedError,
    ) -> NoReturn:
        raise error(message, self.source.place(node), hint=hint)

    def lookup(self, node: ast.Name) -> Value:
        """The value of a name: a variable, else a global, which calls look at again."""
        name = node.id
        frame: Frame | None = self
        while frame is not None:
            if name in frame.variables:
                value = frame.variables[name]
                if isinstance(value, Late):
                    value = self.graph.language.late(self, node, value)
                return current(self, value)
            if name in frame.scope.lost:
                self.fail(
                    node, f"'{name}' is used here, but {frame.scope.lost[name]}", "give it a value before"
                )
            if name in frame.source.own_names:
                self.fail(
                    node,
                    f"cannot access local variable '{name}' where it is not associated with a value",
                    None,
                    UnboundError,
                )
            frame = frame.home
        try:
            value = self.source.lookup(name)
        except KeyError:
            self.fail(node, f"name '{name}' is not defined", None, UndefinedNameError)
        return found(self.source, Step.NAME, name, value)

    def attribute(self, node: ast.AST, owner: Any, name: str) -> Value:
        """An attribute of a compile-time object (a module, a dtype, an object from outside)."""
        return attribute(self, node, owner, name)
