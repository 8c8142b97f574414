"""The tables: a handler by NumPy function (or Python builtin), and by the name of an array method."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..interface.errors import AxisError, DTypeError, UnsupportedError
from ..values.arithmetic import require_static
from ..values.graph import Graph, element_type
from ..values.values import Group, Value

Handler = Callable[..., Value]

_IMPORTERS: list[Callable[[], bool]] = []
"""What imports another family of handlers, False when there is none: `families.py` enters it."""


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
    return any(importer() for importer in _IMPORTERS)


def imports_handlers(importer: Callable[[], bool]) -> Callable[[], bool]:
    """Enter what imports the families of handlers as they are looked for."""
    _IMPORTERS.append(importer)
    return importer


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


def static(graph: Graph, value: Value | None, what: str) -> Any:
    """The compile-time value of an optional parameter; None when it is not given."""
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
        hint = (
            f"its axes are 0 to {rank - 1}, or -{rank} to -1 from the last"
            if rank
            else "a number has no axes"
        )
        message = f"axis {axis} is out of bounds for array of dimension {rank}"
        raise graph.error(AxisError, message, hint)
    return position % rank


def refuse_out(graph: Graph, out: Value | None) -> None:
    if static(graph, out, "out") is not None:
        raise graph.error(
            UnsupportedError, "out= is not supported in compiled code", "assign to a slice: x[...] = ..."
        )
