"""Calls of handlers: how NumPy binds arguments, lists as arrays, masks, and `out=`."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from ..interface.errors import DTypeError, UnsupportedError
from ..interface.parameters import bound
from ..interface.suggestions import did_you_mean
from ..values.graph import Graph
from ..values.masked import takes_selected
from ..values.selection import settled
from ..values.values import Group, Masked, Static, Value
from .registry import Handler


def invoke(graph: Graph, name: str, handler: Handler, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a handler; a call it cannot bind is a diagnostic that names the parameters it knows."""
    if takes_selected(graph, (*args, *kwargs.values())):
        from .masked_calls import masked_call

        result = masked_call(graph, name, handler, args, kwargs)
        if result is not None:
            return result
        args = [settled(graph, a) if isinstance(a, Masked) else a for a in args]
        kwargs = {k: settled(graph, v) if isinstance(v, Masked) else v for k, v in kwargs.items()}
        with graph.side_by_side():
            return invoke(graph, name, handler, args, kwargs)
    args = [_side_by_side(graph, a) for a in args]
    kwargs = {k: _side_by_side(graph, v) for k, v in kwargs.items()}
    signature = inspect.signature(handler)
    try:
        bound = signature.bind(graph, *args, **kwargs)
    except TypeError as error:
        known = [p for p in list(signature.parameters)[1:]]
        raise graph.error(
            DTypeError, f"{name}: {error}", f"parameters supported: {', '.join(known)}"
        ) from None
    if "out" in bound.arguments:
        from .outputs import output_of, store

        out = output_of(graph, name, bound.arguments)
        is_total = name.strip("().").removeprefix("np.") in _OF_THE_TYPE_OF_OUT
        if out is not None and is_total and bound.arguments.get("dtype") is None:
            bound.arguments["dtype"] = Static(out.dtype)
        if out is not None:
            return store(graph, name, out, handler(*bound.args, **bound.kwargs))
    return handler(graph, *args, **kwargs)


def _side_by_side(graph: Graph, value: Value) -> Value:
    """A tuple or list with what masks select in it as arrays."""
    if not isinstance(value, Group) or not any(isinstance(item, Masked | Group) for item in value.items):
        return value
    items = [settled(graph, i) if isinstance(i, Masked) else _side_by_side(graph, i) for i in value.items]
    same = all(a is b for a, b in zip(items, value.items, strict=True))
    return value if same else replace(value, items=tuple(items))


_OF_THE_TYPE_OF_OUT = frozenset(("sum", "prod", "cumsum", "cumprod"))
"""What NumPy computes in the element type of `out=`, where no dtype is given."""


@functools.lru_cache(maxsize=256)
def _signature(function: Any) -> inspect.Signature | None:
    """What NumPy says of the parameters of a function; None where it says nothing, or not all."""
    if function is np.arange:
        return None
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


def invoke_numpy(
    graph: Graph, name: str, function: Any, handler: Handler, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Call the handler of a function of NumPy, with the parameters that NumPy gives it."""
    signature = _signature(function)
    if signature is None:
        return invoke(graph, name, handler, args, kwargs)
    try:
        bound(signature, args, kwargs)
    except TypeError as error:
        unknown = next((key for key in kwargs if key not in signature.parameters), "")
        close = did_you_mean(unknown, signature.parameters) if unknown else None
        known = f"parameters: {', '.join(signature.parameters)}"
        hint = f"{close} {known}" if close else known
        raise graph.error(DTypeError, f"{name}: {error}", hint) from None
    names = [*signature.parameters][: len(args)]
    given = next((k for k, v in enumerate(args) if _is_left_out(v)), len(args))
    kwargs = {**dict(zip(names[given:], args[given:], strict=False)), **kwargs}
    kwargs = {name: value for name, value in kwargs.items() if not _is_left_out(value)}
    args, names = args[:given], names[:given]
    args = [*[_as_array(graph, n, v) for n, v in zip(names, args, strict=False)], *args[len(names) :]]
    kwargs = {name: _as_array(graph, name, value) for name, value in kwargs.items()}
    known = inspect.signature(handler).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return invoke(graph, name, handler, args, kwargs)
    kept = {key: value for key, value in kwargs.items() if key in known or key not in signature.parameters}
    for key in kwargs.keys() - kept.keys():
        if not _is_default(kwargs[key], signature.parameters[key].default):
            raise graph.error(
                UnsupportedError,
                f"{name} with {key}= is not supported",
                f"parameters supported: {', '.join([*known][1:])}",
            )
    return invoke(graph, name, handler, args, kept)


_ARRAYS = frozenset(("a", "x", "m", "v", "arr", "ary", "array", "y", "b", "val"))
"""Parameters that NumPy makes an array of."""


def _as_array(graph: Graph, name: str, value: Value) -> Value:
    """A list or tuple of numbers as the array that a function of NumPy makes of it."""
    is_list = isinstance(value, Group) and value.kind in (tuple, list)
    if name not in _ARRAYS or not (
        is_list or (isinstance(value, Static) and isinstance(value.raw, tuple | list))
    ):
        return value
    from ..values.nested import array_of

    return array_of(graph, value)


def _is_left_out(value: Value) -> bool:
    """Whether an argument is what NumPy has for one that is not given."""
    return isinstance(value, Static) and value.raw is np._NoValue


def _is_default(value: Value, default: Any) -> bool:
    """Whether an argument says what leaving it out says; of a device, that arrays are in memory."""
    if not isinstance(value, Static):
        return False
    present = value.value
    return present is default or (isinstance(present, str | bool) and present == default) or present == "cpu"
