"""Functions of NumPy whose results have a length that depends on elements: nonzero, unique, compress, repeat ..."""

import nestor as nt
import numpy as np
import pytest
from test_data_sized_results import agrees_on, on_machine_code

RNG = np.random.default_rng(25)


def found(x):
    return np.nonzero(x > 0), np.flatnonzero(x), np.where(x > 0), (x > 0).nonzero(), np.argwhere(x > 0.5)


def picked(x):
    return np.compress(x > 0, x), np.extract(x > 0, x), x.compress(x < 0), np.compress(x[:2] > 0, x)


def by_positions(x):
    (i,) = np.nonzero(x > 0)
    y = x.copy()
    y[i] = -5
    y[i] += x[i]
    return y, x[i], i[::-1].copy(), np.diff(i), len(i)


def looped(x):
    s = np.float64(0)
    for k in np.where(x > 0)[0]:
        s += x[k] * k
    return s


def extremes(x):
    i = np.flatnonzero(x > 0)
    return i.max(), np.argmax(x[i]), i[1:].min()


def distinct(x):
    r = np.round(x)
    return np.unique(r), np.unique(r, return_index=True, return_inverse=True, return_counts=True)


def most_frequent(x):
    values, counts = np.unique(np.round(x * 2), return_counts=True)
    return values[np.argmax(counts)], counts.sum(), values * counts


def sets(x):
    a, b = np.round(x), np.arange(-3.0, 2.0)
    return np.union1d(a, b), np.intersect1d(a, b), np.setdiff1d(a, b), np.setxor1d(a, b)


def common(x):
    return np.intersect1d(np.round(x), np.round(x[::2]), return_indices=True)


def repeated(x):
    counts = (np.abs(x) * 3).astype(int)
    return np.repeat(x, counts), x.repeat(len(x[x > 0])), np.repeat(x, counts).sum(), x.repeat(counts[:1])


def repeated_by_negative(x):
    return np.repeat(x, (x * 3).astype(int))


X = RNG.standard_normal(11)
NAN = np.array([np.nan, 1.0, np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
VECTORS = [
    (X,),
    (-np.abs(X),),
    (X[::-2],),
    (X[:1],),
    (X[:0],),
    (NAN,),
    (np.abs(X),),
    (np.arange(500.0) % 7 - 3,),
]


PROGRAMS = [found, picked, by_positions, looped, extremes, distinct, most_frequent, sets, common]


@pytest.mark.parametrize(("program", "target"), on_machine_code([*PROGRAMS, repeated_by_negative], [found]))
def test_vectors(program, target):
    agrees_on(program, VECTORS[:5] if target == "interp" else VECTORS, target=target, dynamic=True)


@pytest.mark.parametrize(("program", "target"), on_machine_code([repeated], []))
def test_repeats(program, target):
    agrees_on(program, [VECTORS[k] for k in (0, 1, 2, 3, 6)], target=target, dynamic=True)


@pytest.mark.slow
@pytest.mark.parametrize("program", [found, picked, distinct, sets, repeated], ids=lambda p: p.__name__)
def test_known_extents(program):
    agrees_on(program, [(X,), (X[:1],), (X[:4],)])


# ---- several axes ------------------------------------------------------------------------------------


def found_in_rows(x):
    i, j = np.where(x > 0.3)
    y = np.zeros_like(x)
    y[i, j] = 1
    y[i, j] += x[i, j]
    return y, i + j, np.flatnonzero(x > 0), x[np.nonzero(x)], np.argwhere(x > 0).T.copy()


def picked_from_rows(x):
    return (
        np.compress(x[0] > 0, x, axis=1),
        np.compress(x[:, 0] > 0, x, axis=0),
        np.compress(x[0] > 0, x),
        np.extract(x > 0, x),
        np.unique(np.round(x), return_inverse=True),
    )


def repeated_rows(x):
    columns, rows = (np.abs(x[0]) * 3).astype(int), (np.abs(x[:, 0]) * 2).astype(int)
    return np.repeat(x, columns, axis=1), np.repeat(x, rows, axis=0), x.repeat(rows[:1], axis=1)


def repeated_wrongly(x):
    return np.repeat(x, (np.abs(x[0]) * 3).astype(int), axis=0)


A = RNG.standard_normal((5, 4))


@pytest.mark.parametrize(
    ("program", "target"),
    on_machine_code([found_in_rows, picked_from_rows, repeated_rows, repeated_wrongly], [repeated_wrongly]),
)
def test_matrices(program, target):
    calls = [(A,), (np.abs(A),), (A[::2],), (A[:, ::-1],), (A[:2, :2],), (-np.abs(A),)]
    agrees_on(program, calls[: 3 if target == "interp" else 6], target=target, dynamic=True)


def unique_rows(x):
    return np.unique(x, axis=0)


def test_refusals():
    with pytest.raises(nt.UnsupportedError, match=r"np.unique of rows or columns \(axis=\)") as caught:
        nt.jit(unique_rows)(A)
    assert "^" in str(caught.value)


def test_numbers_have_no_positions():
    def of_number(x):
        return np.nonzero(x.sum())

    with pytest.raises(ValueError, match="Calling nonzero on 0d arrays is not allowed"):
        nt.jit(of_number)(X)
