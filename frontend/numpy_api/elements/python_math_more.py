"""More of Python's math module on numbers known at run time: of two arguments, of integers, and of several numbers."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from ...interface.errors import DTypeError, ShapeError
from ...values.arithmetic import apply, as_weak, operate, scalar_arguments
from ...values.checks import check
from ...values.graph import Graph
from ...values.numbers import number_kind
from ...values.values import Group, Static, Value, describe
from ..registry import handles, static
from .python_builtins import float_, int_, to_integer
from .python_math import DOMAIN_ERROR, RANGE_ERROR, in_domain, in_range, is_not, negated, of_floats
from .selection import python_max, python_min, where
from .special import OF_FLOATS

NEAR, ZERO, ONE = Static(1e-09), Static(0.0), Static(1)

if hasattr(math, "exp2"):  # Python 3.11
    handles(math.exp2)(in_range(np.exp2))
    handles(math.cbrt)(in_domain(np.cbrt, None))


@handles(math.erf)
def _erf(graph: Graph, x: Value) -> Value:
    number = float_(graph, x)
    return as_weak(OF_FLOATS["erf"](graph, number), float, scalar_arguments([number]))


@handles(math.erfc)
def _erfc(graph: Graph, x: Value) -> Value:
    number = float_(graph, x)
    return as_weak(OF_FLOATS["erfc"](graph, number), float, scalar_arguments([number]))


@handles(math.lgamma)
def _lgamma(graph: Graph, x: Value) -> Value:
    """ValueError at 0 and at negative whole numbers, OverflowError where the result is too large."""
    number = float_(graph, x)
    pole = _both(
        graph,
        apply(graph, np.less_equal, number, Static(0.0)),
        _both(
            graph,
            apply(graph, np.equal, of_floats(graph, np.floor, number), number),
            _is_finite(graph, number),
        ),
    )
    check(graph, negated(graph, pole), "ValueError", DOMAIN_ERROR)
    result = as_weak(OF_FLOATS["lgamma"](graph, number), float, scalar_arguments([number]))
    too_large = _both(graph, _is_finite(graph, number), apply(graph, np.isinf, result))
    check(graph, negated(graph, too_large), "OverflowError", RANGE_ERROR)
    return result


@handles(math.pow)
def _pow(graph: Graph, x: Value, y: Value) -> Value:
    x, y = float_(graph, x), float_(graph, y)
    result = of_floats(graph, np.power, x, y)
    _require_number(graph, result, x, y)
    finite = _both(graph, _is_finite(graph, x), _is_finite(graph, y))
    too_large = _both(graph, finite, apply(graph, np.isinf, result))
    of_zero = _both(graph, too_large, apply(graph, np.equal, x, Static(0.0)))
    check(graph, negated(graph, of_zero), "ValueError", DOMAIN_ERROR)
    check(graph, negated(graph, too_large), "OverflowError", RANGE_ERROR)
    return result


@handles(math.fmod)
def _fmod(graph: Graph, x: Value, y: Value) -> Value:
    x, y = float_(graph, x), float_(graph, y)
    result = of_floats(graph, np.fmod, x, y)
    _require_number(graph, result, x, y)
    return result


@handles(math.ldexp)
def _ldexp(graph: Graph, x: Value, i: Value) -> Value:
    x = float_(graph, x)
    if number_kind(graph, i) not in (int, bool):
        raise graph.error(DTypeError, "Expected an int as second argument to ldexp.")
    # Exponents beyond these change nothing.
    exponent = python_max(graph, python_min(graph, i, Static(10_000)), Static(-10_000))
    result = as_weak(apply(graph, np.ldexp, x, exponent), float, scalar_arguments([x, i]))
    grown = _both(graph, apply(graph, np.isinf, result), _is_finite(graph, x))
    check(graph, negated(graph, grown), "OverflowError", RANGE_ERROR)
    return result


@handles(math.frexp)
def _frexp(graph: Graph, x: Value) -> Value:
    parts = apply(graph, np.frexp, float_(graph, x))
    assert isinstance(parts, Group)
    mantissa, exponent = parts.items
    arguments = scalar_arguments([x])
    # Python's exponent of nan and infinities is 0, C leaves it open.
    plain = where(graph, _is_finite(graph, mantissa), int_(graph, exponent), Static(0))
    return Group((as_weak(mantissa, float, arguments), as_weak(plain, int, arguments)))


@handles(math.modf)
def _modf(graph: Graph, x: Value) -> Value:
    parts = apply(graph, np.modf, float_(graph, x))
    assert isinstance(parts, Group)
    return Group(tuple([as_weak(p, float, scalar_arguments([x])) for p in parts.items]))


@handles(math.nextafter)
def _nextafter(graph: Graph, x: Value, y: Value) -> Value:
    return of_floats(graph, np.nextafter, float_(graph, x), float_(graph, y))


@handles(math.ulp)
def _ulp(graph: Graph, x: Value) -> Value:
    """The distance to the next larger magnitude; of an infinity itself."""
    magnitude = operate(graph, "absolute", float_(graph, x))
    above = of_floats(graph, np.nextafter, magnitude, Static(math.inf))
    below = of_floats(graph, np.nextafter, magnitude, Static(0.0))
    largest = apply(graph, np.equal, magnitude, Static(np.finfo(np.float64).max))
    distance = where(
        graph,
        largest,
        operate(graph, "subtract", magnitude, below),
        operate(graph, "subtract", above, magnitude),
    )
    result = where(graph, apply(graph, np.isinf, magnitude), magnitude, distance)
    return as_weak(result, float, scalar_arguments([x]))


@handles(math.hypot)
def _hypot(graph: Graph, *coordinates: Value) -> Value:
    numbers = [float_(graph, x) for x in coordinates]
    if not numbers:
        return Static(0.0)
    if len(numbers) == 1:
        return operate(graph, "absolute", numbers[0])
    return reduce(lambda a, b: of_floats(graph, np.hypot, a, b), numbers)


@handles(math.dist)
def _dist(graph: Graph, p: Value, q: Value) -> Value:
    points = [x.items if isinstance(x, Group) else None for x in (p, q)]
    if points[0] is None or points[1] is None:
        raise graph.error(
            DTypeError, "math.dist takes two tuples of numbers", "np.linalg.norm(p - q) of arrays"
        )
    if len(points[0]) != len(points[1]):
        raise graph.error(ShapeError, "both points must have the same number of dimensions")
    differences = [
        operate(graph, "subtract", float_(graph, a), float_(graph, b)) for a, b in zip(*points, strict=True)
    ]
    return _hypot(graph, *differences)


@handles(math.isclose)
def _isclose(graph: Graph, a: Value, b: Value, *, rel_tol: Value = NEAR, abs_tol: Value = ZERO) -> Value:
    a, b = float_(graph, a), float_(graph, b)
    if any(static(graph, t, "a tolerance") < 0 for t in (rel_tol, abs_tol)):
        raise graph.error(ShapeError, "tolerances must be non-negative")
    distance = operate(graph, "absolute", operate(graph, "subtract", a, b))
    sizes = [operate(graph, "absolute", v) for v in (a, b)]
    allowed = apply(
        graph, np.maximum, operate(graph, "multiply", rel_tol, apply(graph, np.maximum, *sizes)), abs_tol
    )
    near = _both(graph, apply(graph, np.less_equal, distance, allowed), _is_finite(graph, distance))
    result = apply(graph, np.logical_or, near, apply(graph, np.equal, a, b))
    return as_weak(result, bool, scalar_arguments([a, b]))


def _log_of_base(graph: Graph, x: Value, base: Value) -> Value:
    logarithm = in_domain(np.log, is_not("less_equal", 0.0))
    return operate(graph, "divide", logarithm(graph, x), logarithm(graph, base))


@handles(math.log)
def _log(graph: Graph, x: Value, base: Value | None = None) -> Value:
    if base is not None:
        return _log_of_base(graph, x, base)
    return in_domain(np.log, is_not("less_equal", 0.0))(graph, x)


# ---- integers ---------------------------------------------------------------------------------------


def _integer(graph: Graph, value: Value) -> Value:
    kind = number_kind(graph, value)
    if kind in (int, bool) or (isinstance(kind, np.dtype) and kind.kind in "iu"):
        return int_(graph, value)
    raise graph.error(
        DTypeError, f"{describe(value)} cannot be interpreted as an integer", "convert it: int(x)"
    )


def _folded(graph: Graph, ufunc: np.ufunc, start: int, numbers: tuple[Value, ...]) -> Value:
    integers = [_integer(graph, x) for x in numbers]
    if not integers:
        return Static(start)
    first = operate(graph, "absolute", integers[0])
    arguments = scalar_arguments(list(numbers))
    return reduce(lambda a, b: as_weak(apply(graph, ufunc, a, b), int, arguments), integers[1:], first)


@handles(math.gcd)
def _gcd(graph: Graph, *integers: Value) -> Value:
    return _folded(graph, np.gcd, 0, integers)


@handles(math.lcm)
def _lcm(graph: Graph, *integers: Value) -> Value:
    return _folded(graph, np.lcm, 1, integers)


@handles(math.isqrt)
def _isqrt(graph: Graph, n: Value) -> Value:
    """The whole part of the root: that of the rounded number, and one off where that rounded over a square."""
    number = _integer(graph, n)
    check(
        graph,
        apply(graph, np.greater_equal, number, Static(0)),
        "ValueError",
        "isqrt() argument must be nonnegative",
    )
    root = to_integer(graph, of_floats(graph, np.floor, of_floats(graph, np.sqrt, float_(graph, number))))
    largest = Static(math.isqrt((1 << 63) - 1))
    root = where(graph, apply(graph, np.less, root, largest), root, largest)
    square = operate(graph, "multiply", root, root)
    root = where(
        graph, apply(graph, np.greater, square, number), operate(graph, "subtract", root, Static(1)), root
    )
    above = operate(graph, "add", root, Static(1))
    fits = _both(
        graph,
        apply(graph, np.less_equal, above, largest),
        apply(graph, np.less_equal, operate(graph, "multiply", above, above), number),
    )
    return as_weak(where(graph, fits, above, root), int, scalar_arguments([n]))


@handles(math.prod)
def _prod(graph: Graph, iterable: Value, *, start: Value = ONE) -> Value:
    if not isinstance(iterable, Group):
        raise graph.error(DTypeError, "math.prod takes a tuple or list of numbers", "x.prod() of an array")
    return reduce(lambda a, b: operate(graph, "multiply", a, b), iterable.items, start)


# ---- conditions -------------------------------------------------------------------------------------


def _is_finite(graph: Graph, x: Value) -> Value:
    return apply(graph, np.isfinite, x)


def _both(graph: Graph, a: Value, b: Value) -> Value:
    return apply(graph, np.logical_and, a, b)


def _require_number(graph: Graph, result: Value, *operands: Value) -> None:
    """ValueError for a nan that no operand is."""
    fine = negated(graph, apply(graph, np.isnan, result))
    for operand in operands:
        fine = apply(graph, np.logical_or, fine, apply(graph, np.isnan, operand))
    check(graph, fine, "ValueError", DOMAIN_ERROR)
