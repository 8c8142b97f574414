"""Writing through views of another shape: NumPy decides by the strides what is a view, and so does compiled code."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

TARGETS = ["cpu", "interp"]


def reshaped(a):
    d = a.reshape(-1)
    d[1] = 5
    d[2:4] += 1
    return a.sum() + d[0]


def reshaped_and_back(a):
    d = a.reshape(-1)
    e = d.reshape(a.shape)
    e[0] = 2
    d[-1] = 3
    a[0, 0] = 7
    return d + 0, e + 0


def raveled(a):
    d = a.ravel()
    for i in range(len(d)):
        d[i] += i
    a[0, 0] = 100
    return d[0]


def of_rows(a):
    d = a[1:].reshape(-1)
    d[0] = 7
    e = d.reshape(-1, a.shape[1])
    e[-1] = 3
    return d, e


def of_a_column(a):
    c = a[:, 1]
    c.reshape(-1, 1)[0] = 9
    c.reshape(1, -1)[0, 1:] *= 2
    return c + a[:, 0]


def of_a_transposed_array(a):
    d = a.T.reshape(-1)
    d[0] = 99
    return d, a


def of_a_reversed_array(a):
    d = a[::-1].reshape(-1)
    d[0] = 99
    e = a[0, ::-1].reshape(1, -1)
    e[0, 0] = 4
    return d, a


def of_every_other(a):
    d = a[:, ::2].reshape(-1)
    d[:] = 0
    e = a[0, ::2].reshape(-1, 1)
    e[:] = 6
    return d, e


def other_views(a):
    a.swapaxes(0, 1)[0] = 1
    a[None][0, 1] = 2
    a[::-1].T[0] = 5
    np.moveaxis(a, 0, 1)[1, 0] = 3
    np.expand_dims(a, 1)[0, 0, 1] = 8
    np.squeeze(a[None])[1, 1] = 9
    return a.sum()


def through_out(a):
    np.add(a, 1, out=a.reshape(a.shape))
    np.multiply(a.ravel(), 2, out=a.ravel())
    np.negative(a.T, out=a.T)
    np.cumsum(a.reshape(-1), out=a.reshape(-1))
    return a


def of_its_own(a):
    g = np.zeros(a.size).reshape(a.shape)
    g[0] = a[0]
    f = np.arange(6.0).reshape(2, 3)
    f[1, 2] = 9
    h = (a * 2).reshape(-1)
    h[0] = 1
    return g, f, h


def matrix_of_zeros(a):
    n = a.shape[0]
    flat = np.zeros(n * n)
    g = flat.reshape(n, n)
    for i in range(n):
        for j in range(n):
            g[i, j] = i * 10 + j + a[0, 0]
    flat[0] = -1
    return g, flat


def in_fortran_order(a):
    d = a.reshape(-1, order="F")
    d[0] = 3
    e = a.T.ravel(order="F")
    e[1] = 4
    return d, e


def in_a_loop_on_arrays(a):
    d = a.reshape(-1)
    for _ in range(12):
        d[:] = np.tanh(d) + a.sum()
        a[0] += 1
    return d


def in_a_branch(a):
    d = a.reshape(-1)
    if a[0, 0] > 0:
        d[1:] = 4
    else:
        a[1] = 6
    return d + 1


def from_itself(a):
    d = a.reshape(-1)
    d[1:3] = a[0, :2]
    a[:] = d.reshape(a.shape)[::-1]
    d += a.ravel()
    return d


def by_masks_and_indices(a):
    d = a.reshape(-1)
    d[d > 2] = 0
    d[np.array([0, 2])] = 8
    np.add.at(d, np.array([1, 1]), 1)
    return d.sum()


def flat(a):
    a.flat[1] = 4
    a.flat[2:4] = 7
    part = a.flat[0:3]
    part[0] = 50
    a.T.flat[1] += 2
    s = 0.0
    for v in a.flat:
        s += v
    return part, s, a.flat[-1], a.flat[np.array([0, 2])]


def flat_in_loops(a):
    for i in range(a.size):
        a.flat[i] = a.flat[i] * i
    for i in range(a.size):
        a.T.flat[i] += i
    return a


def all_of_flat(a):
    a.T.flat = 3
    a.flat[...] = a.flat[...] + 1
    return a


def inside_a_function(a):
    def clear(d, k):
        d[k] = 0

    clear(a.reshape(-1), 1)
    clear(a.ravel(), -1)
    return a


FUNCTIONS = [
    reshaped, reshaped_and_back, raveled, of_rows, of_a_column, of_a_transposed_array, of_a_reversed_array, of_every_other,
    other_views, through_out, of_its_own, matrix_of_zeros, in_fortran_order, in_a_loop_on_arrays, in_a_branch, from_itself,
    by_masks_and_indices, flat, flat_in_loops, all_of_flat, inside_a_function,
]  # fmt: skip

SHAPES = [(3, 4), (2, 2), (4, 3), (3, 4), (2, 5)]


def check(compiled, function, array):
    ours, theirs = array.copy(), array.copy()
    found, expected = compiled(ours), function(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    found, expected = [one if isinstance(one, tuple) else (one,) for one in (found, expected)]
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        assert np.may_share_memory(a, ours) == np.may_share_memory(b, theirs)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_numpy_does(function, target):
    compiled = nt.jit(function, target=target)
    for shape in SHAPES:
        array = np.arange(float(np.prod(shape))).reshape(shape) - 3
        check(compiled, function, array)
    check(compiled, function, array.astype("f4") if function is not in_a_loop_on_arrays else array)


@pytest.mark.parametrize(
    "function", [reshaped, raveled, flat_in_loops, matrix_of_zeros], ids=lambda f: f.__name__
)
def test_of_any_extent(function):
    compiled = nt.jit(function, dynamic=True)
    for shape in SHAPES:
        check(compiled, function, np.arange(float(np.prod(shape))).reshape(shape) - 3)


@pytest.mark.parametrize("function", [reshaped, through_out, flat], ids=lambda f: f.__name__)
def test_many_calls(function):
    compiled = nt.jit(function)
    for k in range(40):
        check(compiled, function, np.arange(12.0).reshape(3, 4) - k)


def test_the_simulator_agrees():
    check(nt.jit(reshaped, target="cuda-sim"), reshaped, np.arange(12.0).reshape(3, 4))


def test_a_vector_of_any_stride_has_views_of_other_shapes():
    def rows(x):
        x.reshape(2, -1)[1] = 5
        return x.reshape(-1, 2)

    compiled = nt.jit(rows)
    for x in (
        np.arange(6.0),
        np.arange(12.0)[::2],
        np.arange(6.0)[::-1],
        np.arange(12.0).reshape(6, 2)[:, 1],
    ):
        ours, theirs = x.copy(), x.copy()
        strided = np.lib.stride_tricks.as_strided(np.repeat(ours, 2), ours.shape, (16,))
        np.testing.assert_array_equal(compiled(strided), rows(theirs))
        np.testing.assert_array_equal(strided, theirs)


def test_where_strides_are_not_known_writes_are_refused():
    def through(x):
        d = x.reshape(-1)
        d[0] = 1
        return x

    x = np.arange(24.0).reshape(4, 6)
    with pytest.raises(nt.UnsupportedError, match="writing through a reshaped view of 'x' is not supported"):
        nt.jit(through)(x[:, ::2])
    np.testing.assert_array_equal(nt.jit(through)(x.copy())[0, :2], [1, 1])


def test_two_shapes_in_one_loop():
    def both(x):
        d = x.reshape(-1)
        for i in range(x.shape[0]):
            d[i] = x[i, 0] + 1
            x[i, -1] = d[0]
        return x

    compiled = nt.jit(both)
    for shape in ((3, 3), (20, 3), (20, 2)):
        check(compiled, both, np.arange(float(np.prod(shape))).reshape(shape))


def test_what_numpy_does_not_write():
    def diagonal(x):
        x.diagonal()[0] = 1
        return x

    def of_read_only(x):
        x.reshape(-1)[0] = 1
        return x

    read_only = np.ones((3, 3))
    read_only.flags.writeable = False
    for function, x in ((diagonal, np.ones((3, 3))), (of_read_only, read_only)):
        with pytest.raises(ValueError, match="read-only"):
            function(x)
        with pytest.raises(ValueError, match="read-only"):
            nt.jit(function)(x)


def test_strides():
    def strides(x):
        y = np.zeros((3, 4), "f4")
        return x.strides, x.T.strides, x[::-2, None].strides, y[1:, ::2].strides

    x = np.ones((4, 5))
    assert nt.jit(strides)(x) == strides(x)
    assert nt.jit(strides)(x.astype("i2")) == strides(x.astype("i2"))
