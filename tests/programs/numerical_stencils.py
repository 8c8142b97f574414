"""Numerical programs on grids, step by step: stencils and cellular automata (see numerical.py)."""

from __future__ import annotations


def gauss_seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def jacobi_slices(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * a.dtype.type(0.25)
        a[1:-1, 1:-1] = b[1:-1, 1:-1]


def jacobi_loops(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def heat(u, steps, r):
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + r * (u[i - 1] - 2 * u[i] + u[i + 1])
        u[1:-1] = new[1:-1]


def wave(u, v, w, steps, c):
    """Leapfrog: u(t+1) from u(t) and u(t-1)."""
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            w[i] = 2 * v[i] - u[i] + c * (v[i - 1] - 2 * v[i] + v[i + 1])
        for i in range(len(u)):
            u[i] = v[i]
            v[i] = w[i]


def red_black(a, sweeps):
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, a.shape[0] - 1):
                for j in range(1 + (i + colour) % 2, a.shape[1] - 1, 2):
                    a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def life(grid, new, steps):
    n, m = grid.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                near = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            near += grid[i + di, j + dj]
                new[i, j] = 1 if near == 3 or (near == 2 and grid[i, j] == 1) else 0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                grid[i, j] = new[i, j]


def rule30(rows):
    for t in range(1, rows.shape[0]):
        for i in range(1, rows.shape[1] - 1):
            rows[t, i] = rows[t - 1, i - 1] ^ (rows[t - 1, i] | rows[t - 1, i + 1])
