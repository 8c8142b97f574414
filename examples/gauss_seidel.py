"""Gauss-Seidel sweeps of the Laplace equation, in place: plain Python loops over a[i, j]."""

import numpy as np


def gauss_seidel(a: np.ndarray, sweeps: int) -> None:
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
