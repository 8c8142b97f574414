"""Linear algebra as it is written by hand: factorisations, iterations, rotations."""

import numpy as np
from whole.program import SIZED, Program, symmetric

DAMPING = 0.0
PRECONDITIONER = np.ones(1)


def conjugate_gradient(A, b, tol=1e-10):
    x = np.zeros_like(b)
    r = b - A @ x
    z = r / PRECONDITIONER
    p = z.copy()
    rz = r @ z
    iterations = 0
    while np.sqrt(r @ r) > tol and iterations < 10 * len(b):
        Ap = A @ p
        alpha = rz / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        z = r / PRECONDITIONER
        rz, old = r @ z, rz
        p = z + (rz / old) * p
        iterations += 1
    return x, iterations


def householder_qr(A):
    m, n = A.shape
    R = A.astype(float)
    Q = np.eye(m)
    for k in range(min(m - 1, n)):
        x = R[k:, k]
        v = x.copy()
        v[0] += np.copysign(np.linalg.norm(x), x[0])
        v /= np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, R


def lu_with_swaps(A):
    LU = A.copy()
    n = LU.shape[0]
    perm = np.arange(n)
    sign = 1
    for k in range(n - 1):
        p = k + np.argmax(np.abs(LU[k:, k]))
        if p != k:
            LU[[k, p]] = LU[[p, k]]
            perm[[k, p]] = perm[[p, k]]
            sign = -sign
        LU[k + 1 :, k] /= LU[k, k]
        LU[k + 1 :, k + 1 :] -= np.outer(LU[k + 1 :, k], LU[k, k + 1 :])
    return LU, perm, sign * np.prod(np.diag(LU))


def cholesky_by_columns(A):
    n = len(A)
    L = np.zeros((n, n))
    for j in range(n):
        s = A[j, j] - L[j, :j] @ L[j, :j]
        if s <= 0:
            raise ValueError("not positive definite")
        L[j, j] = np.sqrt(s + DAMPING)
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def jacobi_eigenvalues(A, sweeps=12):
    S = A.copy()
    n = S.shape[0]
    V = np.eye(n)
    for _ in range(sweeps):
        off = np.sum(np.tril(S, -1) ** 2)
        if off < 1e-22:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(S[p, q]) < 1e-300:
                    continue
                theta = (S[q, q] - S[p, p]) / (2.0 * S[p, q])
                t = np.sign(theta) / (abs(theta) + np.sqrt(theta**2 + 1.0)) if theta != 0 else 1.0
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                rows = S[[p, q], :]
                S[p, :] = c * rows[0] - s * rows[1]
                S[q, :] = s * rows[0] + c * rows[1]
                cols = S[:, [p, q]]
                S[:, p] = c * cols[:, 0] - s * cols[:, 1]
                S[:, q] = s * cols[:, 0] + c * cols[:, 1]
                V[:, [p, q]] = V[:, [p, q]] @ np.array([[c, s], [-s, c]])
    return np.diag(S).copy(), V


def arnoldi(A, b, m):
    n = A.shape[0]
    Q = np.zeros((n, m + 1), dtype=complex)
    H = np.zeros((m + 1, m), dtype=complex)
    Q[:, 0] = b / np.linalg.norm(b)
    for k in range(m):
        v = A @ Q[:, k]
        H[: k + 1, k] = Q[:, : k + 1].conj().T @ v
        v = v - Q[:, : k + 1] @ H[: k + 1, k]
        h = np.linalg.norm(v)
        H[k + 1, k] = h
        if h < 1e-12:
            break
        Q[:, k + 1] = v / h
    return Q, H


def solve_triangular(U, b):
    n = len(b)
    x = b.astype(float)
    back = x[::-1]
    flipped = U[::-1, ::-1]
    for i in range(n):
        back[i] = (back[i] - flipped[i, :i] @ back[:i]) / flipped[i, i]
    return x


def independent_columns(A, tol=1e-10):
    basis = []
    kept = []
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for q in basis:
            v -= (q @ v) * q
        norm = np.sqrt(v @ v)
        if norm > tol:
            basis.append(v / norm)
            kept.append(j)
    return np.array(basis), np.array(kept)


def matrix_exponential(A):
    norm = np.abs(A).sum(axis=1).max()
    squarings = 0
    while norm > 0.5:
        norm /= 2
        squarings += 1
    B = A / 2.0**squarings
    E = np.eye(len(A))
    term = np.eye(len(A))
    for k in range(1, 15):
        term = term @ B / k
        E = E + term
    for _ in range(squarings):
        E = E @ E
    return E


