"""Programs that raise, and that skip operands."""

import numpy as np


def validated(x, n):
    if n < 0:
        raise ValueError("n is negative")
    if n > 9:
        raise ValueError(f"{n} is more than 9")
    return np.exp(x) * n


def positive_at(x, i, n):
    return 1 if i < n and x[i] > 0 else 0


def between(x, n):
    return x * 2 if 0 < n < 9 and n != 5 else x
