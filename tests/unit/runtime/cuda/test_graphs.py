"""Many launches are captured as a graph and replayed, where the environment asks for it: what is captured, and when."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from test_cuda_runtime import plain


def jacobi(u):
    u = u.copy()
    for _ in range(10):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u


def scaled_steps(u, factor: float):
    for _ in range(10):
        u = np.cumsum(u[::-1] * factor)
    return u


def one_launch(u):
    return u * 2.0


@pytest.fixture
def graphs(monkeypatch):
    monkeypatch.setenv("NESTOR_CUDA_GRAPHS", "1")


def test_the_third_call_is_a_graph(cupy, general, graphs):
    """The first one compiles, the second one follows the plan, the third one captures it, the next ones launch the graph."""
    compiled = nt.jit(jacobi, target="cuda")
    x, out = cupy.asarray(np.arange(300.0) ** 2), cupy.asarray(np.zeros(300))
    counts = []
    for turn in range(5):
        x.host[:] = np.random.default_rng(turn).standard_normal(300)
        cupy.launches.clear()
        np.testing.assert_array_equal(plain(compiled(x, out=out)), jacobi(x.host))
        counts.append(len(cupy.launches))
    launches = counts[1]
    assert launches >= 10 and len(general) == 1
    assert counts == [launches, launches, launches, 0, 0]
    assert cupy.graphs == [launches] * 3
    assert cupy.waits == 0


def test_other_addresses_and_numbers_are_other_graphs(cupy, general, graphs):
    """A program that is called with its own results has two; of a number that a kernel gets, each value has its own."""
    compiled = nt.jit(scaled_steps, target="cuda")
    x, y = (cupy.asarray(np.random.default_rng(k).standard_normal(3000)) for k in range(2))
    for factor in (0.5, 0.25, 0.5, float("nan"), 0.5, 0.25, float("nan"), 0.5, 0.25, float("nan")):
        for source, target in ((x, y), (y, x)):
            want = scaled_steps(source.host.copy(), factor)
            np.testing.assert_allclose(plain(compiled(source, factor, out=target)), want, rtol=1e-9)
            target.host[:] = np.random.default_rng(7).standard_normal(3000)
    assert len(cupy.graphs) > 4 and cupy.waits == 0


def test_temporaries_of_a_graph_are_its_own(cupy, general, graphs):
    """Nothing is allocated while launches are captured, and no other call gets the memory that the graph uses."""
    compiled = nt.jit(scaled_steps, target="cuda")
    x, out = cupy.asarray(np.linspace(0, 1, 3000)), cupy.asarray(np.zeros(3000))
    want = scaled_steps(x.host.copy(), 0.5)
    for _ in range(4):
        np.testing.assert_allclose(plain(compiled(x, 0.5, out=out)), want, rtol=1e-9)
        others = [cupy.empty(3000) for _ in range(20)]
        for one in others:
            one.host[:] = np.nan
    assert cupy.graphs


def test_what_does_not_capture_is_queued_one_by_one(cupy, general, graphs):
    """Without a word, for good: the results are the same."""
    compiled = nt.jit(jacobi, target="cuda")
    x, out = cupy.asarray(np.arange(300.0) ** 2), cupy.asarray(np.zeros(300))
    cupy.refuses_capture = True
    for _ in range(4):
        np.testing.assert_array_equal(plain(compiled(x, out=out)), jacobi(x.host))
    cupy.refuses_capture = False
    for _ in range(4):
        np.testing.assert_array_equal(plain(compiled(x, out=out)), jacobi(x.host))
    assert cupy.graphs == [] and len(general) == 1


def test_a_call_within_a_capture_of_the_caller_is_part_of_that(cupy, general, graphs):
    compiled = nt.jit(jacobi, target="cuda")
    x, out = cupy.asarray(np.arange(300.0)), cupy.asarray(np.zeros(300))
    for _ in range(4):
        compiled(x, out=out)
    replayed, cupy.allocates = len(cupy.graphs), True
    with (stream := cupy.cuda.Stream(non_blocking=True)):
        stream.begin_capture()
        compiled(x, out=out)
        graph = stream.end_capture()
    assert len(cupy.graphs) == replayed
    x.host[:] = 1.0
    graph.launch()
    np.testing.assert_array_equal(out.host, jacobi(x.host))


@pytest.mark.parametrize("case", ["not asked for", "too few launches", "no graphs in CuPy"])
def test_without_graphs(cupy, general, monkeypatch, case):
    function = one_launch if case == "too few launches" else jacobi
    if case != "not asked for":
        monkeypatch.setenv("NESTOR_CUDA_GRAPHS", "1")
    if case == "no graphs in CuPy":
        del cupy.cuda.Graph
    compiled = nt.jit(function, target="cuda")
    x, out = cupy.asarray(np.arange(300.0)), cupy.asarray(np.zeros(300))
    for _ in range(4):
        np.testing.assert_array_equal(plain(compiled(x, out=out)), function(x.host))
    assert cupy.graphs == []
