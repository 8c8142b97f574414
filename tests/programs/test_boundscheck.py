"""`boundscheck=False`: indices that only the run knows are not checked."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees


def stencil(a, b, n):
    for i in range(1, n):
        b[i] = a[i - 1] + a[i + 1]
    return b


def picked(a, k):
    s = 0.0
    for i in range(len(k)):
        s += a[k[i]]
    return s


def scattered(a, k):
    for i in range(len(k)):
        a[k[i]] += 1
    return a


def one(a, k):
    return a[k[0], 0], a[:, 1][k[1]]


def gathered(a, k):
    return a[k]


def stored(a, k):
    a[k] = 7
    return a


def backwards(a, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + a[-i]
    return s


A = np.arange(8.0)
K = np.array([0, 7, -1, -8, 3])
CASES = [
    (stencil, (A, np.zeros(8), 7)), (picked, (A, K)), (scattered, (A, K)),
    (one, (np.arange(64.0).reshape(8, 8), K)), (gathered, (A, K)), (stored, (A, K)), (backwards, (A, 8)),
]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_indices_in_bounds_mean_the_same(function, arguments, target):
    agrees(function, *arguments, target=target, boundscheck=False)


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_no_check_remains(function, arguments):
    checked = nt.jit(function).lower(*arguments)
    unchecked = nt.jit(function, boundscheck=False).lower(*arguments)
    words = ("nest.index", "cf.assert", "IndexError")
    assert any(word in checked.as_text("nt") for word in words)
    for level in ("nt", "nest", "llvm"):
        text = unchecked.as_text(level)
        assert not any(word in text for word in words)


def test_indices_known_at_compile_time_are_judged_all_the_same():
    def outside(a):
        return a[9]

    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        nt.jit(outside, boundscheck=False)(A)


def test_other_checks_stay():
    def divided(a, k):
        s = 0
        for i in range(len(k)):
            s += int(a[k[i]]) // int(k[i])
        return s

    with pytest.raises(ZeroDivisionError):
        nt.jit(divided, boundscheck=False)(A, np.array([0]))
