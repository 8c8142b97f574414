"""Programs that random ones were shrunk to, each of which was once compiled to something else than NumPy computes."""

import nestor as nt
import numpy as np
import pytest
from judging import order
from nestor.frontend.interface.errors import UnsupportedError


def check(function, *arguments):
    """Same elements, dtypes, kinds, memory orders, and memory shared with arguments."""
    with np.errstate(all="ignore"):
        want = function(
            *[np.copy(a, "K") if isinstance(a, np.ndarray) and a.base is None else a for a in arguments]
        )
        got = nt.jit(function)(*arguments)
    if not isinstance(want, tuple):
        want, got = (want,), (got,)
    assert [type(a) for a in got] == [type(a) for a in want]
    for a, b in zip(got, want, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
        if isinstance(b, np.ndarray):
            assert order(a) == order(b)


def absolute_of_a_wrapped_number(a):
    return np.abs(-a)


def compared_with_a_counter(a):
    n = 0
    while n < a[0]:
        n += 1
    return (7 - a) < -n, (7 - a) >= -n, a == 256 + n, a != n


def compared_with_negative_numbers(a):
    return a > -1, a < -1, a == -1, a >= -1


def where_of_numbers(a):
    return np.where(a.sum() > 1, a[0], a[1]), np.where(a > 1, a, -3)


def clip_of_a_number(a):
    return np.clip(np.pi, a, a), np.clip(3, a, a)


def sum_of_rank_0(a):
    return np.cbrt(a.sum()), a.sum(), a.prod()


def whole_part_of_infinity(a):
    x = np.sqrt(np.abs(np.reciprocal(np.zeros(a.shape)))).astype(np.int8)
    y = np.exp2(np.reciprocal(np.zeros(a.shape)))
    return np.where(x > y, x, y)


def constants_of_a_dtype(a):
    return np.add(0, 100, dtype=np.float64) + a, np.sqrt(4, dtype=np.float32), np.multiply(2, 3, dtype="f4")


def one_column(a):
    for i in range(0, len(a), 2):
        for j in range(a.shape[-1]):
            a -= not a[i, j]
    return -a


def leaving_two_loops(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] < 0:
            break
        for _ in range(8):
            a[i] //= bool(i)
        s += a[i]
    return a + s


def orders(a):
    return np.sqrt(a), np.abs(a[None]), a + a[..., ::-1]


def copies(a):
    return a.astype("i8"), a.copy(), np.copy(a), a.astype("f4")


def powers(a):
    return a**2, a**3, a**a, np.power(a, 2)


def branches(a):
    if a.sum() > 3:
        b = a * 2
    else:
        b = a - 1
    return b, b + 1


def one_row_is_left_over(a):
    return np.floor(np.cbrt(a**0.5).sum())


def one_turn_of_the_inner_loop(a):
    for i in range(-2, 2):
        for j in range(i):
            a[:, 0] |= a[i, j] == 1
    return a


def two_that_start_alike(a):
    b, c = np.zeros(a.shape), np.zeros(a.shape)
    for _ in range(1):
        if a[1] > 5:
            break
        b[1] = 1
        c[1] /= 1
    return c


def variances_that_overflow(a):
    return a.var(), a.var(axis=0), np.std(a, axis=1)


FINDINGS = [
    (two_that_start_alike, np.ones(8)),
    (variances_that_overflow, np.resize(np.array([127, -2, 113, -90], "f2"), (7, 9)) * 4),
    (one_row_is_left_over, np.broadcast_to(np.array([3], "u8"), (33, 1))),
    (one_turn_of_the_inner_loop, np.resize(np.array([2, 1, 5], "u2"), (3, 4))),
    (powers, np.array([True, False])),
    (branches, np.ones((3, 4)).T),
    (absolute_of_a_wrapped_number, np.array([0, 1, 7, 255], "u1")),
    (absolute_of_a_wrapped_number, np.array([0, 1, -128], "i1")),
    (compared_with_a_counter, np.array([2, 1, 0, 255], "u1")),
    (compared_with_a_counter, np.array([2, 1, 0, 2**63, 2**64 - 1], "u8")),
    (compared_with_negative_numbers, np.array([0, 1, 2**63, 2**64 - 1], "u8")),
    (where_of_numbers, np.array([2, 1, 5], "u1")),
    (clip_of_a_number, np.ones((5, 2), "f2")),
    (clip_of_a_number, np.ones(3, "i1")),
    (whole_part_of_infinity, np.ones(3)),
    (constants_of_a_dtype, np.ones(3, "u2")),
    (sum_of_rank_0, np.asarray(3.0, "f2")),
    (one_column, np.ones((5, 1), "i4")),
    (leaving_two_loops, np.array([3.0, 1, 4, -1, 5])),
    (orders, np.broadcast_to(np.ones(4), (33, 4))),
    (orders, np.ones((3, 4, 5)).T),
    (copies, np.ones((3, 4)).T),
    (copies, np.asarray(3, "u2")),
    (orders, np.ones((3, 4, 5)).swapaxes(0, 1)),
]


@pytest.mark.parametrize(("function", "argument"), FINDINGS, ids=lambda p: getattr(p, "__name__", ""))
def test_findings(function, argument):
    check(function, argument)


def contiguous(a):
    return np.ascontiguousarray(a), np.ascontiguousarray(a[1:]), a.ravel()


@pytest.mark.parametrize("a", [np.ones((3, 4)), np.ones((3, 4)).T, np.ones((6, 4))[::2], np.ones(8)[::2]])
def test_what_is_not_contiguous_is_copied(a):
    got, want = nt.jit(contiguous)(a), contiguous(a)
    assert [np.shares_memory(part, a) for part in got] == [np.shares_memory(part, a) for part in want]


def not_copied(a):
    b = a.astype("f8", copy=False)
    b[0] = 7
    return a + 1


def test_astype_without_a_copy():
    got = np.ones(3)
    np.testing.assert_array_equal(nt.jit(not_copied)(got), [8.0, 2, 2])
    np.testing.assert_array_equal(got, [7.0, 1, 1])


def divided_in_place(a):
    b = a
    b /= 1
    return b


def test_rank_0_is_updated_in_place_by_the_rules_of_arrays():
    with pytest.raises(TypeError, match="same_kind"):
        nt.jit(divided_in_place)(np.asarray(3))


def overlapping(a, b):
    a[0] = 1
    return b * 2


def test_overlapping_arguments_keep_their_memory_order():
    x = np.ones((5, 5)).T
    assert nt.jit(overlapping)(x, x[1:]).strides == overlapping(x, x[1:]).strides


def written_after_a_loop(a):
    for _ in range(33):
        a = a
        y = (a & 7) * 2  # noqa: F841
    a[0] = 99


def written_after_branches_in_a_loop(a):
    for _ in range(33):
        if a.sum() > 100:
            a = a * 2
    a[0] = 99


def written_after_unrolled_branches(a):
    for _ in range(3):
        if a.sum() > 100:
            a = a * 2
    a[0] = 99


def written_after_a_while_that_swaps(a):
    x, n = a * 2, 0
    while n < 1:
        n += 1
        a, x = x, a
    x[0] = 99


@pytest.mark.parametrize(
    "function",
    [
        written_after_a_loop,
        written_after_branches_in_a_loop,
        written_after_unrolled_branches,
        written_after_a_while_that_swaps,
    ],
)
def test_writes_to_what_may_be_an_argument_are_refused(function):
    a = np.ones(3, "i8")
    with pytest.raises(UnsupportedError, match="on some paths only"):
        nt.jit(function)(a)


def rebound_and_written(a):
    b = a + 1
    for _ in range(33):
        b = b * 2
    b[0] = 99
    return b


def test_writes_to_a_new_array_after_a_loop():
    check(rebound_and_written, np.ones(3, "i8"))


def swapped_and_written(a):
    x, n = a * 2, 0
    while n < 3:
        n += 1
        a[0] += 1
        x, a = a, x
    return n


def test_writes_to_what_changes_places_with_an_argument_are_seen():
    got, want = np.ones(2), np.ones(2)
    nt.jit(swapped_and_written)(got)
    swapped_and_written(want)
    np.testing.assert_array_equal(got, want)


def broadcast_views(b):
    x = np.broadcast_to(b[1:, ::2], (2, *b[1:, ::2].shape))
    return x, x[1], x[:, ::-1], x.T, x[..., None]


@pytest.mark.parametrize("b", [np.ones((3, 4)), np.ones((3, 4)).T, np.ones((6, 4))[::2], np.ones((4, 1))])
def test_broadcast_views_of_arguments_are_views(b):
    function = nt.jit(broadcast_views)
    for _ in range(3):
        for got, want in zip(function(b), broadcast_views(b), strict=True):
            assert np.shares_memory(got, b) == np.shares_memory(want, b)
            assert (got.strides, got.flags.writeable) == (want.strides, want.flags.writeable)


def of_rank_one(a):
    return np.ascontiguousarray(a), np.ascontiguousarray(a.sum()), np.ascontiguousarray(3.5)


@pytest.mark.parametrize("a", [np.asarray(3.0), np.ones(3), np.asarray(3, "i2")])
def test_contiguous_numbers(a):
    check(of_rank_one, a)


def last_as_a_python_number(a):
    s = 0
    for i in range(len(a)):
        s = int(a[i])
    return s, int(a.sum())


def test_integers_of_more_than_64_bits_are_no_python_numbers():
    function = nt.jit(last_as_a_python_number)
    assert function(np.array([5, 2**62], "u8")) == (2**62, 2**62 + 5)
    with pytest.raises(OverflowError, match="64 bits"):
        function(np.array([5, 2**63], "u8"))


def reshaped_views(a):
    return a[1:].reshape(-1), a.reshape(-1)[1:], a[1:].reshape(-1)[::2], a.T.reshape(-1)


@pytest.mark.parametrize(
    "a", [np.ones((3, 4)), np.ones((3, 4)).T, np.ones((3, 8))[:, ::2], np.ones(8)[::2], np.ones(8)]
)
def test_reshaped_views_of_arguments_are_views_where_they_can_be(a):
    for got, want in zip(nt.jit(reshaped_views)(a), reshaped_views(a), strict=True):
        assert np.shares_memory(got, a) == np.shares_memory(want, a)
        assert got.strides == want.strides or not np.shares_memory(want, a)


def reshaped_and_written(a):
    x = a.reshape(-1)
    a[0] = 5
    return x


def test_what_reshape_may_have_copied_before_a_write_is_refused():
    np.testing.assert_array_equal(nt.jit(reshaped_and_written)(np.ones((2, 2))), [5, 5, 1, 1])
    with pytest.raises(UnsupportedError, match="is read after"):
        nt.jit(reshaped_and_written)(np.ones((2, 2)).T)


def rank_0_in_place(a):
    a[..., 0] += 0.5


def element_in_place(a):
    a[0] += 0.5


def test_an_ellipsis_makes_an_array_which_is_updated_by_the_rules_of_arrays():
    check(element_in_place, np.array([1, 2]))
    check(rank_0_in_place, np.array([1.0, 2]))
    with pytest.raises(TypeError, match="same_kind"):
        nt.jit(rank_0_in_place)(np.array([1, 2]))


def chosen_python_number(a):
    s = 1
    for i in range(2, a.size):
        s = 3 if i > 3 else i
    return s, min(s, 2)


def test_a_choice_of_python_numbers_is_one():
    assert [type(n) for n in nt.jit(chosen_python_number)(np.ones(6))] == [int, int]
