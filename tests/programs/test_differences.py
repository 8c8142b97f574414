"""The differences from Python and NumPy that docs/differences.md states are these, and no others hide behind them."""

import math

import nestor as nt
import numpy as np
import pytest

INTEGERS = np.array([3.0, -2.0])


def largest(x):
    return max(int(x[0]), 0.5), min(int(x[0]), 0.5)


def chosen(x):
    k = 1 if x[0] > 0 else 2.5
    if x[1] > 0:
        n = 7
    else:
        n = 1.5
    return k, n


def in_a_loop(x):
    best = 0.5
    for i in range(len(x)):
        best = max(int(x[i]), best)
    return best


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", [largest, chosen, in_a_loop])
def test_python_numbers_join_to_a_float(function, target):
    for x in (INTEGERS, -INTEGERS):
        got, want = nt.jit(function, target=target)(x), function(x)
        assert got == want
        kinds = {type(v) for v in (got if isinstance(got, tuple) else (got,))}
        assert kinds == {float}
    wanted = [type(v) for x in (INTEGERS, -INTEGERS) for v in (*largest(x), *chosen(x), in_a_loop(x))]
    assert set(wanted) == {int, float}  # or the test shows nothing


def test_arguments_keep_their_types():
    def both(n, f):
        return max(n, f), min(n, f)

    for n in (3, -3):
        got, want = nt.jit(both)(n, 0.5), both(n, 0.5)
        assert got == want
        assert [type(v) for v in got] == [type(v) for v in want]


def test_an_element_and_an_integer_join_to_the_type_of_the_element():
    def larger(a, n):
        return max(a[0], n)

    a = np.array([5], np.int8)
    assert type(larger(a, 7)) is int
    got = nt.jit(larger)(a, 7)
    assert type(got) is np.int8
    assert got == 7
    with pytest.raises(OverflowError):
        nt.jit(larger)(a, 1000)


def floor(x):
    return math.floor(x[0])


def test_integers_have_64_bits():
    def square(x):
        return int(x[0]) * int(x[0])

    def total(x, n):
        s = 0
        for _ in range(x.shape[0]):
            s = s + n
        return s

    assert square(np.array([2.0**40])) == 2**80
    with pytest.raises(OverflowError):
        nt.jit(square)(np.array([2.0**40]))
    with pytest.raises(OverflowError):
        nt.jit(floor)(np.array([2.0**70]))
    assert nt.jit(total)(np.zeros(4), 2**62) == 0  # in a loop only what multiplies is checked


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_int_of_a_float_is_not_checked_in_loops_and_trunc_is(target):
    def by_int(x):
        n = 0
        for i in range(x.shape[0]):
            n = int(x[i])
        return n

    def by_trunc(x):
        n = 0
        for i in range(x.shape[0]):
            n = math.trunc(float(x[i]))
        return n

    for value, error in ((np.nan, ValueError), (np.inf, OverflowError), (2.0**70, OverflowError)):
        x = np.array([value])
        assert nt.jit(by_int, target=target)(x) == -(2**63)
        with pytest.raises(error):
            nt.jit(by_trunc, target=target)(x)


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_sums_over_the_ends_have_zeros(target):
    def both(x, y):
        return np.convolve(x, y), np.correlate(x, y[::-1], "full")

    x, y = np.array([1.0, 2]), np.array([np.inf, 1.0])
    for got, want in zip(nt.jit(both, target=target)(x, y), both(x, y), strict=True):
        np.testing.assert_array_equal(want, [np.inf, np.inf, 2])
        np.testing.assert_array_equal(got, [np.inf, np.inf, np.nan])


def test_a_check_before_the_loop_stops_what_the_loop_would_have_written():
    def filled(a, b, n):
        for i in range(len(a)):
            b[i] = i
            a[i] = n

    a, b = np.zeros(3, np.int8), np.ones(3)
    with pytest.raises(OverflowError):
        filled(a, b, 1000)
    assert b.tolist() == [0, 1, 1]
    b = np.ones(3)
    with pytest.raises(OverflowError):
        nt.jit(filled)(a, b, 1000)
    assert b.tolist() == [1, 1, 1]


def test_an_index_that_shapes_decide_raises_where_it_is_reached():
    def counted(a):
        a[0] = 2
        a[len(a)] = 1

    for run in (counted, nt.jit(counted)):
        a = np.zeros(3)
        with pytest.raises(IndexError):
            run(a)
        assert a[0] == 2


def test_repeated_elements_count_as_row_major():
    def added(a, b):
        return a + b

    a, b = np.asfortranarray(np.ones((3, 4))), np.broadcast_to(np.arange(4.0), (3, 4))
    got, want = nt.jit(added)(a, b), added(a, b)
    np.testing.assert_array_equal(got, want)
    assert want.flags.f_contiguous
    assert got.flags.c_contiguous


def test_empty_is_zero():
    def made(n):
        return np.empty(n)

    assert nt.jit(made)(4).tolist() == [0, 0, 0, 0]


def test_no_warnings(recwarn):
    def divided(a):
        return a / 0.0

    nt.jit(divided)(np.array([1.0, 0.0]))
    assert not recwarn.list
