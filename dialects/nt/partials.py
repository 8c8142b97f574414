"""Products of tangents with the partial derivatives of elementwise operations: what rows of `elementwise.py` name.

`tanh = (lambda t, x, r: t * (1.0 - r * r),)` has an entry for each operand. An entry gets the tangent of that operand (in
reverse: the cotangent of the result), all operands, and the result, and gives the product, linear in the tangent: forward
mode adds the products up, reverse mode accumulates each with the cotangent of its operand. `ZERO` is the entry of an
operand on which the result depends in steps only.

Conventions are JAX's: operands that tie share, steps (`floor`, `sign`) have the derivative zero, derivatives of complex
functions are products without conjugation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Partial = Callable[..., Any]
"""Of a tangent, the operands and the result, as `Formula`s (arithmetic, comparisons, `apply`, `where`)."""


def ZERO(*_: Any) -> None:
    """The derivative is zero wherever it exists."""


def _where(condition: Any, one: Any, other: Any) -> Any:
    return condition.where(one, other)


def _shared(t: Any, wins: Any, ties: Any) -> Any:
    """All of `t` where this operand wins, half of it in a tie."""
    return _where(wins, t, _where(ties, t * 0.5, 0.0))


def _larger(t: Any, mine: Any, other: Any) -> Any:
    return _shared(t, mine > other, mine.equals(other))


def _smaller(t: Any, mine: Any, other: Any) -> Any:
    return _shared(t, mine < other, mine.equals(other))


def _larger_number(t: Any, mine: Any, other: Any) -> Any:
    """As `_larger`; a NaN loses."""
    missing = other.is_nan()
    return _where(missing, t, _larger(t, mine, other))


def _sign_of(x: Any) -> Any:
    return x.apply("sign")


def _weight(mine: Any, other: Any) -> Any:
    """ln of the share of e^mine in e^mine + e^other; equal infinities share."""
    difference = _where(mine.equals(other), 0.0, mine - other)
    return -(-difference).apply("logaddexp", 0.0)


def _weight2(mine: Any, other: Any) -> Any:
    difference = _where(mine.equals(other), 0.0, mine - other)
    return -(-difference).apply("logaddexp2", 0.0)


_SHIFT = 8
_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
"""Of the asymptotic series of digamma, by powers of 1 / y^2, the highest first: B(2k) / 2k. Seven terms do from y = 8 on."""


def _digamma(x: Any) -> Any:
    """The derivative of lgamma, by operations that have derivatives themselves: the recurrence up to 8 and beyond, the
    asymptotic series there (Abramowitz and Stegun, 6.3.6 and 6.3.18); for negative x by reflection (6.3.7)."""
    reflected = x < 0.0
    z = _where(reflected, 1.0 - x, x)
    y = z + float(_SHIFT)
    steps = z.apply("reciprocal")
    for k in range(1, _SHIFT):
        steps = steps + (z + float(k)).apply("reciprocal")
    inverse = y.apply("reciprocal")
    square = inverse * inverse
    series = square * _DIGAMMA[0]
    for coefficient in _DIGAMMA[1:]:
        series = (series + coefficient) * square
    value = y.apply("log") - inverse * 0.5 - series - steps
    angle = _where(reflected, x - x.apply("rint"), 0.25) * math.pi
    return _where(reflected, value - angle.apply("tan").apply("reciprocal") * math.pi, value)


add = (lambda t, x, y, r: t, lambda t, x, y, r: t)
subtract = (lambda t, x, y, r: t, lambda t, x, y, r: -t)
multiply = (lambda t, x, y, r: t * y, lambda t, x, y, r: t * x)
divide = (lambda t, x, y, r: t / y, lambda t, x, y, r: -(t * r) / y)
steps = (ZERO,)
steps_of_two = (ZERO, ZERO)
remainder = (lambda t, x, y, r: t, lambda t, x, y, r: -(t * (x / y).apply("floor")))
fmod = (lambda t, x, y, r: t, lambda t, x, y, r: -(t * (x / y).apply("trunc")))
negative = (lambda t, x, r: -t,)
absolute = (lambda t, x, r: t * _sign_of(x),)
square = (lambda t, x, r: t * (x + x),)
reciprocal = (lambda t, x, r: -(t * r * r),)
copysign = (
    lambda t, x, y, r: _where(x.apply("signbit").equals(y.apply("signbit")), t, -t),
    ZERO,
)
ldexp = (lambda t, x, y, r: t.apply("ldexp", y), ZERO)
heaviside = (ZERO, lambda t, x, y, r: _where(x.equals(0.0), t, 0.0))

maximum = (lambda t, x, y, r: _larger(t, x, y), lambda t, x, y, r: _larger(t, y, x))
fmax = (lambda t, x, y, r: _larger_number(t, x, y), lambda t, x, y, r: _larger_number(t, y, x))
fmin = (lambda t, x, y, r: _larger_number(t, -x, -y), lambda t, x, y, r: _larger_number(t, -y, -x))

minimum = (lambda t, x, y, r: _smaller(t, x, y), lambda t, x, y, r: _smaller(t, y, x))
clamp = (
    lambda t, x, lo, hi, r: _larger(_smaller(t, x.apply("maximum", lo), hi), x, lo),
    lambda t, x, lo, hi, r: _larger(_smaller(t, x.apply("maximum", lo), hi), lo, x),
    lambda t, x, lo, hi, r: _smaller(t, hi, x.apply("maximum", lo)),
)
select = (ZERO, lambda t, c, x, y, r: _where(c, t, 0.0), lambda t, c, x, y, r: _where(c, 0.0, t))

sqrt = (lambda t, x, r: t * 0.5 / r,)
cbrt = (lambda t, x, r: t / (3.0 * r * r),)
exp = (lambda t, x, r: t * r,)
exp2 = (lambda t, x, r: t * r * math.log(2.0),)
expm1 = (lambda t, x, r: t * (r + 1.0),)
log = (lambda t, x, r: t / x,)
log2 = (lambda t, x, r: t / (x * math.log(2.0)),)
log10 = (lambda t, x, r: t / (x * math.log(10.0)),)
log1p = (lambda t, x, r: t / (x + 1.0),)
power = (
    lambda t, x, y, r: _where(y.equals(0.0), 0.0, t * y * x.apply("power", y - 1.0)),
    lambda t, x, y, r: _where(x.equals(0.0), 0.0, t * r * _where(x.equals(0.0), 1.0, x).apply("log")),
)
hypot = (lambda t, x, y, r: t * (x / r), lambda t, x, y, r: t * (y / r))
logaddexp = (
    lambda t, x, y, r: t * _weight(x, y).apply("exp"),
    lambda t, x, y, r: t * _weight(y, x).apply("exp"),
)
logaddexp2 = (
    lambda t, x, y, r: t * _weight2(x, y).apply("exp2"),
    lambda t, x, y, r: t * _weight2(y, x).apply("exp2"),
)
radians = (lambda t, x, r: t.apply("radians"),)
degrees = (lambda t, x, r: t.apply("degrees"),)
sin = (lambda t, x, r: t * x.apply("cos"),)
cos = (lambda t, x, r: -(t * x.apply("sin")),)
tan = (lambda t, x, r: t * (r * r + 1.0),)
arctan2 = (
    lambda t, y, x, r: t * x / (x * x + y * y),
    lambda t, y, x, r: -(t * y) / (x * x + y * y),
)
arcsin = (lambda t, x, r: t / ((1.0 - x) * (x + 1.0)).apply("sqrt"),)
arccos = (lambda t, x, r: -t / ((1.0 - x) * (x + 1.0)).apply("sqrt"),)
arctan = (lambda t, x, r: t / (x * x + 1.0),)
sinh = (lambda t, x, r: t * x.apply("cosh"),)
cosh = (lambda t, x, r: t * x.apply("sinh"),)
tanh = (lambda t, x, r: t * (1.0 - r * r),)
arcsinh = (lambda t, x, r: t / (x * x + 1.0).apply("sqrt"),)
arccosh = (lambda t, x, r: t / ((x - 1.0).apply("sqrt") * (x + 1.0).apply("sqrt")),)
arctanh = (lambda t, x, r: t / ((1.0 - x) * (x + 1.0)),)
erf = (lambda t, x, r: t * (-(x * x)).apply("exp") * (2.0 / math.sqrt(math.pi)),)
erfc = (lambda t, x, r: t * (-(x * x)).apply("exp") * (-2.0 / math.sqrt(math.pi)),)
sigmoid = (lambda t, x, r: t * r * (1.0 - r),)
lgamma = (lambda t, x, r: t * _digamma(x),)
