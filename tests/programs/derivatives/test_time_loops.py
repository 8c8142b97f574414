"""Time loops that overwrite their state, with a bound on what is kept: gradients against central differences."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

BOUNDS = [{"snapshots": 1}, {"snapshots": 3}, {"bytes": 1000}, {"bytes": 10**6}, {"snapshots": 2}]


def sweeps(u, v, n):
    """Gauss-Seidel, of something that is not linear."""
    u = u.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i] + 0.1 * np.sin(u[i - 1]) * v[i] - 0.05 * u[i + 1] ** 2
    return (u * u).sum()


def waves(u, v, n):
    """Two arrays that change places by copies, and a source that says the step."""
    p, q, r = u.copy(), u.copy(), np.zeros_like(u)
    for t in range(n):
        for i in range(1, u.shape[0] - 1):
            r[i] = 2 * p[i] - q[i] + (v[i] * 0.3) ** 2 * (p[i + 1] - 2 * p[i] + p[i - 1])
        r[3] += 0.01 * t * p[3] ** 2
        for i in range(u.shape[0]):
            q[i] = p[i]
            p[i] = r[i]
    return (p * np.cos(q)).sum()


def two_loops(u, v, n):
    """What is done before, between and after."""
    u = u.copy()
    for i in range(u.shape[0]):
        u[i] = u[i] * v[i]
    for _ in range(0, n, 2):
        for i in range(1, u.shape[0]):
            u[i] = np.tanh(u[i] + 0.3 * u[i - 1])
    u[0] = u[1] * u[2]
    for _ in range(n, 2 * n):
        for i in range(u.shape[0] - 1):
            u[i] = u[i] * 0.9 + 0.1 * u[i + 1] * v[i]
    return u.sum()


def planes(u, v, n):
    """Two dimensions, and a branch."""
    a = np.outer(u, v)
    for _ in range(n):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                s = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
                if s > 0.1:
                    a[i, j] = s * s
                else:
                    a[i, j] = s
    return (a * a).sum()


def recorded(u, v, n):
    """What each step leaves at one place is kept in another array; a number of its own, and a sum over all steps."""
    u, trace, total = u.copy(), np.zeros(n), 0.0
    for t in range(n):
        for i in range(u.shape[0] - 1):
            here = u[i]
            u[i] = 0.5 * here + 0.3 * u[i + 1] * v[i] + 0.1 * t
        trace[t] = u[2] ** 2
        total += u[1]
    return (trace * trace).sum() + total


def differences(f, arguments, n):
    found = []
    for k, x in enumerate(arguments):
        g = np.zeros_like(x)
        for i in range(len(x)):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in arguments]
                moved[k][i] += h
                ends.append(f(*moved, n))
            g[i] = (ends[0] - ends[1]) / 2e-6
        found.append(g)
    return found


def check(f, bound, sizes, counts, **options):
    rng = np.random.default_rng(11)
    gradient = nt.jit(nt.grad(nt.checkpoint(f, **bound), argnums=(0, 1)), **options)
    for size in sizes:
        x, v = rng.uniform(-0.5, 0.5, size), rng.uniform(-0.5, 0.5, size)
        for n in counts:
            for one, other in zip(gradient(x, v, n), differences(f, (x, v), n), strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


PROGRAMS = [sweeps, waves, two_loops, planes, recorded]


@pytest.mark.parametrize(("f", "bound"), list(zip(PROGRAMS, BOUNDS, strict=True)))
def test_gradients(f, bound):
    check(f, bound, (8,), (0, 1, 7))


@pytest.mark.slow
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_of_all(f, bound):
    check(f, bound, (8, 5, 11), (0, 1, 2, 7, 20))
    check(f, bound, (8, 5, 11), (0, 7, 20), dynamic=True)
    check(f, bound, (8,), (7,), target="interp")


def test_a_bound_in_bytes_is_held():
    """500 states of 800 bytes, of which 10 are kept."""
    run = nt.checkpoint(sweeps, bytes=8000)
    text = nt.grad(lambda u, v: run(u, v, 500)).lower(np.ones(100), np.ones(100)).as_text("nest")
    assert "memref<10x100xf64>" in text
    assert "500x100" not in text


def test_what_is_only_recorded_is_no_state():
    def steps(u):
        u, trace = u.copy(), np.zeros((500, 10))
        for t in range(500):
            for i in range(1, 100):
                u[i] = u[i] * 0.5 + u[i - 1] ** 2
            for i in range(10):
                trace[t, i] = u[i]
        return (trace * trace).sum()

    run = nt.checkpoint(steps, bytes=8000)
    text = nt.grad(lambda u: run(u)).lower(np.ones(100)).as_text("nest")
    assert "memref<10x100xf64>" in text
    assert "x500x10x" not in text
