"""Gradients of loops that write in place, as people write them in plain Python; jax has them as its users write them.

That is `lax.fori_loop` and `scan`, whole rows or whole arrays at a time where the order allows that, `.at[].set` and
`.at[].add`.
"""

from __future__ import annotations

import numpy as np

from .gradients import gradient_row
from .row import FLOAT, normal, uniform

# ---- stencils in time -------------------------------------------------------------------------------------


def jacobi_2d(a, b):
    a, b = a.copy(), b.copy()
    n, m = a.shape
    for _ in range(50):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return (a * a).sum()


def _jacobi_jax(jax, jnp):
    def swept(to, x):
        return to.at[1:-1, 1:-1].set(
            0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])
        )

    def step(_, state):
        a, b = state
        b = swept(b, a)
        return swept(a, b), b

    def loss(a, b):
        a, _ = jax.lax.fori_loop(0, 50, step, (a, b))
        return (a * a).sum()

    return loss


def seidel_2d(a):
    a = a.copy()
    n, m = a.shape
    for _ in range(20):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9
    return (a * a).sum()


def _seidel_jax(jax, jnp):
    loop = jax.lax.fori_loop

    def loss(a):
        n, m = a.shape

        def element(i, j, a):
            window = jax.lax.dynamic_slice(a, (i - 1, j - 1), (3, 3))
            return a.at[i, j].set(window.sum() / 9)

        def row(i, a):
            return loop(1, m - 1, lambda j, a: element(i, j, a), a)

        a = loop(0, 20, lambda _, a: loop(1, n - 1, row, a), a)
        return (a * a).sum()

    return loss


def fdtd_2d(ex, ey, hz):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    n, m = ex.shape
    for t in range(50):
        for j in range(m):
            ey[0, j] = t
        for i in range(1, n):
            for j in range(m):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return (hz * hz).sum()


def _fdtd_jax(jax, jnp):
    def step(t, state):
        ex, ey, hz = state
        ey = ey.at[0].set(t)
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        turn = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return ex, ey, hz.at[:-1, :-1].add(-0.7 * turn)

    def loss(ex, ey, hz):
        _, _, hz = jax.lax.fori_loop(0, 50, step, (ex, ey, hz))
        return (hz * hz).sum()

    return loss


DX, DT, NU = 0.05, 0.001, 0.1


def cavity_flow(u, v, p):
    u, v, p = u.copy(), v.copy(), p.copy()
    n, m = u.shape
    b, pn = np.zeros((n, m), u.dtype), np.zeros((n, m), u.dtype)
    un, vn = np.zeros((n, m), u.dtype), np.zeros((n, m), u.dtype)
    for _ in range(20):
        un[:] = u
        vn[:] = v
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                ux = (u[i, j + 1] - u[i, j - 1]) / (2 * DX)
                vy = (v[i + 1, j] - v[i - 1, j]) / (2 * DX)
                uy = (u[i + 1, j] - u[i - 1, j]) / (2 * DX)
                vx = (v[i, j + 1] - v[i, j - 1]) / (2 * DX)
                b[i, j] = (ux + vy) / DT - ux * ux - 2 * uy * vx - vy * vy
        for _ in range(10):
            pn[:] = p
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    around = pn[i, j + 1] + pn[i, j - 1] + pn[i + 1, j] + pn[i - 1, j]
                    p[i, j] = 0.25 * around - 0.25 * DX * DX * b[i, j]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                x, y = un[i, j] * DT / DX, vn[i, j] * DT / DX
                spread = un[i, j + 1] + un[i, j - 1] + un[i + 1, j] + un[i - 1, j] - 4 * un[i, j]
                moved = un[i, j] - x * (un[i, j] - un[i, j - 1]) - y * (un[i, j] - un[i - 1, j])
                u[i, j] = moved - DT / (2 * DX) * (p[i, j + 1] - p[i, j - 1]) + NU * DT / DX**2 * spread
                spread = vn[i, j + 1] + vn[i, j - 1] + vn[i + 1, j] + vn[i - 1, j] - 4 * vn[i, j]
                moved = vn[i, j] - x * (vn[i, j] - vn[i, j - 1]) - y * (vn[i, j] - vn[i - 1, j])
                v[i, j] = moved - DT / (2 * DX) * (p[i + 1, j] - p[i - 1, j]) + NU * DT / DX**2 * spread
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return (u * u).sum() + (v * v).sum()


