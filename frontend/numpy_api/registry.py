"""The tables: a handler by NumPy function (or Python builtin), and by the name of an array method."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ...runtime.fork_lock import ForkLock
from ..arithmetic import require_static
from ..errors import AxisError, DTypeError, UnsupportedError
from ..graph import Graph, element_type
from ..values import Masked, Value

Handler = Callable[..., Value]

FAMILIES = [
    "selection",
    "reshaping",
    "shapes",
    "reductions",
    "creation",
    "products",
    "python",
    "python_math",
    "joining",
    "rounding",
    "scans",
    "repeating",
    "matrices",
    "padding",
    "picking",
    "assembling",
    "calculus",
    "chains",
    "comparing",
    "dtypes",
    "einsum",
    "histograms",
    "linear_algebra",
    "norms",
    "polynomials",
    "python_math_gamma",
    "python_math_more",
    "sorting",
    "special",
    "tables",
    "windows",
]
"""The modules that fill the tables and are imported when a key is looked for that is not known yet, one after the other."""

_left = [*reversed(FAMILIES)]
_LOCK = ForkLock()


class Table(dict[Any, Handler]):
    """Handlers by key. A first call needs a few of them: the families are imported until the key is found."""

    def __missing__(self, key: Any) -> Handler:
        if key in self:
            return self[key]
        raise KeyError(key)

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default) if key in self else default

    def __contains__(self, key: Any) -> bool:
        while not super().__contains__(key):
            if not _import_another():
                return super().__contains__(key)
        return True

    def __iter__(self) -> Iterator[Any]:
        while _import_another():
            pass
        return super().__iter__()


def _import_another() -> bool:
    """Import a family that is not yet; False when there is none. Other threads wait until it is whole."""
    with _LOCK:
        if not _left:
            return False
        import_module(f"{__package__}.{_left.pop()}")
        return True


FUNCTIONS = Table()
"""`FUNCTIONS[np.sum](graph, x, axis=...)`: called with values, as Python calls the function."""

METHODS = Table()
"""`METHODS["sum"](graph, x, axis=...)`: the receiver comes first."""


def handles(*functions: Any, method: str | None = None) -> Callable[[Handler], Handler]:
    """Enter the decorated handler for `functions`, and for the array method `method`."""

    def enter(handler: Handler) -> Handler:
        for function in functions:
            FUNCTIONS[function] = handler
        if method is not None:
            METHODS[method] = handler
        return handler

    return enter


def invoke(graph: Graph, name: str, handler: Handler, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a handler; a call it cannot bind is a diagnostic that names the parameters it knows."""
    if any(isinstance(value, Masked) for value in (*args, *kwargs.values())):
        from ..masks import masked_call

        return masked_call(graph, name, handler, args, kwargs)
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
        if out is not None:
            return store(graph, name, out, handler(*bound.args, **bound.kwargs))
    return handler(graph, *args, **kwargs)


def static(graph: Graph, value: Value | None, what: str) -> Any:
    """The compile-time value of an optional parameter; None when it is not given."""
    from ..values import Group

    if value is None:
        return None
    if isinstance(value, Group):
        return value.built([static(graph, item, what) for item in value.items])
    return require_static(graph, value, what)


def dtype_of(graph: Graph, value: Value | None):
    """The dtype that a `dtype=` parameter names, None when it is not given."""
    import numpy as np

    request = static(graph, value, "a dtype")
    if request is None:
        return None
    try:
        dtype = np.dtype(request)
    except TypeError as error:
        raise graph.error(DTypeError, str(error)) from None
    element_type(dtype, graph.place)
    return dtype


def normal_axis(graph: Graph, axis: Any, rank: int) -> int:
    """A non-negative axis. Raises as NumPy's AxisError."""
    try:
        position = operator.index(axis)
    except TypeError as error:
        raise graph.error(DTypeError, str(error)) from None
    if not -rank <= position < rank:
        raise graph.error(AxisError, f"axis {axis} is out of bounds for array of dimension {rank}")
    return position % rank


def refuse_out(graph: Graph, out: Value | None) -> None:
    if static(graph, out, "out") is not None:
        raise graph.error(
            UnsupportedError, "out= is not supported in compiled code", "assign to a slice: x[...] = ..."
        )
