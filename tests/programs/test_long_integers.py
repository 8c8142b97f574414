"""Python integers that 64 bits do not hold: exact, or OverflowError, and never wrapped around where a program says so."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

TARGETS = pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
ENDS = [3, -7, 2**31, -(2**40), 2**62, 2**63 - 1, -(2**63), 5 * 10**9, 3037000499, 3037000500]


def square(n):
    return n * n


def cube(n):
    return n**3


def power(n, k):
    return n**k


def moved(n):
    return 2.0 * (n + 2**62)


def sums(n):
    return n * n + n - 3


def turned(n):
    return abs(n) + 0, -n, ~n


def divided(n):
    return n // -1


def remainder(n):
    return (n * n) % 1000


def as_float(n):
    return float(n * n)


def beside_an_array(n):
    return np.arange(3) + (n + 2**62)


def exact_or_refused(function, *arguments, compiled):
    """The result is Python's where 64 bits hold what it is computed from; else OverflowError."""
    try:
        wanted = function(*arguments)
    except OverflowError:
        wanted = None
    try:
        got = compiled(*arguments)
    except OverflowError:
        return False
    assert wanted is not None
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted), err_msg=str(arguments))
    return True


@pytest.mark.parametrize(
    "function", [square, cube, moved, sums, turned, divided, remainder, as_float, beside_an_array], ids=lambda f: f.__name__
)  # fmt: skip
def test_arithmetic_of_arguments(function):
    compiled = nt.jit(function)
    answers = [exact_or_refused(function, n, compiled=compiled) for n in ENDS]
    assert answers[:2] == [True, True]
    assert not all(answers)


@TARGETS
def test_targets(target):
    compiled = nt.jit(square, target=target)
    assert [exact_or_refused(square, n, compiled=compiled) for n in ENDS] == [
        True, True, True, False, False, False, False, False, True, False
    ]  # fmt: skip


def test_exponents():
    compiled = nt.jit(power)
    assert [exact_or_refused(power, 3, k, compiled=compiled) for k in (0, 1, 2, 39, 40, 100)] == [
        True
    ] * 4 + [False] * 2


def doubled(n):
    s = 1
    for _ in range(n):
        s = s * 2
    return s


def factorial(x):
    n, s = int(x[0]), 1
    while n > 1:
        s = s * n
        n = n - 1
    return s


def shifted(n):
    s = 1
    for _ in range(n):
        s = s << 3
    return s


@TARGETS
def test_loops_that_multiply(target):
    compiled = nt.jit(doubled, target=target)
    assert [exact_or_refused(doubled, n, compiled=compiled) for n in (5, 62, 63, 64, 70)] == [True] * 2 + [
        False
    ] * 3
    compiled = nt.jit(shifted, target=target)
    assert [exact_or_refused(shifted, n, compiled=compiled) for n in (20, 21, 40)] == [True, False, False]
    compiled = nt.jit(factorial, target=target)
    numbers = [np.array([n]) for n in (5.0, 20.0, 21.0, 30.0)]
    assert [exact_or_refused(factorial, x, compiled=compiled) for x in numbers] == [True] * 2 + [False] * 2


def constant(x):
    return 2**70


def of_an_extent(x):
    return x.shape[0] * 2**70


def above_an_argument(n):
    return n + 2**62


def in_arithmetic(x):
    return x * (x.shape[0] * 2**61)


def long_operand(n):
    return 1.5 * (n + 2**70)


@pytest.mark.parametrize("dynamic", [None, True])
def test_constants_never_wrap(dynamic):
    """In native calls, after many of them, as in the first."""
    for function, argument in (
        (constant, np.ones(3)),
        (of_an_extent, np.ones(3)),
        (above_an_argument, 2**63 - 1),
    ):
        compiled = nt.jit(function, dynamic=dynamic)
        assert {compiled(argument) for _ in range(80)} == {function(argument)}


def test_constants_in_arithmetic_never_wrap():
    x = np.ones(8)
    np.testing.assert_array_equal(nt.jit(in_arithmetic)(x), in_arithmetic(x))
    for function, argument in ((in_arithmetic, x), (long_operand, 3)):
        compiled = nt.jit(function, dynamic=True)
        for _ in range(3):
            with pytest.raises(OverflowError, match=r"test_long_integers.py:\d+"):
                compiled(argument)


@TARGETS
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_int_of_a_float(dtype, target):
    def whole(x):
        return int(x[0])

    compiled = nt.jit(whole, target=target)
    for value in (-1.5, 2.0**14, -0.0):
        assert compiled(np.array([value], dtype)) == int(value)
    for value, error in ((np.nan, ValueError), (np.inf, OverflowError), (-np.inf, OverflowError)):
        with pytest.raises(error):
            compiled(np.array([value], dtype))
    if dtype != "f2":
        assert compiled(np.array([-(2.0**63)], dtype)) == -(2**63)
        with pytest.raises(OverflowError):
            compiled(np.array([2.0**63], dtype))


