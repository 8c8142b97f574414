"""Which arguments a function is differentiated with respect to: argnums and argnames, and the parameters of the function."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from ..frame.frame import Frame
from ..interface.errors import DTypeError, ShapeError
from ..values.callees import Callee
from ..values.names import ir_name
from ..values.values import Closure, Group, Method, Static, Value


@dataclass(eq=False)
class Selected:
    """The arguments of a call, and the places of those that are differentiated: positions and keywords.

    `is_one`: the gradient is asked for as it is, not in a tuple.
    """

    args: list[Value]
    kwargs: dict[str, Value]
    places: list[int | str]
    named: list[tuple[str, Value]]
    is_one: bool
    instead: str

    def given(self, values: Sequence[Value]) -> tuple[list[Value], dict[str, Value]]:
        """The arguments with others in these places."""
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places, values, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return args, kwargs

    def packed(self, values: Sequence[Value]) -> Value:
        """The gradients as they are asked for."""
        return values[0] if self.is_one else Group(tuple(values))


def select(
    frame: Frame,
    node: ast.expr,
    what: str,
    fun: Value,
    args: list[Value],
    kwargs: dict[str, Value],
    argnums: Any,
    argnames: Any,
) -> Selected:
    """The arguments that `argnums` and `argnames` mean. Raises for one that is not there, or is there twice."""
    parameters = parameters_of(fun)
    if argnums is None and argnames is None:
        argnums = 0
    numbers = _tuple(frame, node, what, argnums, "argnums")
    names = _tuple(frame, node, what, argnames, "argnames")
    places: list[int | str] = [_by_number(frame, node, what, n, args, kwargs, parameters) for n in numbers]
    places += [_by_name(frame, node, what, name, args, kwargs, parameters) for name in names]
    if len(set(places)) < len(places):
        frame.fail(node, f"{what}: an argument is named twice by argnums and argnames", None, ShapeError)
    if not places:
        frame.fail(
            node, f"{what}: argnums names no argument", "leave it out for the first argument", ShapeError
        )
    named = []
    for place in places:
        if isinstance(place, str):
            named.append((f"'{place}'", kwargs[place]))
            continue
        name = parameters[place] if parameters is not None and place < len(parameters) else None
        named.append((f"argument {place}" if name is None else name, args[place]))
    is_one = (
        len(places) == 1 and not isinstance(argnums, tuple | list) and not isinstance(argnames, tuple | list)
    )
    instead = (
        "argnums=... (or argnames=...) says with respect to which arguments; x.astype(float) has derivatives"
    )
    return Selected(args, kwargs, places, named, is_one, instead)


def _tuple(frame: Frame, node: ast.expr, what: str, given: Any, word: str) -> tuple[Any, ...]:
    if given is None:
        return ()
    items = tuple(given) if isinstance(given, tuple | list) else (given,)
    if word == "argnames":
        wrong = [one for one in items if not isinstance(one, str)]
    else:
        wrong = [one for one in items if isinstance(one, bool) or not hasattr(one, "__index__")]
    if wrong:
        kind = "strings" if word == "argnames" else "integers"
        other = "argnames takes names" if isinstance(wrong[0], str) else "argnums takes positions, from 0 on"
        frame.fail(node, f"{what}: {word} has {wrong[0]!r} in it; it takes {kind}", other, DTypeError)
    return items if word == "argnames" else tuple(map(operator.index, items))


def _by_number(
    frame: Frame,
    node: ast.expr,
    what: str,
    number: int,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    parameters: Sequence[str] | None,
) -> int | str:
    place = number + len(args) if number < 0 else number
    if 0 <= place < len(args):
        return place
    if parameters is not None and 0 <= place < len(parameters) and parameters[place] in kwargs:
        return parameters[place]
    frame.fail(
        node,
        f"{what}: argnums names argument {number}, and {len(args)} are given by position",
        "argnums counts from 0; argnames=... names arguments that are given by keyword",
        ShapeError,
    )


def _by_name(
    frame: Frame,
    node: ast.expr,
    what: str,
    name: str,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    parameters: Sequence[str] | None,
) -> int | str:
    if name in kwargs:
        return name
    if parameters is not None and name in parameters:
        place = parameters.index(name)
        if place < len(args):
            return place
        frame.fail(node, f"{what}: argnames names '{name}', which is not given", "pass it", ShapeError)
    known = "" if parameters is None else f"its parameters: {', '.join(parameters)}"
    frame.fail(node, f"{what}: there is no parameter '{name}'", known or None, ShapeError)


def parameters_of(fun: Value) -> list[str] | None:
    """The parameters that are given by position, in order; None where they are not known."""
    if isinstance(fun, Closure):
        a = fun.node.args
        return [p.arg for p in (*a.posonlyargs, *a.args)]
    if isinstance(fun, Static) and isinstance(fun.raw, Callee):
        return None if fun.raw.function is None else parameters_of(fun.raw.function)
    skipped = 0
    function = fun.function if isinstance(fun, Method) else fun.raw if isinstance(fun, Static) else None
    if isinstance(fun, Method):
        skipped = 1
    if hasattr(type(function), "lower"):
        function = function.function  # pyright: ignore
    if isinstance(function, MethodType):
        function, skipped = function.__func__, 1
        if hasattr(type(function), "lower"):
            function = function.function
    if not isinstance(function, FunctionType):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(function, follow_wrapped=False).parameters.values()
    return [p.name for p in found if p.kind in positional][skipped:]


def all_parameters_of(fun: Value) -> dict[str, bool]:
    """The parameters of a function from outside, of NumPy too, and whether they have a default; nothing where not known."""
    if not isinstance(fun, Static) or isinstance(fun.raw, Callee):
        return {}
    function = fun.raw.function if hasattr(type(fun.raw), "lower") else fun.raw
    try:
        plain = isinstance(function, FunctionType | MethodType)  # what NumPy exports is wrapped
        found = inspect.signature(function, follow_wrapped=not plain).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default is not inspect.Parameter.empty for p in found}


def label_of(fun: Value) -> str:
    """A name for a function, as symbols have them."""
    if isinstance(fun, Closure):
        name = fun.node.name
    elif isinstance(fun, Method):
        name = fun.name
    elif isinstance(fun, Group):
        name = fun.kind.__name__
    else:
        raw = fun.raw if isinstance(fun, Static) else fun
        name = raw.label if isinstance(raw, Callee) else getattr(raw, "__name__", None)
        name = name if isinstance(name, str) else type(raw).__name__
    name = "".join([c if c.isalnum() or c == "_" else "_" for c in ir_name(name)]).strip("_")
    return name or "function"
