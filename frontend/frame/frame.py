"""A Python function during compilation: its source, its variables, and how its errors are placed."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from ...dialects.diagnostic import NestorError
from ..interface.captured import Captured, Step
from ..interface.errors import UnboundError, UndefinedNameError, UnsupportedError, kind_of
from ..interface.source import FunctionSource
from ..interface.suggestions import did_you_mean, way_out
from ..values.checks import check, fail
from ..values.graph import Graph, NamePlace
from ..values.values import UNBOUND, Late, Scope, Static, Value, flag_of, serials
from .objects import current
from .outside import attribute, found


def _unbound(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"


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
        self.entered = next(serials)
        """Arrays made before are those of its callers."""
        self.unrolling = 0
        self.looping = 0
        self.path: tuple[Any, ...] = ()
        """The places of the calls that lead to this function."""
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
        raise error(message, self.source.shown(node), hint=hint)

    def fail_as(
        self, node: ast.AST, raised: Exception, message: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """What Python raises, with its arguments."""
        shown = f"{type(raised).__name__}: {raised}" if message is None else message
        error = kind_of(raised)(shown, self.source.shown(node), hint=hint or way_out(raised))
        error.args = raised.args
        raise error

    def lookup(self, node: ast.Name) -> Value:
        """The value of a name: a variable, else a global, which calls look at again."""
        name = node.id
        frame: Frame | None = self
        while frame is not None:
            if name in frame.variables:
                value = frame.variables[name]
                if flag_of(name) in frame.variables:
                    self._check_bound(node, frame)
                if isinstance(value, Late):
                    value = self.graph.language.late(self, node, value)
                return current(self, value)
            if name in frame.scope.lost:
                self.graph.unbound.add(frame._place_of(name))
                self.fail(
                    node, f"'{name}' is used here, but {frame.scope.lost[name]}", "give it a value before"
                )
            if name in frame.source.own_names:
                self.graph.unbound.add(frame._place_of(name))
                self.fail(node, _unbound(name), "give it a value on each path to here", UnboundError)
            frame = frame.home
        try:
            value = self.source.lookup(name)
        except KeyError:
            known = [*self.variables, *self.source.known_names()]
            hint = did_you_mean(name, known) or "define it in this function, or in its module before the call"
            self.fail(node, f"name '{name}' is not defined", hint, UndefinedNameError)
        return found(self.source, Step.NAME, name, value)

    def mark_bound(self, name: str, bound: bool = True) -> bool:
        """Note whether a variable has a value from here on, where that is asked; whether it is."""
        flag = flag_of(name)
        if flag not in self.variables:
            return False
        self.variables[flag] = Static(bound)
        return True

    def flagged_names(self) -> frozenset[str]:
        """The variables of the function that have flags."""
        return frozenset(place[-1] for place in self.graph.flagged if place == self._place_of(place[-1]))

    def _place_of(self, name: str) -> NamePlace:
        node = self.source.node
        return (self.source.file, node.lineno, node.col_offset, name)

    def _check_bound(self, node: ast.Name, home: Frame) -> None:
        """Python's error where a variable of `home` that is read here has no value."""
        flag, name = flag_of(node.id), node.id
        bound = home.variables[flag]
        if isinstance(bound, Static) and bound.value:
            return
        self.at(node)
        is_known = isinstance(bound, Static) or home.variables[name] is UNBOUND
        if home is not self and not is_known:
            self.fail(node, f"'{name}' may have no value when it is read here", "give it a value before")
        if is_known:
            error = UnboundError(_unbound(name), self.source.place(node))
            fail(self.graph, error, "UnboundLocalError")
        if (bound, self.graph.block) not in self.graph.checked:
            self.graph.checked.add((bound, self.graph.block))
            check(self.graph, bound, "UnboundLocalError", _unbound(name))

    def attribute(self, node: ast.AST, owner: Any, name: str) -> Value:
        """An attribute of a compile-time object (a module, a dtype, an object from outside)."""
        return attribute(self, node, owner, name)
