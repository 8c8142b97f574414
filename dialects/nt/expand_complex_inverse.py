"""Scalar expansions of the inverse trigonometric and hyperbolic functions of complex numbers.

arcsinh and arccos are computed by the method of T. E. Hull, T. F. Fairgrieve and P. T. P. Tang (Implementing the Complex
Arcsine and Arccosine Functions Using Exception Handling, ACM TOMS 23, 1997), in the form of FreeBSD's msun; arctanh by the
form there, of W. Kahan (Branch Cuts for Complex Elementary Functions, 1987). The others are these of turned operands.
Branch cuts, signs of zeros, infinities and NaN are those of annex G of C99, which NumPy calls. complex64 is computed in
float64 and rounded once a part. With x and y not negative, and r and s the distances to -i and i,

    a = (r + s) / 2,  b = y / a,   arcsinh(x + iy) = arccosh(a) + i arcsin(b)

where what cancels is formed without: a - 1, and the root of a**2 - y**2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from .expand import Emitter
from .expand_complex import create, imag, real

Pair = tuple[SSAValue, SSAValue]

_FLAGS: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
_EPSILON = 2.0**-52
_LARGE = 2.0**52
"""From here on the logarithm of 2 z is the function, to the last place."""

_CROSSOVER = 0.6417
"""Below this b the root of a**2 - y**2 loses nothing (Hull et al.)."""

_RAISE = 2.0**106
"""Keeps a tiny distance to the cut a number of full precision."""


class _Float:
    """Arithmetic on float64 values, one operation each."""

    def __init__(self, e: Emitter):
        self.e = e

    def number(self, value: float) -> SSAValue:
        return self.e.const(value, f64)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.e.op(arith.AddfOp, (a, b), None, _FLAGS)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.e.op(arith.SubfOp, (a, b), None, _FLAGS)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.e.op(arith.MulfOp, (a, b), None, _FLAGS)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.e.op(arith.DivfOp, (a, b), None, _FLAGS)

    def scaled(self, a: SSAValue, factor: float) -> SSAValue:
        return self.mul(a, self.number(factor))

    def math(self, name: str, *operands: SSAValue) -> SSAValue:
        from xdsl.dialects import math as dialect

        return self.e.op(getattr(dialect, name), operands, None, _FLAGS)

    def root(self, a: SSAValue) -> SSAValue:
        return self.math("SqrtOp", a)

    def size(self, a: SSAValue) -> SSAValue:
        return self.math("AbsFOp", a)

    def signed(self, a: SSAValue, sign: SSAValue) -> SSAValue:
        return self.math("CopySignOp", a, sign)

    def negative(self, a: SSAValue) -> SSAValue:
        return self.e.op(arith.NegfOp, (a,), None, _FLAGS)

    def all(self, *conditions: SSAValue) -> SSAValue:
        return self._joined(arith.AndIOp, conditions)

    def any(self, *conditions: SSAValue) -> SSAValue:
        return self._joined(arith.OrIOp, conditions)

    def _joined(self, op: type, conditions: tuple[SSAValue, ...]) -> SSAValue:
        first, *rest = conditions
        for one in rest:
            first = self.e.op(op, (first, one))
        return first

    def is_(self, predicate: str, a: SSAValue, value: float) -> SSAValue:
        return self.e.cmp(predicate, a, self.number(value))

    def chosen(self, condition: SSAValue, a: Pair, b: Pair) -> Pair:
        return self.e.select(condition, a[0], b[0]), self.e.select(condition, a[1], b[1])

    def is_nan(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.e.cmp("uno", x, y)

    def is_infinite(self, x: SSAValue) -> SSAValue:
        return self.is_("oeq", self.size(x), float("inf"))


def _in_double(
    function: Callable[[_Float, SSAValue, SSAValue], Pair],
) -> Callable[[Emitter, SSAValue], SSAValue]:
    """An expansion of a complex number, of a function of its parts in float64."""

    def expand(e: Emitter, a: SSAValue) -> SSAValue:
        x, y = real(e, a), imag(e, a)
        if x.type != f32:
            return create(e, *function(_Float(e), x, y))
        wide = [e.op(arith.ExtFOp, (part,), f64) for part in (x, y)]
        return create(e, *[e.op(arith.TruncFOp, (part,), f32) for part in function(_Float(e), *wide)])

    return expand


def _hard_work(f: _Float, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Of x and y that are not negative: arccosh(a), or the logarithm of twice the modulus where one is large; the root of
    a**2 - y**2, and y, both scaled where the root is tiny."""
    e, one = f.e, f.number(1.0)
    up, down = f.add(y, one), f.sub(y, one)
    square, distance = f.mul(x, x), f.size(down)
    r = f.root(f.add(square, f.mul(up, up)))
    s = f.root(f.add(square, f.mul(down, down)))
    a = f.scaled(f.add(r, s), 0.5)
    a = e.select(e.cmp("olt", a, one), one, a)
    is_one, is_below = f.is_("oeq", y, 1.0), e.cmp("olt", y, one)
    is_apart = e.cmp("oge", x, f.scaled(distance, _EPSILON))

    # Halves of what r and s exceed the steps 1 + y and 1 - y by, or y - 1.
    far = f.scaled(f.div(square, f.add(r, up)), 0.5)
    reach = f.add(s, distance)
    long, short = f.scaled(reach, 0.5), f.scaled(f.div(square, reach), 0.5)
    above_one = f.add(far, e.select(is_below, short, long))  # a - 1
    above_y = f.add(far, e.select(f.any(is_below, is_one), long, short))  # a - y

    x_is_larger = e.cmp("oge", x, y)
    larger, smaller = e.select(x_is_larger, x, y), e.select(x_is_larger, y, x)
    ratio, is_large = f.div(smaller, larger), f.is_("ogt", larger, _LARGE)
    grown = f.add(above_one, f.root(f.mul(above_one, f.add(a, one))))
    beyond = f.add(down, f.root(f.mul(down, up)))
    logarithm = f.math("Log1pOp", e.select(is_large, f.mul(ratio, ratio), e.select(is_apart, grown, beyond)))
    inner = f.root(f.mul(f.sub(one, y), up))
    size = e.select(f.any(is_apart, e.invert(is_below)), logarithm, f.div(x, inner))
    size = e.select(f.all(is_one, f.is_("olt", x, _EPSILON * _EPSILON / 128)), f.root(x), size)
    whole = f.add(f.add(f.math("LogOp", larger), f.scaled(logarithm, 0.5)), f.number(math.log(2.0)))
    size = e.select(is_large, e.select(f.is_infinite(larger), larger, whole), size)

    is_easy = e.cmp("ole", y, f.scaled(a, _CROSSOVER))
    plain = f.root(f.mul(f.sub(a, y), f.add(a, y)))
    near = f.root(f.mul(above_y, f.add(a, y)))
    tiny = f.div(f.mul(f.scaled(x, _RAISE), y), f.root(f.mul(up, down)))
    root = e.select(is_apart, near, e.select(is_below, inner, tiny))
    beside_one = f.mul(f.root(x), f.root(f.scaled(f.add(a, y), 0.5)))
    root = e.select(f.all(is_one, f.is_("olt", x, _EPSILON / 128)), beside_one, root)
    is_tiny = f.all(e.invert(is_apart), f.is_("ogt", y, 1.0), e.invert(is_easy))
    return size, e.select(is_easy, plain, root), e.select(is_tiny, f.scaled(y, _RAISE), y)