def shifted_by_a_loop(x, n):
    out, s = 0, 0
    for i in range(len(x)):
        out |= (int(x[i]) & 127) << s
        s += n
    return out


def product_of_polynomials(a, b):
    product = np.zeros(len(a) + len(b) - 1)
    for i in range(len(a)):
        product[i : i + len(b)] += a[i] * b
    return product


@TARGETS
def test_shifts_that_a_loop_makes_longer(target):
    compiled = nt.jit(shifted_by_a_loop, target=target)
    for x, n in (([1, 2, 3], 7), ([1] * 9, 7), ([0] * 12, 7), ([0, 0, 1], 31), ([1, 1], 62), ([0, 0], 200)):
        assert compiled(np.array(x), n) == shifted_by_a_loop(np.array(x), n)
    for x, n in (([1] * 10, 7), ([0, 0, 1], 32), ([1, 1], 63), ([1, 1], 64), ([1, 1], 200)):
        with pytest.raises(OverflowError):
            compiled(np.array(x), n)


@TARGETS
def test_a_loop_of_one_iteration_around_another(target):
    compiled = nt.jit(product_of_polynomials, target=target, dynamic=True)
    for a, b in (([2.0], [1.0, 3.0]), ([2.0, 1.0], [1.0, 3.0]), ([2.0], [1.0])):
        a, b = np.array(a), np.array(b)
        np.testing.assert_array_equal(compiled(a, b), product_of_polynomials(a, b))


def scaled(x, k):
    return x * k


def more(k):
    return k + 1


def of_dict(x, d):
    return x + d["k"]


BEYOND = [2**63, -(2**63) - 1, 2**64, 2**70, -(2**100)]


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_arguments_that_64_bits_do_not_hold(target):
    """They are compiled in: no program for integers takes them, before or after it has become native."""
    x, n = np.arange(3.0), np.arange(3)
    for function, arguments in (
        (scaled, (x,)),
        (scaled, (n,)),
        (scaled, (x.astype("f4"),)),
        (more, ()),
        (lambda x, k: of_dict(x, {"k": k}), (x,)),
    ):
        compiled = nt.jit(function, target=target)
        for k in [3] * (80 if target == "cpu" else 2) + BEYOND + [4]:
            try:
                wanted = function(*arguments, k)
            except OverflowError:
                with pytest.raises(OverflowError):
                    compiled(*arguments, k)
                continue
            got = compiled(*arguments, k)
            np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted), err_msg=str(k))


def test_such_arguments_of_what_is_made_of_a_function(tmp_path):
    x = np.arange(3.0)
    for k in (3, *BEYOND):
        np.testing.assert_array_equal(nt.grad(lambda x, k: scaled(x, k).sum())(x, k), np.full(3, float(k)))
        np.testing.assert_array_equal(nt.vmap(scaled, in_axes=(0, None))(x, k), x * k)
        np.testing.assert_array_equal(nt.jit(scaled, profile=True)(x, k), x * k)
        np.testing.assert_array_equal(nt.jit(of_dict)(x, {"k": k}), x + k)
    compiled = nt.jit(scaled).lower(x, 3).compile()
    compiled.save(tmp_path / "f.nestor")
    for program in (compiled, nt.load(tmp_path / "f.nestor")):
        with pytest.raises(nt.NestorError, match="not of the types it was compiled for"):
            program(x, 2**70)


def elements(x, y):
    return x.shape[0] * x.shape[1] * x.shape[2], x.size


def elements_of_two(x, y):
    return x.shape[0] * x.shape[1] * y.shape[0]


def twice_an_axis(x, y):
    return x.shape[0] * x.shape[2] * x.shape[0]


def bytes_of_all(x, y):
    return x.shape[0] * x.shape[1] * x.shape[2] * 16


def test_elements_of_an_argument_are_counted_without_a_check():
    """NumPy makes no array of so many; of two arrays, of one axis twice, and of more than elements there may be."""
    x, y = np.broadcast_to(np.int8(1), (2**21, 2**20, 2**21)), np.broadcast_to(np.int8(1), 2**30)
    small = np.zeros((3, 4, 5), np.int8), np.zeros(6, np.int8)
    for function, checks in ((elements, 0), (elements_of_two, 1), (twice_an_axis, 1), (bytes_of_all, 1)):
        compiled = nt.jit(function, dynamic=True)
        text = compiled.lower(*small).as_text("nt")
        assert text.count("cf.assert") == checks, (function.__name__, text)
        np.testing.assert_equal(compiled(*small), function(*small))
        assert exact_or_refused(function, x, y, compiled=compiled) == (checks == 0), function.__name__


def statistics(x):
    return x - x.mean(axis=(0, 2)), x.mean()


def test_a_mean_over_several_axes_has_no_check():
    compiled = nt.jit(statistics, dynamic=True)
    x = np.random.default_rng(0).random((3, 4, 4))
    assert "cf.assert" not in compiled.lower(x).as_text("nt")
    for found, wanted in zip(compiled(x), statistics(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
