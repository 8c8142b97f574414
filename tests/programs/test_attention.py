"""Attention and products of stacks of matrices: the scores are never whole, and results are NumPy's at every size."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor import nn


def attention(q, k, v):
    return nn.attention(q, k, v)


def heads(x, wq, wk, wv, wo, count=4):
    batch, positions, width = x.shape
    shape = (batch, positions, count, width // count)
    q, k, v = (np.swapaxes(np.reshape(x @ w, shape), 1, 2) for w in (wq, wk, wv))
    mixed = np.swapaxes(nn.attention(q, k, v), 1, 2)
    return x + np.reshape(mixed, x.shape) @ wo


def masked(q, k, v, mask):
    scores = q @ np.swapaxes(k, -1, -2) + mask
    return nn.softmax(scores) @ v


def stack(x, w, bias):
    return np.maximum(x @ w + bias, 0) - 1


def two_stacks(x, w, v):
    return (x @ w) @ v + (x @ v) @ w


def random(*shapes, dtype="f4"):
    rng = np.random.default_rng(len(shapes))
    return [(rng.normal(size=shape) * 0.3).astype(dtype) for shape in shapes]


def agrees(program, arguments, **options):
    exact = program(*(a.astype("f8") for a in arguments))
    result = nt.jit(program, **options)(*arguments)
    assert result.shape == exact.shape
    assert np.max(np.abs(result - exact), initial=0) <= 2e-5 * max(1, np.max(np.abs(exact), initial=0))


SIZES = [(2, 2, 128, 136, 32), (2, 2, 1, 5, 3), (1, 2, 650, 700, 16)]


@pytest.mark.parametrize("batch, count, queries, keys, width", SIZES)
def test_attention(batch, count, queries, keys, width):
    shapes = [(batch, count, queries, width), (batch, count, keys, width), (batch, count, keys, width)]
    agrees(attention, random(*shapes))


@pytest.mark.slow
def test_attention_of_unknown_sizes():
    compiled = nt.jit(attention, dynamic=True)
    for batch, count, queries, keys, width in SIZES:
        arguments = random((batch, count, queries, width), *[(batch, count, keys, width)] * 2)
        exact = attention(*(a.astype("f8") for a in arguments))
        assert np.max(np.abs(compiled(*arguments) - exact)) <= 2e-5


def test_a_mask():
    arguments = random((2, 2, 180, 24), (2, 2, 190, 24), (2, 2, 190, 24), (180, 190))
    arguments[3][:, 100:] = -np.inf
    agrees(masked, arguments)


def test_heads():
    for batch, positions in [(2, 130)]:
        agrees(heads, random((batch, positions, 64), *[(64, 64)] * 4))
    x, *weights = random((2, 140, 64), *[(64, 64)] * 4)
    agrees(heads, [x[:, ::-1], *(w.T for w in weights)])


def test_the_scores_are_not_made():
    x, *weights = random((2, 256, 64), *[(64, 64)] * 4)
    text = nt.jit(heads).lower(x, *weights).as_text("nest")
    assert "2x4x256x256" not in text and "1x1x256x272" in text  # rows a line longer


def test_stacks():
    for shape in [(3, 50, 40), (2, 3, 17, 24), (5, 0, 16)]:
        agrees(stack, random(shape, (shape[-1], 70), (70,)))
        agrees(stack, [random(shape)[0], random((70, shape[-1]))[0].T, *random((70,))])


@pytest.mark.parametrize(
    "program, shapes",
    [
        (attention, [(1, 2, 300, 24), (1, 2, 310, 24), (1, 2, 310, 24)]),
        (two_stacks, [(2, 9, 16), (16, 16), (16, 16)]),  # two flat views are called `t_flat`
    ],
)
def test_the_schedule_replays(program, shapes):
    arguments = random(*shapes)
    low = nt.jit(program).lower(*arguments)
    replayed = low.compile(schedule=low.schedule())
    np.testing.assert_array_equal(replayed(*arguments), low.compile()(*arguments))