def _cavity_jax(jax, jnp):
    def parts(x):
        return x[1:-1, 1:-1], x[1:-1, 2:], x[1:-1, :-2], x[2:, 1:-1], x[:-2, 1:-1]

    def pressure(p, b):
        _, right, left, down, up = parts(p)
        p = p.at[1:-1, 1:-1].set(0.25 * (right + left + down + up) - 0.25 * DX * DX * b)
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0].set(p[1])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1].set(0)

    def moved(x, u, v, change):
        here, right, left, down, up = parts(x)
        by = u[1:-1, 1:-1] * DT / DX * (here - left) + v[1:-1, 1:-1] * DT / DX * (here - up)
        spread = right + left + down + up - 4 * here
        return x.at[1:-1, 1:-1].set(here - by - DT / (2 * DX) * change + NU * DT / DX**2 * spread)

    def step(_, state):
        u, v, p = state
        _, ur, ul, ud, uu = parts(u)
        _, vr, vl, vd, vu = parts(v)
        ux, uy, vx, vy = [d / (2 * DX) for d in (ur - ul, ud - uu, vr - vl, vd - vu)]
        b = (ux + vy) / DT - ux * ux - 2 * uy * vx - vy * vy
        p = jax.lax.fori_loop(0, 10, lambda _, p: pressure(p, b), p)
        _, pr, pl, pd, pu = parts(p)
        un, vn = u, v
        u, v = moved(un, un, vn, pr - pl), moved(vn, un, vn, pd - pu)
        u = u.at[0].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1].set(1)
        return u, v.at[0].set(0).at[-1].set(0).at[:, 0].set(0).at[:, -1].set(0), p

    def loss(u, v, p):
        u, v, _ = jax.lax.fori_loop(0, 20, step, (u, v, p))
        return (u * u).sum() + (v * v).sum()

    return loss


# ---- factorisations ---------------------------------------------------------------------------------------


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return (a * a).sum()


def _lu_jax(jax, jnp):
    def loss(a):
        rows = jnp.arange(a.shape[0])

        def step(k, a):
            below = rows > k
            column = jnp.where(below, a[:, k] / a[k, k], a[:, k])
            a = a.at[:, k].set(column)
            return a - jnp.where(below, column, 0)[:, None] * jnp.where(below, a[k], 0)

        a = jax.lax.fori_loop(0, a.shape[0], step, a)
        return (a * a).sum()

    return loss


