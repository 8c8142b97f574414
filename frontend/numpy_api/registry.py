"""The tables: a handler by NumPy function (or Python builtin), and by the name of an array method."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ...runtime.fork_lock import ForkLock
from ..values.arithmetic import require_static
from ..values.errors import AxisError, DTypeError, UnsupportedError
from ..values.graph import Graph, element_type
from ..values.values import Masked, Value

Handler = Callable[..., Value]

FAMILIES = [
    "elements.selection",
    "shapes.reshaping",
    "shapes.rearranging",
    "statistics.reductions",
    "shapes.creation",
    "linalg.products",
    "elements.python_builtins",
    "elements.python_math",
    "shapes.joining",
    "elements.rounding",
    "statistics.scans",
    "shapes.repeating",
    "shapes.matrices",
    "shapes.padding",
    "indexing.picking",
    "shapes.assembling",
    "statistics.calculus",
    "linalg.chains",
    "elements.comparing",
    "elements.dtypes",
    "linalg.einsum",
    "statistics.histograms",
    "linalg.decompositions",
    "linalg.norms",
    "statistics.polynomials",
    "elements.python_math_gamma",
    "elements.python_math_more",
    "statistics.sorting",
    "elements.special",
    "indexing.tables",
    "shapes.windows",
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
        from ..indexing.masks import masked_call

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
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise graph.error(
            DTypeError, f"{name}: {error}", f"parameters: {', '.join(signature.parameters)}"
        ) from None
    names = [*signature.parameters][: len(args)]
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
    from ..values.values import Group, Static

    is_list = isinstance(value, Group) and value.kind in (tuple, list)
    if name not in _ARRAYS or not (
        is_list or (isinstance(value, Static) and isinstance(value.raw, tuple | list))
    ):
        return value
    from .shapes.creation import array_of

    return array_of(graph, value)


def _is_default(value: Value, default: Any) -> bool:
    """Whether an argument says what leaving it out says; of a device, that arrays are in memory."""
    from ..values.values import Static

    if not isinstance(value, Static):
        return False
    present = value.value
    return present is default or (isinstance(present, str | bool) and present == default) or present == "cpu"


def static(graph: Graph, value: Value | None, what: str) -> Any:
    """The compile-time value of an optional parameter; None when it is not given."""
    from ..values.values import Group

    if value is None:
        return None
    if isinstance(value, Group):
        return value.built([static(graph, item, what) for item in value.items])
    return require_static(graph, value, what)


def dtype_of(graph: Graph, value: Value | None):
    """The dtype that a `dtype=` parameter names, None when it is not given."""
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
