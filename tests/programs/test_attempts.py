"""What is compiled in an attempt that is refused later leaves nothing: no writes, no prints, no checks, no operations."""

import nestor as nt
import numpy as np
import pytest
from early_ends import ends_alike

pytestmark = pytest.mark.one_of(2)

TARGETS = ["cpu", "interp", "cuda-sim"]


def rows_until(table, mean, tol):
    """Short enough to unroll; the third iteration is refused, and the loop is one over elements."""
    for k in range(len(table)):
        row = table[k]
        row *= 2.0
        if row[-1] > tol:
            break
        mean += row
    return mean, table


def rows_with_a_return(table, mean, tol):
    for k in range(len(table)):
        row = table[k]
        row += 1.0
        if row[0] > tol:
            return mean * 3.0
        mean[:] = mean + row
    return mean * 2.0


def rows_with_an_else(table, mean, tol):
    for row in table:
        row /= row.sum()
        if row[-1] > tol:
            break
        mean[::2] += 0.1 * (row - mean)[::2]
    else:
        mean *= 2.0
    return mean, table


def counted_writes(table, mean, tol):
    count = np.zeros(1)
    for k in range(len(table)):
        row = table[k]
        count[0] += 1.0
        row -= 0.5
        if row[-1] < -tol:
            break
        mean += row * count[0]
    return count, mean


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("f", [rows_until, rows_with_a_return, rows_with_an_else, counted_writes])
def test_loops_that_end_early_write_once(f, rows):
    compiled = {target: nt.jit(f, target=target) for target in TARGETS}
    for tol in (0.4, 1.5, 100.0):
        table, mean = np.random.default_rng(rows).random((rows, 3)), np.arange(3.0)
        want = f(table.copy(), mean.copy(), tol)
        for target in TARGETS:
            given = table.copy(), mean.copy()
            for got, wanted in zip(compiled[target](*given, tol), want, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("rows", [3, 4, 6])
def test_gradients_of_loops_that_end_early(rows):
    def loss(table, mean, tol):
        return (rows_until(table * 1.0, mean * 1.0, tol)[0] ** 2).sum()

    table, mean = np.random.default_rng(rows).random((rows, 3)), np.arange(3.0)
    gradient = nt.grad(loss)(table, mean, 100.0)
    np.testing.assert_allclose(gradient, np.tile(4 * (mean + 2 * table.sum(axis=0)), (rows, 1)))


def prints_its_turns(table, n, tol):
    for k in range(len(table)):
        print("turn", k)
        row = table[k]
        row *= 2.0
        if row[-1] > tol:
            break
        if n <= k:
            raise ValueError("too few")
    return table


@pytest.mark.parametrize("rows", [2, 4, 9])
def test_what_an_attempt_prints_and_checks_is_done_once(rows):
    table = np.ones((rows, 3))
    for target in ("cpu", "interp"):
        ends_alike(prints_its_turns, [(table, n, tol) for n in (1, 20) for tol in (0.5, 9.0)], target=target)