def _is_large(f: _Float, x: SSAValue, y: SSAValue) -> SSAValue:
    return f.any(f.is_("ogt", x, _LARGE), f.is_("ogt", y, _LARGE))


def _arcsinh(f: _Float, x: SSAValue, y: SSAValue) -> Pair:
    e, nan = f.e, f.number(math.nan)
    ax, ay = f.size(x), f.size(y)
    size, root, rise = _hard_work(f, ax, ay)
    is_large = _is_large(f, ax, ay)
    angle = f.math("Atan2Op", e.select(is_large, ay, rise), e.select(is_large, ax, root))
    result = f.signed(size, x), f.signed(angle, y)
    other = f.chosen(f.is_infinite(y), (ay, nan), f.chosen(f.is_("oeq", y, 0.0), (nan, y), (nan, nan)))
    return f.chosen(f.is_nan(x, y), f.chosen(f.is_infinite(x), (x, nan), other), result)


def _arccos(f: _Float, x: SSAValue, y: SSAValue) -> Pair:
    e, nan = f.e, f.number(math.nan)
    ax, ay = f.size(x), f.size(y)
    size, root, run = _hard_work(f, ay, ax)
    is_large = _is_large(f, ax, ay)
    run = f.signed(run, x)
    angle = f.math("Atan2Op", e.select(is_large, ay, root), e.select(is_large, x, run))
    result = angle, f.negative(f.signed(size, y))
    other = f.chosen(f.is_("oeq", x, 0.0), (f.number(math.pi / 2), nan), (nan, nan))
    other = f.chosen(f.is_infinite(y), (nan, f.negative(y)), other)
    ends = f.chosen(f.is_infinite(x), (nan, f.number(-math.inf)), other)
    return f.chosen(f.is_nan(x, y), ends, result)


