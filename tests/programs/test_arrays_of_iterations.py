"""Variables that a loop leaves being an array that one of its iterations made, on some paths only."""

import nestor as nt
import numpy as np
import pytest
from agreement import same


def until_close(x, n):
    c = x[:2]
    for _ in range(n):
        new = c.copy()
        new[0] = (new[0] + x.mean()) / 2
        if np.allclose(new, c, rtol=0.1):
            break
        c = new
    return c


def while_smaller(x, n):
    c = x + 0
    while c[0] < n:
        new = c + 1
        new[-1] = x.sum()
        if new[0] > n - 2:
            break
        c = new
    return c


def on_some_paths(x, n):
    c = x + 1
    for i in range(n):
        new = c * 0.5
        part = new[1:]
        if new.sum() > i:
            c = new
        else:
            part[0] = 3
    return c


CALLS = [(np.linspace(0.5, 4, 6), 5), (np.ones(2), 0), (np.array([3.0, -1]), 1), (np.linspace(9, 1, 7), 40)]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [until_close, while_smaller])
def test_arrays_of_iterations(f, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    for x, n in CALLS:
        same(compiled(x, n), f(x, n), 1e-12)


def written_in_the_loop(x, n):
    c = x + 0
    for i in range(n):
        new = c + 1
        if new[0] < i:
            c = new
        new[0] = 77
    return c


def written_after_it(x, n):
    c, keep = x + 0, x
    for i in range(n):
        new = c + 1
        if new[0] < i:
            c = new
        keep = new
    keep[0] = 5
    return c, keep


def written_in_the_next(x, n):
    c, new = x + 0, x + 2
    for i in range(n):
        new[0] = i
        if new[1] < 4:
            c = new
        new = c + 1
    new[0] = 9
    return c, new


@pytest.mark.parametrize("f", [on_some_paths, written_in_the_loop, written_after_it, written_in_the_next])
def test_no_update_is_missed(f):
    """What may be another array and is written is refused, or right."""
    compiled = nt.jit(f, dynamic=True)
    for x, n in CALLS:
        want = f(x.copy(), n)
        try:
            same(compiled(x.copy(), n), want, 1e-12)
        except nt.UnsupportedError as error:
            assert "on some paths only" in str(error)
