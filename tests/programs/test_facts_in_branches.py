"""What a check shows holds after it on its path only: elsewhere an index may be negative."""

import numpy as np
import pytest
from early_ends import TARGETS, ends_alike

FENCE = 777.0


def in_a_loop_that_may_not_run(a, n, m):
    for _ in range(m):
        if n == 7:
            a[m] = 2.0
    a[m] = 3.0
    return a.sum()


def in_a_branch(a, n, m):
    if m > 0:
        a[m] += 1.0
    a[m] = a[m] + 2.0
    return a.sum()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [in_a_loop_that_may_not_run, in_a_branch])
def test_a_negative_index_is_from_the_end(function, target):
    around = np.full(20, FENCE)
    inner = around[8:12]
    ends_alike(function, [(inner, 7, 3), (inner, 1, -1), (inner, 1, 9), (inner, 1, -4)], target=target)

    import nestor as nt

    nt.jit(function, target=target)(inner, 1, -1)
    assert (around[:8] == FENCE).all()
    assert (around[12:] == FENCE).all()
