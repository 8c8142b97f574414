"""New arrays, against NumPy: filled ones, sequences, lists, identities and triangles, diagonals, differences."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.one_of(2)


def filled(x, n):
    return (
        np.zeros(3),
        np.ones((2, 2), dtype=np.int32),
        np.full(x.shape, 7),
        np.full((2, 1), x.sum(), dtype=np.float32),
        np.zeros_like(x),
        np.full_like(x, 3.7),
        np.ones_like(x, dtype=bool),
        np.zeros((0, 3)),
    )


def sequences(x, n):
    return (
        np.arange(5),
        np.arange(2, 20, 3),
        np.arange(9, 0, -2),
        np.arange(0.5, 3),
        np.arange(0, 1, 0.1),
        np.arange(3, dtype=np.float32),
        np.arange(6, dtype=np.uint8) * np.arange(6),
        np.arange(4, 4),
        np.arange(0, 1, 0.25, dtype=np.float16),
    )


def as_long_as(x, n):
    return (
        np.arange(len(x)) + x,
        np.arange(1, len(x) + 1),
        np.arange(n),
        np.arange(x.shape[0] * 2, dtype="f4"),
    )


def spaced(x, n):
    return (
        np.linspace(0, 1),
        np.linspace(-1, 3, 7) + 1,
        np.linspace(2, 0, 5, endpoint=False),
        np.linspace(0, 9, 4, dtype=int),
        np.linspace(0, 1, 1),
        np.linspace(0, 1, 0),
        *np.linspace(0, 1, 11, retstep=True),
        np.linspace(1, 1, 3),
        np.linspace(0, 1, 9, dtype=np.float32),
    )


def long_ones(x, n):
    return np.arange(3000) % 7, np.linspace(0, 1, 2000).sum()


def identities(x, n):
    return (
        np.eye(3),
        np.eye(2, 4, k=1),
        np.eye(3, k=-1, dtype=int),
        np.identity(2, dtype="f4"),
        np.tri(3),
        np.tri(2, 4, 1, dtype=bool),
        np.eye(len(x)) * 2,
    )


def lists(x, n):
    return (
        np.array([1, 2, 3]),
        np.array([[1, 2.5], [3, 4]]),
        np.array([x[0], x[1] * 2, 3]),
        np.array([[x[0], 1], [2, x.sum()]]),
        np.array([x, x + 1]),
        np.array([1, 2], dtype=np.int8),
        np.asarray([True, False]),
        np.array(x),
        np.array((x.max(), n)),
        np.array([], dtype=np.float32),
        np.array(3.5),
    )


def constants_in_expressions(x, n):
    table = np.array([3, 1, 4])
    weights = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    table[0] = 7
    return x[:3] * table, weights * x[:3] + weights[:, ::-1], table.sum(), weights.T @ np.ones(2)


def triangles(a):
    return np.tril(a), np.triu(a), np.tril(a, 1), np.triu(a, -1) * 2, np.tril(a[0])


def diagonals(a):
    return (
        np.diag(a) + 0,
        np.diag(a, 1) * 2,
        a.diagonal(-1) + 1,
        np.trace(a),
        a.trace(1),
        np.diag(a[0]),
        np.diag(a[0], -2),
    )


def planes(a):
    return (
        np.diagonal(a, 0, 1, 2) + 0,
        np.diagonal(a, 1, axis1=0, axis2=2) + 0,
        np.trace(a, axis1=1, axis2=2),
        np.tril(a),
    )


def flat_diagonal(a):
    return np.diagflat(a), np.diagflat(a, 1)


def differences(a):
    return (
        np.diff(a),
        np.diff(a, axis=0),
        np.diff(a, n=2),
        np.diff(a, prepend=0),
        np.diff(a, axis=0, append=a[:1]),
        np.ediff1d(a),
        np.ediff1d(a, to_begin=1, to_end=[2, 3]),
        np.diff(a > 2),
    )


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function",
    [filled, sequences, as_long_as, spaced, long_ones, identities, lists, constants_in_expressions],
)
def test_creation(function, dynamic):
    agrees(
        function, np.arange(5) * 1.5, 4, dynamic=dynamic, tolerance=1e-12 if function is long_ones else 0.0
    )


@pytest.mark.parametrize(
    ("dtype", "dynamic"),
    [
        *((dtype, False) for dtype in ("?", "u1", "i4", "f2", "f8")),
        *((dtype, True) for dtype in ("?", "f8")),
        *(pytest.param(dtype, True, marks=pytest.mark.slow) for dtype in ("u1", "i4", "f2")),
    ],
)
def test_matrices(dtype, dynamic):
    a = np.arange(16).reshape(4, 4).astype(dtype)
    agrees(triangles, a, dynamic=dynamic)
    agrees(triangles, np.asfortranarray(a), dynamic=dynamic)
    agrees(diagonals, a, dynamic=dynamic)
    if dtype != "?":
        agrees(differences, a[:3].astype("i4" if dtype == "u1" else dtype), dynamic=dynamic)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 1)])
def test_oblongs(shape):
    a = np.arange(np.prod(shape)).reshape(shape)
    agrees(triangles, a)
    agrees(flat_diagonal, a)


def test_cubes():
    agrees(planes, np.arange(24.0).reshape(2, 3, 4))


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
@pytest.mark.parametrize("function", [sequences, identities, lists])
def test_targets(function, target):
    agrees(function, np.arange(5.0), 4, target=target)


def in_a_loop(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        out[i] = np.arange(3) * x[i] + np.array([x[i], 1, 2]) + np.linspace(0, 1, 3)
        out[i, :] += np.diag(np.eye(3) + i)
    return out


def test_inside_loops():
    agrees(in_a_loop, np.arange(4.0))


def made_in_a_branch(x, n):
    if x.sum() > n:
        y = np.zeros(5)
        y[1:3] = x[:2]
        y[0] = 7
    else:
        y = np.concatenate([x[2:], x[:2]])
    return y, y[::-1] + 1


def made_in_a_loop(x, n):
    h = np.zeros(n)
    for k in range(len(x)):
        h = np.concatenate([h[1:], x[k : k + 1] * 2])
        h = np.where(h > 3, np.roll(h, 1), h)
    return h


@pytest.mark.parametrize("limit", [3, 300])
def test_in_branches(limit):
    agrees(made_in_a_branch, np.arange(5.0), limit)


def test_in_loops_on_arrays():
    agrees(made_in_a_loop, np.arange(20.0), 4)


def diagonal_is_read_only(a):
    np.diag(a)[0] = 1


def ragged(a):
    return np.array([[1, 2], [3]])


def of_text(a):
    return np.array(["a", "b"])


def negative_count(a):
    return np.linspace(0, 1, -1)


REFUSALS = [
    (diagonal_is_read_only, ValueError, "read-only"),
    (ragged, ValueError, "inhomogeneous shape"),
    (of_text, nt.UnsupportedError, "making an array of"),
    (negative_count, ValueError, "must be non-negative"),
]


@pytest.mark.parametrize(("function", "error", "message"), REFUSALS)
def test_refusals(function, error, message):
    with pytest.raises(error, match=message) as caught:
        nt.jit(function).lower(np.ones((3, 3)))
    assert isinstance(caught.value, nt.NestorError)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_large_unsigned_integers_in_the_text(dtype):
    """Those above the largest signed integer of as many bits."""
    last = np.iinfo(dtype).max

    def written(x):
        return x + np.array([last, last // 2 + 1, 3], dtype), np.asarray(dtype(last)) - x

    x = np.array([0, 1, 2], dtype)
    for made, plain in zip(nt.jit(written)(x), written(x), strict=True):
        assert made.dtype == plain.dtype
        np.testing.assert_array_equal(made, plain)
