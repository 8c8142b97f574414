"""Programs that the passes on tensors rewrite, against NumPy."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from agreement import agrees

SHAPES = [(3, 4), (1, 5), (6, 1), (5, 7)]


def grow(x, limit, n):
    for _ in range(n):
        if x.sum() < limit:
            x = x + x
        else:
            x = x - 1.0
    return x


def shared_columns(x, z, m):
    s = x + z
    return s + m, s * m - s


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_a_carried_array_is_reduced(target, dynamic):
    for shape in SHAPES:
        for n in (0, 1, 5):
            x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
            agrees(grow, x, 100.0, n, target=target, dynamic=dynamic)


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_a_small_sum_that_is_read_twice(target):
    for rows, columns in [*SHAPES, (0, 3)]:
        x = np.arange(columns, dtype=np.float32)
        m = np.ones((rows, columns), np.float32)
        agrees(shared_columns, x, x * 2, m, target=target)
