"""Short programs as NumPy users write them, compiled as they stand and compared with NumPy."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, same

pytestmark = pytest.mark.one_of(3)

RNG = np.random.default_rng(7)


def kmeans_step(points, centers):
    distances = np.linalg.norm(points[:, None, :] - centers[None, :, :], axis=2)
    labels = np.argmin(distances, axis=1)
    new = np.empty_like(centers)
    for k in range(len(centers)):
        members = labels == k
        count = members.sum()
        new[k] = (points * members[:, None]).sum(axis=0) / max(count, 1)
    return labels, new


def test_kmeans_step():
    agrees(kmeans_step, RNG.normal(size=(60, 3)), RNG.normal(size=(4, 3)), tolerance=1e-12)


def kmeans(points, centers, rounds):
    labels = np.zeros(len(points), dtype=np.int64)
    for _ in range(rounds):
        squared = ((points[:, np.newaxis] - centers) ** 2).sum(axis=-1)
        labels = squared.argmin(axis=1)
        centers = np.stack(
            [
                np.where(
                    (labels == k).any(), points[labels == k].sum() / np.maximum((labels == k).sum(), 1), 0.0
                )
                * np.ones(points.shape[1])
                for k in range(3)
            ]
        )
    return labels, centers


def test_kmeans_with_masks():
    agrees(kmeans, RNG.normal(size=(30, 2)), RNG.normal(size=(3, 2)), 4, tolerance=1e-12)


def cdist(a, b):
    aa = np.einsum("ij,ij->i", a, a)[:, None]
    bb = np.einsum("ij,ij->i", b, b)[None, :]
    return np.sqrt(np.maximum(aa + bb - 2 * a @ b.T, 0))


def nearest_neighbours(train, labels, queries, classes):
    distances = cdist(queries, train)
    votes = np.zeros((queries.shape[0], classes))
    for q in range(queries.shape[0]):
        row = distances[q].copy()
        for _ in range(3):
            nearest = np.argmin(row)
            votes[q, labels[nearest]] += 1
            row[nearest] = np.inf
    return votes.argmax(axis=1)


def test_nearest_neighbours():
    train, queries = RNG.normal(size=(40, 5)), RNG.normal(size=(9, 5))
    agrees(nearest_neighbours, train, RNG.integers(0, 3, 40), queries, 3)


def softmax_regression(x, y, w, b, rate, epochs):
    n = x.shape[0]
    losses = np.zeros(epochs)
    for epoch in range(epochs):
        logits = x @ w + b
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        losses[epoch] = -np.log(p[np.arange(n), y]).mean()
        error = p.copy()
        error[np.arange(n), y] -= 1
        w = w - rate * (x.T @ error) / n
        b = b - rate * error.mean(axis=0)
    return w, b, losses


def test_softmax_regression():
    x, y = RNG.normal(size=(50, 4)), RNG.integers(0, 3, 50)
    agrees(softmax_regression, x, y, np.zeros((4, 3)), np.zeros(3), 0.1, 10, tolerance=1e-9)


def principal_component(x, rounds):
    x = x - x.mean(axis=0)
    c = np.cov(x, rowvar=False)
    v = np.ones(c.shape[0])
    v /= np.linalg.norm(v)
    for _ in range(rounds):
        v = c @ v
        v /= np.linalg.norm(v)
    value = v @ c @ v
    return v, value, x @ v, value / np.trace(c)


def test_principal_component():
    agrees(principal_component, RNG.normal(size=(40, 5)) * [3, 1, 1, 0.5, 0.1], 20, tolerance=1e-9)


def sobel(image):
    padded = np.pad(image, 1, mode="edge")
    gx = (
        padded[:-2, 2:]
        + 2 * padded[1:-1, 2:]
        + padded[2:, 2:]
        - padded[:-2, :-2]
        - 2 * padded[1:-1, :-2]
        - padded[2:, :-2]
    )
    gy = (
        padded[2:, :-2]
        + 2 * padded[2:, 1:-1]
        + padded[2:, 2:]
        - padded[:-2, :-2]
        - 2 * padded[:-2, 1:-1]
        - padded[:-2, 2:]
    )
    magnitude = np.hypot(gx, gy)
    angle = np.rad2deg(np.arctan2(gy, gx)) % 180
    edges = magnitude > 0.5 * magnitude.max()
    return magnitude, angle, edges, np.count_nonzero(edges)


def test_sobel():
    agrees(sobel, RNG.random((17, 23)), tolerance=1e-12)
    agrees(sobel, RNG.random((17, 23)).astype("f4"), tolerance=1e-3)


def image_gradient(image):
    gy, gx = np.gradient(image)
    return np.sqrt(gx**2 + gy**2), gx, gy


def test_image_gradient():
    agrees(image_gradient, RNG.random((9, 14)), tolerance=1e-12)


def life(board, steps):
    for _ in range(steps):
        neighbours = sum(
            np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.int8)
    return board, board.sum()


def test_life():
    agrees(life, RNG.integers(0, 2, (16, 16)).astype(np.int8), 5)


def bodies(position, velocity, mass, dt, steps, softening):
    for _ in range(steps):
        d = position[None, :, :] - position[:, None, :]
        inverse = ((d**2).sum(axis=-1) + softening**2) ** -1.5
        np.fill_diagonal(inverse, 0.0)
        acceleration = (d * (mass[None, :, None] * inverse[:, :, None])).sum(axis=1)
        velocity += acceleration * dt
        position += velocity * dt
    kinetic = 0.5 * (mass * np.sum(velocity**2, axis=1)).sum()
    return kinetic


def test_bodies():
    agrees(
        bodies,
        RNG.normal(size=(12, 3)),
        RNG.normal(size=(12, 3)),
        RNG.random(12) + 0.5,
        0.01,
        5,
        0.1,
        tolerance=1e-10,
    )


def normal_cdf(x):
    t = 1 / (1 + 0.2316419 * np.abs(x))
    polynomial = t * np.polyval([1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530], t)
    tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * polynomial
    return np.where(x >= 0, 1 - tail, tail)


def black_scholes(spot, strike, time, rate=0.03, volatility=0.2):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * time)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = call - spot + discounted
    return np.round(call, 4), np.round(put, 4), np.allclose(call - put, spot - discounted)


def test_black_scholes():
    spot, strike = RNG.uniform(50, 150, 200), RNG.uniform(50, 150, 200)
    agrees(black_scholes, spot, strike, RNG.uniform(0.1, 2, 200), tolerance=1e-6)


def monte_carlo_pi(key, n):
    x, y = nt.random.uniform(key, (2, n))
    inside = np.hypot(x, y) <= 1
    estimate = 4 * inside.mean()
    error = 4 * inside.std(ddof=1) / np.sqrt(n)
    return estimate, error


def asian_option(key, spot, strike, paths, steps):
    z = nt.random.normal(key, (paths, steps))
    drift = (0.03 - 0.5 * 0.2**2) / steps
    walk = spot * np.exp(np.cumsum(drift + 0.2 / np.sqrt(steps) * z, axis=1))
    payoff = np.maximum(walk.mean(axis=1) - strike, 0.0)
    return np.exp(-0.03) * payoff.mean(), payoff.std() / np.sqrt(paths)


def test_monte_carlo():
    key = 3
    estimate, error = nt.jit(monte_carlo_pi)(key, 20_000)
    assert abs(estimate - np.pi) < 5 * error
    same((estimate, error), monte_carlo_pi(key, 20_000), 1e-9)
    same(nt.jit(asian_option)(key, 100.0, 95.0, 500, 20), asian_option(key, 100.0, 95.0, 500, 20), 1e-9)


def welford(x):
    mean, m2, count = 0.0, 0.0, 0
    means = np.empty_like(x)
    for value in x:
        count += 1
        delta = value - mean
        mean += delta / count
        m2 += delta * (value - mean)
        means[count - 1] = mean
    return means, m2 / (count - 1)


def moving_statistics(x, window):
    sums = np.cumsum(np.insert(x, 0, 0.0))
    mean = (sums[window:] - sums[:-window]) / window
    views = np.lib.stride_tricks.sliding_window_view(x, window)
    z = (views[:, -1] - views.mean(axis=1)) / views.std(axis=1)
    smooth = np.convolve(x, np.ones(window) / window, mode="same")
    peak = np.maximum.accumulate(x)
    return mean, views.max(axis=1), z, smooth, (x - peak).min()


def test_running_statistics():
    x = RNG.normal(size=50).cumsum() + 20
    agrees(welford, x, tolerance=1e-10)
    agrees(moving_statistics, x, 5, tolerance=1e-9)


def kalman(measured, f, h, q, r, x, p):
    identity = np.eye(len(x))
    states = np.zeros((len(measured), len(x)))
    for k, z in enumerate(measured):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T / s
        x = x + gain[:, 0] * (z - (h @ x)[0])
        p = (identity - gain @ h) @ p
        states[k] = x
    return states, p


def test_kalman():
    dt = 0.1
    f, h = np.array([[1, dt], [0, 1]]), np.array([[1.0, 0.0]])
    measured = np.arange(30) * dt + RNG.normal(size=30) * 0.1
    agrees(
        kalman, measured, f, h, 0.01 * np.eye(2), np.array([[0.1]]), np.zeros(2), np.eye(2), tolerance=1e-9
    )


def jacobi(a, sweeps):
    a = a.copy()
    n = a.shape[0]
    v = np.eye(n)
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) > 1e-14:
                    theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                    t = np.sign(theta) / (abs(theta) + np.sqrt(theta**2 + 1)) if theta != 0 else 1.0
                    c = 1 / np.sqrt(t**2 + 1)
                    s = t * c
                    for k in range(n):
                        akp, akq = a[k, p], a[k, q]
                        a[k, p], a[k, q] = c * akp - s * akq, s * akp + c * akq
                    for k in range(n):
                        apk, aqk = a[p, k], a[q, k]
                        a[p, k], a[q, k] = c * apk - s * aqk, s * apk + c * aqk
                    for k in range(n):
                        vkp, vkq = v[k, p], v[k, q]
                        v[k, p], v[k, q] = c * vkp - s * vkq, s * vkp + c * vkq
    return np.diag(a).copy(), v


def test_jacobi():
    m = RNG.normal(size=(5, 5))
    jitted = agrees(jacobi, m + m.T, 8, tolerance=1e-6)
    values, vectors = jitted(m + m.T, 8)
    np.testing.assert_allclose((m + m.T) @ vectors, vectors * values, atol=1e-8)


def time_warping(a, b):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m], cost[1:, 1:].copy()


def test_time_warping():
    agrees(time_warping, RNG.normal(size=20), RNG.normal(size=15), tolerance=1e-12)


def low_pass(x, cutoff, taps):
    n = np.arange(taps) - (taps - 1) / 2
    h = np.sinc(2 * cutoff * n) * np.hamming(taps)
    h /= h.sum()
    filtered = np.convolve(x, h, mode="same")
    decimated = filtered[::2]
    return h, filtered, decimated.copy(), np.sqrt(np.mean(filtered**2))


def test_low_pass():
    agrees(low_pass, RNG.normal(size=200), 0.1, 31, tolerance=1e-8)


def bilinear(image, height, width):
    h, w = image.shape
    y = np.linspace(0, h - 1, height)
    x = np.linspace(0, w - 1, width)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, h - 1)
    x1 = np.minimum(x0 + 1, w - 1)
    wy = (y - y0)[:, None]
    wx = (x - x0)[None, :]
    top = image[y0][:, x0] * (1 - wx) + image[y0][:, x1] * wx
    bottom = image[np.ix_(y1, x0)] * (1 - wx) + image[np.ix_(y1, x1)] * wx
    return top * (1 - wy) + bottom * wy


def test_bilinear():
    agrees(bilinear, RNG.random((8, 11)), 13, 20, tolerance=1e-12)


def heat(u, alpha, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0, :], u[-1, :] = u[1, :], u[-2, :]
        u[:, 0], u[:, -1] = u[:, 1], u[:, -2]
    return u.mean()


def test_heat():
    agrees(heat, RNG.random((12, 9)), 0.1, 7, tolerance=1e-12)


def mandelbrot(width, height, rounds):
    x, y = np.meshgrid(np.linspace(-2, 0.5, width), np.linspace(-1.2, 1.2, height))
    zr, zi = np.zeros_like(x), np.zeros_like(y)
    count = np.zeros(x.shape, dtype=np.int32)
    for _ in range(rounds):
        alive = zr * zr + zi * zi < 4
        zr, zi = np.where(alive, zr * zr - zi * zi + x, zr), np.where(alive, 2 * zr * zi + y, zi)
        count[alive] += 1
    return count


def test_mandelbrot():
    agrees(mandelbrot, 24, 16, 30)


def attention(q, k, v, heads):
    n, d = q.shape
    size = d // heads
    parts = [a.reshape(n, heads, size).transpose(1, 0, 2) for a in (q, k, v)]
    scores = parts[0] @ parts[1].transpose(0, 2, 1) / np.sqrt(size)
    mask = np.triu(np.ones((n, n), dtype=bool), k=1)
    scores = np.where(mask, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ parts[2]).transpose(1, 0, 2).reshape(n, d)


def test_attention():
    agrees(attention, *[RNG.normal(size=(10, 8)) for _ in range(3)], 2, tolerance=1e-9)


def gauss_elimination(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if pivot != k:
            row = a[k].copy()
            a[k] = a[pivot]
            a[pivot] = row
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def test_gauss_elimination():
    agrees(gauss_elimination, RNG.normal(size=(6, 6)), RNG.normal(size=6), tolerance=1e-9)


def adam(w, x, y, steps):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, steps + 1):
        g = 2 * x.T @ (x @ w - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w


def test_adam():
    agrees(adam, np.zeros(3), RNG.normal(size=(20, 3)), RNG.normal(size=20), 10, tolerance=1e-9)


def powers(x, k):
    total = 0.0
    for i in range(len(x)):
        base = x[i].item()
        total += base**i + 2.0**-i + base ** k[i].item()
    return total


def test_powers_of_python_numbers():
    x, k = np.array([1.5, -2.0, 0.5]), np.array([2, 3, -1])
    jitted = agrees(powers, x, k, tolerance=1e-14)
    with pytest.raises(ZeroDivisionError, match="negative power"):
        jitted(np.zeros(3), k)
    with pytest.raises(OverflowError, match="out of range"):
        jitted(x, np.array([5000, 1, 1]))


def runge_kutta(y, end, steps):
    def f(t, y):
        return np.array([y[1], -y[0] - 0.1 * y[1] + np.cos(t)])

    h, out = end / steps, np.empty((steps + 1, 2))
    out[0] = y
    for k in range(steps):
        t = k * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[k + 1] = y
    return out


def test_runge_kutta():
    agrees(runge_kutta, np.array([1.0, 0.0]), 2.0, 10, tolerance=1e-10)


def ising(spins, random, beta):
    n = spins.shape[0]
    for k in range(len(random)):
        i, j = int(random[k, 0] * n), int(random[k, 1] * n)
        around = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % n] + spins[i, (j - 1) % n]
        change = 2 * spins[i, j] * around
        if change <= 0 or random[k, 2] < np.exp(-beta * change):
            spins[i, j] *= -1
    return spins.mean(), -(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum()


def test_ising():
    agrees(ising, RNG.choice([-1, 1], (8, 8)), RNG.random((100, 3)), 0.4, tolerance=1e-9)


def suppressed(boxes, scores, threshold):
    n = len(scores)
    keep, dead = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in np.argsort(-scores):
        if dead[i]:
            continue
        keep[i] = True
        low, high = np.maximum(boxes[i, :2], boxes[:, :2]), np.minimum(boxes[i, 2:], boxes[:, 2:])
        inside = np.maximum(0, high - low).prod(axis=1)
        dead |= inside / (area[i] + area - inside) > threshold
    return keep


def test_suppressed():
    corners = RNG.random((12, 2))
    boxes = np.hstack([corners, corners + RNG.random((12, 2))])
    agrees(suppressed, boxes, RNG.random(12), 0.3)


def every_other(x):
    y = x * 2
    return y[::2]


def test_a_view_of_part_of_a_local_array_is_returned_by_itself():
    x = np.arange(6.0)
    result = nt.jit(every_other)(x)
    same(result, every_other(x).copy())
    assert result.strides == (8,)
