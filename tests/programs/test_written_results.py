"""An argument that a loop writes in place is returned early on some paths: the result is the argument as it ends."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(3)


def with_a_count(x, y, tol):
    n = 0
    while n < 20:
        x *= 0.5
        n += 1
        if np.abs(x).max() < tol:
            return x, n
    return x, -1


def one_argument_or_two(x, y, tol):
    for k in range(len(x)):
        x[k] += 1.0
        if x[k].sum() > tol:
            return x, y
    y += 1.0
    return x, y


def one_or_the_other(x, y, tol):
    for k in range(len(x)):
        x[k] += 1.0
        if x[k].sum() > tol:
            return y
        y *= 2.0
    return x


def in_a_branch(x, y, tol):
    if x[0, 0] > tol:
        x += 1.0
        return x
    y += x
    x *= 3.0
    return x


def rows_until(x, tol):
    for k in range(len(x)):
        x[k] += 1.0
        if x[k].sum() > tol:
            return x
    return x


def written_by_the_caller(x, y, tol):
    z = rows_until(x, tol)
    x += 1.0
    return z, x, z + y


def read_after_it(x, y, tol):
    z = x if y[0, 0] > tol else y * 2.0
    x += 1.0
    return z.sum(), z


PROGRAMS = [
    with_a_count,
    one_argument_or_two,
    one_or_the_other,
    in_a_branch,
    written_by_the_caller,
    read_after_it,
]


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_result_is_the_argument_as_it_is_in_the_end(f, target):
    compiled = nt.jit(f, target=target)
    for rows in (3, 12, 1):
        for tol in (0.1, 1.5, 5.0, 100.0):
            random = np.random.default_rng(rows)
            given = random.random((rows, 3)), random.random((rows, 3))
            ends = []
            for function in (f, compiled):
                x, y = given[0].copy(), given[1].copy()
                result = function(x, y, tol)
                parts = result if isinstance(result, tuple) else (result,)
                ends.append(([*parts, x, y], [(part is x, part is y) for part in parts]))
            (want, which), (got, same) = ends
            assert same == which
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
