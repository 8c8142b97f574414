"""Train a small convolutional net to read digits: python examples/train_digits.py

The digits are drawn by the program: a font of 5 x 7 points, enlarged, moved, tilted, covered with noise. nt.value_and_grad
compiles the loss with its gradients. The net reads over 95 of 100 digits that it has not seen.
"""

import sys
import time

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Digits = NDArray[np.integer]
Net = dict[str, Array]

FONT = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""
SIDE = 16


def glyphs() -> Array:
    """The ten digits as arrays of 7 x 5 zeros and ones."""
    rows = [line.split() for line in FONT.split("\n") if line]
    return np.array([[[c == "#" for c in row[d]] for row in rows] for d in range(10)], np.float32)


def draw(rng: np.random.Generator, count: int) -> tuple[Array, Digits]:
    """Images (count, 1, 16, 16) of random digits, and the digits."""
    digits = rng.integers(0, 10, count)
    size, tilt = rng.uniform(0.42, 0.6, count), rng.uniform(-0.25, 0.25, count)
    down, right = rng.uniform(-1.5, 1.5, (2, count))
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    v = (y - down[:, None, None]) * size[:, None, None] + 3
    u = (x - right[:, None, None]) * size[:, None, None] + tilt[:, None, None] * (v - 3) + 2
    inside = (u > -0.5) & (u < 4.5) & (v > -0.5) & (v < 6.5)
    rows, columns = np.clip(np.rint(v), 0, 6).astype(int), np.clip(np.rint(u), 0, 4).astype(int)
    images = np.where(inside, glyphs()[digits[:, None, None], rows, columns], 0)
    noisy = images + rng.normal(0, 0.25, images.shape)
    return noisy[:, None].astype(np.float32), digits


def scores(net: Net, images: Array) -> Array:
    """The net: two convolutions, each with a pooling, and a layer for the ten digits."""
    x = nt.nn.conv(images, net["first"], net["first bias"])
    x = nt.nn.relu(nt.nn.max_pool(x, (2, 2)))
    x = nt.nn.conv(x, net["second"], net["second bias"])
    x = nt.nn.relu(nt.nn.max_pool(x, (2, 2)))
    digits: Array = x.reshape(x.shape[0], -1) @ net["last"] + net["last bias"]
    return digits


def loss(net: Net, images: Array, one_hot: Array) -> float:
    """The mean of the negative logarithm of what the net takes the digit's probability for."""
    total: float = (nt.nn.log_softmax(scores(net, images), axis=-1) * one_hot).sum()
    return -total / len(images)


def make_net(rng: np.random.Generator) -> Net:
    def weights(*shape: int) -> Array:
        deviation = float(np.sqrt(2 / np.prod(shape[1:])))
        return (rng.standard_normal(shape) * deviation).astype(np.float32)

    return {
        "first": weights(16, 1, 3, 3),
        "first bias": np.zeros(16, np.float32),
        "second": weights(32, 16, 3, 3),
        "second bias": np.zeros(32, np.float32),
        "last": weights(32 * 2 * 2, 10) * np.float32(0.3),
        "last bias": np.zeros(10, np.float32),
    }


def show_progress(step: int, steps: int, value: float, started: float) -> None:
    done = 30 * step // steps
    bar, seconds = "#" * done + "." * (30 - done), time.perf_counter() - started
    text = f"\r[{bar}] step {step:3} of {steps}, loss {value:.3f}, {seconds:4.1f} s"
    print(text, end="", file=sys.stderr)


def train(steps: int = 300, batch: int = 128, rate: float = 2e-3, seed: int = 0) -> Net:
    """Adam on batches of fresh digits; gives the net."""
    rng = np.random.default_rng(seed)
    net = make_net(rng)
    first = {name: np.zeros_like(w) for name, w in net.items()}
    second = {name: np.zeros_like(w) for name, w in net.items()}
    step_of = nt.value_and_grad(loss)
    started = time.perf_counter()
    for step in range(1, steps + 1):
        images, digits = draw(rng, batch)
        value, gradient = step_of(net, images, np.eye(10, dtype=np.float32)[digits])
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g * g
            mean, square = first[name] / (1 - 0.9**step), second[name] / (1 - 0.999**step)
            net[name] = (net[name] - rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
        if step % 5 == 0:
            show_progress(step, steps, value, started)
    print(file=sys.stderr)
    return net


def accuracy(net: Net, count: int = 1000, seed: int = 1) -> float:
    """The share of fresh digits that the net reads."""
    images, digits = draw(np.random.default_rng(seed), count)
    return float((np.argmax(nt.jit(scores)(net, images), axis=1) == digits).mean())


if __name__ == "__main__":
    print(f"reads {100 * accuracy(train()):.1f} % of digits that it has not seen")
