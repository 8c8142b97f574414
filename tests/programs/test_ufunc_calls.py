"""Calls of ufuncs: `**` and its short cuts, dtype=, out=, where=, reduce and outer; and what is refused, with its place."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from nestor.dialects.diagnostic import NestorError

x = np.array([[0.5, -1.0, 3.0, -0.0], [np.inf, -np.inf, np.nan, 100.0]])
k = np.arange(-6, 6).reshape(3, 4)


# ---- powers -----------------------------------------------------------------------------------------


def short_cuts(a):
    return a**2, a**2.0, a**0.5, a**-1, a**1, a**1.0, np.power(a, 0.5), np.power(a, np.float64(-1.0))


def by_root(a, exponent):
    return a**exponent


def of_constants(a):
    return 2.0**a, 2**a, (-1.5) ** a


def whole(a):
    return a**3, a**4, a**5, np.float_power(a, 3), np.power(a, 2.5)


def of_integers(a, n):
    return a**0, a**2, a**3, a**7, a**n, a**2.0, a**0.5, 3**n, np.power(a, n, dtype=np.float64)


def of_python(n, r):
    return n**3, n**0, r**3, r**2.5 if r > 0 else r, n**n, 2**n


def of_extents(a):
    return a.shape[1] ** 2, a.shape[0] ** 0.5, a / a.shape[1] ** 0.5


def in_loops(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] ** 3 + (a[i, j] * a[i, j]) ** 0.5 + 2**i + (1 << j) + (i >> 1)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_short_cuts_of_powers_are_those_of_numpy(dtype):
    agrees(short_cuts, x.astype(dtype))
    agrees(by_root, x.astype(dtype), 0.5)
    agrees(by_root, x.astype(dtype), np.array(0.5, dtype))


def test_scalars_have_no_short_cuts():
    agrees(by_root, np.float64(-np.inf), 0.5)
    agrees(by_root, np.float32(-np.inf), 0.5)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_other_powers(dtype):
    agrees(whole, x.astype(dtype), tolerance=8 * np.finfo(dtype).eps)
    agrees(of_constants, x.astype(dtype), tolerance=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8"])
def test_powers_of_integers(dtype):
    agrees(of_integers, k.astype(dtype), np.arange(4, dtype=np.uint8), tolerance=1e-15)


def test_powers_of_python_numbers():
    agrees(of_python, 3, 1.5, tolerance=1e-15)
    agrees(of_extents, x, tolerance=1e-15)


def test_powers_in_loops():
    agrees(in_loops, np.linspace(-2, 2, 12).reshape(3, 4), np.zeros((3, 4)), tolerance=1e-14)


def root_of_minus_infinity(a, out):
    for i in range(len(a)):
        out[i] = a[i] ** 2.5


def test_special_powers_in_loops():
    agrees(root_of_minus_infinity, x.ravel(), np.zeros(8), tolerance=1e-15)


# ---- shifts -----------------------------------------------------------------------------------------


def shifts(a, n, m):
    return a << n, a >> n, a << 3, 1 << a, a >> np.int64(70), m << 2, m >> 1, 5 << m


def test_shifts():
    agrees(shifts, k, np.abs(k) * 13, 7)


# ---- what NumPy and Python refuse at run time -------------------------------------------------------


def unknown_power(n, m):
    return n**m


def unknown_powers_in_loops(n, m, out):
    for i in range(len(n)):
        out[i] = n[i] ** m[i]


def unknown_shift(out):
    for i in range(len(out)):
        out[i] = 1 << (3 - i)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim"])
def test_integers_to_powers_known_at_run_time(target):
    n, m = k.ravel(), np.arange(12)
    whole_arrays = agrees(unknown_power, n.astype(np.int8), m.astype(np.int8), target=target)
    in_loop = agrees(unknown_powers_in_loops, n.astype(np.int16), m, n * 0, target=target)
    shifted = agrees(unknown_shift, np.zeros(4), target=target)
    message = "Integers to negative integer powers are not allowed."
    with pytest.raises(ValueError, match=message):
        whole_arrays(n.astype(np.int8), (m - 1).astype(np.int8))
    with pytest.raises(ValueError, match=message):
        in_loop(n.astype(np.int16), m - 11, n * 0)
    with pytest.raises(ValueError, match="negative shift count"):
        shifted(np.zeros(5))


# ---- keywords ---------------------------------------------------------------------------------------


def typed(a, n):
    return (
        np.add(n, 1, dtype=np.float32),
        np.sqrt(n, dtype=np.float32),
        np.less(a, 1, dtype=bool),
        np.power(n, 2, dtype="f8"),
    )


def test_dtype():
    agrees(typed, x, np.abs(k))


def into(a, b, out):
    np.add(a, b, out=out)
    np.multiply(out, 2, out, where=a > 0)
    return np.negative(out, out=(out,))


def into_views(a, b, out):
    np.subtract(a[:, 1:], b, out=out[:, :-1])
    np.add(out[:-1], 1, out=out[1:])  # overlaps
    np.copysign(out, -1.0, where=np.isfinite(out), out=out)


def into_in_loops(a, b, out):
    for i in range(a.shape[0]):
        np.maximum(a[i], b, out=out[i])
        for j in range(a.shape[1]):
            out[i, j] += 1


def test_out_and_where():
    agrees(into, x, np.ones((2, 4)), np.zeros((2, 4)))
    agrees(into_views, x, np.ones(3), np.zeros((2, 4)))
    agrees(into_in_loops, x, np.ones(4), np.zeros((2, 4)))


# ---- methods, two results ----------------------------------------------------------------------------


def methods(a, n):
    return (
        np.add.reduce(a),
        np.maximum.reduce(a, axis=1),
        np.logical_or.reduce(n, axis=None),
        np.add.outer(n, a),
    )


def two_results(a, n, m):
    quotient, rest = divmod(m, 5)
    return np.modf(a), np.frexp(a), np.divmod(n, 4), divmod(a, 0.75), quotient, rest, pow(n, 2)


def test_methods():
    agrees(methods, np.linspace(-1, 4, 8).reshape(2, 4), k)


def test_two_results():
    agrees(two_results, x, k, 17)


def of_scalars(a, n):
    return (
        np.gcd(n, 12),
        np.hypot(a, 1),
        np.isnan(n),
        np.signbit(a),
        np.ldexp(a, 3),
        np.bitwise_count(n),
        np.positive(n),
    )


def test_scalars():
    agrees(of_scalars, 2.5, 18, tolerance=1e-15)
    agrees(of_scalars, np.float32(2.5), np.int16(18), tolerance=1e-6)


# ---- refused ----------------------------------------------------------------------------------------


def negative_power(n):
    return n**-1


def complex_power(r):
    return r**-0.5


def boolean_difference(p):
    return p - p


def wide_shift(p):
    return p << 1.5


def where_alone(a):
    return np.sqrt(a, where=a > 0)


def wrong_out(n, a):
    return np.add(a, 1.5, out=n)


def small_out(a, out):
    return np.add(a, 1, out=out)


def no_array(a):
    return np.add(a, 1, out=3)


def signature_keyword(a):
    return np.add(a, 1, signature="dd->d")


def reduced_at(a):
    return np.add.reduceat(a, [0])


def wrong_reduction(a):
    return np.less.reduce(a)


def wrong_dtype(a):
    return np.add(a, 1, dtype=np.int64)


clipped = np._core.umath.clip


def private(a):
    return clipped(a, 0, 1)


@pytest.mark.parametrize(
    ("function", "arguments", "kind", "message"),
    [
        (negative_power, [k], ValueError, "Integers to negative integer powers are not allowed."),
        (complex_power, [-1.5], NestorError, "a negative number of Python to a fraction is a complex number"),
        (boolean_difference, [k > 0], TypeError, "numpy boolean subtract"),
        (wide_shift, [k], TypeError, "ufunc 'left_shift' not supported for the input types"),
        (where_alone, [x], NestorError, "where= leaves elements undefined without out="),
        (wrong_out, [k, k * 1.0], TypeError, "Cannot cast ufunc 'add' output from"),
        (small_out, [x, x[0]], ValueError, "non-broadcastable output operand"),
        (no_array, [x], TypeError, "needs one array, not 3"),
        (signature_keyword, [x], NestorError, "with signature= is not supported"),
        (reduced_at, [x], NestorError, "np.add.reduceat is not supported"),
        (wrong_reduction, [x], NestorError, "np.less.accumulate is not supported"),
        (private, [k], NestorError, "the ufunc 'clip' is not one of NumPy's"),
        (wrong_dtype, [x], TypeError, "Cannot cast ufunc 'add' input 0"),
    ],
)
def test_refused(function, arguments, kind, message):
    with pytest.raises(kind) as raised:
        nt.jit(function)(*[a.copy() if isinstance(a, np.ndarray) else a for a in arguments])
    text = str(raised.value)
    assert message in text
    assert "^" in text and f"{function.__code__.co_firstlineno + 1}:" in text


def test_power_of_an_empty_array_raises_nothing():
    agrees(negative_power, np.zeros(0, np.int64))
