"""Arrays known at compile time that loops make: each iteration has one of its own, and may write to it."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

X = np.random.default_rng(0).random(9)


def one_integer(v, n):
    for i in range(n):
        c = np.arange(1)
        c[0] += i
        v[i] = c[0] * v[i]
    return v


def one_number(v, n):
    for i in range(n):
        v[5:6] *= np.arange(1) + v[i]
    return v


def one_of_a_range(v, n):
    for i in range(n):
        c = np.arange(1.0, 1.5)
        c[0] += i
        v[i] += c[0]
    return v


def indices(v, n):
    for i in range(n):
        c = np.tril_indices(2)[0]
        c[0] += i
        v[i] *= c[0]
    return v


def a_window(v, n):
    for i in range(n):
        c = np.hanning(3)
        c[1] += i
        v[i] = c[1] * v[i]
    return v


def in_two_loops(v, n):
    for i in range(n):
        for j in range(2):
            c = np.arange(1)
            c += j + i
            v[i] += c.sum()
    return v


def in_a_branch(v, n):
    for i in range(n):
        if v[i] > 0.5:
            c = np.arange(1)
            c += i
            v[i] += c[0]
    return v


PROGRAMS = [one_integer, one_number, one_of_a_range, indices, a_window, in_two_loops, in_a_branch]


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_an_array_that_an_iteration_makes_and_writes_is_new_in_the_next(f, target):
    compiled = nt.jit(f, target=target)
    for n in (4, 7):
        np.testing.assert_allclose(compiled(X.copy(), n), f(X.copy(), n))


@pytest.mark.parametrize("f", [a_window, one_number])
def test_gradients_through_an_array_that_an_iteration_makes(f):
    def loss(v):
        return np.sum(f(1.0 * v, 4) ** 2)

    _, gradient = nt.value_and_grad(loss)(X)
    for k in range(6):
        step = np.zeros(9)
        step[k] = 1e-6
        np.testing.assert_allclose(
            gradient[k], (loss(X + step) - loss(X - step)) / 2e-6, rtol=1e-5, atol=1e-6
        )
