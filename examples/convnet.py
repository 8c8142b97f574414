"""A small convolutional network: two convolutions with batch normalisation, pooling, and a linear classifier."""

import numpy as np
from nestor import nn
from numpy.typing import NDArray

Array = NDArray[np.floating]


def classify(
    x: Array, w1: Array, mean1: Array, var1: Array, w2: Array, bias2: Array, w3: Array, bias3: Array
) -> Array:
    """Logarithms of class probabilities of `x` (batch, channels, height, width)."""
    x = nn.relu(nn.batch_norm(nn.conv2d(x, w1, padding="same"), mean1, var1))
    x = nn.max_pool(x, (2, 2))
    x = nn.relu(nn.conv2d(x, w2, bias2, stride=2, padding=1))
    x = nn.adaptive_avg_pool(x, (1, 1))[:, :, 0, 0]
    return nn.log_softmax(x @ w3 + bias3)
