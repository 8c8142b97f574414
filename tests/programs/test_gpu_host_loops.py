"""Loops of the host on a simulated GPU: what they count and ask for stays with the host, results are Python's."""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest


def relaxed(u, steps: int):
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = v
    return u


def relaxed_until(u, tolerance):
    error, count = 1.0, 0
    while error > tolerance and count < 50:
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        error = np.abs(v - u).max()
        u = v
        count += 1
    return u, error, count


def growing(u, end: int):
    time, step = 0.0, 0
    while step < end:
        u = u * 0.5 + time
        time += 0.25
        step += 1
    return u, time, step


def in_branches(u, steps: int):
    total = 0
    for k in range(steps):
        if k % 3 == 0:
            u = u + k
            total = total + 2
        else:
            u = u * 1.5
    return u, total


def halved(u, limit):
    scale = 1.0
    while np.abs(u).sum() * scale > limit:
        scale = scale / 2
    return u * scale, scale


CALLS = {
    relaxed: [(0,), (1,), (4,), (5,)],
    relaxed_until: [(1e-2,), (10.0,), (1e-9,)],
    growing: [(0,), (1,), (4,)],
    in_branches: [(0,), (1,), (5,)],
    halved: [(1.0,), (1e9,)],
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_loops_of_the_host(function, dynamic: bool):
    compiled = nt.jit(function, target="cuda-sim", dynamic=dynamic)
    for seed, numbers in enumerate(CALLS[function]):
        rng = np.random.default_rng(seed)
        u = rng.standard_normal((3 + 2 * seed, 5))
        want, got = function(u, *numbers), compiled(u, *numbers)
        for one, other in zip(
            np.atleast_1d(want) if isinstance(want, np.ndarray) else want, got, strict=True
        ):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "loop", "launches", "reads"), [(relaxed, "scf.for", 2, 0), (growing, "scf.while", 2, 0)]
)
def test_an_iteration_launches_what_arrays_need(function, loop, launches, reads):
    """And waits for nothing. `relaxed` does two steps an iteration, each of which writes the other array."""
    compiled = nt.jit(function, target="cuda-sim", dynamic=True)
    text = compiled.lower(nt.spec(("n", "m"), "f8"), 5).as_text("gpu")
    body = re.search(rf"^    {loop}\b.*?^    }}(?! do)", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    assert body[0].count("gpu.launch_func") == launches
    cells = re.findall(r"(%\w+) = memref.alloca", text)
    loads = re.findall(r"memref.load (%\w+)\[\]", body[0])
    assert len([one for one in loads if one not in cells]) == reads