def _arctanh(f: _Float, x: SSAValue, y: SSAValue) -> Pair:
    e, nan, one = f.e, f.number(math.nan), f.number(1.0)
    zero, quarter = f.number(0.0), f.number(math.pi / 2)
    ax, ay = f.size(x), f.size(y)
    is_one, is_flat = f.is_("oeq", ax, 1.0), f.is_("olt", ay, _EPSILON)
    beside = f.sub(ax, one)
    squares = f.mul(beside, beside)
    squares = e.select(f.is_("olt", ay, 2.0**-511), squares, f.add(squares, f.mul(ay, ay)))
    size = f.scaled(f.math("Log1pOp", f.div(f.scaled(ax, 4.0), squares)), 0.25)
    pole = f.scaled(f.sub(f.number(math.log(2.0)), f.math("LogOp", ay)), 0.5)
    size = e.select(f.all(is_one, is_flat), pole, size)
    run = f.mul(f.sub(one, ax), f.add(one, ax))
    run = e.select(is_flat, run, f.sub(run, f.mul(ay, ay)))
    rise = f.scaled(ay, 2.0)
    turn = f.math("Atan2Op", e.select(is_one, f.number(2.0), rise), e.select(is_one, f.negative(ay), run))
    result = f.signed(size, x), f.signed(f.scaled(turn, 0.5), y)

    # The real part of 1 / z, by Smith's method.
    by_x = e.cmp("oge", ax, ay)
    ratio = f.div(e.select(by_x, y, x), e.select(by_x, x, y))
    low_x, low_y = f.scaled(x, 0.25), f.scaled(y, 0.25)
    below = e.select(by_x, f.add(low_x, f.mul(low_y, ratio)), f.add(f.mul(low_x, ratio), low_y))
    share = f.scaled(f.div(e.select(by_x, one, ratio), below), 0.25)
    share = e.select(f.any(f.is_infinite(x), f.is_infinite(y)), zero, share)
    result = f.chosen(_is_large(f, ax, ay), (f.signed(share, x), f.signed(quarter, y)), result)
    result = f.chosen(f.all(f.is_("oeq", y, 0.0), e.cmp("ole", ax, one)), (f.math("AtanhOp", x), y), result)
    ends = f.chosen(f.is_infinite(y), (f.signed(zero, x), f.signed(quarter, y)), (nan, nan))
    ends = f.chosen(f.is_infinite(x), (f.signed(zero, x), nan), ends)
    result = f.chosen(f.is_nan(x, y), ends, result)
    return f.chosen(f.is_("oeq", x, 0.0), (x, f.math("AtanOp", y)), result)


def _swapped(function: Callable[[_Float, SSAValue, SSAValue], Pair]) -> Callable[..., Pair]:
    """-i f(i z), of an odd function whose values at conjugates are conjugates."""

    def swapped(f: _Float, x: SSAValue, y: SSAValue) -> Pair:
        imaginary, real_part = function(f, y, x)
        return real_part, imaginary

    return swapped


def _arccosh(f: _Float, x: SSAValue, y: SSAValue) -> Pair:
    """i arccos(z) or -i arccos(z), whichever has a real part that is not negative."""
    angle, size = _arccos(f, x, y)
    plain = f.size(size), f.signed(angle, y)
    ends = f.chosen(f.is_nan(size, size), (size, angle), (f.size(size), angle))
    return f.chosen(f.any(f.is_nan(angle, angle), f.is_nan(size, size)), ends, plain)


arcsinh, arccos, arctanh = map(_in_double, (_arcsinh, _arccos, _arctanh))
arcsin, arctan, arccosh = map(_in_double, (_swapped(_arcsinh), _swapped(_arctanh), _arccosh))

INVERSES: dict[str, dict[str, Callable[[Emitter, SSAValue], SSAValue]]] = {
    "arcsin": {"c": arcsin},
    "arccos": {"c": arccos},
    "arctan": {"c": arctan},
    "arcsinh": {"c": arcsinh},
    "arccosh": {"c": arccosh},
    "arctanh": {"c": arctanh},
}
"""Rows of the table that are made in a loop."""
