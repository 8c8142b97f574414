"""Sequences of different lengths as rows, without padding: as the same on padded arrays, forward and backward."""

import nestor as nt
import numpy as np
import pytest
from agreement import agrees, jitted
from nestor import nn
from test_iou import load

pytestmark = pytest.mark.one_of(2)

POSITIONS = 9

LENGTHS = [[5, 1, 0, 7, 9], [0, 0, 0, 0, 0], [9, 9, 9, 9, 9], [1, 1, 1, 1, 1], [3]]
"""Empty sequences among them, full ones, and one alone."""


def numbers(*shape, dtype="f8", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def mixed(x, w, lengths):
    rows = nn.packed(x, lengths)
    return nn.unpacked(nn.packed_attention(rows @ w, rows, rows * 2, lengths, 2), lengths, x.shape[1])


def padded(x, w, lengths):
    """The same where the padding is a mask."""
    keep = np.arange(x.shape[1]) < lengths[:, None]

    def split(y):
        return np.swapaxes(np.reshape(y, (*y.shape[:2], 2, y.shape[2] // 2)), 1, 2)

    scores = split(x @ w) @ np.swapaxes(split(x), 2, 3) / np.sqrt(x.shape[2] / 2)
    weights = nn.softmax(np.where(keep[:, None, None, :], scores, -1e300))
    y = np.reshape(np.swapaxes(weights @ split(x * 2), 1, 2), x.shape)
    return np.where(keep[:, :, None], y, 0)


def operands(count, width=6, dtype="f8"):
    return numbers(count, POSITIONS, width, dtype=dtype), numbers(width, width, seed=1, dtype=dtype)


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("lengths", [LENGTHS[0], pytest.param(LENGTHS[4], marks=pytest.mark.slow)], ids=str)
def test_rows_are_computed_as_padded_arrays_are(lengths, target):
    x, w = operands(len(lengths))
    jitted = agrees(mixed, x, w, np.array(lengths), tolerance=1e-9, target=target)
    np.testing.assert_allclose(jitted(x, w, np.array(lengths)), padded(x, w, np.array(lengths)), atol=1e-12)


def test_later_calls_have_other_lengths():
    f = jitted(mixed, dynamic=True)
    for lengths in LENGTHS:
        x, w = operands(len(lengths))
        np.testing.assert_allclose(f(x, w, np.array(lengths)), padded(x, w, np.array(lengths)), atol=1e-12)
        x[:] = numbers(*x.shape, seed=2)
        np.testing.assert_allclose(f(x, w, np.array(lengths)), padded(x, w, np.array(lengths)), atol=1e-12)


@pytest.mark.slow
def test_what_is_in_the_padding_does_not_count():
    x, w = operands(4)
    lengths = np.array([4, 9, 0, 2])
    changed = x.copy()
    changed[np.arange(POSITIONS) >= lengths[:, None]] = np.nan
    f = nt.jit(mixed)
    np.testing.assert_array_equal(f(changed, w, lengths), f(x, w, lengths))


def test_lengths_of_a_mask():
    def masked(x, keep):
        return nn.packed(x, keep.sum(axis=1))

    x, lengths = numbers(3, POSITIONS, 4), np.array([2, 0, 9])
    keep = np.arange(POSITIONS) < lengths[:, None]
    np.testing.assert_array_equal(nt.jit(masked)(x, keep), x[keep])


@pytest.mark.slow
def test_gradients():
    lengths = np.array([5, 1, 0, 7])
    x, w = operands(4)

    def of_rows(x, w):
        return (mixed(x, w, lengths) ** 2).sum()

    def of_padded(x, w):
        return (padded(x, w, lengths) ** 2).sum()

    found, wanted = (nt.grad(nt.jit(f), argnums=(0, 1))(x, w) for f in (of_rows, of_padded))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.slow
def test_single_precision_and_any_number_of_sequences():
    f = jitted(mixed, dynamic=True)
    for count in (1, 3, 12):
        x, w = operands(count, dtype="f4")
        lengths = np.random.default_rng(count).integers(0, POSITIONS + 1, count)
        np.testing.assert_allclose(f(x, w, lengths), mixed(x, w, lengths), atol=1e-5)


def test_a_short_loop_over_sequences_stays_a_loop():
    """Its iterations have extents of their own: copies of them could not be fused, and take long to compile."""
    spec = nt.spec((40, 8), "f4")
    lowered = nt.jit(nn.packed_attention).lower(spec, spec, spec, nt.spec((4,), "i8"))
    assert lowered.as_text("nt").count("scf.for") == 1
    assert lowered.as_text("nt").count("nt.exp") == 1


def test_each_nest_of_a_sequence_is_scheduled():
    spec = nt.spec((400, 128), "f4")
    text = (
        nt.jit(nn.packed_attention, static_argnames="heads", machine="x86-64-v4")
        .lower(spec, spec, spec, nt.spec((4,), "i8"), heads=8)
        .as_text("nest")
    )
    body = text[text.index('nest.for "b"') :]
    serial = [
        line for line in body.splitlines() if line.startswith(" " * 6 + "nest.for") and "parallel" not in line
    ]
    assert not serial


@pytest.mark.slow
def test_the_example():
    example = load("transformer")
    layers = [example.make_encoder(np.random.default_rng(k), 8, 12, np.float64) for k in range(2)]
    x, lengths = numbers(3, 5, 8), np.array([5, 2, 4])
    expected = x
    for layer in layers:
        expected = example.encode(layer, expected, lengths)
    keep = np.arange(5) < lengths[:, None]
    for layer in (example.encode_rows, nt.jit(example.encode_rows)):
        found = example.encode_ragged(layers, x, lengths, layer=layer)
        np.testing.assert_allclose(found[keep], expected[keep], atol=1e-12)
        assert not found[~keep].any()
