"""Derivatives in the middle of programs: in loops and branches, of views and overlapping arrays, of what is written."""

import nestor as nt
import numpy as np
import pytest

W = np.linspace(0.1, 1, 4)
ROWS = np.outer(np.arange(1, 31), W)


def square(v):
    return (v * v).sum()


@nt.jit
def of_elements(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = nt.grad(lambda v: v**3)(x[i])
    return out


@nt.jit
def summed(xs):
    total = np.zeros(4)
    for x in xs:
        total += nt.grad(square)(x)
    return total


@nt.jit
def until_small(x):
    count = 0
    while (x * x).sum() > 0.01:
        x = x - 0.2 * nt.grad(square)(x)
        count += 1
    return x, count


@nt.jit
def in_branch(x):
    if x.sum() > 0:
        g = nt.grad(square)(x)
    else:
        g = np.zeros(4)
    return g


@nt.jit
def pulled_in_loop(x, n):
    s = np.zeros(4)
    for k in range(n):
        _, pullback = nt.vjp(lambda v, k=k: np.sin(v) * k, x)
        s = s + pullback(np.ones(4))[0]
    return s


def test_loops_and_branches():
    x = np.linspace(0, 1, 30)
    np.testing.assert_allclose(of_elements(x), 3 * x**2)
    np.testing.assert_allclose(summed(ROWS), 2 * ROWS.sum(axis=0))
    x, count = until_small(W)
    expected = W
    for _ in range(count):
        assert (expected**2).sum() > 0.01
        expected = expected * 0.6
    assert (expected**2).sum() <= 0.01
    np.testing.assert_allclose(x, expected)
    np.testing.assert_allclose(in_branch(W), 2 * W)
    np.testing.assert_array_equal(in_branch(-W), np.zeros(4))
    np.testing.assert_allclose(pulled_in_loop(W, 30), np.cos(W) * sum(range(30)))
    powers = nt.jit(lambda x: [nt.grad(lambda v, k=k: (v**k).sum())(x) for k in (1, 2, 3)])(W)
    np.testing.assert_allclose(powers[2], 3 * W**2)


def test_a_pullback_of_another_path():
    @nt.jit
    def f(x):
        pullback = None
        if x.sum() > 0:
            _, pullback = nt.vjp(np.sin, x)
        return pullback(x)

    with pytest.raises(nt.UnsupportedError, match="the pullback of sin on one path and None on another"):
        f(W)


def test_in_a_loop_over_elements():
    with pytest.raises(nt.UnsupportedError, match="loop over elements"):
        nt.jit(lambda x: np.vectorize(lambda v: nt.grad(lambda u: u * u)(v))(x))(W)


def test_writes_around():
    @nt.jit
    def f(x):
        x *= 2
        g = nt.grad(lambda v: (v * v * x).sum())(x)
        x += 1
        return g

    x = W.copy()
    np.testing.assert_allclose(f(x), 2 * (2 * W) ** 2)
    np.testing.assert_allclose(x, 2 * W + 1)


def test_views_and_overlapping_arguments():
    @nt.jit
    def views(x):
        return nt.grad(square)(x[1:3]), nt.grad(square)(x.reshape(2, 2)), nt.grad(square)(x[::-1])

    part, square_, reverse = views(W)
    np.testing.assert_allclose(part, 2 * W[1:3])
    np.testing.assert_allclose(square_, 2 * W.reshape(2, 2))
    np.testing.assert_allclose(reverse, 2 * W[::-1])

    @nt.jit
    def written(a, b):
        b[1] = 5.0
        return nt.grad(lambda v: (v * v * b).sum())(a)

    x = np.arange(5.0)
    np.testing.assert_allclose(written(x[1:], x[:-1]), 2 * np.array([5.0, 2, 3, 4]) * [0, 5, 2, 3])
    np.testing.assert_allclose(nt.jit(lambda x: nt.grad(square)(x[x > 0.5]))(W), 2 * W[W > 0.5])


class Model:
    def __init__(self, w):
        self.w = w


def test_parameters_are_stepped():
    @nt.jit
    def of_dict(p, x):
        g = nt.grad(lambda p: ((x @ p["w"] + p["b"]) ** 2).mean())(p)
        return {k: p[k] - 0.1 * g[k] for k in p}

    @nt.jit
    def of_object(m, x):
        m.w = m.w - 0.1 * nt.grad(lambda m: (x @ m.w).sum())(m).w

    x, w, b = ROWS[:3], W, 0.5
    p = {"w": w, "b": b}
    for _ in range(3):
        p = of_dict(p, x)
        error = x @ w + b
        w, b = w - 0.1 * 2 * x.T @ error / 3, b - 0.1 * 2 * error.mean()
    np.testing.assert_allclose(p["w"], w)
    assert p["b"] == pytest.approx(b)
    m = Model(W.copy())
    of_object(m, x)
    np.testing.assert_allclose(m.w, W - 0.1 * x.sum(axis=0))


def test_what_it_raises_it_raises():
    def f(x, k):
        if k > 2:
            raise ValueError(f"k is {k}")
        if x.sum() > 10:
            raise ValueError("too big")
        return (x * x).sum()

    np.testing.assert_allclose(nt.grad(f)(W, 1), 2 * W)
    np.testing.assert_allclose(nt.vjp(lambda x: f(x, 1), W)[1](1.0)[0], 2 * W)
    for x, k, text in ((W, 3, "k is 3"), (100 * W, 1, "too big")):
        with pytest.raises(ValueError, match=text):
            nt.grad(f)(x, k)
