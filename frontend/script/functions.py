"""Python functions in compiled code: calls are inlined; functions and lambdas defined inside read variables when called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ...dialects.records import changed
from ..frame.frame import Frame, ReturnSignal
from ..frame.objects import current, place_of, share, stored
from ..frame.outside import default as default_of
from ..frame.recursion import evaluate
from ..interface.errors import DTypeError
from ..interface.parameters import bound
from ..interface.source import SUSPENDED, has_text, source_of, suspended_kind
from ..values.values import Closure, Group, Iteration, Static, Value
from .bodies import run_body
from .untold import untold

MAX_DEPTH = 60
"""Calls within each other that are written out."""

ON_SOME_PATHS = 12
"""Those in branches within each other that the run decides on. What refuses them compiles the numbers of the call in that
such a branch depends on, and begins again."""

TOO_DEEP = "'{}' calls itself too deeply: its calls are written out when it is compiled"
ENDED = (
    f"write a loop; a recursion ends after at most {MAX_DEPTH} calls, by what is known when it is compiled: static "
    "arguments, lengths, tuples and dicts"
)

_DEFINITION = "nestor_definition"
"""The attribute of a lambda with the function definition it stands for."""


def define(frame: Frame, node: ast.FunctionDef) -> Closure:
    """`def` inside of a compiled function."""
    if node.decorator_list:
        frame.fail(node.decorator_list[0], "a decorated function inside a compiled function is not supported")
    if _is_generator(node):
        frame.fail(node, f"'{node.name}' is a generator, which is not compiled", SUSPENDED)
    return _closure(frame, node, node.args)


def lambda_(frame: Frame, node: ast.Lambda) -> Closure:
    """`lambda x: x + 1`."""
    made = getattr(node, _DEFINITION, None)
    if made is None:
        body = ast.copy_location(ast.Return(node.body), node.body)
        made = ast.FunctionDef("<lambda>", node.args, [body], [])
        setattr(node, _DEFINITION, ast.copy_location(made, node))
    return _closure(frame, made, node.args)


def _closure(frame: Frame, node: ast.FunctionDef, arguments: ast.arguments) -> Closure:
    defaults = [stored(frame, evaluate(frame, d)) for d in arguments.defaults]
    keywords = [None if d is None else stored(frame, evaluate(frame, d)) for d in arguments.kw_defaults]
    return Closure(node, frame, tuple(defaults), tuple(keywords))


def _is_generator(node: ast.FunctionDef) -> bool:
    rest: list[ast.AST] = list(node.body)
    while rest:
        child = rest.pop()
        if isinstance(child, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.AsyncFunctionDef):
            rest.extend(ast.iter_child_nodes(child))
    return False


def inline(
    frame: Frame,
    node: ast.expr,
    function: FunctionType | Closure,
    args: Sequence[Value],
    kwargs: dict[str, Value],
) -> Value:
    """The body of a Python function, instead of its call."""
    kind = suspended_kind(function.__code__.co_flags) if isinstance(function, FunctionType) else None
    if kind is not None:
        frame.fail(node, f"'{function.__name__}' is {kind}, which is not compiled", SUSPENDED)
    if isinstance(function, FunctionType) and not has_text(function):
        return untold(frame, node, function, args, kwargs)
    inner, signature = _entered(frame, function)
    name = inner.source.node.name
    inner.path = place_of(frame, node)
    frame.graph.entered[frame.depth :] = [name]
    is_endless = min(frame.depth, frame.graph.nesting) >= ON_SOME_PATHS
    if is_endless or frame.depth >= MAX_DEPTH:
        frame.fail(node, TOO_DEEP.format(name), ENDED)
    if _is_generator(inner.source.node):
        frame.fail(node, f"'{name}' is a generator, which is not compiled", SUSPENDED)
    for value in (*args, *kwargs.values()):
        if isinstance(value, Iteration) and value.once:
            frame.fail(node, "an iterator as an argument is not supported", "pass a list of it: list(...)")
    try:
        fitting = bound(signature, args, kwargs)
    except TypeError as error:
        frame.fail(node, f"{name}(): {error}", None, DTypeError)
    share(frame, inner)
    for parameter_name, parameter in signature.parameters.items():
        inner.variables[parameter_name] = stored(inner, _argument(function, parameter, fitting.arguments))
    try:
        run_body(inner)
        result: Value = Static(None)
    except ReturnSignal as signal:
        result = signal.value
    share(inner, frame)
    frame.at(node)
    return current(frame, result)


def _argument(function: FunctionType | Closure, parameter: inspect.Parameter, given: dict[str, Any]) -> Value:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Group(tuple(given.get(parameter.name, ())))
    if parameter.kind is parameter.VAR_KEYWORD:
        more = given.get(parameter.name, {})
        return Group(tuple(more.values()), dict, tuple(more))
    if parameter.name in given:
        return given[parameter.name]
    if isinstance(function, FunctionType):
        return default_of(function, parameter)
    return parameter.default.value


class _Given:
    """The default of a parameter, evaluated when its function was defined."""

    def __init__(self, value: Value):
        self.value = value


def _entered(frame: Frame, function: FunctionType | Closure) -> tuple[Frame, inspect.Signature]:
    """A frame for a call of `function`, and its signature."""
    if isinstance(function, Closure):
        home: Frame = function.home
        source = changed(home.source, node=function.node)
        inner = Frame(frame.graph, source, frame.captured, frame.depth + 1, home)
        signature = _signature(function)
    else:
        frame.captured.function(function)
        inner = Frame(frame.graph, source_of(function), frame.captured, frame.depth + 1)
        signature = inspect.signature(function, follow_wrapped=False)
    inner.unrolling = frame.unrolling
    return inner, signature


def _signature(function: Closure) -> inspect.Signature:
    P = inspect.Parameter
    a = function.node.args
    positional = [(p, P.POSITIONAL_ONLY) for p in a.posonlyargs]
    positional += [(p, P.POSITIONAL_OR_KEYWORD) for p in a.args]
    without = len(positional) - len(function.defaults)
    parameters = [
        P(p.arg, kind, default=P.empty if k < without else _Given(function.defaults[k - without]))
        for k, (p, kind) in enumerate(positional)
    ]
    if a.vararg is not None:
        parameters.append(P(a.vararg.arg, P.VAR_POSITIONAL))
    for p, default in zip(a.kwonlyargs, function.keyword_defaults, strict=True):
        parameters.append(P(p.arg, P.KEYWORD_ONLY, default=P.empty if default is None else _Given(default)))
    if a.kwarg is not None:
        parameters.append(P(a.kwarg.arg, P.VAR_KEYWORD))
    return inspect.Signature(parameters)
