"""Attention and products of stacks of matrices: the scores are never whole, and results are NumPy's at every size."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor import nn

pytestmark = pytest.mark.one_of(3)


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


def heads_and_weights():
    return random((2, 140, 64), *[(64, 64)] * 4)


@pytest.mark.slow
def test_heads_of_contiguous_arrays():
    agrees(heads, heads_and_weights())


def test_heads():
    """In the layout that is harder to read; contiguous arrays are slow."""
    x, *weights = heads_and_weights()
    agrees(heads, [x[:, ::-1], *(w.T for w in weights)])


def test_the_scores_are_not_made():
    x, *weights = random((2, 256, 64), *[(64, 64)] * 4)
    text = nt.jit(heads, machine="x86-64-v4").lower(x, *weights).as_text("nest")
    assert "2x4x256x256" not in text and "1x1x256x272" in text  # rows a line longer


STACKS = [(3, 50, 40), (2, 3, 17, 24), (5, 0, 16)]


@pytest.mark.parametrize(
    ("shape", "by_rows"),
    [
        pytest.param(shape, by_rows, marks=[pytest.mark.slow] if k % 2 == by_rows else [])
        for k, shape in enumerate(STACKS)
        for by_rows in (False, True)
    ],
)
def test_stacks(shape, by_rows):
    """Each stack in one of the orders of the weights; in the other among slow tests."""
    w = random((70, shape[-1]))[0].T if by_rows else random((shape[-1], 70))[0]
    agrees(stack, [random(shape)[0], w, *random((70,))])


@pytest.mark.parametrize(
    "program, shapes",
    [
        pytest.param(attention, [(1, 2, 300, 24), *[(1, 2, 310, 24)] * 2], marks=pytest.mark.slow),
        (two_stacks, [(2, 9, 16), (16, 16), (16, 16)]),  # two flat views are called `t_flat`
    ],
)
def test_the_schedule_replays(program, shapes):
    """The program of attention, whose schedule is long, is slow."""
    arguments = random(*shapes)
    low = nt.jit(program).lower(*arguments)
    replayed = low.compile(schedule=low.schedule())
    np.testing.assert_array_equal(replayed(*arguments), low.compile()(*arguments))
