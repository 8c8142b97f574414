"""Which numbers are true, wherever Python or NumPy asks: nan is, and what has only small or only high bits; no zero is."""

import nestor as nt
import numpy as np
import pytest

NUMBERS = {
    "float64": [np.nan, 0.0, -0.0, np.inf, 5e-324, -1.0],
    "float32": [np.nan, 0.0, -0.0, -np.inf, 1e-45, 1e38],
    "float16": [np.nan, 0.0, -0.0, np.inf, 6e-8, -1.0],
    "int64": [0, 1, -1, 1 << 32, -(1 << 63), 256],
    "int32": [0, 1, -1, 1 << 16, -(1 << 31), 256],
    "int8": [0, 1, -1, 64, -128, 2],
    "uint64": [0, 1, 1 << 63, 1 << 32, 256, 7],
    "uint8": [0, 1, 128, 255, 2, 16],
    "bool": [False, True],
    "complex128": [
        0j,
        complex(np.nan, 0),
        complex(0, np.nan),
        1j,
        -1 + 0j,
        complex(-0.0, -0.0),
        complex(0, 5e-324),
    ],
}


def of_one(x):
    """Where the code works on whole arrays."""
    if x[0]:
        branch = 1
    else:
        branch = 2
    turns = 0
    while x[0] and turns < 3:
        turns += 1
    both = 1 if x[0] and x[1] else 2
    some = 1 if x[0] or x[1] else 2
    return branch, turns, both, some, not x[0], bool(x[0]), 3 if x[0] else 4


def of_each(x):
    """Where it works on elements."""
    out = np.zeros((len(x), 6), np.int64)
    for i in range(len(x)):
        if x[i]:
            out[i, 0] = 1
        if not x[i]:
            out[i, 1] = 1
        out[i, 2] = 3 if x[i] else 4
        out[i, 3] = bool(x[i])
        out[i, 4] = 5 if x[i] and x[i - 1] else 6 if x[i] or x[i - 1] else 7
        while x[i] and out[i, 5] < 2:
            out[i, 5] += 1
    return out


def of_arrays(x):
    """Where NumPy asks."""
    shifted = np.roll(x, 1)
    return (
        x.astype(bool),
        np.logical_not(x),
        np.logical_and(x, shifted),
        np.logical_or(x, shifted),
        np.logical_xor(x, shifted),
        np.where(x, 1, 2),
        x.any(),
        x.all(),
        np.any(x[:1]),
        np.all(x[:1]),
        np.count_nonzero(x),
    )


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("function", [of_one, of_each, of_arrays])
@pytest.mark.one_of(3)
def test_numbers_are_as_true_as_in_python(function, dtype, target):
    numbers = np.array(NUMBERS[dtype], dtype)
    compiled = nt.jit(function, target=target, strict=True)
    for k in range(len(numbers)):
        x = np.roll(numbers, k)
        got, wanted = compiled(x), function(x)
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=str(x))
