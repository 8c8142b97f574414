"""Calls of NumPy's functions as NumPy takes them: lists for arrays, keywords by their names, errors where it has them."""

import enum

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

X, M = np.arange(4.0), np.arange(12.0).reshape(3, 4)


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Colour(enum.Enum):
    RED = 1


# ---- keywords ---------------------------------------------------------------------------------------


def by_keyword(m):
    return (
        np.transpose(m, axes=(1, 0)),
        np.transpose(m, axes=None),
        np.permute_dims(m, axes=(1, 0)),
        np.sum(a=m, axis=0, keepdims=True),
        np.zeros(3, device="cpu", like=None),
        np.array(m, subok=False),
        np.concatenate([m, m], casting="same_kind"),
    )


def counts(a):
    return (
        np.arange(a, stop=7),
        np.arange(start=0, stop=7),
        np.arange(stop=7),
        np.arange(0, stop=7, step=2),
        np.arange(a, step=2),
        np.arange(1, 7, 2, np.float32),
        np.arange(5, None),
    )


def test_keywords_have_numpys_names():
    agrees(by_keyword, M)
    agrees(counts, 2)


def no_such_keyword(x):
    return np.reshape(x, newshape=(2, 2))


def a_name_for_a_place(x):
    return np.where(x > 1, x=x, y=2)


def a_place_for_a_name(x):
    return np.argmax(x, 0, None, True)


def no_stop(x):
    return np.arange(start=7)


def twice(x):
    return np.arange(1, start=7)


@pytest.mark.parametrize(
    "function", [no_such_keyword, a_name_for_a_place, a_place_for_a_name, no_stop, twice]
)
def test_what_numpy_does_not_take(function):
    for run in (function, nt.jit(function)):
        with pytest.raises(TypeError):
            run(X)


def other_device(x):
    return np.linspace(0, 1, 5, axis=1)


def test_what_numpy_takes_and_nestor_does_not_is_said_so():
    with pytest.raises(nt.NestorError, match=r"np\.linspace with axis= is not supported"):
        nt.jit(other_device)(X)


# ---- lists and numbers ------------------------------------------------------------------------------


def of_lists(x):
    return (
        [np.delete([1, 2, 3], 1), np.insert([1, 2, 3], 1, 5), np.delete((x[0], x[1]), 0)],
        [np.float64([1, 2]), np.float32((1, 2)), np.float64([x[0], 1]), np.int64(x)],
        [np.ptp((1, 2, 5)), np.ptp([x[0], x[3]]), +np.flip([1, 2]), +np.flip([[1, 2], [3, 4]], axis=0)],
        [+np.broadcast_to([1, 2], (2, 2)), np.ravel([[1, 2]]), np.outer(x, 1), np.imag([1, 2])],
    )


def of_no_axes(x):
    return np.flip(x), np.flip(3), np.flip(np.float32(2)), np.transpose(x), x.item(), x.imag


def items(m):
    return m.item(5), m.item(1, 2), m[0].item(-1), m[0].item(1)


def test_lists_and_numbers():
    agrees(of_lists, X)
    agrees(of_no_axes, np.array(3.0))
    agrees(items, M)


def enums(x, n):
    return (
        [
            x[0] == Level.ONE,
            x == Level.ONE,
            n == Level.ONE,
            n < Level.TWO,
            n == Level.ONE,
            Level.TWO != Level.ONE,
        ],
        [x + Level.ONE, np.add(x, Level.TWO), x[Level.ONE], n + Level.TWO, np.full(3, Level.TWO), -Level.TWO],
        [n == Colour.RED, n != Colour.RED, n == "a", n is None],
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u2"])
def test_enums(dtype):
    agrees(enums, X.astype(dtype), 1)


def test_enums_on_other_targets():
    agrees(enums, X, 2, target="interp")
    agrees(enums, X, 2, target="cuda-sim")


def lengths(x, n):
    s = 0
    for i in range(len(x)):
        s += len(range(i)) + len(range(i, 0)) + len(range(0, i, 3))
    return len(range(n)), len(range(0, n, 2)), len(range(n, 0, -1)), len(range(3)), s


@pytest.mark.parametrize("n", [-3, 0, 1, 7])
def test_the_length_of_a_range(n):
    agrees(lengths, X, n)


def counted(x):
    s = 0
    for i, v in enumerate(x, np.int64(3)):
        s += i * v
    return s, list(enumerate((5, 6), True)), list(enumerate((5, 6), np.int64(3)))


def test_where_counting_starts():
    agrees(counted, X)


# ---- errors -----------------------------------------------------------------------------------------


def counts_from_a_fraction(x):
    s = 0
    for i, v in enumerate(x, 3.14):
        s += i * v
    return s


def counts_from_an_element(x):
    return list(enumerate((1, 2), x[0]))


@pytest.mark.parametrize("function", [counts_from_a_fraction, counts_from_an_element])
def test_counting_starts_at_an_integer(function):
    for run in (function, nt.jit(function)):
        with pytest.raises(TypeError):
            run(X)


def times_in_place(a, b):
    a @= b
    return a


@pytest.mark.parametrize(("a", "b"), [(X, X), (np.eye(4), X)])
def test_a_matrix_product_in_place_wants_a_matrix(a, b):
    for run in (times_in_place, nt.jit(times_in_place)):
        with pytest.raises(ValueError, match="inplace matrix multiplication requires"):
            run(a.copy(), b)
    agrees(times_in_place, M.copy(), np.eye(4))
    agrees(times_in_place, X.copy(), np.eye(4))


def too_big(x):
    y = np.empty(2**60)  # noqa: F841
    return x


def too_big_zeros(x):
    y = np.zeros((2**40, 2**40), np.float32)  # noqa: F841
    return x


def negative(x):
    y = np.ones((2, -1))  # noqa: F841
    return x


def filled_with_too_many(x):
    return np.full((2,), x)


def filled_like_with_too_many(x):
    return np.full_like(x[:2], x)


def negative_windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, -1)


def long_windows(x):
    y = np.lib.stride_tricks.sliding_window_view(x, 9)  # noqa: F841
    return x


ERRORS = [
    too_big,
    too_big_zeros,
    negative,
    filled_with_too_many,
    filled_like_with_too_many,
    negative_windows,
    long_windows,
]


@pytest.mark.parametrize("function", ERRORS)
def test_values_that_do_not_fit(function):
    for run in (function, nt.jit(function)):
        with pytest.raises(ValueError):
            run(X)


def text(x):
    return np.broadcast_to("a", (1,))


def test_text_is_refused_at_its_place():
    with pytest.raises(nt.NestorError, match=r"test_numpy_calls.py:\d+:\d+: error: 'a' is not a number"):
        nt.jit(text)(X)


def numbers_side_by_side(x):
    return np.broadcast_arrays(x, 1.0)[1]


def unused(x):
    y = np.empty(2**50)  # noqa: F841
    return x


def test_stated_differences():
    got = nt.jit(numbers_side_by_side)(X)
    got[0] = 2.0
    assert got.tolist() == [2.0, 1.0, 1.0, 1.0]
    assert nt.jit(unused)(X) is X
