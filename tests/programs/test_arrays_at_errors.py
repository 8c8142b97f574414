"""What an array of the caller holds after a call that raised: all that was written before, and nothing else."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest


def filled_twice(a, n):
    a[:] = 1.0
    y = a[n]
    a[:] = 2.0
    return y


def in_nested_branches(a, n):
    k = 1
    if n < 3:
        if n < 2:
            k = 0
        else:
            a[k] = 0.5
    else:
        if k < len(a) and a[k] > 1.5:
            a[k] = -0.5
    return a[n] + k


def scaled_twice(a, n):
    a += 1.0
    y = a[n]
    a *= 2.0
    return y


def in_a_loop(a, n):
    for i in range(3):
        a += 1.0
        a[i] = a[n]
    return a.sum()


def turned_around(a, n):
    a[0] = 7.0
    b = a[::-1] * 2
    a[:] = b
    if a[n] > 3:
        a[:] = a[::-1] + 1
    return a[n + 1]


def raised_between(a, n):
    a[1:] += a[:-1]
    if n > 2:
        raise ValueError("large")
    a[1:] += a[:-1]
    return a.sum()


def asserted_at_the_end(a, n):
    if n > 1:
        a[:] = a[::-1] * 3
    a[n] = 1.0
    a[:] = a @ np.eye(4)
    assert a[n + 1] > -100


def by_another_name(a, n):
    m = a
    for i in range(n):
        m[:] = m[::-1] * 1.5
        if i > 2:
            m[i] = 0.0


def computed_before_the_check(a, n):
    t = a * 3.0
    y = t[n]
    a[:] = t
    return y


def exchanged(a, n):
    b = a * 2
    for i in range(n):
        a[:], b[:] = b * 1.0, a * 1.0
        b[i] = 1.0
    return b


def element_before_an_index(a, n):
    a[0] = 9.0
    return a[n]


def element_before_a_fixed_index(a, n):
    a[n % 2] = 9.0
    return a[5]


def sum_before_an_index(a, n):
    b = a * 2
    a[1] = b.sum()
    return a[n] + b[0]


def elements_in_a_branch(a, n):
    if n > 2:
        a[1] = 5.0
        a[2] = a[n] + 1
        a[3] = 6.0
    return a[n - 1]


def elements_in_a_loop(a, n):
    for i in range(n):
        a[i] = a[0] + n
    a[0] = -3.0
    return a[n + 1]


PROGRAMS = [
    filled_twice, in_nested_branches, scaled_twice, in_a_loop, turned_around, raised_between, asserted_at_the_end,
    by_another_name, computed_before_the_check, exchanged, element_before_an_index, element_before_a_fixed_index,
    sum_before_an_index, elements_in_a_branch, elements_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_arrays_are_as_python_leaves_them(f, target):
    compiled = nt.jit(f, target=target)
    for n in (0, 2, 3, 5, 9):
        want, got = [outcome(g, n) for g in (f, compiled)]
        assert got == want, n


def outcome(f, n):
    a = np.array([-1.5, 3, 1, 1.5])
    try:
        result = np.asarray(f(a, n)).tolist()
    except nt.UnsupportedError:
        raise
    except Exception as error:
        result = next(kind for kind in type(error).__mro__ if not kind.__module__.startswith("nestor"))
        assert result is not Exception, error
    return result, a.tolist()
