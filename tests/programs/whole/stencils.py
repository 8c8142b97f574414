"""Grids and their neighbours: heat, waves, flow, cellular automata."""

import numpy as np
from whole.program import SIZED, Program

KERNEL = np.array([0.25, 0.5, 0.25])
WALLS = np.zeros((0, 2), dtype=np.int64)
SETTINGS = {"alpha": 0.1, "steps": 3}


def heat_until_steady(u, tol=1e-3, most=200):
    new = u.copy()
    for step in range(most):
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.max(np.abs(new - u))
        u, new = new, u
        if change < tol:
            break
    return u, step, change


def wave_with_absorbing_ends(u, c, dt, steps):
    previous = u.copy()
    record = []
    for n in range(steps):
        following = np.zeros_like(u)
        following[1:-1] = 2 * u[1:-1] - previous[1:-1] + (c * dt) ** 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        following[0] = u[1]
        following[-1] = u[-2]
        previous, u = u, following
        if n % 2 == 0:
            record.append(u.copy())
    return np.array(record)


def advect_upwind(q, velocity, dt):
    up = velocity > 0
    for _ in range(SETTINGS["steps"]):
        flux = np.where(up, velocity * q, velocity * np.roll(q, -1))
        q[1:] -= dt * (flux[1:] - flux[:-1])
        q[0] -= dt * (flux[0] - flux[-1])
    return q.sum()


def life_generations(board, generations):
    alive = []
    for _ in range(generations):
        n = sum(
            np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(board.dtype)
        alive.append(int(board.sum()))
    return board, alive


def multigrid_cycle(u, f, smooth):
    n = len(u)
    h = 1.0 / (n - 1)
    for _ in range(smooth):
        u[1:-1] = 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])
    if n > 3:
        r = np.zeros_like(u)
        r[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / (h * h)
        coarse = r[::2].copy()
        coarse[1:-1] = 0.25 * r[1:-3:2] + 0.5 * r[2:-2:2] + 0.25 * r[3:-1:2]
        e = np.zeros_like(coarse)
        m = len(e)
        H = 1.0 / (m - 1)
        for _ in range(20):
            e[1:-1] = 0.5 * (e[:-2] + e[2:] + H * H * coarse[1:-1])
        u[::2] += e
        u[1::2] += 0.5 * (e[:-1] + e[1:])
    for _ in range(smooth):
        u[1:-1] = 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])
    return np.abs(u).max()


def cavity_pressure(p, b, dx, dy):
    pn = np.empty_like(p)
    for _ in range(SETTINGS["steps"]):
        pn[:] = p
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def separable_blur(image):
    radius = len(KERNEL) // 2
    padded = np.pad(image, radius, mode="edge")
    out = np.zeros_like(image, dtype=float)
    rows = np.zeros((padded.shape[0], image.shape[1]))
    for k, w in enumerate(KERNEL):
        rows += w * padded[:, k : k + image.shape[1]]
    for k, w in enumerate(KERNEL):
        out += w * rows[k : k + image.shape[0]]
    return out


def walled_diffusion(u, steps):
    open_ = np.ones(u.shape, dtype=bool)
    for i, j in WALLS:
        open_[i, j] = False
    for _ in range(steps):
        gain = np.zeros_like(u)
        count = np.zeros(u.shape, dtype=int)
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a = np.roll(u * open_, (di, dj), axis=(0, 1))
            o = np.roll(open_, (di, dj), axis=(0, 1))
            gain += np.where(o, a, 0)
            count += o
        u = np.where(open_, u + SETTINGS["alpha"] * (gain - count * u), 0)
    return u


def _settings(k):
    global KERNEL, WALLS
    KERNEL = (np.array([0.25, 0.5, 0.25]), np.array([0.1, 0.2, 0.4, 0.2, 0.1]), np.ones(1))[k]
    WALLS = np.array([[1, 2], [0, 0], [3, 1]])[: (3, 1, 2)[k]]
    SETTINGS["alpha"], SETTINGS["steps"] = (0.1, 0.2, 0.05)[k], (3, 5, 1)[k]


SHAPES = ((6, 7), (9, 5), (4, 4))

PROGRAMS = [
    Program(heat_until_steady, lambda r, k: (r.random(SHAPES[k]), (1e-2, 1e-3, 0.5)[k]), long=True),
    Program(
        wave_with_absorbing_ends,
        lambda r, k: (np.sin(np.arange((9, 14, 5)[k])), 1.0, 0.5, (5, 4, 1)[k]),
        host=SIZED,
        long=True,
    ),
    Program(
        advect_upwind,
        lambda r, k: (r.random((9, 6, 12)[k]), r.standard_normal((9, 6, 12)[k]), 0.1),
        tolerance=1e-10,
        outside=_settings,
        long=True,
    ),
    Program(
        life_generations,
        lambda r, k: (r.integers(0, 2, SHAPES[k]).astype(("i8", "u1", "i4")[k]), (3, 1, 4)[k]),
        long=True,
    ),
    Program(
        multigrid_cycle, lambda r, k: (np.zeros((9, 17, 3)[k]), r.random((9, 17, 3)[k]), (2, 1, 3)[k]), 1e-9
    ),
    Program(
        cavity_pressure,
        lambda r, k: (r.random(SHAPES[k]), r.random(SHAPES[k]), 0.1, 0.2),
        outside=_settings,
        long=True,
    ),
    Program(
        separable_blur,
        lambda r, k: (r.integers(0, 255, SHAPES[k]).astype(("u1", "f4", "f8")[k]),),
        tolerance=1e-6,
        outside=_settings,
    ),
    Program(walled_diffusion, lambda r, k: (r.random(SHAPES[k]), (2, 3, 1)[k]), outside=_settings, long=True),
]
