"""Numerical programs on matrices (see numerical.py)."""

from __future__ import annotations

import numpy as np


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / a[j, j]
    for i in range(n):
        for j in range(i + 1, n):
            a[i, j] = 0


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def lu_pivoted(a, order):
    n = a.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        order[k] = best
        if best != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[best, j]
                a[best, j] = t
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = c[i, j] * 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def gemm_chain(a, b, c, t, out):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                t[i, j] += a[i, k] * b[k, j]
    for i in range(t.shape[0]):
        for k in range(t.shape[1]):
            for j in range(c.shape[1]):
                out[i, j] += t[i, k] * c[k, j]


def forward_substitution(l, x):
    for i in range(len(x)):
        s = x[i]
        for j in range(i):
            s -= l[i, j] * x[j]
        x[i] = s / l[i, i]


def thomas(a, b, c, d):
    """A tridiagonal system, in place; the solution is in d."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[n - 1] /= b[n - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]


def power_iteration(a, x, y, steps):
    for _ in range(steps):
        for i in range(a.shape[0]):
            s = x[0] * 0
            for j in range(a.shape[1]):
                s += a[i, j] * x[j]
            y[i] = s
        largest = y[0] * 0
        for i in range(len(y)):
            largest = max(largest, abs(y[i]))
        for i in range(len(y)):
            x[i] = y[i] / largest


def transpose_in_place(a):
    for i in range(a.shape[0]):
        for j in range(i):
            t = a[i, j]
            a[i, j] = a[j, i]
            a[j, i] = t


def pairwise(x, d):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = x[i, 0] * 0
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = s
