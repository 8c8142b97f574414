"""ResNet-18 for inference, in plain NumPy: convolutions with batch normalisation, shortcuts, and a classifier.

Random weights, for the shapes and the speed. Images are (batch, channels, height, width), in any memory order: strides
say whether channels come last. `python examples/resnet.py` compares a compiled call with float64 NumPy, both ways.
"""

from typing import NamedTuple

import numpy as np
from nestor import nn
from numpy.typing import NDArray

Array = NDArray[np.floating]

WIDTHS = (64, 128, 256, 512)
"""Channels of the four stages."""


class Layer(NamedTuple):
    """A convolution, and the batch normalisation behind it."""

    w: Array
    mean: Array
    var: Array
    weight: Array
    bias: Array


class ResNet(NamedTuple):
    """`stem`, then blocks of two layers, of three where the shortcut has one too; `w` and `bias` classify."""

    stem: Layer
    blocks: tuple[tuple[Layer, ...], ...]
    w: Array
    bias: Array


def convolved(x: Array, layer: Layer, stride: int = 1) -> Array:
    """A convolution with a border that keeps the extents at a stride of 1, normalised."""
    y = nn.conv2d(x, layer.w, stride=stride, padding=layer.w.shape[2] // 2)
    normalised: Array = nn.batch_norm(y, layer.mean, layer.var, layer.weight, layer.bias)
    return normalised


def block(x: Array, layers: tuple[Layer, ...]) -> Array:
    """Two layers, and what they are added to."""
    stride = 1 if len(layers) == 2 else 2
    y = convolved(nn.relu(convolved(x, layers[0], stride)), layers[1])
    added: Array = nn.relu(y + (x if len(layers) == 2 else convolved(x, layers[2], stride)))
    return added


def classify(net: ResNet, x: Array) -> Array:
    """Logarithms of class probabilities, without their common summand."""
    x = nn.relu(convolved(x, net.stem, 2))
    x = nn.max_pool(x, (3, 3), 2, 1)
    for layers in net.blocks:
        x = block(x, layers)
    scores: Array = np.mean(x, axis=(2, 3)) @ net.w + net.bias
    return scores


def make(
    rng: np.random.Generator,
    widths: tuple[int, ...] = WIDTHS,
    classes: int = 1000,
    dtype: type[np.floating] = np.float32,
) -> ResNet:
    """Random weights, as large as keep the numbers of all layers alike; nobody may write them."""

    def frozen(numbers: NDArray[np.float64]) -> Array:
        array: Array = np.asarray(numbers, dtype)
        array.setflags(write=False)
        return array

    def layer(inputs: int, outputs: int, window: int) -> Layer:
        w = rng.standard_normal((outputs, inputs, window, window)) * (inputs * window * window) ** -0.5
        mean, var = rng.standard_normal(outputs) / 8, rng.uniform(0.5, 1.5, outputs)
        weight, bias = rng.uniform(0.8, 1.2, outputs), rng.standard_normal(outputs) / 8
        return Layer(*map(frozen, (w, mean, var, weight, bias)))

    stem, inputs = layer(3, widths[0], 7), widths[0]
    blocks: list[tuple[Layer, ...]] = []
    for outputs in widths:
        first = (layer(inputs, outputs, 3), layer(outputs, outputs, 3))
        blocks.append(first if inputs == outputs else (*first, layer(inputs, outputs, 1)))
        blocks.append((layer(outputs, outputs, 3), layer(outputs, outputs, 3)))
        inputs = outputs
    w = frozen(rng.standard_normal((inputs, classes)) * inputs**-0.5)
    return ResNet(stem, tuple(blocks), w, frozen(rng.standard_normal(classes) / 8))


def wide(net: ResNet) -> ResNet:
    """The same weights in float64."""

    def layer(one: Layer) -> Layer:
        return Layer(*(array.astype(np.float64) for array in one))

    blocks = tuple(tuple(layer(one) for one in layers) for layers in net.blocks)
    return ResNet(layer(net.stem), blocks, net.w.astype(np.float64), net.bias.astype(np.float64))


def channels_last(x: Array) -> Array:
    """The same array, with the channels of a pixel side by side in memory."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def main() -> None:
    import nestor as nt

    rng = np.random.default_rng(0)
    net, images = make(rng), rng.standard_normal((2, 3, 64, 64)).astype(np.float32)
    expected = classify(wide(net), images.astype(np.float64))
    compiled = nt.jit(classify, constants="net")
    for name, x in (("channels first", images), ("channels last", channels_last(images))):
        error = abs(compiled(net, x) - expected).max()
        print(f"{name}: classes {np.argmax(compiled(net, x), axis=1)}, largest error {error:.1e}")


if __name__ == "__main__":
    main()
