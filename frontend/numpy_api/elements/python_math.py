"""Python's math module on numbers known at run time: floats, and Python's errors outside of their domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...interface.errors import DTypeError
from ...values.arithmetic import apply, as_weak, operate, scalar_arguments
from ...values.checks import check
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.values import Index, Static, Value
from ..registry import handles
from .python_builtins import float_, to_integer

DOMAIN_ERROR, RANGE_ERROR = "math domain error", "math range error"

Holds = Callable[[Graph, Value], Value]


def negated(graph: Graph, condition: Value) -> Value:
    """`not condition`."""
    return apply(graph, np.logical_not, condition)


def is_not(name: str, bound: float) -> Holds:
    """The condition that the number is not `name` (less, ...) than the bound: nan passes."""
    return lambda graph, x: negated(graph, operate(graph, name, x, Static(bound)))


def _within(name: str) -> Holds:
    """The condition that the magnitude is not `name` than 1."""
    return lambda graph, x: negated(graph, operate(graph, name, operate(graph, "absolute", x), Static(1.0)))


def _is_not_infinite(graph: Graph, x: Value) -> Value:
    return negated(graph, apply(graph, np.isinf, x))


_DOMAINS: list[tuple[Any, np.ufunc, Holds | None]] = [
    (math.sqrt, np.sqrt, is_not("less", 0.0)),
    (math.log2, np.log2, is_not("less_equal", 0.0)),
    (math.log10, np.log10, is_not("less_equal", 0.0)),
    (math.log1p, np.log1p, is_not("less_equal", -1.0)),
    (math.sin, np.sin, _is_not_infinite),
    (math.cos, np.cos, _is_not_infinite),
    (math.tan, np.tan, _is_not_infinite),
    (math.asin, np.arcsin, _within("greater")),
    (math.acos, np.arccos, _within("greater")),
    (math.atan, np.arctan, None),
    (math.tanh, np.tanh, None),
    (math.asinh, np.arcsinh, None),
    (math.acosh, np.arccosh, is_not("less", 1.0)),
    (math.atanh, np.arctanh, _within("greater_equal")),
    (math.fabs, np.fabs, None),
    (math.degrees, np.degrees, None),
    (math.radians, np.radians, None),
]
"""The function, the ufunc that computes it, and the condition without which Python raises ValueError."""

_OVERFLOWING = [
    (math.exp, np.exp), (math.expm1, np.expm1), (math.sinh, np.sinh), (math.cosh, np.cosh),
]  # fmt: skip


def of_floats(graph: Graph, ufunc: np.ufunc, *operands: Value) -> Value:
    return as_weak(apply(graph, ufunc, *operands), float, scalar_arguments(list(operands)))


def in_domain(ufunc: np.ufunc, holds: Holds | None) -> Callable[[Graph, Value], Value]:
    def function(graph: Graph, x: Value) -> Value:
        number = float_(graph, x)
        if holds is not None:
            check(graph, holds(graph, number), "ValueError", DOMAIN_ERROR)
        return of_floats(graph, ufunc, number)

    return function


def in_range(ufunc: np.ufunc) -> Callable[..., Value]:
    def function(graph: Graph, *operands: Value) -> Value:
        numbers = [float_(graph, x) for x in operands]
        result = of_floats(graph, ufunc, *numbers)
        fine = negated(graph, apply(graph, np.isinf, result))
        for number in numbers:
            fine = apply(graph, np.logical_or, fine, apply(graph, np.isinf, number))
        check(graph, fine, "OverflowError", RANGE_ERROR)
        return result

    return function


for _function, _ufunc, _holds in _DOMAINS:
    handles(_function)(in_domain(_ufunc, _holds))
for _function, _ufunc in _OVERFLOWING:
    handles(_function)(in_range(_ufunc))


@handles(math.atan2)
def _atan2(graph: Graph, y: Value, x: Value) -> Value:
    return of_floats(graph, np.arctan2, float_(graph, y), float_(graph, x))


@handles(math.copysign)
def _copysign(graph: Graph, x: Value, y: Value) -> Value:
    return of_floats(graph, np.copysign, float_(graph, x), float_(graph, y))


def _test(ufunc: np.ufunc) -> Callable[[Graph, Value], Value]:
    def function(graph: Graph, x: Value) -> Value:
        return as_weak(apply(graph, ufunc, float_(graph, x)), bool, scalar_arguments([x]))

    return function


handles(math.isnan)(_test(np.isnan))
handles(math.isinf)(_test(np.isinf))
handles(math.isfinite)(_test(np.isfinite))


def _integer(ufunc: np.ufunc) -> Callable[[Graph, Value], Value]:
    def function(graph: Graph, x: Value) -> Value:
        if isinstance(x, Index):
            return x
        kind = number_kind(graph, x)
        if ufunc is np.trunc and isinstance(kind, np.dtype) and kind.kind == "f" and kind != np.float64:
            raise graph.error(DTypeError, f"type numpy.{kind} doesn't define __trunc__ method", "use int(x)")
        return to_integer(graph, of_floats(graph, ufunc, float_(graph, x)))

    return function


handles(math.floor)(_integer(np.floor))
handles(math.ceil)(_integer(np.ceil))
handles(math.trunc)(_integer(np.trunc))
