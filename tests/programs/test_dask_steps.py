"""Loops over many steps on Dask arrays: some steps a layer, the chunks of each from those of the one before."""

from __future__ import annotations

import json

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.chunked import layers

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.one_of(3)

X = np.random.default_rng(11).standard_normal((23, 17))
RAGGED, SMALL = (7, 5, 1, 10), 2


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def in_place(x, n):
    y = x.copy()
    for _ in range(n):
        y[1:-1] = (y[:-2] + 2 * y[1:-1] + y[2:]) / 4
    return y


def five_points(x, n):
    """What is carried is the array of the step before."""
    for _ in range(n):
        y = x.copy()
        y[1:-1, 1:-1] = (x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) / 5
        x = y
    return x


def wave(x, n):
    """Two arrays are carried."""
    a, b = x.copy(), x * 0.5
    for _ in range(n):
        c = 2 * b - a
        c[1:-1] += 0.1 * (b[2:] - 2 * b[1:-1] + b[:-2])
        a, b = b, c
    return b


def numbered(x, n):
    """Steps use their number, and what was computed before the loop; something follows."""
    m = x.mean(0)
    y = x - m
    for t in range(n):
        y[1:-1] = (y[:-2] + y[2:]) / 2 + t * m
    return y.sum(1), y, m


def normalised_steps(x, n):
    """Each step needs a number of all chunks."""
    for _ in range(n):
        x = x / np.abs(x).max() + 1
        y = x.copy()
        y[1:] = x[1:] + x[:-1]
        x = y
    return x


def two_loops(x, n):
    y = x.copy()
    for _ in range(n):
        y[1:-1] = (y[:-2] + y[2:]) / 2
    z = y * 2
    for t in range(n):
        z[2:] = z[:-2] * 0.5 + y[2:] * t
    return z, y


def twenty(x):
    return in_place(x, 20)


PROGRAMS = [
    (in_place, 0.0),
    (five_points, 0.0),
    (wave, 0.0),
    (numbered, 1e-9),
    (normalised_steps, 0.0),
    (two_loops, 0.0),
]


def agree(function, array, chunks, *others, allowed=0.0, jitted=None):
    jitted = jitted or nt.jit(function)
    wanted, got = function(array.copy(), *others), jitted(da.from_array(array, chunks=chunks), *others)
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for lazy, whole in pairs:
        np.testing.assert_allclose(np.asarray(lazy), whole, rtol=allowed, atol=allowed)


CASES = [
    pytest.param(
        function,
        allowed,
        rows,
        marks=()
        if (function, rows) in ((five_points, SMALL), (normalised_steps, RAGGED))
        else pytest.mark.slow,
        id=f"{function.__name__}-{'small' if rows == SMALL else 'ragged'}",
    )
    for function, allowed in PROGRAMS
    for rows in (RAGGED, SMALL)
]


@pytest.mark.parametrize(("function", "allowed", "rows"), CASES)
def test_many_steps_are_as_in_the_whole(function, allowed, rows):
    agree(function, X, (rows, 6), 11, allowed=allowed)


def test_each_number_of_steps_has_its_graph():
    """A second call with another number, and with none."""
    jitted = nt.jit(in_place)
    for n in (12, 3, 0, 9, 30):
        agree(in_place, X, (RAGGED, 17), n, jitted=jitted)
    x = da.from_array(X, chunks=(6, 17))
    assert jitted(x, 12).name == jitted(x, 12).name != jitted(x, 13).name


def phases(function, x, *others):
    steps = json.loads(nt.jit(function).explain(x, *others, format="json"))["chunks"]["steps"]
    return [(one["phase"], one["times"], one["chunks"]) for one in steps]


@pytest.mark.slow
def test_layers_do_as_many_steps_as_chunks_are_large_for():
    x = da.zeros((4000, 8), chunks=(1000, 8))
    assert phases(in_place, x, 20) == [(1, 1, [4, 1]), (2, 4, [4, 1])]  # four a layer
    x = da.zeros((40, 8), chunks=(4, 8))
    assert phases(in_place, x, 20) == [(1, 1, [10, 1]), (2, 19, [10, 1])]  # one


def test_steps_along_an_axis_that_is_whole_are_one_layer():
    x = da.zeros((40, 8), chunks=(40, 2))
    assert phases(in_place, x, 20) == [(1, 1, [1, 4])]


@pytest.mark.slow
def test_steps_that_need_all_chunks_are_one_task():
    def alternating(x, n):
        for _ in range(n):
            x = np.subtract.accumulate(x, axis=0) * 0.5
        return x

    text = str(nt.jit(alternating).explain(da.from_array(X, chunks=(RAGGED, 6)), 10))
    assert "each chunk of a result needs all 4 chunks of 'x' along axis 0" in text
    agree(alternating, X, (RAGGED, 6), 10)


@pytest.mark.slow
def test_more_layers_than_a_graph_is_to_have_are_one_task(monkeypatch):
    monkeypatch.setattr(layers, "MOST_LAYERS", 2)
    assert phases(in_place, da.zeros((400, 8), chunks=(100, 8)), 20) == [(1, 1, [1, 1])]


@pytest.mark.slow
def test_explain_says_which_layers_are_alike():
    text = str(nt.jit(twenty).explain(da.zeros((4000, 8), chunks=(1000, 8))))
    assert "phase 1: 4 tasks make y after steps in 4 x 1 chunks; reads x[lo - 4 : hi + 4, :]" in text
    assert "phases 2 to 5, each: 4 tasks make y after steps in 4 x 1 chunks" in text


@pytest.mark.slow
def test_few_elements_and_none():
    for shape in ((0, 4), (1, 4), (2, 1), (3, 2)):
        x = np.random.default_rng(5).standard_normal(shape)
        agree(in_place, x, (1, 2), 10)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(2,), (3, 2), ()])
def test_layers_of_other_numbers_of_steps(counts, monkeypatch):
    monkeypatch.setattr(layers, "COUNTS", counts)
    monkeypatch.setattr(layers, "MOST_READ", 100)
    for function, allowed in PROGRAMS:
        agree(function, X, (RAGGED, 6), 10, allowed=allowed)


@pytest.mark.slow
def test_the_simulator_takes_the_number_of_the_first_step():
    agree(two_loops, X, (RAGGED, 6), 9, jitted=nt.jit(two_loops, target="cuda-sim"))
