"""Results that are the first rows of an array of the function: its memory goes to the caller, without the rest of it."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)


def numbers(x):
    out, n = np.zeros(len(x)), 0
    for v in x:
        if v > 0.5:
            out[n] = v
            n += 1
    return out[:n]


def rows(x):
    out, n = np.zeros((len(x), 3)), 0
    for v in x:
        if v > 0.5:
            out[n, 1] = v
            n += 1
    return out[:n], n


def several(x):
    out, n = np.zeros(len(x)), 0
    for v in x:
        if v > 0.5:
            out[n] = v
            n += 1
    return out[:n], out[: n // 2], out[1:n], out[:-n]


def listed(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append(v)
    return np.array(found), found


def read_as_well(x):
    out, n = np.zeros(len(x)), 0
    for v in x:
        if v > 0.5:
            out[n] = v
            n += 1
    return out[:n] * 2, out[:n].sum(), out[:n], out


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [numbers, rows, several, listed, read_as_well])
def test_first_rows(f, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    kept = []
    for n in (1000, 7, 1, 0, 50000) if target == "cpu" else (20, 3):
        x = np.random.default_rng(n).random(n) if n != 1 else np.ones(1)
        if n:
            check(compiled(x), f(x), kept)
    for got, want in kept:  # what later calls allocate is other memory
        np.testing.assert_allclose(got, want, rtol=1e-12)


def check(got, want, kept):
    for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12)
        if isinstance(a, np.ndarray):
            assert a.shape == b.shape and a.dtype == b.dtype and a.flags.writeable
            kept.append((a, b.copy()))


def test_nothing_is_copied():
    low = nt.jit(numbers).lower(np.ones(100000))
    assert "realloc" in low.as_text("llvm") and "memmove" not in low.as_text("llvm")
    both = nt.jit(several).lower(np.ones(100000)).as_text("llvm")
    assert "memmove" in both, "what is handed over twice is copied"
