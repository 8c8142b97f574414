"""A small convolutional network: two convolutions with batch normalisation, pooling, and a linear classifier."""

from nestor import nn


def classify(x, w1, mean1, var1, w2, bias2, w3, bias3):
    """Logarithms of class probabilities of `x` (batch, channels, height, width)."""
    x = nn.relu(nn.batch_norm(nn.conv2d(x, w1, padding="same"), mean1, var1))
    x = nn.max_pool(x, (2, 2))
    x = nn.relu(nn.conv2d(x, w2, bias2, stride=2, padding=1))
    x = nn.adaptive_avg_pool(x, (1, 1))[:, :, 0, 0]
    return nn.log_softmax(x @ w3 + bias3)
