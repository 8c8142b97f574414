"""Sums over all pairs of rows: the matrix of a product is never whole, and results are NumPy's at every size."""

from __future__ import annotations

import os

import nestor as nt
import numpy as np
import pytest
from nestor.runtime.cpu.threads import set_num_threads

pytestmark = pytest.mark.one_of(2)


def by_products(x, y):
    return np.sum(np.exp(-np.abs(x @ y.T)))


def by_differences(x):
    difference = x[:, None, :] - x[None, :, :]
    return np.sum(np.exp(-np.sum(difference * difference, axis=-1)))


def largest(x, y):
    return np.max(x @ y - 1)


def nearest(x, y):
    return np.argmax(np.abs(x @ y.T) + 1)


PROGRAMS = [
    (by_products, lambda x, y: (x, y)),
    (by_differences, lambda x, _: (x,)),
    (largest, lambda x, y: (x, np.ascontiguousarray(y.T))),
    (nearest, lambda x, y: (x, y)),
]


def points(rows: int, columns: int, terms: int, dtype: str = "f4"):
    rng = np.random.default_rng(rows + columns + terms)
    return rng.normal(size=(rows, terms)).astype(dtype), rng.normal(size=(columns, terms)).astype(dtype)


def is_close(result, program, arguments) -> bool:
    exact = program(*(a.astype("f8") for a in arguments))
    if isinstance(exact, np.integer):
        return result == exact
    return abs(float(result) - exact) <= 1e-5 * max(1, abs(exact))


@pytest.mark.parametrize("program, choose", PROGRAMS)
def test_sizes(program, choose):
    compiled = nt.jit(program, dynamic=True)
    for rows, columns, terms in [
        (200, 130, 40),
        (65, 63, 9),
        (24, 64, 8),
        (7, 200, 3),
        (1, 1, 1),
        (97, 1, 70),
    ]:
        arguments = choose(*points(rows, columns, terms))
        assert is_close(compiled(*arguments), program, arguments), (rows, columns, terms)


def known_sizes():
    """Whole tiles in one type and partial ones in the other; the other two of these are slow."""
    for dtype, sizes in (("f4", (131, 77, 41)), ("f8", (192, 128, 32))):
        yield pytest.param(dtype, sizes)
    for dtype, sizes in (("f4", (192, 128, 32)), ("f8", (131, 77, 41))):
        yield pytest.param(dtype, sizes, marks=pytest.mark.slow)


@pytest.mark.parametrize("program, choose", PROGRAMS)
@pytest.mark.parametrize("dtype, sizes", list(known_sizes()))
def test_known_sizes(program, choose, dtype, sizes):
    arguments = choose(*points(*sizes, dtype))
    assert is_close(nt.jit(program)(*arguments), program, arguments)


CHANGES = [lambda a: a[::-1], lambda a: a[::2, ::3], np.asfortranarray]


def strided():
    """Every program in one of the layouts; in the others among slow tests."""
    for k, (program, choose) in enumerate(PROGRAMS):
        for j, change in enumerate(CHANGES):
            yield pytest.param(program, choose, change, marks=[] if j == k else [pytest.mark.slow])


@pytest.mark.parametrize("program, choose, change", list(strided()))
def test_strided_arguments(program, choose, change):
    x, y = points(120, 140, 60)
    arguments = [change(a) for a in choose(x, y)]
    if program is largest:
        arguments = [arguments[0], np.ascontiguousarray(change(y).T)]
    assert is_close(nt.jit(program)(*arguments), program, arguments)


@pytest.mark.parametrize("program, count", [(by_differences, 1), (nearest, 2)])
def test_the_matrix_is_not_made(program, count):
    x, _ = points(192, 192, 32)
    text = nt.jit(program).lower(*[x] * count).as_text("nest")
    assert "192x192" not in text and "panel" in text


def test_a_nan_spreads():
    x, y = points(130, 70, 20)
    x[17, 3] = np.nan
    assert np.isnan(nt.jit(by_products)(x, y)) and np.isnan(nt.jit(largest)(x, np.ascontiguousarray(y.T)))


def test_threads_do_not_change_the_bits():
    x, y = points(500, 700, 30)
    compiled = nt.jit(by_products)
    results = set()
    try:
        for count in (1, 2, 3):
            set_num_threads(count)
            results |= {float(compiled(x, y)) for _ in range(3)}
    finally:
        set_num_threads(len(os.sched_getaffinity(0)))
    assert len(results) == 1


def test_the_schedule_replays():
    x, y = points(131, 77, 41)
    low = nt.jit(by_products).lower(x, y)
    replayed = low.compile(schedule=low.schedule())
    assert float(replayed(x, y)) == float(low.compile()(x, y))
