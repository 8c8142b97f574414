"""Results that are views in NumPy are views here, copies are copies, arguments are given back as they are, and what
cannot be written in NumPy cannot be written: for arrays of every layout."""

import warnings

import nestor as nt
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

pytestmark = pytest.mark.one_of(2)

LINE, TABLE = np.arange(12.0), np.arange(36.0).reshape(6, 6)
READ_ONLY = np.arange(4.0)
READ_ONLY.flags.writeable = False

ARRAYS = {
    "line": LINE[:4].copy(),
    "strided line": LINE[::3],
    "reversed line": LINE[3::-1],
    "read-only line": READ_ONLY,
    "table": TABLE[:3, :3].copy(),
    "Fortran table": np.asfortranarray(TABLE[:3, :3]),
    "strided table": TABLE[::2, ::2],
    "window": TABLE[:3, :3],
    "repeated rows": np.broadcast_to(LINE[:3], (3, 3)),
    "overlapping rows": as_strided(LINE, (3, 3), (8, 8)),
    "every other row": as_strided(LINE, (3, 2), (32, 16)),
    "one row": LINE[None, :3].copy(),
    "one column": LINE[:3, None].copy(),
    "one element": np.ones((1, 1)),
    "no rows": np.zeros((0, 3)),
    "no axes": np.array(3.0),
}


def ravel(x):
    return x.ravel()


def ravel_fortran(x):
    return np.ravel(x, order="F")


def ravel_transposed(x):
    return x.T.ravel()


def ravel_first(x):
    return x[:1].ravel()


def reshape(x):
    return x.reshape(-1)


def flatten(x):
    return x.flatten()


def squeeze(x):
    return x.squeeze()


def transpose(x):
    return x.T


def swap(x):
    return np.swapaxes(x, 0, -1)


def everything(x):
    return x[...]


def slice_of_all(x):
    return x[:]


def diagonal(x):
    return np.diagonal(x)


def part_of_a_diagonal(x):
    return x.diagonal(1)[1:]


def diag(x):
    return np.diag(x, -1)


def einsum_diagonal(x):
    return np.einsum("ii->i", x)


def windows(x):
    return sliding_window_view(x, 2, axis=0)


def some_windows(x):
    return sliding_window_view(x, 1, axis=0)[1:]


def broadcast(x):
    return np.broadcast_to(x, (2, *x.shape))


def broadcast_with(x):
    return np.broadcast_arrays(x, np.ones((2, *x.shape)))[0]


def imaginary(x):
    return x.imag


def real(x):
    return x.real


def as_array(x):
    return np.asarray(x)


def fortran(x):
    return np.asfortranarray(x)


def flipped(x):
    return np.flip(x)


def turned_not_at_all(x):
    return np.rot90(x, 0)


def split(x):
    return np.split(x, 1)[0]


def times_one(x):
    return np.dot(x, 1)


def of_an_own_array(x):
    y = x[None] + 1
    return y.ravel()


def own_diagonal(x):
    return np.diagonal(x[None] + 1, 0, 0, 1)


FUNCTIONS = [
    ravel, ravel_fortran, ravel_transposed, ravel_first, reshape, flatten, squeeze, transpose, swap, everything,
    slice_of_all, diagonal, part_of_a_diagonal, diag, einsum_diagonal, windows, some_windows, broadcast, broadcast_with,
    imaginary, real, as_array, fortran, flipped, turned_not_at_all, split, times_one, of_an_own_array, own_diagonal,
]  # fmt: skip
_KNOWN = {("einsum_diagonal", "no rows"), ("einsum_diagonal", "every other row"), ("split", "no axes")}
"""Where NumPy broadcasts axes of different extents, or trips over a tuple."""


def outcome(function, x):
    """What a caller can see of a result; the class of what is raised."""
    try:
        y = function(x)
    except (ValueError, TypeError, IndexError, nt.NestorError) as error:
        return next(
            kind for kind in (ValueError, IndexError, TypeError, Exception) if isinstance(error, kind)
        )
    if not isinstance(y, np.ndarray):
        return type(y), y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of np.broadcast_arrays
        is_own = not np.shares_memory(x, y)  # the strides of such are not promised
        flags = (y.flags.writeable, *(() if is_own else (y.flags.c_contiguous, y.flags.f_contiguous)))
    return type(y), y.dtype, y.shape, flags, y is x, bool(y.size) and np.shares_memory(x, y), y.tolist()


def _pairs():
    """Each function with a quarter of the arrays, each array with a quarter of the functions; the others are slow."""
    for i, function in enumerate(FUNCTIONS):
        for j, name in enumerate(ARRAYS):
            if (function.__name__, name) not in _KNOWN:
                yield pytest.param(function, name, marks=[pytest.mark.slow] if (i + j) % 4 else [])


@pytest.mark.parametrize(("function", "name"), [*_pairs()])
def test_memory(function, name):
    x = ARRAYS[name]
    compiled, want = nt.jit(function), outcome(function, x)
    for _ in range(2):
        assert outcome(compiled, x) == want


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
@pytest.mark.parametrize(
    "function", [ravel, diagonal, windows, imaginary, everything, own_diagonal, broadcast_with]
)
def test_memory_on_other_targets(function, target):
    x = ARRAYS["table"]
    assert outcome(nt.jit(function, target=target), x) == outcome(function, x)


@pytest.mark.parametrize("function", [ravel, diagonal, some_windows, imaginary, own_diagonal])
def test_memory_with_unknown_extents(function):
    compiled = nt.jit(function, dynamic=True)
    for n in (3, 4, 5, 4):
        x = np.arange(float(n * n)).reshape(n, n)
        assert outcome(compiled, x) == outcome(function, x)


def written_before(x):
    d = np.diagonal(x)
    x[0, 0] = 9.0
    return d


def test_a_diagonal_shows_what_is_written_later():
    x = ARRAYS["table"].copy()
    d = nt.jit(written_before)(x)
    assert d[0] == 9.0
    x[1, 1] = 7.0
    assert d[1] == 7.0


def writes_to_a_diagonal(x):
    np.diagonal(x)[0] = 1.0
    return x


def writes_to_zeros(x):
    x.imag[0] = 1.0
    return x


@pytest.mark.parametrize("function", [writes_to_a_diagonal, writes_to_zeros])
def test_what_cannot_be_written_is_not(function):
    for run in (function, nt.jit(function)):
        with pytest.raises(ValueError, match="read-only"):
            run(ARRAYS["table"].copy())
