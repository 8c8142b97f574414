import numpy as np


def scaled_rows(x, w):
    scaled = x * w
    return scaled + 1


def shift(a):
    a[1:] = a[:-1]


def prefix(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def clipped_count(x):
    above = 0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            above += 1
    return above


def interior(a):
    inner = a[1:-1, ::2]
    return np.exp(inner)


def through_a_view(a):
    inner = a[1:-1]
    inner += 1
    return a.sum()


def descending(a, n):
    for i in range(n, 0, -1):
        a[2 * i] = a[i - 1]


def mismatch(x, y):
    return x + y


def unsupported(x):
    return np.busday_count(x, x)
