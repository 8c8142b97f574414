"""Loops over time steps: many short parallel regions one after the other, the programs that suffer most beside others."""

from __future__ import annotations

import numpy as np

from .row import FLOAT, Row


def heat(u, steps):
    for _ in range(int(steps)):
        new = u.copy()
        new[1:-1, 1:-1] = np.float32(0.25) * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = new
    return u


def _heat_numba(nb):
    @nb.njit(parallel=True, error_model="numpy")
    def kernel(out, u, steps):
        n, m = u.shape
        quarter = np.float32(0.25)
        now, then = u.copy(), u.copy()
        for _ in range(steps[()]):
            for i in nb.prange(1, n - 1):
                for j in range(1, m - 1):
                    then[i, j] = quarter * (now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1])
            now, then = then, now
        out[:] = now

    return kernel


def _heat_jax(jax, jnp):
    def step(_, u):
        inner = jnp.float32(0.25) * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(inner)

    return lambda u, steps: jax.lax.fori_loop(0, steps, step, u)


def _heat_torch(torch):
    def call(u, steps):
        for _ in range(int(steps)):
            new = u.clone()
            new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            u = new
        return u

    return call


def _row(n: int, steps: int) -> Row:
    return Row(
        f"heat-{n}",
        f"heat equation, {n} x {n}, {steps} steps",
        {"n": n, "steps": steps},
        {"n": 9, "steps": 3},
        lambda rng, d: [rng.random((d.n, d.n), FLOAT), np.array(d.steps)],
        lambda d: [((d.n, d.n), FLOAT)],
        heat,
        lambda d: 4.0 * d.n * d.n * d.steps,
        {"numba": _heat_numba, "jax": _heat_jax, "torch": _heat_torch},
    )


ROWS = (_row(256, 200), _row(512, 100), _row(2048, 10))
