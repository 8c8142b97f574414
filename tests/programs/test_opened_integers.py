"""Integers that extents, slices and powers depend on: two programs for two values, then one for all others."""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(3)

A = np.arange(50.0)


def head(a, n):
    return a[:n].sum(), a[n:] * 2


def view(a, n):
    return a[:n]


def zeros(a, n):
    return np.zeros(n) + 1, np.ones((n, 2)), np.arange(n) * n


def powers(a, n):
    return (a + 1) ** n, n**2, n * 0.5


def shifted(a, n):
    return a[n + 1 :] - a[: -n - 1]


def kept(a, n):
    return n, -n, a[: n + 2]


def stored(a, n):
    b = np.zeros(len(a))
    b[:n] = a[:n]
    a[n : n + 2] = n
    return b


def rolled(a, n):
    return np.roll(a, n)


def equal(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            equal(one, other)
        return
    assert type(got) is type(want)
    assert getattr(got, "dtype", None) == getattr(want, "dtype", None)
    np.testing.assert_allclose(got, want, rtol=1e-14)


VALUES = (3, 5, 0, 7, 1, 12, -1, 2, 49, 5, 3, 60)


@pytest.mark.parametrize("f", [head, view, zeros, powers, shifted, kept, stored], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_values(f, target):
    compiled = nt.jit(f, target=target)
    values = [n for n in VALUES if not (f in (zeros, shifted) and n < 0) and not (f is powers and n > 12)]
    for n in values:
        a, b = A.copy(), A.copy()
        equal(compiled(a, n), f(b, n))
        np.testing.assert_array_equal(a, b)
    negative = sum(n < 0 for n in values)
    assert compiled.cache_info()["compiled"] <= 3 + negative
    for n in values:  # and again, in the other order of what is found
        equal(compiled(A.copy(), n), f(A.copy(), n))
    assert compiled.cache_info()["compiled"] <= 3 + negative


def test_cuda_sim():
    compiled = nt.jit(head, target="cuda-sim")
    for n in (3, 5, 7, 0, 9):
        equal(compiled(A, n), head(A, n))


def test_results_share_memory_as_in_numpy():
    compiled = nt.jit(view)
    for n in VALUES:
        a = A.copy()
        got = compiled(a, n)
        assert np.shares_memory(got, a) == np.shares_memory(view(a, n), a)
        got[...] = -1
        np.testing.assert_array_equal(a[:n], np.full(len(a[:n]), -1.0))


def test_many_values_have_few_programs():
    compiled = nt.jit(head)
    for n in range(40):
        equal(compiled(A, n), head(A, n))
    assert compiled.cache_info()["compiled"] == 3


def test_other_shapes_and_types():
    """What else changes between calls is as with any argument."""
    compiled = nt.jit(head)
    for k, n in enumerate((3, 5, 7, 9, 4, 6, 8)):
        for dtype in ("f8", "f4"):
            a = np.arange(20.0 + k % 3).astype(dtype)
            equal(compiled(a, n), head(a, n))
    equal(compiled(A, np.int64(4)), head(A, np.int64(4)))
    equal(compiled(A, True), head(A, True))


def between(a, low, high):
    return a[low:high] * low


def test_two_integers():
    compiled = nt.jit(between)
    for low in range(7):
        for high in range(6):
            equal(compiled(A, low, high), between(A, low, high))
    assert compiled.cache_info()["compiled"] <= 9


def folds(a, n):
    return np.tile(a, (n, 1)).sum(axis=0)


def test_integers_beside_other_numbers():
    def scaled(a, s, n):
        return a[:n] * s

    compiled = nt.jit(scaled)
    for n in range(8):
        equal(compiled(A, 2.5 - n, n), scaled(A, 2.5 - n, n))
    assert compiled.cache_info()["compiled"] == 3


def test_what_must_be_known_has_a_program_for_each_value():
    compiled = nt.jit(folds)
    for n in (*range(1, 5), 7):
        equal(compiled(A, n), folds(A, n))
    assert compiled.cache_info()["compiled"] == 5


SHIFTS = (3, -2, 0, 17, -40, (1 << 63) - 1, -(1 << 63), 5)


def both(a, n):
    return np.roll(a, (n, 3), axis=(0, -1)) - a, np.roll(a, (n, 1, n), axis=0)


def turned(a, n):
    return np.roll(a[::-1].T, n, axis=-1) * 2


@pytest.mark.parametrize("f", [rolled, both, turned], ids=lambda f: f.__name__)
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_shifts_are_numbers_of_the_run_from_the_first_on(f, target, dynamic):
    compiled = nt.jit(f, target=target, dynamic=dynamic)
    for shape in ((5, 7), (0, 3), (1, 1)):
        a = np.random.default_rng(0).standard_normal(shape)
        for n in SHIFTS:
            equal(compiled(a, n), f(a, n))
    assert compiled.cache_info()["compiled"] <= 3


def test_shifts_of_other_types_and_targets():
    compiled = nt.jit(rolled)
    for n in (
        np.int8(-3),
        np.uint64((1 << 64) - 1),
        np.uint64(3),
        np.uint32(7),
        True,
        np.int8(100),
        np.uint8(200),
    ):
        equal(compiled(A, n), rolled(A, n))
    simulated = nt.jit(both, target="cuda-sim")
    for n in (2, -9):
        equal(simulated(A.reshape(5, 10), n), both(A.reshape(5, 10), n))


def test_gradients_of_rolled_arrays():
    def loss(a, n):
        return (np.roll(a, n) * a * np.arange(a.size)).sum()

    gradient, weights = nt.jit(nt.grad(loss)), np.arange(A.size)
    for n in (1, -2, 130):
        want = np.roll(A, n) * weights + np.roll(A * weights, -n)
        np.testing.assert_allclose(gradient(A, n), want, rtol=1e-13)


def tiled(a, n):
    return np.tile(a, n), np.tile(a * 2, n).sum(axis=0)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 0), (), (3, 1), (2, 1, 3)], ids=str)
