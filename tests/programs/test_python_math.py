"""Python's math module of two and more numbers, and of integers: Python's results, types and errors."""

import math

import nestor as nt
import numpy as np
import pytest

INF, NAN = math.inf, math.nan
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, 1.7e308, -1.7e308, INF, -INF, NAN]
INTEGERS = [0, 1, -1, 12, -18, 97, 2**31, 2**53 + 1, (2**31 - 1) ** 2, 2**62]


def power(x, y):
    return math.pow(x, y)


def fmod(x, y):
    return math.fmod(x, y)


def nextafter(x, y):
    return math.nextafter(x, y)


def distance(x, y):
    return math.dist((x, y, 1.0), (y, 2.0, x)), math.hypot(x), math.hypot(x, y, 2.0)


def close(x, y):
    return math.isclose(x, y), math.isclose(x, y, rel_tol=0.5), math.isclose(x, y, abs_tol=1.5)


def logarithm(x, y):
    return math.log(x, y)


def product(x, y):
    return math.prod((x, y, 2.0)), math.prod([x], start=y)


def parts(x, y):
    return math.frexp(x), math.modf(x), math.ulp(y)


def error_function(x, y):
    return math.erf(x)


def gamma(x):
    return math.gamma(x)


def gcd(m, n):
    return math.gcd(m, n), math.lcm(m % 100, n % 100), math.gcd(m), math.gcd(m, n, 6)


def root(m, n):
    return math.isqrt(m)


def scaled(x, n):
    return math.ldexp(x, n)


def plain(value):
    """The Python numbers in a result."""
    return [p for v in value for p in plain(v)] if isinstance(value, tuple) else [value]


def compare(compiled, function, *arguments, tolerance):
    try:
        want = function(*arguments)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        with pytest.raises(type(error)):
            compiled(*arguments)
        return
    for got, wanted in zip(plain(compiled(*arguments)), plain(want), strict=True):
        assert type(got) is type(wanted), arguments
        assert got == pytest.approx(wanted, rel=tolerance, abs=0, nan_ok=True), arguments
        if isinstance(wanted, float) and wanted == 0:
            assert math.copysign(1, got) == math.copysign(1, wanted), arguments


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "function",
    [power, fmod, nextafter, distance, close, logarithm, product, parts, error_function],
    ids=lambda f: f.__name__,
)
def test_of_floats(function, target):
    compiled = nt.jit(function, target=target)
    exact = function in (fmod, nextafter, close, parts)
    for x in FLOATS:
        for y in FLOATS:
            compare(compiled, function, x, y, tolerance=0 if exact else 1e-15)


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", [gcd, root], ids=lambda f: f.__name__)
def test_of_integers(function, target):
    compiled = nt.jit(function, target=target)
    for m in INTEGERS:
        for n in INTEGERS:
            compare(compiled, function, m, n, tolerance=0)


def test_every_square_and_its_neighbours():
    compiled = nt.jit(root)
    for r in [*range(1, 40), 2**26 + 1, 94906267, 2**31 - 1, 3037000498, 3037000499]:
        for n in (r * r - 1, r * r, r * r + 1):
            assert compiled(n, 0) == math.isqrt(n)
    assert compiled(2**63 - 1, 0) == math.isqrt(2**63 - 1)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_powers_of_two(target):
    compiled = nt.jit(scaled, target=target)
    for x in FLOATS:
        for n in (0, 3, -3, 1024, -1074, -1100, 2000, 2**40, -(2**40), 2**62):
            compare(compiled, scaled, x, n, tolerance=0)


def in_a_loop(x, k):
    total = 0.0
    for i in range(len(x)):
        total += math.pow(x[i], 2) + math.gcd(int(k[i]), 12) + math.hypot(x[i], 1.0, 2.0)
    return total


def test_in_a_loop():
    x, k = np.arange(1.0, 9.0), np.arange(8)
    assert nt.jit(in_a_loop)(x, k) == pytest.approx(in_a_loop(x, k), rel=1e-14)


def of_a_float(x):
    return math.gcd(int(x) * 2, x)


def of_lists(x):
    return math.fsum([x, 1.0])


def test_others_are_refused():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        nt.jit(of_a_float)(1.5)
    with pytest.raises(nt.UnsupportedError, match="fsum is not supported"):
        nt.jit(of_lists)(1.5)


def test_gamma():
    """Factorials are exact; elsewhere, between poles and up to where it overflows or vanishes, both are within 6 units."""
    compiled, rng = nt.jit(gamma), np.random.default_rng(0)
    for n in range(1, 24):
        assert compiled(float(n)) == math.factorial(n - 1)
    edges = [
        171.62,
        171.63,
        -177.5,
        -201.5,
        8.5,
        23.5,
        1e-310,
        -1e-308,
        5e-324,
        -1e15 - 0.5,
        -3.0,
        0.0,
        -INF,
        INF,
        NAN,
    ]
    for x in [
        *edges,
        *rng.uniform(-178, 171.6, 200),
        *rng.uniform(-3, 9, 100),
        *10 ** rng.uniform(-300, 0, 20),
    ]:
        compare(compiled, gamma, float(x), tolerance=12 * 2.0**-52)
