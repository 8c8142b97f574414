"""Shapes that must be equal, or broadcast, and are not known when a function is compiled: compared when it is called.

Every function is called with shapes that fit and shapes that do not, odd ones, and extents of 0 and 1: what NumPy raises is
raised, and what it computes is computed.
"""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(4)

PAIRS = [
    (8, 8),
    (9, 9),
    (9, 10),
    (10, 9),
    (2, 9),
    (9, 2),
    (1, 9),
    (3, 4),
    (0, 0),
    (0, 1),
    (5, 3),
    (6, 12),
    (8, 8),
]
FEW = [(8, 8), (9, 9), (9, 10), (2, 2), (1, 1), (0, 0), (6, 6)]


def every_second(a, c):
    return a[::2] + c[::2]


def first_halves(a, c):
    return a[: a.shape[0] // 2] + c[: c.shape[0] // 2]


def last_halves(a, c):
    return a[a.shape[0] // 2 :] - c[c.shape[0] // 2 :]


def odd_places(a, c):
    return a[1::2] * c[1::2]


def backwards(a, c):
    return a[::-2] - c[::-2], a[::-3] + 1


def backwards_and_forwards(a, c):
    return a[::-3] - c[::3]


def even_and_odd(a, c):
    return a[::2][: a.shape[0] // 2] + a[1::2] + c[: len(c) // 2].sum()


def chosen(a, c):
    return np.where(a[::2] > 0, c[::2], a[::2])


def written(y, x):
    y[::2] = x[1::2]
    return y


def updated(y, x):
    y[::2] += x[::2]
    return y


def inner_part(y, x):
    y[1:-1] = x[2:] - x[:-2]
    return y


def product(a, c):
    return np.dot(a[::2], c[::2]), a[1::2] @ c[1::2]


def conditions(a, c):
    return (a[::2] > 0) & (c[::2] > 0) | ~(a[::2] < c[::2])


def put_together(a, c):
    return np.stack([a[::2], c[::2]]), np.concatenate([a[::2], c[1::2]]) + np.concatenate([c[1::2], a[::2]])


def both_halves(a, c):
    return np.concatenate([a[::2], a[1::2]]) + c


def summed(a, c):
    return (a[::2] + c[::2]).sum() + (a[::2] * c[::2]).sum()


def in_a_loop(a, c):
    y = np.zeros(a.shape[0])
    for _ in range(3):
        y[::2] += a[::2] * c[::2]
    return y


def every_fourth(a, c):
    return a[::2][::2] + c[::4]


def counted(a, c):
    return np.zeros((len(a) + 1) // 2) + c[::2], np.arange((len(a) + 1) // 2) + c[::2]


def shorter(a, c):
    return np.zeros(len(a) - 3) + c


def differences(a, c):
    return np.diff(a) + c


def contracted(a, c):
    return np.einsum("i,i->", a[::2], c[::2])


def thirds(a, c):
    return a[len(a) // 3 : 2 * len(a) // 3] + c[: len(c) // 3]


def in_the_middle(a, c):
    return a[len(a) // 2] + c[-len(c) // 2] + a[-len(c) + 1]


def weighted(a, c):
    return np.average(a[::2], weights=c[::2] * c[::2] + 1)


def selected(a, c):
    return a[::2][c[::2] > 0].sum()


def compared(a, c):
    return np.array_equal(a[::2], c[::2])


def one_row(a, c):
    return a[::2, None] * c[None, 1::2] + a[::2].reshape(-1, 1)


STRAIGHT = [
    every_second, first_halves, last_halves, odd_places, backwards, backwards_and_forwards, even_and_odd, chosen, written,
    updated, inner_part, product, conditions, put_together, both_halves, summed, in_a_loop, every_fourth, counted, shorter,
    differences, contracted, thirds, in_the_middle, selected, compared, one_row,
]  # fmt: skip


def windows_of_three(a, c):
    s = 0.0
    for i in range(1, a.shape[0]):
        s += (a[i : i + 3] * c[i : i + 3]).sum()
    return s


def shifted_windows(a, c):
    s = 0.0
    for i in range(1, a.shape[0]):
        s += (a[i : i + 3] * c[i - 1 : i + 2]).sum()
    return s


def one_goes_with_any(a, c):
    s = 0.0
    for i in range(a.shape[0]):
        s += (a[: i + 1] + c[i:]).sum()
    return s


def one_is_assigned_to_any(a, c):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[: i + 1] = c[i:]
    return y


def one_updates_any(a, c):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[: i + 1] += c[i:]
    return y


def kept_sums(a, c):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        v = a[: i + 1] + c[i:]
        y[i] = v.sum() + v[0] + v[-1]
    return y


def columns_of_a_part(a, c):
    m, s = np.outer(a, c), 0.0
    for i in range(a.shape[0]):
        s += (m[: i + 1] * c[i:]).sum()
    return s


def pairs_written(a, c):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[i : i + 2] = c[i : i + 2]
    return y


def neighbours(a, c):
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[max(0, i - 1) : i + 2] += c[max(0, i - 1) : i + 2] * 2
    return y


def interleaved(a, c):
    y = np.zeros(a.shape[0])
    for i in range(3):
        y[i::3] = c[i::3]
    return y


def evens_into_both(a, c):
    y = np.zeros(a.shape[0])
    for i in range(2):
        y[i::2] += a[::2]
    return y


def products_of_parts(a, c):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[: i + 1] @ c[i:]
    return s


def every_second_of_a_part(a, c):
    s = 0.0
    for i in range(a.shape[0]):
        s += (a[: i + 1 : 2] + c[: i + 1 : 2]).sum()
    return s


LOOPS = [
    windows_of_three, shifted_windows, one_goes_with_any, one_is_assigned_to_any, one_updates_any, kept_sums,
    columns_of_a_part, pairs_written, neighbours, interleaved, evens_into_both, products_of_parts, every_second_of_a_part,
]  # fmt: skip


def quarters(m):
    return m[::2, ::2] + m[1::2, 1::2]


def into_a_joined(v, a, c):
    v += np.hstack((a, c))
    return v


def of_slices(a, b):
    return a[::2, ::2] @ b[::2, ::2] + a[::2, ::2].sum(), a[:, ::2] @ b[::2]


def numbers(shape, k):
    size = int(np.prod(shape))
    return ((np.arange(size) * 7 + k * 3) % 11 - 4.0).reshape(shape)


def outcome(function, shapes):
    """What a call gives, and what it leaves in its arguments; or the exception."""
    arguments = [numbers(shape, k) for k, shape in enumerate(shapes)]
    try:
        return function(*arguments), arguments
    except (ValueError, IndexError) as error:
        return error


def call_like_numpy(function, sequence, **options):
    """Call one compiled function with one shape after the other, more than once each: every call does what NumPy does."""
    compiled = nt.jit(function, **options)
    for shapes in [*sequence, *sequence]:
        shapes = [(s,) if isinstance(s, int) else s for s in shapes]
        wanted = outcome(function, shapes)
        for _ in range(2):
            got = outcome(compiled, shapes)
            if isinstance(wanted, Exception):
                kind = IndexError if isinstance(wanted, IndexError) else ValueError
                assert isinstance(got, kind), f"{shapes}: {got}"
                continue
            assert not isinstance(got, Exception), f"{shapes}: {got}"
            alike(got, wanted, shapes)
    return compiled


def alike(got, wanted, shapes):
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for ours, numpys in zip(got, wanted, strict=True):
            alike(ours, numpys, shapes)
        return
    assert np.shape(got) == np.shape(wanted), shapes
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=str(shapes))


@pytest.mark.parametrize("dynamic", [pytest.param(None, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("function", STRAIGHT, ids=lambda f: f.__name__)
def test_every_shape_does_what_numpy_does(function, dynamic):
    call_like_numpy(function, PAIRS, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [pytest.param(None, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_extents_that_only_the_run_knows(function, dynamic):
    call_like_numpy(function, FEW, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [pytest.param(None, marks=pytest.mark.slow), True])
def test_arrays_of_two_axes_and_three_arguments(dynamic):
    squares = [(8, 8), (6, 10), (7, 7), (4, 6), (2, 2), (1, 1), (3, 2), (2, 4)]
    call_like_numpy(quarters, [[shape] for shape in squares], dynamic=dynamic)
    call_like_numpy(into_a_joined, [(16, 8, 8), (20, 10, 10), (20, 10, 9), (3, 1, 2)], dynamic=dynamic)
    products = [
        ((6, 8), (8, 6)),
        ((5, 7), (7, 5)),
        ((4, 9), (9, 4)),
        ((4, 9), (8, 4)),
        ((4, 1), (1, 4)),
        ((23, 41), (41, 39)),
    ]
    call_like_numpy(of_slices, products, dynamic=dynamic)


@pytest.mark.parametrize(
    "function", [every_second, odd_places, updated, one_goes_with_any], ids=lambda f: f.__name__
)
def test_the_second_shape(function):
    """What made the issue: extents become unknown by the second call."""
    call_like_numpy(function, FEW)


def test_weights():
    fitting = [(8, 8), (9, 9), (9, 10), (3, 3), (1, 1), (2, 2)]
    call_like_numpy(weighted, fitting, dynamic=True)


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
@pytest.mark.parametrize(
    "function", [every_second, updated, every_fourth, one_goes_with_any, shifted_windows, interleaved],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_other_targets(function, target):
    call_like_numpy(function, FEW, dynamic=True, target=target)


def test_one_program_serves_many_extents():
    compiled = nt.jit(every_second, dynamic=True)
    for n in range(4, 40):
        compiled(np.ones(n), np.ones(n))
    assert compiled.cache_info()["compiled"] == 1


def test_extents_that_are_equal_for_every_shape_need_no_guard():
    """ceil(n / 2) + floor(n / 2) is n, and every second of every second is every fourth."""

    def known(a):
        return (
            np.concatenate([a[::2], a[1::2]]) + a,
            a[::2][::2] + a[::4],
            a[len(a) // 2 :] + a[: (len(a) + 1) // 2],
        )

    compiled = nt.jit(known, dynamic=True)
    compiled(np.ones(9))
    assert "== 0" not in compiled.explain(np.ones(9))


def test_a_shape_that_does_not_fit_writes_nothing():
    compiled = nt.jit(updated, dynamic=True)
    compiled(np.ones(8), np.ones(8))
    room = np.zeros(32)
    for n in (3, 9, 17):
        with pytest.raises(ValueError, match="broadcast"):
            compiled(room[8:16], np.ones(n))
    assert not room.any()


def test_a_loop_never_writes_beyond_its_array():
    compiled = nt.jit(one_updates_any, dynamic=True)
    with pytest.raises(ValueError, match="broadcast"):
        compiled(np.ones(8), np.ones(31))


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_a_window_larger_than_the_array(dynamic):
    def windows(a):
        return np.lib.stride_tricks.sliding_window_view(a, 3).sum(1)

    call_like_numpy(windows, [[8], [2], [3], [4], [0], [9]], dynamic=dynamic)


def of_two_or_more(y, n):
    return np.ones(max(n, 2)) + y


def of_one_or_more(y, n):
    return np.ones(max(n, 1)) + y


@pytest.mark.parametrize(("f", "is_repeated"), [(of_two_or_more, False), (of_one_or_more, True)])
def test_only_what_may_have_one_element_is_repeated(f, is_repeated):
    """What has at least two needs no choice in the run of which extent the result has."""
    compiled = nt.jit(f, dynamic=True)
    for n in (2, 3, 5):
        np.testing.assert_array_equal(compiled(np.arange(float(n)), n), f(np.arange(float(n)), n))
    if is_repeated:
        np.testing.assert_array_equal(compiled(np.arange(4.0), 1), f(np.arange(4.0), 1))
    assert ("arith.select" in compiled.lower(np.arange(5.0), 5).as_text("nt")) == is_repeated