def test_copies_of_arrays(shape):
    compiled, a = nt.jit(tiled), np.random.default_rng(0).standard_normal(shape)
    for n in (3, 5, 0, 7, 1, 12, 2):
        equal(compiled(a, n), tiled(a, n))
    assert compiled.cache_info()["compiled"] == 3
    with pytest.raises(ValueError, match="negative"):
        compiled(np.ones(4), -1)


def blocks(a, n):
    b = a.copy()
    b[:n, n:] = -1
    return a[:n] * 2, a[:, n:].sum(axis=0), b, np.zeros((n, a.shape[1])) + a[0]


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_arrays_of_two_axes(target):
    compiled = nt.jit(blocks, target=target)
    for shape in ((6, 10), (1, 4)):
        a = np.random.default_rng(0).standard_normal(shape)
        for n in (3, 5, 0, 7, 1, 12):
            equal(compiled(a, n), blocks(a, n))
            equal(compiled(a[::-1, ::-1], n), blocks(a[::-1, ::-1], n))
    assert compiled.cache_info()["compiled"] <= 20
    few = nt.jit(blocks, target=target)
    for n in (3, 5, 0, 7, 1, 12):
        equal(few(A.reshape(5, 10), n), blocks(A.reshape(5, 10), n))
    assert few.cache_info()["compiled"] == 3


def test_errors_are_those_of_numpy():
    compiled = nt.jit(zeros)
    for n in (2, 3, 4, 5):
        compiled(A, n)
    with pytest.raises(ValueError, match="negative"):
        compiled(A, -1)

    def folded(a, n):
        return a.reshape(n, -1).sum(axis=1)

    rows = nt.jit(folded)
    for n in (1, 2, 5, 10, 25, 50):
        equal(rows(A, n), folded(A, n))
    with pytest.raises(ValueError):
        rows(A, 7)


def column(a, n):
    return a.reshape(n, 5)[0]


def test_minus_one_keeps_its_meaning():
    compiled = nt.jit(column)
    for n in (10, -1, 10):
        equal(compiled(A, n), column(A, n))
    compiled(A[:5], 1)
    compiled(A[:15], 3)
    compiled(A[:20], 4)
    equal(compiled(A, -1), column(A, -1))


def test_static_arguments_stay_static():
    compiled = nt.jit(head, static_argnames="n")
    for n in range(5):
        equal(compiled(A, n), head(A, n))
    assert compiled.cache_info()["compiled"] == 5