def lanczos(A, v, steps):
    alphas = np.zeros(steps)
    betas = np.zeros(steps - 1)
    previous = np.zeros_like(v)
    q = v / np.linalg.norm(v)
    beta = 0.0
    for j in range(steps):
        w = A @ q - beta * previous
        alphas[j] = w @ q
        w = w - alphas[j] * q
        if j < steps - 1:
            beta = np.linalg.norm(w)
            betas[j] = beta
            previous, q = q, w / beta
    return np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1)


def gauss_jordan_inverse(A):
    n = len(A)
    M = np.hstack([A.astype(float), np.eye(n)])
    for i in range(n):
        pivot = np.argmax(abs(M[i:, i])) + i
        if M[pivot, i] == 0:
            return None
        M[[i, pivot]] = M[[pivot, i]]
        M[i] /= M[i, i]
        for j in range(n):
            if j != i:
                M[j] -= M[j, i] * M[i]
    return M[:, n:]


def block_thomas(lower, main, upper, rhs):
    n, b, _ = main.shape
    c = upper.copy()
    d = rhs.copy()
    inv = lambda m: (
        np.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]]) / (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])
    )
    c[0] = inv(main[0]) @ c[0]
    d[0] = inv(main[0]) @ d[0]
    for i in range(1, n):
        w = inv(main[i] - lower[i - 1] @ c[i - 1])
        if i < n - 1:
            c[i] = w @ c[i]
        d[i] = w @ (d[i] - lower[i - 1] @ d[i - 1])
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] @ d[i + 1]
    return d


def _weights(k):
    global PRECONDITIONER, DAMPING
    PRECONDITIONER = np.linspace(1.0, 2.0, (6, 9, 4)[k])
    DAMPING = (0.0, 0.25, 1.0)[k]


def _hermitian(rng, n):
    m = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return m + m.conj().T


def _rank_deficient(rng, m, n, rank):
    return rng.standard_normal((m, rank)) @ rng.integers(-2, 3, (rank, n)).astype(float)


PROGRAMS = [
    Program(
        conjugate_gradient,
        lambda r, k: (symmetric(r, (6, 9, 4)[k]), r.standard_normal((6, 9, 4)[k])),
        tolerance=1e-8,
        outside=_weights,
        long=True,
    ),
    Program(householder_qr, lambda r, k: (r.standard_normal(((6, 4), (4, 4), (5, 7))[k]),), long=True),
    Program(
        lu_with_swaps,
        lambda r, k: (r.standard_normal(((6, 6), (3, 3), (9, 9))[k]),),
        tolerance=1e-10,
        long=True,
    ),
    Program(cholesky_by_columns, lambda r, k: (symmetric(r, (6, 9, 4)[k]),), outside=_weights, quick=True),
    Program(jacobi_eigenvalues, lambda r, k: (symmetric(r, (5, 7, 3)[k]),), tolerance=1e-9, long=True),
    Program(
        arnoldi,
        lambda r, k: (_hermitian(r, (7, 5, 9)[k]), r.standard_normal((7, 5, 9)[k]) + 0j, (4, 3, 5)[k]),
        tolerance=1e-8,
        long=True,
    ),
    Program(
        solve_triangular,
        lambda r, k: (
            np.triu(r.standard_normal(((6, 9, 3)[k],) * 2)) + 3 * np.eye((6, 9, 3)[k]),
            r.integers(-9, 9, (6, 9, 3)[k]),
        ),
        tolerance=1e-10,
        quick=True,
    ),
    Program(
        independent_columns,
        lambda r, k: (_rank_deficient(r, (6, 8, 5)[k], (5, 4, 7)[k], (3, 4, 2)[k]),),
        tolerance=1e-6,
        host=SIZED,
        long=True,
    ),
    Program(
        matrix_exponential,
        lambda r, k: (r.standard_normal(((4, 6, 3)[k],) * 2) * (1, 3, 0.01)[k],),
        1e-10,
        long=True,
    ),
    Program(
        lanczos,
        lambda r, k: (symmetric(r, (8, 6, 10)[k]), r.standard_normal((8, 6, 10)[k]), (4, 3, 6)[k]),
        tolerance=1e-8,
        long=True,
    ),
    Program(
        gauss_jordan_inverse,
        lambda r, k: (r.standard_normal(((4, 6, 3)[k],) * 2) if k < 2 else np.zeros((3, 3)),),
        tolerance=1e-9,
    ),
    Program(
        block_thomas,
        lambda r, k: (
            r.standard_normal(((5, 8, 3)[k] - 1, 2, 2)),
            r.standard_normal(((5, 8, 3)[k], 2, 2)) + 5 * np.eye(2),
            r.standard_normal(((5, 8, 3)[k], 2, 2)),
            r.standard_normal(((5, 8, 3)[k], 2)),
        ),
        tolerance=1e-10,
    ),
]
