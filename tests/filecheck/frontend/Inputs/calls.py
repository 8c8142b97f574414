"""Programs that call NumPy and functions of their own."""

import nestor as nt
import numpy as np


def note(x):
    print(x)


def ranked(x):
    order = np.argsort(x, axis=0)
    nt.custom_call(note, x)
    return np.linalg.inv(x), order


def rows(x):
    for i in range(len(x)):
        x[i] = np.sort(x[i])
