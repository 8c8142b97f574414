"""math.gamma on numbers known at run time.

Up to 8.5, and of whole numbers up to 23, it is gamma(2 + t), a polynomial, times the whole steps to there (so factorials are
exact); beyond, Stirling's formula, whose power is taken in two halves as it overflows first. Negative arguments are
reflected. Within 6 units in the last place (5 were seen, as of CPython's).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....lowering.math.constants import GAMMA_OF_TWO_AND, STIRLING
from ...values.arithmetic import apply, as_weak, scalar_arguments
from ...values.checks import check
from ...values.graph import Graph
from ...values.values import Static, Value
from ..definitions import run, xp
from ..registry import handles
from .python_builtins import float_
from .python_math import DOMAIN_ERROR, RANGE_ERROR, negated, of_floats

_MOST_WHOLE, _MOST = 23.5, 8.5
"""Whole numbers and others up to which the steps to 2 are multiplied."""

_LARGE = 200.0
"""For x from here on gamma(x) overflows, and gamma(-x) is 0."""

_TINY = 1e-20
"""1 / x is gamma(x) for smaller x."""


@handles(math.gamma)
def _gamma(graph: Graph, x: Value) -> Value:
    """ValueError at 0, at negative whole numbers and -inf, OverflowError where the result is too large."""
    number = float_(graph, x)
    whole = apply(graph, np.equal, of_floats(graph, np.floor, number), number)
    pole = apply(graph, np.logical_and, apply(graph, np.less_equal, number, Static(0.0)), whole)
    check(graph, negated(graph, pole), "ValueError", DOMAIN_ERROR)
    value = float_(graph, run(graph, gamma, (number,), {}))
    result = as_weak(value, float, scalar_arguments([number]))
    is_endless = apply(graph, np.isinf, result)
    too_large = apply(graph, np.logical_and, is_endless, apply(graph, np.isfinite, number))
    check(graph, negated(graph, too_large), "OverflowError", RANGE_ERROR)
    return result


def gamma(x: Any) -> Any:
    """gamma(x) in plain NumPy; poles and overflows are its caller's."""
    y = xp.absolute(x)
    near = xp.rint(y)
    is_near = y <= xp.where(near == y, _MOST_WHOLE, _MOST)
    # Two factors: their product may overflow where the quotient by them, of negative x, does not vanish.
    first, half = _stirling(xp.minimum(y, _LARGE))
    first, half = xp.where(is_near, _from_two(y, near), first), xp.where(is_near, 1.0, half)
    sine = xp.sin(math.pi * (y - near))
    sine = xp.where(near * 0.5 == xp.rint(near * 0.5), sine, -sine)
    reflected = -math.pi / (sine * (y * first)) / half
    return xp.where(y < _TINY, 1.0 / x, xp.where(x < 0, reflected, first * half))


def _from_two(y: Any, near: Any) -> Any:
    """gamma(2 + t) (y - 1) (y - 2) ... for t = y - near; divided by y, or y (y + 1), where y is below 2 + t."""
    value = _polynomial(y - near, GAMMA_OF_TWO_AND)
    for k in range(1, int(_MOST_WHOLE) - 1):
        value = value * xp.where(near - 2 >= k, y - k, 1.0)
    return value / xp.where(near <= 1, y, 1.0) / xp.where(near <= 0, y + 1, 1.0)


def _stirling(y: Any) -> tuple[Any, Any]:
    """sqrt(2 pi) y^(y - 1/2) e^-y e^s as two factors, the second one y^((y - 1/2) / 2)."""
    inverse = 1.0 / y
    half = xp.power(y, 0.5 * y - 0.25)
    first = half * xp.exp(-y) * math.sqrt(2 * math.pi)
    return first + first * xp.expm1(_polynomial(inverse * inverse, STIRLING) * inverse), half


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value
