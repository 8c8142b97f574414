"""Classes that people write around arrays: models, filters, layers, containers."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from nestor import random
from whole.program import Program


class LinearModel:
    rate = 0.1

    def __init__(self, n):
        self.w = np.zeros(n)
        self.b = 0.0
        self.seen = 0

    def predict(self, X):
        return X @ self.w + self.b

    def step(self, X, y):
        error = self.predict(X) - y
        self.w -= self.rate * (X.T @ error) / len(y)
        self.b -= self.rate * error.mean()
        self.seen += len(y)
        return (error**2).mean()


class RidgeModel(LinearModel):
    penalty = 0.01

    def step(self, X, y):
        self.w *= 1 - self.rate * self.penalty
        return super().step(X, y)


def train_models(X, y, epochs, batch):
    losses = np.zeros((2, epochs))
    models = (LinearModel(X.shape[1]), RidgeModel(X.shape[1]))
    for m, model in enumerate(models):
        for e in range(epochs):
            total = 0.0
            for start in range(0, len(y), batch):
                total += model.step(X[start : start + batch], y[start : start + batch])
            losses[m, e] = total
    return losses, models[0].w - models[1].w, models[1].seen


class Kalman:
    def __init__(self, F, H, Q, R):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.x = np.zeros(F.shape[0])
        self.P = np.eye(F.shape[0])

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        innovation = z - (self.H @ self.x)[0]
        S = (self.H @ self.P @ self.H.T)[0, 0] + self.R
        K = (self.P @ self.H.T)[:, 0] / S
        self.x = self.x + K * innovation
        self.P = self.P - np.outer(K, self.H @ self.P)
        return innovation**2 / S


def track(F, measurements, noise):
    kalman = Kalman(F, np.eye(1, F.shape[0]), 0.01 * np.eye(F.shape[0]), noise)
    path = np.zeros((len(measurements), F.shape[0]))
    surprise = 0.0
    for t in range(len(measurements)):
        kalman.predict()
        if not np.isnan(measurements[t]):
            surprise += kalman.update(measurements[t])
        path[t] = kalman.x
    return path, surprise


@dataclass
class Vec:
    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    @property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


def shoot(angle, speed, drag, steps):
    p, v = Vec(0.0, 0.0), Vec(speed * np.cos(angle), speed * np.sin(angle))
    highest = 0.0
    for _ in range(steps):
        a = Vec(0.0, -9.81) + (-drag * v.norm) * v
        v = v + 0.01 * a
        p = p + 0.01 * v
        if p.y > highest:
            highest = p.y
        if p.y < 0:
            break
    return p, v.norm, highest


class Normalizer:
    def __init__(self):
        self.count = 0
        self.mean = 0.0
        self.m2 = 0.0

    def push(self, value):
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.m2 += delta * (value - self.mean)

    @property
    def std(self):
        return np.sqrt(self.m2 / self.count) if self.count else 0.0

    def __call__(self, x):
        return (x - self.mean) / (self.std + 1e-12)


def normalise_stream(x, warm):
    n = Normalizer()
    out = np.empty_like(x)
    for i, v in enumerate(x):
        n.push(v)
        out[i] = n(v) if i >= warm else 0.0
    return out, n.std


class Dense:
    def __init__(self, w, b, activation="relu"):
        self.w, self.b, self.activation = w, b, activation

    def __call__(self, x):
        y = x @ self.w + self.b
        if self.activation == "relu":
            return np.maximum(y, 0)
        if self.activation == "tanh":
            return np.tanh(y)
        return y


class Network:
    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def classify(self, x):
        scores = self(x)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        return p.argmax(axis=-1), p.max(axis=-1)


NETWORK = Network([])


def infer(x):
    return NETWORK.classify(x)


class Perceptron:
    def __init__(self, n):
        self.w = np.zeros(n + 1)
        self.mistakes = 0

    def fit(self, X, y, epochs):
        for _ in range(epochs):
            wrong = 0
            for xi, target in zip(X, y):
                out = 1 if xi @ self.w[1:] + self.w[0] >= 0 else -1
                if out != target:
                    self.w[1:] += target * xi
                    self.w[0] += target
                    wrong += 1
            self.mistakes += wrong
            if wrong == 0:
                break
        return self


def perceptron(X, y, epochs):
    p = Perceptron(X.shape[1]).fit(X, y, epochs)
    return p.w, p.mistakes


@dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    time: float = 0.0
    history: list = dataclasses.field(default_factory=list)


def advance(state, dt, steps):
    for _ in range(steps):
        state.velocity[:] = state.velocity - dt * state.position
        state.position += dt * state.velocity
        state.time += dt
    state.history.append(state.time)
    return np.abs(state.position).max()


class Grid:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, key):
        i, j = key
        n, m = self.values.shape
        return self.values[i % n, j % m]

    def __len__(self):
        return self.values.shape[0]

    def laplacian(self):
        out = np.zeros_like(self.values)
        for i in range(len(self)):
            for j in range(self.values.shape[1]):
                out[i, j] = self[i - 1, j] + self[i + 1, j] + self[i, j - 1] + self[i, j + 1] - 4 * self[i, j]
        return out


def smooth_grid(values, steps):
    grid = Grid(values.copy())
    for _ in range(steps):
        grid = Grid(grid.values + 0.1 * grid.laplacian())
    return grid.values, grid[-1, -1]


class Sampler:
    def __init__(self, weights, key):
        self.cumulative = np.cumsum(weights) / weights.sum()
        self.key = key
        self.drawn = 0

    def draw(self):
        u = random.uniform(random.fold_in(self.key, self.drawn), (), np.float64)
        self.drawn += 1
        lo, hi = 0, len(self.cumulative) - 1
        while lo < hi:
            mid = (lo + hi) // 2
            if self.cumulative[mid] < u:
                lo = mid + 1
            else:
                hi = mid
        return lo


def sample_counts(key, weights, n):
    sampler = Sampler(weights, key)
    counts = np.zeros(len(weights), dtype=np.int64)
    for _ in range(n):
        counts[sampler.draw()] += 1
    return counts, sampler.drawn


def _network(k):
    r = np.random.default_rng(k)
    sizes = ((4, 5, 3), (4, 6, 6, 2), (4, 3))[k]
    pairs = list(zip(sizes, sizes[1:]))
    NETWORK.layers = [
        Dense(r.standard_normal(s), r.standard_normal(s[1]), ("relu", "tanh", "none")[(j + k) % 3])
        for j, s in enumerate(pairs)
    ]


def _labelled(r, n, m):
    X = r.standard_normal((n, m))
    return X, np.where(X @ np.arange(1.0, m + 1) > 0.2, 1, -1)


PROGRAMS = [
    Program(
        train_models,
        lambda r, k: (
            r.standard_normal(((10, 3), (14, 2), (5, 4))[k]),
            r.standard_normal((10, 14, 5)[k]),
            (4, 3, 5)[k],
            (4, 5, 5)[k],
        ),
        1e-10,
        long=True,
    ),
    Program(
        track,
        lambda r, k: (
            (np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(3), np.eye(1))[k],
            np.where(r.random((9, 6, 12)[k]) < 0.8, r.standard_normal((9, 6, 12)[k]), np.nan),
            0.5,
        ),
        1e-9,
        long=True,
    ),
    Program(
        shoot,
        lambda r, k: ((0.7, 1.2, 0.1)[k], (10.0, 8.0, 5.0)[k], (0.01, 0.0, 0.1)[k], (300, 50, 80)[k]),
        1e-9,
    ),
    Program(normalise_stream, lambda r, k: (r.standard_normal((12, 20, 3)[k]), (3, 5, 1)[k]), 1e-9),
    Program(
        infer,
        lambda r, k: (r.standard_normal(((6, 4), (3, 4), (1, 4))[k]),),
        1e-10,
        outside=_network,
        long=True,
    ),
    Program(perceptron, lambda r, k: (*_labelled(r, (9, 20, 4)[k], (2, 3, 1)[k]), (10, 6, 20)[k]), 1e-10),
    Program(
        advance,
        lambda r, k: (State(r.random((4, 7, 1)[k]), np.zeros((4, 7, 1)[k]), 0.5 * k), 0.1, (5, 3, 8)[k]),
    ),
    Program(smooth_grid, lambda r, k: (r.random(((4, 5), (6, 3), (2, 2))[k]), (2, 3, 1)[k])),
    Program(
        sample_counts,
        lambda r, k: (np.uint64((3, 4, 7)[k]), r.random((5, 8, 1)[k]) + 0.1, (30, 20, 5)[k]),
        long=True,
    ),
]
