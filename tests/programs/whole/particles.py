"""Bodies and particles: integrators, forces, lattices, walks."""

import numpy as np
from nestor import random
from whole.program import NUMPY, SIZED, Program

G = 1.0
BOX = np.array([4.0, 4.0])
MASSES = np.ones(2)


def leapfrog(position, velocity, dt, steps):
    energy = np.empty(steps)
    for s in range(steps):
        for half in range(2):
            acceleration = np.zeros_like(position)
            for i in range(len(position)):
                d = position - position[i]
                r2 = (d**2).sum(axis=1) + 0.01
                acceleration[i] = (G * MASSES / r2**1.5) @ d
            velocity += 0.5 * dt * acceleration
            if half == 0:
                position += dt * velocity
        energy[s] = 0.5 * (MASSES * (velocity**2).sum(axis=1)).sum()
    return energy


def lennard_jones(x, cutoff):
    n = x.shape[0]
    force = np.zeros_like(x)
    energy = 0.0
    pairs = 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            d = x[i] - x[j]
            d -= BOX * np.round(d / BOX)
            r2 = d @ d
            if r2 < cutoff * cutoff:
                s6 = 1.0 / r2**3
                energy += 4 * (s6 * s6 - s6)
                f = 24 * (2 * s6 * s6 - s6) / r2
                force[i] += f * d
                force[j] -= f * d
                pairs += 1
    return energy, force, pairs


def cell_lists(x, cells):
    n = len(x)
    which = np.minimum((x / BOX * cells).astype(int), cells - 1)
    flat = which[:, 0] * cells + which[:, 1]
    head = np.full(cells * cells, -1)
    follows = np.full(n, -1)
    for i in range(n):
        follows[i] = head[flat[i]]
        head[flat[i]] = i
    close = 0
    for i in range(n):
        for cx in range(max(which[i, 0] - 1, 0), min(which[i, 0] + 2, cells)):
            for cy in range(max(which[i, 1] - 1, 0), min(which[i, 1] + 2, cells)):
                j = head[cx * cells + cy]
                while j >= 0:
                    if j != i:
                        dx, dy = x[i] - x[j]
                        if dx * dx + dy * dy < 1.0:
                            close += 1
                    j = follows[j]
    return close // 2, np.bincount(flat, minlength=cells * cells)


def runge_kutta(f0, t_end, h):
    def slope(y):
        dy = np.empty_like(y)
        dy[0] = 10.0 * (y[1] - y[0])
        dy[1] = y[0] * (28.0 - y[2]) - y[1]
        dy[2] = y[0] * y[1] - 8.0 / 3.0 * y[2]
        return dy

    y = f0.copy()
    t = 0.0
    track = [y.copy()]
    while t < t_end - 1e-12:
        step = min(h, t_end - t)
        k1 = slope(y)
        k2 = slope(y + 0.5 * step * k1)
        k3 = slope(y + 0.5 * step * k2)
        k4 = slope(y + step * k3)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += step
        track.append(y.copy())
    return np.array(track)


def adaptive_euler(y, t_end, tol):
    t, h = 0.0, 0.1
    accepted = rejected = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k1 = -2 * t * y
        k2 = -2 * (t + h) * (y + h * k1)
        error = np.abs(0.5 * h * (k2 - k1)).max()
        if error <= tol:
            y = y + 0.5 * h * (k1 + k2)
            t += h
            accepted += 1
        else:
            rejected += 1
        h *= min(2.0, max(0.2, 0.9 * np.sqrt(tol / max(error, 1e-16))))
    return y, accepted, rejected


def ising_sweeps(key, spins, beta, sweeps):
    n, m = spins.shape
    magnetisation = np.zeros(sweeps)
    for s in range(sweeps):
        u = random.uniform(random.fold_in(key, s), (n, m), np.float64)
        for i in range(n):
            for j in range(m):
                around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % m]
                dE = 2 * spins[i, j] * around
                if dE <= 0 or u[i, j] < np.exp(-beta * dE):
                    spins[i, j] = -spins[i, j]
        magnetisation[s] = spins.mean()
    return magnetisation


def walk_until_exit(key, walkers, radius):
    steps = np.zeros(walkers, dtype=np.int64)
    ends = np.zeros(walkers, dtype=complex)
    for w in range(walkers):
        z = 0j
        k = 0
        while abs(z) < radius:
            u = random.uniform(random.fold_in(random.fold_in(key, w), k), (), np.float64)
            z += np.exp(2j * np.pi * u)
            k += 1
        steps[w] = k
        ends[w] = z
    return steps, ends


def split_step_schroedinger(psi, potential, dt, steps):
    n = len(psi)
    k = 2 * np.pi * np.fft.fftfreq(n)
    half = np.exp(-0.5j * potential * dt)
    kinetic = np.exp(-0.5j * k**2 * dt)
    for _ in range(steps):
        psi *= half
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi *= half
    density = psi.real**2 + psi.imag**2
    return psi, density / density.sum()


def _outside(k):
    global G, BOX, MASSES
    G = (1.0, 0.5, 2.0)[k]
    BOX = (np.array([4.0, 4.0]), np.array([5.0, 3.0]), np.array([6.0, 6.0]))[k]
    MASSES = np.linspace(1, 2, (4, 6, 2)[k])


def _spins(r, k):
    return np.where(r.random(((4, 5), (6, 3), (2, 2))[k]) < 0.5, -1, 1)


PROGRAMS = [
    Program(
        leapfrog,
        lambda r, k: (
            r.random(((4, 2), (6, 3), (2, 2))[k]),
            r.random(((4, 2), (6, 3), (2, 2))[k]),
            0.01,
            (3, 2, 5)[k],
        ),
        1e-10,
        outside=_outside,
        long=True,
    ),
    Program(
        lennard_jones,
        lambda r, k: (r.random(((7, 2), (9, 2), (3, 2))[k]) * 3, (1.5, 2.0, 3.0)[k]),
        1e-9,
        outside=_outside,
    ),
    Program(
        cell_lists,
        lambda r, k: (r.random(((12, 2), (20, 2), (5, 2))[k]) * 3, (3, 4, 2)[k]),
        outside=_outside,
        python="np.bincount is NumPy's",
        host=NUMPY,
        long=True,
    ),
    Program(
        runge_kutta,
        lambda r, k: (r.random(3), (0.1, 0.07, 0.02)[k], 0.02),
        1e-10,
        host=SIZED,
        long=True,
    ),
    Program(adaptive_euler, lambda r, k: (r.random((4, 7, 1)[k]), (1.0, 0.5, 2.0)[k], 1e-3), 1e-9),
    Program(ising_sweeps, lambda r, k: (np.uint64((5, 2, 9)[k]), _spins(r, k), 0.4, (3, 2, 4)[k])),
    Program(walk_until_exit, lambda r, k: (np.uint64((5, 2, 9)[k]), (4, 6, 2)[k], (2.0, 3.0, 1.5)[k]), 1e-10),
    Program(
        split_step_schroedinger,
        lambda r, k: (r.standard_normal((8, 12, 5)[k]) + 0j, r.random((8, 12, 5)[k]), 0.1, (3, 2, 4)[k]),
        1e-9,
        python="np.fft calls NumPy's transforms",
        refused="is written in place and given a new value in this loop",
    ),
]
