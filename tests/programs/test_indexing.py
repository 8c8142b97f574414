"""Indexing by arrays and masks, against NumPy: gathers, scatters, masked assignments and reductions, out of bounds."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(3)

RNG = np.random.default_rng(7)


def gathered(x, i):
    return x[i], x[i] * 2 + 1, x[i].sum()


def gathered_rows(x, i, j):
    return x[i], x[:, j], x[i, :], x[..., j] + 1, x[i, 1], x[0, j], x[i, 1:], x[::-1, j]


def gathered_pairs(x, i, j):
    return x[i[:, None], j], x[np.ix_(i, j)], x[i[:3], j[:3]], x[i[0], j]


def gathered_cubes(x, i):
    return x[i], x[:, i], x[:, :, i], x[i, :, i], x[:, i, i], x[0, :, i], x[i, None, 1], x[i, 1:, ::2]


def listed(x):
    return x[[0, 2, -1]], x[:, [1, 0]], x[[0, 1], [1, 0]], x[np.array([[0, 1], [1, 0]])]


def taken(x, i):
    return (
        np.take(x, i, axis=0),
        np.take(x, i),
        x.take(i, axis=-1),
        np.take(x, 1, axis=0),
        np.take(x, [0, 1], axis=1),
        np.take(x, i * 5, mode="wrap"),
        np.take(x, i * 5, axis=1, mode="clip"),
    )


def along(x, k):
    return np.take_along_axis(x, k, axis=1), np.take_along_axis(x, k[:1, :1] % 2, axis=0)


def put_along(x, k):
    np.put_along_axis(x, k, 7, axis=1)
    np.put_along_axis(x, k[:, :1], x[:, 1:2] * 2, axis=1)


def scattered(x, i, v):
    x[i] = v
    x[i[0]] = 3


def scattered_rows(x, i, j):
    x[i] = x[j]
    x[:, j] = 5
    x[i, j] = x[j, i] * 2


def updated(x, i, v):
    x[i] += v
    x[i] *= 2


def accumulated(x, i, v):
    np.add.at(x, i, v)
    np.maximum.at(x, i, 2)
    np.negative.at(x, i)


def accumulated_pairs(x, i, j):
    np.add.at(x, (i, j), 1)
    np.multiply.at(x, i, x[j] + 1)


def assigned_where(x, m, y):
    x[m] = 3
    x[~m] = y[~m] * 2
    x[m] += y[m]
    x[x > 5] = 5


def reduced_where(x, m):
    picked = x[m]
    return (
        picked.sum(),
        x[m].mean(),
        x[x > 0].max(),
        x[m].min(),
        np.sum(x[m] * x[m]),
        (x[m] > 0).any(),
        len(x[m]),
    )


def counted_where(x, m):
    return x[m].size, x[m].prod(), (x[m] > -100).all(), np.mean(np.exp(x[m] / 8))


def masked_rows(x, m, r):
    x[m] = r
    x[m] += 1
    x[:, x[0] > 2] = 0
    x[1, x[0] > 1] = -1
    return x[m].sum()


def replaced(x, m):
    np.putmask(x, m, 9)
    np.copyto(x, 4, where=~m)
    np.copyto(x[1:], x[:-1])


def chosen(x, k):
    return (
        np.select([x > 3, x > 1], [x * 2, -x], default=7),
        np.select([x > 3], [1.5]),
        np.choose(k, [x, x + 10, 5]),
        np.choose(k * 4, (x, x * 3), mode="clip"),
        k.choose([0, 1, 2]),
    )


DTYPES = ["?", "i1", "u2", "i8", "f2", "f4", "f8"]


def indices(n, count, dtype="i8", low=None):
    return RNG.integers(-n if low is None else low, n, count).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gathers_of_every_dtype(dtype):
    agrees(gathered, np.arange(9).astype(dtype), indices(9, 5), tolerance=1e-3 if dtype == "f2" else 0.0)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u1", "u4", "u8"])
def test_indices_of_every_dtype(dtype):
    low = 0 if dtype[0] == "u" else None
    agrees(gathered, np.arange(9.0), indices(9, 6, dtype, low))


LAID_OUT = (np.arange(24.0).reshape(4, 6), np.arange(24).reshape(6, 4).T, np.ones((8, 6))[::-2])


GATHERED = (gathered_rows, gathered_pairs, listed)


def gathers():
    """Two programs a layout, one of any extents in one layout; the others are slow."""
    for k, x in enumerate(LAID_OUT):
        for j, function in enumerate(GATHERED):
            yield pytest.param(function, x, False, marks=[pytest.mark.slow] if k == j else [])
            if function is not listed:
                marks = [] if k == 0 and function is gathered_pairs else [pytest.mark.slow]
                yield pytest.param(function, x, True, marks=marks)


@pytest.mark.parametrize(("function", "x", "dynamic"), list(gathers()))
def test_gathers_of_matrices(function, x, dynamic):
    others = () if function is listed else (indices(4, 3), indices(6, 5))
    agrees(function, x, *others, dynamic=dynamic)


def test_gathers_of_cubes():
    agrees(gathered_cubes, np.arange(27.0).reshape(3, 3, 3), indices(3, 2))
    agrees(gathered, np.arange(5.0), indices(5, (2, 3)))


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0)])
def test_no_indices(shape):
    agrees(gathered, np.arange(5.0), np.zeros(shape, int))


@pytest.mark.parametrize("dynamic", [False, True])
def test_take(dynamic):
    x = np.arange(12.0).reshape(3, 4)
    agrees(taken, x, indices(3, 2), dynamic=dynamic)
    agrees(along, x, indices(3, (3, 2)), dynamic=dynamic)
    agrees(put_along, x, np.array([[0, 1, 0], [3, 2, 3], [-1, -2, 0]]), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_scatters(target, dynamic):
    x, i = np.arange(9.0), np.array([3, -1, 3, 0])
    agrees(scattered, x, i, np.arange(4) * 1.5, target=target, dynamic=dynamic)
    agrees(updated, x, i, np.arange(4.0), target=target, dynamic=dynamic)
    agrees(accumulated, x, i, np.arange(4.0), target=target, dynamic=dynamic)


def scatters():
    """Each type in some of the layouts; the others are slow."""
    for k, view in enumerate(("[:]", ".T", "[::-1]")):
        for j, dtype in enumerate(("i4", "f4")):
            yield pytest.param(dtype, view, marks=[pytest.mark.slow] if (k + j) % 2 else [])


@pytest.mark.parametrize(("dtype", "view"), list(scatters()))
def test_scatters_to_matrices(dtype, view):
    x = eval(f"x{view}", {"x": np.arange(16, dtype=dtype).reshape(4, 4)})
    agrees(scattered_rows, x, np.array([1, 1, -2]), np.array([0, 3, 0]))
    agrees(accumulated_pairs, x, np.array([1, 1, -2]), np.array([0, 0, 3]))


@pytest.mark.parametrize("n", [1, 100, 5000])
def test_many_duplicates(n):
    """Of several values for one element the last stays, whatever loops are parallel or vectors."""
    agrees(scattered, np.zeros(7), indices(7, n), np.arange(float(n)))
    agrees(accumulated, np.zeros(7, int), indices(7, n), np.arange(n))
    agrees(gathered, np.arange(7), indices(7, n))


@pytest.mark.parametrize(
    ("dtype", "dynamic"),
    [("i4", False), ("f8", False), ("f8", True), pytest.param("i4", True, marks=pytest.mark.slow)],
)
def test_masks(dtype, dynamic):
    x = np.arange(-4, 8).astype(dtype)
    m = np.arange(12) % 3 == 0
    agrees(assigned_where, x, m, x[::-1].copy(), dynamic=dynamic)
    agrees(reduced_where, x, m, dynamic=dynamic, tolerance=1e-15)
    agrees(counted_where, x, m, dynamic=dynamic, tolerance=1e-12)
    agrees(assigned_where, x.reshape(3, 4), m.reshape(3, 4), x.reshape(3, 4) * 2, dynamic=dynamic)
    agrees(replaced, x, m, dynamic=dynamic)


def test_masks_of_rows():
    agrees(masked_rows, np.arange(12.0).reshape(3, 4), np.array([True, False, True]), np.arange(4.0))


def test_a_mask_that_selects_nothing():
    x = np.arange(3.0)
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        nt.jit(only_maximum)(x, x > 9)
    agrees(only_sum, x, x > 9)


def only_maximum(x, m):
    return x[m].max()


def only_sum(x, m):
    return x[m].sum(), len(x[m])


def test_choices():
    agrees(chosen, np.arange(6), np.array([0, 1, 2, 2, 1, 0]))
    agrees(chosen, np.arange(6.0), np.array([0, 1, 2, 2, 1, 0]))
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        nt.jit(only_choose)(np.array([0, 2]), np.arange(2))


def only_choose(k, x):
    return np.choose(k, [x, x + 1])


def in_a_loop(x, idx, out):
    for t in range(len(idx)):
        row = x[idx[t]]
        out[t] = row.sum() + x[0, idx[t]].max()
        x[1, idx[t]] += 1
        out[idx[t]] += t


def masked_in_a_loop(x, out):
    for t in range(len(x)):
        row = x[t]
        out[t] = row[row > 1].sum()
        row[row > 2] = 0
        x[t, row < 1] += 5


def test_inside_loops():
    idx = np.array([[0, 1], [2, -1], [1, 1]])
    agrees(in_a_loop, np.arange(12.0).reshape(3, 4), idx, np.zeros(4))
    agrees(masked_in_a_loop, np.arange(12.0).reshape(3, 4) - 2, np.zeros(3))


@pytest.mark.parametrize("function", [gathered, scattered, updated, accumulated])
@pytest.mark.parametrize("bad", [9, -10])
def test_out_of_bounds(function, bad):
    """The error names the first bad index, at the line of the program; nothing has been written then."""
    x, i, v = np.arange(9.0), np.array([1, bad, 2, 77]), np.ones(4)
    arguments = (x, i) if function is gathered else (x, i, v)
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 9") as caught:
        nt.jit(function)(*arguments)
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}:" in str(caught.value)
    np.testing.assert_array_equal(x, np.arange(9.0))


def constant_out_of_bounds(x):
    return x[[0, 9]]


def wrong_mask(x):
    return x[np.array([True, False])].sum()


def by_floats(x):
    return x[x]


def shapes_differ(x):
    return x[np.array([0, 1]), np.array([0, 1, 2])]


def assigned_selected(x):
    y = x * 1
    y[:] = x[x > 0]
    return y


REFUSALS = [
    (assigned_selected, np.ones(3), nt.UnsupportedError, "how many elements a mask selects"),
    (constant_out_of_bounds, np.ones(3), IndexError, "index 9 is out of bounds for axis 0 with size 3"),
    (wrong_mask, np.ones(3), IndexError, "boolean index did not match indexed array along axis 0"),
    (by_floats, np.ones(3), IndexError, "must be of integer"),
    (shapes_differ, np.ones((3, 3)), IndexError, "could not be broadcast together with shapes"),
]


@pytest.mark.parametrize(("function", "x", "error", "message"), REFUSALS)
def test_refusals(function, x, error, message):
    with pytest.raises(error, match=message) as caught:
        nt.jit(function).lower(x)
    assert isinstance(caught.value, nt.NestorError)
    assert "^" in str(caught.value)
