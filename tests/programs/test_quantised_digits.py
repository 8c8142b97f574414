"""A net that our gradients train reads digits with integers of 8 bits as it does in float32 (examples/train_digits.py)."""

import nestor as nt
import numpy as np
import pytest
from test_iou import load


@pytest.fixture(scope="module")
def digits():
    """The example, a net of 60 steps of training, and digits that it has not seen."""
    example = load("train_digits")
    net = example.train(steps=60)
    return example, net, *example.draw(np.random.default_rng(7), 2000)


@pytest.fixture(scope="module")
def calibration(digits):
    example, net, images, _ = digits
    return nt.quant.calibrate(example.scores, [(net, part) for part in np.split(images[:512], 4)])


@pytest.mark.parametrize("how", ["calibrated", "dynamic"])
def test_integers_read_the_same_digits(digits, calibration, how):
    example, net, images, answers = digits
    exact = nt.jit(example.scores)(net, images).argmax(1)
    made = nt.jit(example.scores, quantise=calibration if how == "calibrated" else how)
    read = made(net, images).argmax(1)
    assert (read == exact).mean() >= 0.99
    assert abs((read == answers).mean() - (exact == answers).mean()) < 0.01
    found = made.explain(net, images)
    assert "float32:" not in found.partition("quantised products")[2].partition("products (in tiles")[0]


@pytest.mark.slow
def test_training_goes_on_with_roundings(digits, calibration):
    """Gradients of the net that rounds make it better, too."""
    example, net, images, answers = digits
    step = nt.value_and_grad(nt.jit(example.loss, quantise="dynamic"))
    one_hot = np.eye(10, dtype=np.float32)[answers[:512]]
    first, gradient = step(net, images[:512], one_hot)
    exact = nt.grad(example.loss)(net, images[:512], one_hot)
    for name, g in gradient.items():
        assert np.abs(g - exact[name]).max() < 0.1 * np.abs(exact[name]).max()
    better = {name: (w - 0.02 * gradient[name]).astype(np.float32) for name, w in net.items()}
    assert step(better, images[:512], one_hot)[0] < first
