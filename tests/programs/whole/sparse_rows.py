"""Sparse matrices by their rows: products, solvers, conversions."""

import operator
from functools import reduce

import numpy as np
from whole.program import SIZED, Program

SHIFT = 0.5
MATRIX = {}


def csr_times_vector(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        row = slice(indptr[i], indptr[i + 1])
        y[i] = data[row] @ x[indices[row]]
    return y


def csr_times_matrix(indptr, indices, data, X):
    n = len(indptr) - 1
    Y = np.zeros((n, X.shape[1]), dtype=X.dtype)
    for i in range(n):
        lo, hi = indptr[i], indptr[i + 1]
        if lo == hi:
            continue
        Y[i] = (data[lo:hi, None] * X[indices[lo:hi]]).sum(axis=0)
    return Y


def dense_to_csr(A, threshold):
    indptr = [0]
    indices = []
    data = []
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if abs(A[i, j]) > threshold:
                indices.append(j)
                data.append(A[i, j])
        indptr.append(len(indices))
    return np.array(indptr), np.array(indices, dtype=np.int64), np.array(data, dtype=float)


def coo_to_dense(rows, cols, values, shape):
    A = np.zeros(shape)
    np.add.at(A, (rows, cols), values)
    return A


def transpose_csr(indptr, indices, data, n_cols):
    count = np.zeros(n_cols + 1, dtype=np.int64)
    for j in indices:
        count[j + 1] += 1
    start = np.cumsum(count)
    where = start[:-1].copy()
    rows = np.empty(len(indices), dtype=np.int64)
    values = np.empty_like(data)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            q = where[indices[p]]
            rows[q] = i
            values[q] = data[p]
            where[indices[p]] += 1
    return start, rows, values


def sparse_jacobi(b, sweeps):
    indptr, indices, data = MATRIX["indptr"], MATRIX["indices"], MATRIX["data"]
    x = np.zeros_like(b)
    diagonal = np.ones_like(b)
    for i in range(len(b)):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                diagonal[i] = data[p]
    residuals = []
    for _ in range(sweeps):
        r = b.copy()
        for i in range(len(b)):
            lo, hi = indptr[i], indptr[i + 1]
            r[i] -= data[lo:hi] @ x[indices[lo:hi]]
        x += r / diagonal
        residuals.append(np.sqrt(r @ r))
    return x, np.array(residuals)


def row_extremes(indptr, data):
    largest = np.full(len(indptr) - 1, -np.inf)
    which = np.full(len(indptr) - 1, -1)
    for i in range(len(indptr) - 1):
        row = data[indptr[i] : indptr[i + 1]]
        if row.size:
            at = np.argmax(np.abs(row))
            largest[i] = row[at]
            which[i] = at + indptr[i]
    return largest, which


def drop_small_entries(indptr, indices, data, tol):
    keep = np.abs(data) >= tol
    counts = np.zeros(len(indptr) - 1, dtype=indptr.dtype)
    for i in range(len(counts)):
        counts[i] = np.count_nonzero(keep[indptr[i] : indptr[i + 1]])
    new_ptr = np.zeros_like(indptr)
    new_ptr[1:] = np.cumsum(counts)
    return new_ptr, indices[keep], data[keep]


def banded_times_vector(diagonals, offsets, x):
    y = SHIFT * x
    n = len(x)
    for k in range(len(offsets)):
        o = offsets[k]
        if o >= 0:
            y[: n - o] += diagonals[k, : n - o] * x[o:]
        else:
            y[-o:] += diagonals[k, : n + o] * x[: n + o]
    return y


def chained_products(matrices, x):
    return reduce(operator.matmul, matrices) @ x, reduce(operator.add, [m.sum() for m in matrices])


def random_csr(rng, m, n, density=0.4):
    A = rng.standard_normal((m, n)) * (rng.random((m, n)) < density)
    A[m // 2] = 0
    indptr = np.concatenate([[0], np.cumsum((A != 0).sum(axis=1))])
    return indptr, np.nonzero(A)[1], A[A != 0]


def _csr(r, k):
    return random_csr(r, (6, 9, 4)[k], (5, 8, 7)[k])


def _outside(k):
    global SHIFT
    SHIFT = (0.5, 0.0, -2.0)[k]
    rng = np.random.default_rng(k)
    n = (6, 9, 4)[k]
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3) + 5 * np.eye(n)
    MATRIX["indptr"] = np.concatenate([[0], np.cumsum((A != 0).sum(axis=1))])
    MATRIX["indices"] = np.nonzero(A)[1]
    MATRIX["data"] = A[A != 0]


PROGRAMS = [
    Program(csr_times_vector, lambda r, k: (*_csr(r, k), r.standard_normal((5, 8, 7)[k]))),
    Program(
        csr_times_matrix,
        lambda r, k: (*_csr(r, k), r.standard_normal(((5, 8, 7)[k], (3, 1, 4)[k]))),
        long=True,
    ),
    Program(
        dense_to_csr,
        lambda r, k: (r.standard_normal(((6, 5), (3, 8), (4, 4))[k]), (0.5, 1.0, 9.0)[k]),
        host=SIZED,
        long=True,
    ),
    Program(
        coo_to_dense,
        lambda r, k: (
            r.integers(0, (6, 4, 9)[k], 20),
            r.integers(0, (5, 7, 3)[k], 20),
            r.standard_normal(20),
            ((6, 5), (4, 7), (9, 3))[k],
        ),
    ),
    Program(transpose_csr, lambda r, k: (*_csr(r, k), (5, 8, 7)[k])),
    Program(
        sparse_jacobi,
        lambda r, k: (r.standard_normal((6, 9, 4)[k]), (4, 6, 2)[k]),
        tolerance=1e-9,
        outside=_outside,
        long=True,
    ),
    Program(row_extremes, lambda r, k: _csr(r, k)[::2], long=True),
    Program(
        drop_small_entries,
        lambda r, k: (*_csr(r, k), (0.5, 1.0, 0.0)[k]),
        host=SIZED,
    ),
    Program(
        banded_times_vector,
        lambda r, k: (
            r.standard_normal(((3, 5, 1)[k], (6, 9, 4)[k])),
            (np.array([0, 1, -1]), np.array([0, 2, -3, 1, -1]), np.array([2]))[k],
            r.standard_normal((6, 9, 4)[k]),
        ),
        outside=_outside,
        long=True,
    ),
    Program(
        chained_products,
        lambda r, k: (
            [r.standard_normal((n, n)) for n in [(4, 5, 3)[k]] * (3, 2, 4)[k]],
            r.standard_normal((4, 5, 3)[k]),
        ),
        tolerance=1e-11,
        long=True,
    ),
]
