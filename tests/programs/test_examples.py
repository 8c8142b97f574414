"""The networks of examples/: compiled, they compute what they compute in NumPy."""

import numpy as np
import pytest
from agreement import agrees
from test_iou import load

pytestmark = pytest.mark.one_of(2)

TARGETS = ["cpu", "cuda-sim", "interp"]
each_target = pytest.mark.parametrize("target", TARGETS)


def numbers(*shape, dtype="f8", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@each_target
def test_lstm(target):
    example = load("lstm")
    weights = numbers(3, 20, seed=1), numbers(5, 20, seed=2), numbers(20, seed=3)
    state = numbers(2, 5, seed=4), numbers(2, 5, seed=5)
    agrees(example.lstm_cell, numbers(2, 3), *state, *weights, tolerance=1e-10, target=target)
    agrees(example.lstm, numbers(12, 2, 3), *state, *weights, tolerance=1e-9, target=target)


@each_target
def test_gru(target):
    example = load("lstm")
    weights = numbers(3, 15, seed=1), numbers(5, 15, seed=2), numbers(15, seed=3)
    agrees(example.gru_cell, numbers(2, 3), numbers(2, 5, seed=4), *weights, tolerance=1e-10, target=target)
    agrees(example.gru, numbers(12, 2, 3), numbers(2, 5, seed=4), *weights, tolerance=1e-9, target=target)


@each_target
def test_uniformity(target):
    example = load("uniformity")
    x = numbers(20, 6)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    agrees(example.uniformity_by_differences, x, tolerance=1e-10, target=target)
    agrees(example.uniformity_by_products, x, tolerance=1e-10, target=target)
    np.testing.assert_allclose(example.uniformity_by_products(x), example.uniformity_by_differences(x))


@each_target
def test_transformer(target):
    example = load("transformer")
    layer = example.make_encoder(np.random.default_rng(0), 8, 12, np.float64)
    x, lengths = numbers(3, 5, 8), np.array([5, 2, 4])
    jitted = agrees(example.encode, layer, x, lengths, tolerance=1e-9, target=target)
    changed = x.copy()
    changed[1, 2:] = 7
    np.testing.assert_allclose(jitted(layer, changed, lengths)[1, :2], jitted(layer, x, lengths)[1, :2])


@each_target
def test_convnet(target):
    example = load("convnet")
    weights = (
        numbers(4, 3, 3, 3), numbers(4), abs(numbers(4)), numbers(6, 4, 3, 3), numbers(6), numbers(6, 5), numbers(5),
    )  # fmt: skip
    agrees(example.classify, numbers(2, 3, 8, 8), *weights, tolerance=1e-9, target=target)


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("name", ["rnn", "rnn_list"])
def test_rnn(name, target, capsys):
    function = getattr(load("rnn"), name)
    weights = 0.3 * numbers(3, 5, seed=1), 0.3 * numbers(5, 5, seed=2), numbers(5, seed=3)
    agrees(function, numbers(25, 2, 3), numbers(2, 5, seed=4), *weights, tolerance=1e-9, target=target)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[3:] == lines[:3]
    assert [line.split()[1].rstrip(":") for line in lines[:3]] == ["0", "10", "20"]