def cholesky(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            s += a[i, j] * a[i, j]
    return s


def _cholesky_jax(jax, jnp):
    def loss(a):
        rows = jnp.arange(a.shape[0])

        def step(k, a):
            below = rows > k
            root = jnp.sqrt(a[k, k])
            column = jnp.where(below, a[:, k] / root, jnp.where(rows == k, root, a[:, k]))
            a = a.at[:, k].set(column)
            column = jnp.where(below, column, 0)
            # only the lower half is read: the upper one stays as it was
            return a - jnp.where(rows[:, None] >= rows, column[:, None] * column, 0)

        a = jnp.tril(jax.lax.fori_loop(0, a.shape[0], step, a))
        return (a * a).sum()

    return loss


def _definite(rng, d):
    b = normal(rng, d.n, d.n)
    return [(b @ b.T / d.n + np.eye(d.n)).astype(FLOAT)]


# ---- recurrences and dynamic programs ---------------------------------------------------------------------

_E = float(np.exp(-0.25))
_K = (1 - _E) ** 2 / (1 + 0.5 * _E - _E * _E)
A1, A2, A3, A4 = _K, _K * _E * -0.75, _K * _E * 1.25, -_K * _E * _E
B1, B2 = 2 * _E, -_E * _E


def deriche(x):
    n, m = x.shape
    y1, y2 = np.zeros((n, m), x.dtype), np.zeros((n, m), x.dtype)
    for i in range(n):
        y1[i, 0] = A1 * x[i, 0]
        y1[i, 1] = A1 * x[i, 1] + A2 * x[i, 0] + B1 * y1[i, 0]
        for j in range(2, m):
            y1[i, j] = A1 * x[i, j] + A2 * x[i, j - 1] + B1 * y1[i, j - 1] + B2 * y1[i, j - 2]
        y2[i, m - 2] = A3 * x[i, m - 1]
        for j in range(m - 3, -1, -1):
            y2[i, j] = A3 * x[i, j + 1] + A4 * x[i, j + 2] + B1 * y2[i, j + 1] + B2 * y2[i, j + 2]
    z = y1 + y2
    w1, w2 = np.zeros((n, m), x.dtype), np.zeros((n, m), x.dtype)
    for j in range(m):
        w1[0, j] = A1 * z[0, j]
        w1[1, j] = A1 * z[1, j] + A2 * z[0, j] + B1 * w1[0, j]
        w2[n - 2, j] = A3 * z[n - 1, j]
    for i in range(2, n):
        for j in range(m):
            w1[i, j] = A1 * z[i, j] + A2 * z[i - 1, j] + B1 * w1[i - 1, j] + B2 * w1[i - 2, j]
    for i in range(n - 3, -1, -1):
        for j in range(m):
            w2[i, j] = A3 * z[i + 1, j] + A4 * z[i + 2, j] + B1 * w2[i + 1, j] + B2 * w2[i + 2, j]
    out = w1 + w2
    return (out * out).sum()


def _deriche_jax(jax, jnp):
    def down(x):
        zero = jnp.zeros(x.shape[1], x.dtype)

        def forward(carry, row):
            before, one, two = carry
            y = A1 * row + A2 * before + B1 * one + B2 * two
            return (row, y, one), y

        def backward(carry, row):
            one_x, two_x, one, two = carry
            y = A3 * one_x + A4 * two_x + B1 * one + B2 * two
            return (row, one_x, y, one), y

        _, first = jax.lax.scan(forward, (zero, zero, zero), x)
        _, second = jax.lax.scan(backward, (zero, zero, zero, zero), x, reverse=True)
        return first + second

    def loss(x):
        out = down(down(x.T).T)
        return (out * out).sum()

    return loss


def floyd_warshall(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d.sum()


def _floyd_jax(jax, jnp):
    def loss(d):
        step = lambda k, d: jnp.minimum(d, d[:, k, None] + d[k])  # noqa: E731
        return jax.lax.fori_loop(0, d.shape[0], step, d).sum()

    return loss


def soft_dtw(x, y):
    n, m = x.shape[0], y.shape[0]
    r = np.full((n + 1, m + 1), 1e6, x.dtype)
    r[0, 0] = 0
    for i in range(n):
        for j in range(m):
            a, b, c = r[i, j], r[i, j + 1], r[i + 1, j]
            low = min(a, min(b, c))
            paths = np.exp(low - a) + np.exp(low - b) + np.exp(low - c)
            r[i + 1, j + 1] = (x[i] - y[j]) ** 2 + low - np.log(paths)
    return r[n, m]


def _soft_dtw_jax(jax, jnp):
    def loss(x, y):
        def element(left, above):
            corner, up, cost = above
            value = cost - jax.nn.logsumexp(-jnp.stack([corner, up, left]))
            return value, value

        def row(above, at):
            _, values = jax.lax.scan(element, jnp.float32(1e6), (above[:-1], above[1:], (at - y) ** 2))
            return jnp.concatenate([jnp.full(1, 1e6, x.dtype), values]), None

        first = jnp.full(y.size + 1, 1e6, x.dtype).at[0].set(0)
        last, _ = jax.lax.scan(row, first, x)
        return last[-1]

    return loss


# ---- places from data -------------------------------------------------------------------------------------


def histogram(x, w, target):
    h = np.zeros(target.shape[0], x.dtype)
    for i in range(x.shape[0]):
        at = x[i] * (target.shape[0] - 2)
        k = int(at)
        f = at - k
        h[k] += w[i] * (1 - f)
        h[k + 1] += w[i] * f
    return ((h - target) ** 2).mean()


def _histogram_jax(jax, jnp):
    def loss(x, w, target):
        at = x * (target.size - 2)
        k = at.astype(jnp.int32)
        f = at - k
        h = jnp.zeros(target.size, x.dtype).at[k].add(w * (1 - f)).at[k + 1].add(w * f)
        return ((h - target) ** 2).mean()

    return loss


def _histogram_arguments(rng, d):
    return [uniform(rng, d.n), uniform(rng, d.n) / FLOAT(d.n / d.k), normal(rng, d.k)]


def warp(image, flow):
    n, m = image.shape
    out = np.zeros((n, m), image.dtype)
    for i in range(n):
        for j in range(m):
            y = min(max(i + flow[0, i, j], 0.0), n - 1.5)
            x = min(max(j + flow[1, i, j], 0.0), m - 1.5)
            a, b = int(y), int(x)
            f, g = y - a, x - b
            above = (1 - g) * image[a, b] + g * image[a, b + 1]
            below = (1 - g) * image[a + 1, b] + g * image[a + 1, b + 1]
            out[i, j] = (1 - f) * above + f * below
    return (out * out).sum()


def _warp_jax(jax, jnp):
    def loss(image, flow):
        n, m = image.shape
        y = jnp.minimum(jnp.maximum(jnp.arange(n)[:, None] + flow[0], 0.0), n - 1.5)
        x = jnp.minimum(jnp.maximum(jnp.arange(m) + flow[1], 0.0), m - 1.5)
        a, b = y.astype(jnp.int32), x.astype(jnp.int32)
        f, g = y - a, x - b
        above = (1 - g) * image[a, b] + g * image[a, b + 1]
        below = (1 - g) * image[a + 1, b] + g * image[a + 1, b + 1]
        out = (1 - f) * above + f * below
        return (out * out).sum()

    return loss


# ---- a trajectory -----------------------------------------------------------------------------------------


def _slopes(np_, t, u, p, q):
    c, s = np_.cos(t - u), np_.sin(t - u)
    den = 2 - c * c
    a = (9.81 * np_.sin(u) * c - s * (p * p * c + q * q) - 2 * 9.81 * np_.sin(t)) / den
    b = (2 * s * p * p + 2 * 9.81 * (np_.sin(t) * c - np_.sin(u)) + q * q * s * c) / den
    return p, q, a, b


def _runge_kutta(np_, state, h):
    t, u, p, q = state
    a1, b1, c1, d1 = _slopes(np_, t, u, p, q)
    a2, b2, c2, d2 = _slopes(np_, t + h / 2 * a1, u + h / 2 * b1, p + h / 2 * c1, q + h / 2 * d1)
    a3, b3, c3, d3 = _slopes(np_, t + h / 2 * a2, u + h / 2 * b2, p + h / 2 * c2, q + h / 2 * d2)
    a4, b4, c4, d4 = _slopes(np_, t + h * a3, u + h * b3, p + h * c3, q + h * d3)
    t = t + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    u = u + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    p = p + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
    q = q + h / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
    return t, u, p, q


STEPS = 20_000


def double_pendulum(start):
    t, u, p, q = start[0], start[1], start[2], start[3]
    for _ in range(STEPS):
        t, u, p, q = _runge_kutta(np, (t, u, p, q), 1e-4)
    return t * t + u * u


def _pendulum_jax(jax, jnp):
    def loss(start):
        step = lambda _, state: _runge_kutta(jnp, state, 1e-4)  # noqa: E731
        t, u, _, _ = jax.lax.fori_loop(0, STEPS, step, tuple(start))
        return t * t + u * u

    return loss


def _two(rng, d):
    return [normal(rng, d.n, d.n), normal(rng, d.n, d.n)]


def _three(rng, d):
    return [normal(rng, d.n, d.n + 1) * FLOAT(d.size) for _ in range(3)]


ROWS = [
    gradient_row(
        "grad-jacobi-2d",
        "gradients of 50 steps of jacobi-2d, 500 x 500",
        {"n": 500},
        {"n": 9},
        _two,
        jacobi_2d,
        lambda d: 50 * 2 * 15 * d.n**2,
        _jacobi_jax,
    ),
    gradient_row(
        "grad-seidel-2d",
        "gradient of 20 steps of seidel-2d, 200 x 200",
        {"n": 200},
        {"n": 9},
        lambda rng, d: [normal(rng, d.n, d.n)],
        seidel_2d,
        lambda d: 20 * 27 * d.n**2,
        _seidel_jax,
    ),
    gradient_row(
        "grad-fdtd-2d",
        "gradients of 50 steps of fdtd-2d, 500 x 501",
        {"n": 500, "size": 1},
        {"n": 9, "size": 1},
        _three,
        fdtd_2d,
        lambda d: 50 * 33 * d.n**2,
        _fdtd_jax,
    ),
    gradient_row(
        "grad-cavity-flow",
        "gradients of 20 steps of cavity flow, 201 x 202",
        {"n": 201, "size": 0.1},
        {"n": 8, "size": 0.1},
        _three,
        cavity_flow,
        lambda d: 20 * 3 * 130 * d.n**2,
        _cavity_jax,
        tolerance=1e-3,
    ),
    gradient_row(
        "grad-lu",
        "gradient of lu, 300 x 300",
        {"n": 300},
        {"n": 7},
        _definite,
        lu,
        lambda d: 2 * d.n**3,
        _lu_jax,
    ),
    gradient_row(
        "grad-cholesky",
        "gradient of cholesky, 400 x 400",
        {"n": 400},
        {"n": 7},
        _definite,
        cholesky,
        lambda d: d.n**3,
        _cholesky_jax,
    ),
    gradient_row(
        "grad-deriche",
        "gradient of Deriche's filter, 1000 x 1000",
        {"n": 1000},
        {"n": 8},
        lambda rng, d: [normal(rng, d.n, d.n)],
        deriche,
        lambda d: 3 * 32 * d.n**2,
        _deriche_jax,
    ),
    gradient_row(
        "grad-floyd-warshall",
        "gradient of the shortest paths of 300 places",
        {"n": 300},
        {"n": 7},
        lambda rng, d: [uniform(rng, d.n, d.n) + FLOAT(0.01)],
        floyd_warshall,
        lambda d: 2 * d.n**3,
        _floyd_jax,
        tolerance=1e-2,  # where two paths are equal but for rounding, either may be the shortest
    ),
    gradient_row(
        "grad-soft-dtw",
        "gradients of soft-DTW, 500 x 500",
        {"n": 500, "m": 500},
        {"n": 6, "m": 5},
        lambda rng, d: [normal(rng, d.n), normal(rng, d.m)],
        soft_dtw,
        lambda d: 40 * d.n * d.m,
        _soft_dtw_jax,
        tolerance=1e-3,
    ),
    gradient_row(
        "grad-histogram",
        "gradients of a histogram of 2M values",
        {"n": 2_000_000, "k": 256},
        {"n": 20, "k": 6},
        _histogram_arguments,
        histogram,
        lambda d: 20 * d.n,
        _histogram_jax,
        tolerance=1e-3,
    ),
    gradient_row(
        "grad-warp",
        "gradients of a bilinear warp, 1000 x 1000",
        {"n": 1000},
        {"n": 9},
        lambda rng, d: [normal(rng, d.n, d.n), 3 * normal(rng, 2, d.n, d.n)],
        warp,
        lambda d: 60 * d.n**2,
        _warp_jax,
        tolerance=1e-3,
    ),
    gradient_row(
        "grad-double-pendulum",
        "gradient of 20 000 steps of a double pendulum",
        {},
        {},
        lambda rng, d: [np.array([1.5, 2.0, 0.1, -0.2], FLOAT)],
        double_pendulum,
        lambda d: 3 * 200 * STEPS,
        _pendulum_jax,
        tolerance=1e-2,
    ),
]
"""The loops of the twelve rows; each runs for 1 to 100 ms forward."""
