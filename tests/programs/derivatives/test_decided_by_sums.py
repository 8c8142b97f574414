"""What sums of floats decide (indices, branches, counts) is kept for the adjoint: sums there may be rounded otherwise."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

N = 40
RNG = np.random.default_rng(0)
W = RNG.random((N, 64))
W = W / W.sum(1, keepdims=True) * np.arange(N)[:, None]
X = RNG.random(N) + 1


def index(x, w):
    out = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(w.shape[1]):
            s += w[i, j]
        k = int(s)
        out += x[k] * x[k]
    return out


def branch(x, w):
    out = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(w.shape[1]):
            s += w[i, j]
        if s < i:
            out += x[i] ** 3
        else:
            out += np.sin(x[i])
    return out


def count(x, w):
    out = 0.0
    for i in range(x.shape[0]):
        steps = np.zeros(2, np.int64)
        for h in range(2):
            s = 0.0
            for j in range(w.shape[1]):
                s += w[i, j]
            steps[h] += int(s)
        out += x[steps[0]] * x[steps[1]]
    return out


def filled(x, w):
    out = 0.0
    sums, chosen = np.zeros(w.shape[0]), np.zeros(w.shape[0])
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            sums[i] += w[i, j]
    for i in range(w.shape[0]):
        chosen[i] = x[int(sums[i])]
    for i in range(w.shape[0]):
        out += chosen[i] * chosen[i]
    return out


def gradient(f, x, w):
    """By central differences: each element of these programs is used by itself."""
    h = 1e-6
    return np.array([(f(x + h * e, w) - f(x - h * e, w)) / (2 * h) for e in np.eye(x.size)])


def test_the_order_matters_here():
    inside = [sum(row) for row in W.tolist()]
    assert (np.array(inside).astype(int) != W.sum(axis=1).astype(int)).any()


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("f", [index, branch, count, filled])
def test_gradients_follow_what_was_decided(f, target):
    slope = nt.jit(nt.grad(f), target=target)
    for x, w in ((X, W), (X[::-1], W[::-1]), (X[:7], W[:7])):
        np.testing.assert_allclose(slope(x, w), gradient(f, x, w), rtol=1e-6, atol=1e-8)


def test_what_is_decided_has_a_tape():
    text = nt.jit(nt.grad(index)).lower(X, W).as_text("nest")
    assert "k_tape" in text and text.count("fptosi") == 1


def swept(u):
    u = u.copy()
    for _ in range(4):
        for i in range(1, u.shape[0] - 1):
            u[i] = np.sin(u[i - 1]) * u[i + 1]
    return (u * u).sum()


def test_explain_says_why_tapes_are_kept():
    said = nt.jit(nt.grad(index)).explain(X, W)
    assert "k_tape" in said and "'arith.fptosi' of a sum, which may be rounded otherwise there" in said
    assert '"u" is overwritten' in nt.jit(nt.grad(swept)).explain(X)
