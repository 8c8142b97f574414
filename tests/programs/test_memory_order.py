"""The memory order of results: that of NumPy, through loops, branches and choices too."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from judging import order

pytestmark = pytest.mark.one_of(2)


def some_turns(x, n):
    for _ in range(n):
        x = np.tanh(x) * 2
    return x


def while_it_is_small(x, n):
    y = x * 1
    while y.sum() < n:
        y = y + 1
    return y


def accumulated(x, n):
    s = np.zeros_like(x)
    for t in range(9):
        s = s + np.exp(x) * t
    return s


def swapped(x, n):
    y, z = x * 1, x.T * 2
    for _ in range(9):
        y, z = np.sin(z.T), np.cos(y.T)
    return y, z


def on_a_path(x, n):
    y = x * 1
    if x.sum() > n:
        y = y * 2
    return y


def element_by_element(x, n):
    r = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            r[i, j] = x[i, j] * n
    return r


def in_a_tuple(x, n):
    pair = (x * 1, x.T * 1)
    for _ in range(n):
        a, b = pair
        pair = (a + 1, b + 1)
    return pair


def expression(x, n):
    return x * 2 if x.sum() > n else x - 1


def selected(x, n):
    return np.select([x > n, x > 0], [x, -x]), np.choose((x > n) * 1, [x, -x])


def of_both(x, n):
    return (
        np.ones((4, 3)).T + x,
        x + np.ones(4),
        np.where(x > n, x, 0.0),
        np.clip(x, 0, n),
        x.T + np.ones((4, 3)),
    )


X = np.arange(12.0).reshape(3, 4)
ARRAYS = [
    X,
    np.asfortranarray(X),
    np.asfortranarray(np.arange(48.0).reshape(6, 8))[::2, ::2],
    X[::-1],
    np.arange(12.0).reshape(4, 3).T,
]
FUNCTIONS = [
    some_turns, while_it_is_small, accumulated, swapped, on_a_path, element_by_element, in_a_tuple, expression,
    selected, of_both,
]  # fmt: skip


def agree(got, want):
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            agree(a, b)
        return
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.strides == want.strides


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_strides_are_those_of_numpy(function, target):
    compiled = nt.jit(function, target=target)
    for x in ARRAYS if target == "interp" else ARRAYS[:3]:
        for n in (0, 3):
            agree(compiled(x, n), function(x, n))


def test_where_paths_disagree_the_result_is_row_major():
    def either(x):
        y = x * 1
        if x[0, 0] > 0:
            y = x.T * 1
        return y

    x = np.arange(9.0).reshape(3, 3)
    for sign in (1, -1):
        assert nt.jit(either)(x * sign + sign).flags.c_contiguous


R, A = np.arange(3.0), np.arange(6.0).reshape(2, 3)
LAYOUTS = {
    "argwhere": (lambda a: np.argwhere(a > 1), A),
    "argwhere of a tuple": (lambda a: np.argwhere(((1, 2), (3, 0))), A),
    "argwhere of a vector": (lambda a: np.argwhere(a), R),
    "argwhere of a cube": (lambda a: np.argwhere(a > 5), np.arange(24).reshape(2, 3, 4)),
    "argwhere, transposed": (lambda a: np.argwhere(a > 1).T, A),
    "argwhere of nothing": (lambda a: np.argwhere(a > 100), A),
    "ascontiguousarray": (lambda a: np.ascontiguousarray(np.broadcast_to(a, (4, 3))), R),
    "ascontiguousarray of some rows": (lambda a: np.ascontiguousarray(np.broadcast_to(a, (4, 3))[1:]), R),
    "ascontiguousarray of one row": (lambda a: np.ascontiguousarray(np.broadcast_to(a, (4, 3))[1]), R),
    "asfortranarray": (lambda a: np.asfortranarray(np.broadcast_to(a, (4, 3))), R),
    "asarray": (lambda a: np.asarray(np.broadcast_to(a, (4, 3)), order="C"), R),
    "asarray, as it is": (lambda a: np.asarray(np.broadcast_to(a, (4, 3))), R),
    "of the same shape": (lambda a: np.ascontiguousarray(np.broadcast_to(a, (3,))), R),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_strides_and_shared_memory_are_numpys(name):
    function, x = LAYOUTS[name]
    want, got = function(x), nt.jit(function)(x)
    np.testing.assert_array_equal(got, want)
    assert (got.dtype, got.strides) == (want.dtype, want.strides)
    assert (got.flags.c_contiguous, got.flags.f_contiguous) == (
        want.flags.c_contiguous,
        want.flags.f_contiguous,
    )
    assert np.shares_memory(got, x) == np.shares_memory(want, x)
    assert got.flags.writeable == want.flags.writeable


def test_a_number_has_no_indices():
    def f(x):
        return np.argwhere(x[1]), np.argwhere(x[0]), np.argwhere(3)

    for got, want in zip(nt.jit(f)(R), f(R), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype


def test_where_takes_tuples_and_lists():
    def f(x):
        chosen = np.where([[True, False], [False, True]], (1, 2), x[0])
        return chosen, np.where(x > 1, (1, 2, 3), [x[0], x[1], 2]), np.where(((1, 2), (3, 0)))[1].copy()

    agrees(f, R)


def test_views_of_local_arrays_are_laid_out():
    """docs/differences.md: NumPy keeps strides of -8 and 0."""

    def f(x):
        return np.fliplr(((1, 2),)), np.broadcast_to(x * 2, (2, 3))

    backwards, repeated = nt.jit(f)(R)
    assert [v.tolist() for v in (backwards, repeated)] == [v.tolist() for v in f(R)]
    assert backwards.strides == (16, 8) and repeated.strides == (24, 8) and not repeated.flags.writeable


REDUCED = {
    "max": lambda a: a.max(axis=0, keepdims=True),
    "sum of two axes": lambda a: a.sum(axis=(1, 2), keepdims=True),
    "mean": lambda a: a.mean(axis=1, keepdims=True),
    "var": lambda a: np.var(a, axis=0, keepdims=True),
    "any": lambda a: np.any(a > 3, axis=2, keepdims=True),
    "argmax": lambda a: np.argmax(a, axis=0),
    "argmin, axes kept": lambda a: np.argmin(a, axis=1, keepdims=True),
    "nanmean": lambda a: np.nanmean(a, axis=0),
    "nanmean, axes kept": lambda a: np.nanmean(a, axis=0, keepdims=True),
    "nanargmax": lambda a: np.nanargmax(a, axis=2, keepdims=True),
    "computed with": lambda a: np.where(a > a.max(axis=0, keepdims=True) - 3, a, 0.0),
    "computed from": lambda a: np.sqrt(a.max(axis=0, keepdims=True)) * 2,
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_keep_the_memory_order(name):
    function, compiled = REDUCED[name], nt.jit(REDUCED[name])
    a = np.arange(80.0).reshape(2, 5, 8)
    for x in (a, np.asfortranarray(a), a.transpose(1, 0, 2), a.transpose(2, 0, 1)[:, ::-1]):
        want, got = function(x), compiled(x)
        np.testing.assert_allclose(got, want)
        assert order(got) == order(want)


LIKE = {
    "transposed behind a new axis": lambda b: np.zeros_like(np.transpose(b[None])),
    "a new axis in the middle": lambda b: np.ones_like(b.T[:, None]) + 1,
    "two new axes": lambda b: np.full_like(b[None, :, None].T, 2.0),
    "order of what it is like": lambda b: np.zeros_like(np.transpose(b[None]), order="A"),
    "new axes around rows": lambda b: np.empty_like(b[None, ::2, None]),
    "a new axis and no order": lambda b: np.zeros_like(b.T[None], order="A"),
}


@pytest.mark.parametrize("name", LIKE)
def test_arrays_like_views_with_new_axes_keep_the_memory_order(name):
    function, compiled = LIKE[name], nt.jit(LIKE[name])
    for x in (np.ones((3, 4)), np.asfortranarray(np.ones((3, 4))), np.ones((4, 3))[::-1]):
        assert order(compiled(x)) == order(function(x))
