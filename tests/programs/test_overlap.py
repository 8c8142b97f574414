"""Arguments that overlap in memory: the same array, shifted, reversed, strided; by elements and as whole arrays."""

import nestor as nt
import numpy as np
import pytest


def whole(x, y):
    y += x * 2
    x[...] = y + 1
    return x.sum(), y - x


def exponent(x, y):
    t = np.exp(x)
    y[:] = t[::-1]
    return t + y


def smooth(x, y):
    y[1:-1] = (x[:-2] + x[2:]) / 2
    return y.max()


def mixed(x, y):
    for i in range(len(x)):
        y[i] += x[i]
    return np.tanh(x) + y


def branches(x, y):
    if x.sum() > 3:
        y *= 2
    else:
        x += y
    return x - y


def turns(x, y):
    for _ in range(5):
        y += np.sin(x)
    return y.copy()


def same(a):
    return a, a


def shifted(a):
    return a[:-1], a[1:]


def shifted_down(a):
    return a[1:], a[:-1]


def backwards(a):
    return a, a[::-1]


def strided(a):
    return a[: len(a) // 2], a[::2][: len(a) // 2]


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("pair", [same, shifted, shifted_down, backwards, strided])
@pytest.mark.parametrize("program", [whole, exponent, smooth, mixed, branches, turns])
def test_overlap(program, pair, target):
    ours, pythons = np.linspace(0.1, 1.3, 10), np.linspace(0.1, 1.3, 10)
    want = program(*pair(pythons))
    got = nt.jit(program, target=target)(*pair(ours))
    np.testing.assert_allclose(ours, pythons, rtol=1e-13)
    for mine, theirs in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def test_out_may_overlap_an_input():
    compiled = nt.jit(doubled_and_reversed)
    a, b = np.arange(9.0), np.arange(9.0)
    compiled(a[:-1], out=a[1:])
    b[1:] = doubled_and_reversed(b[:-1])
    np.testing.assert_array_equal(a, b)


def doubled_and_reversed(x):
    return x * 2 + x[::-1]
