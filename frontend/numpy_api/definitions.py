"""NumPy functions that are defined by others: the definition is plain NumPy, run once on arrays that record it.

    @defines(np.isneginf)
    def isneginf(x):
        return xp.isinf(x) & xp.signbit(x)

Arguments known at compile time arrive as they are; arrays and numbers known at run time as the symbols of
`tracing.py`. `xp` is NumPy on either of them: what has no symbol among its arguments is computed now, by NumPy, and is
a constant. A definition that needs an extent as an int (`int(x.shape[0])`) has the program compiled for these shapes.
What a definition raises (ValueError, TypeError) is the error of the call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.diagnostic import NestorError
from ..interface.errors import (
    AxisError,
    DTypeError,
    IndexRangeError,
    Respecialise,
    ShapeError,
    UnsupportedError,
)
from ..values.checks import check
from ..values.graph import Graph
from ..values.values import Group, Static, Value
from .registry import handles

if TYPE_CHECKING:
    from .definition_run import DefinitionRun
    from .symbols import Symbol

_RUNNING: list[Any] = []
"""The definitions that are running, the innermost last."""


def defines(*functions: Any, method: str | None = None, folds: bool = True) -> Callable[[Any], Any]:
    """Enter the decorated definition for `functions`, and for the array method `method`.

    A parameter `out` is done by `invoke`: the definition is called without it.
    `folds`: of arguments that are all known at compile time NumPy computes it, and the result is a constant.
    """

    def enter(definition: Any) -> Any:
        @functools.wraps(definition)
        def handler(graph: Graph, *args: Value, **kwargs: Value) -> Value:
            known = folds and bool(functions) and _all_known((*args, *kwargs.values()))
            return run(graph, functions[0] if known else definition, args, kwargs)

        own = inspect.signature(definition)
        graph = inspect.Parameter("graph", inspect.Parameter.POSITIONAL_ONLY)
        parameters = list(own.parameters.values())
        if any(p.kind is p.POSITIONAL_ONLY for p in parameters):
            raise AssertionError("the parameters of a definition are those of NumPy, by name")
        handler.__signature__ = own.replace(parameters=[graph, *parameters])  # pyright: ignore
        handles(*functions, method=method)(handler)
        return definition

    return enter


def run(
    graph: Graph, function: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """What `function` gives for values."""
    from .definition_run import DefinitionRun

    trace = DefinitionRun(graph, getattr(function, "__name__", ""))
    with running(trace):
        result = function(
            *[trace.object(v) for v in args], **{name: trace.object(v) for name, v in kwargs.items()}
        )
        return trace.value(result)


@contextmanager
def running(trace: DefinitionRun) -> Iterator[None]:
    """While definitions run in `trace`: what they raise as NumPy would is the error of the call."""
    graph = trace.graph
    _RUNNING.append(trace)
    try:
        yield
    except (NestorError, Respecialise):
        raise
    except np.exceptions.AxisError as error:
        raise graph.error(AxisError, str(error)) from None
    except (ValueError, ZeroDivisionError) as error:
        raise graph.error(ShapeError, str(error)) from None
    except IndexError as error:
        raise graph.error(IndexRangeError, str(error)) from None
    except (TypeError, OverflowError) as error:
        raise graph.error(DTypeError, str(error)) from None
    finally:
        _RUNNING.pop()


def _all_known(values: tuple[Value, ...]) -> bool:
    return all(isinstance(v, Static) or (isinstance(v, Group) and _all_known(v.items)) for v in values)


def unsupported(what: str, hint: str | None = None) -> NestorError:
    """The error of a definition for what it does not do."""
    return _RUNNING[-1].graph.error(UnsupportedError, what, hint)


def is_symbol(value: Any) -> bool:
    """Whether an object of a definition is known at run time only."""
    from .symbols import Symbol

    return isinstance(value, Symbol)


def is_among_elements() -> bool:
    """Whether a definition runs in a loop over elements."""
    return _RUNNING[-1].graph.island is not None


def _has_symbol(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_symbol, value))
    if isinstance(value, slice):
        return any(map(_has_symbol, (value.start, value.stop, value.step)))
    return is_symbol(value)


class _Namespace:
    """`xp.name(...)`: a function of NumPy, or of Python, on symbols and on what is known."""

    def __init__(self, module: Any):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._module, name)
        if not callable(target) or isinstance(target, type):
            return target
        return functools.partial(call, target)


def call(target: Any, *args: Any, **kwargs: Any) -> Any:
    """`target(*args, **kwargs)`; recorded where an argument is known at run time only."""
    if _has_symbol(args) or _has_symbol(tuple(kwargs.values())):
        return recorded(target, *args, **kwargs)
    return target(*args, **kwargs)


def recorded(target: Any, *args: Any, **kwargs: Any) -> Any:
    """`target(*args, **kwargs)` when the program runs, though all arguments may be known: of large arrays."""
    return _RUNNING[-1].call(target, args, kwargs)


def known(value: Any) -> Any:
    """A number that must be known at compile time: the program is compiled for its value."""
    if isinstance(value, tuple | list):
        return type(value)(map(known, value))
    if not is_symbol(value):
        return value
    return _RUNNING[-1].static(value._value, f"an argument of np.{_RUNNING[-1].name}")


def reshaped(value: Any, shape: Any) -> Any:
    """The elements in another shape, as an array of its own."""
    if not is_symbol(value):
        return np.reshape(value, shape)
    return _RUNNING[-1].reshaped(value, shape)


def assembled(shape: Any, dtype: Any, parts: Any, like: Any = None) -> Any:
    """A new array from parts, each a subscript and a function that gives what is assigned to it.

    Nothing is computed into an array of its own first. `like` is the array whose memory order the new one has.
    """
    return _RUNNING[-1].assembled(shape, np.dtype(dtype), parts, like)


def require(condition: Any, message: str) -> None:
    """Raise ValueError when the program runs, unless the condition holds."""
    if not is_symbol(condition):
        if not condition:
            raise ValueError(message)
        return
    trace = _RUNNING[-1]
    check(trace.graph, condition._value, "ValueError", message)


def broadcast_shape(*shapes: Any) -> tuple[Any, ...]:
    """The shape of arrays of these shapes broadcast together."""
    return _RUNNING[-1].broadcast_shape(shapes)


def number(kind: type, value: Any) -> Any:
    """`bool(x)`, `int(x)`, `float(x)` as a number of the program."""
    return call(kind, value)


def dtype_of(value: Any) -> np.dtype:
    """The dtype that np.asarray gives."""
    return (
        value.dtype
        if hasattr(value, "dtype")
        else np.asarray(value).dtype
        if not is_symbol(value)
        else _weak(value)
    )


def _weak(symbol: Symbol) -> np.dtype:
    from ..values.assemble import dtype_of_value

    return dtype_of_value(_RUNNING[-1].graph, symbol._value)


def shape_of(value: Any) -> tuple[Any, ...]:
    """The shape of an array, a number or a list of them."""
    return call(np.shape, value)


xp: Any = _Namespace(np)
"""NumPy, in definitions."""
