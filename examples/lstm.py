"""LSTM and GRU, a cell and over time, in plain NumPy: the loop over time stays a loop when it is compiled."""

import numpy as np
from nestor import nn
from numpy.typing import NDArray

Array = NDArray[np.floating]


def lstm_cell(x: Array, h: Array, c: Array, w: Array, u: Array, bias: Array) -> tuple[Array, Array]:
    """One step: `w` (inputs, 4 * n), `u` (n, 4 * n) and `bias` hold the input, forget, cell and output gates."""
    n = h.shape[-1]
    gates = x @ w + h @ u + bias
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def lstm(xs: Array, h: Array, c: Array, w: Array, u: Array, bias: Array) -> tuple[Array, Array]:
    """Over time: `xs` (time, batch, inputs); the last states."""
    for x in xs:
        h, c = lstm_cell(x, h, c, w, u, bias)
    return h, c


def gru_cell(x: Array, h: Array, w: Array, u: Array, bias: Array) -> Array:
    """One step: reset gate, update gate and candidate, n columns each."""
    n = h.shape[-1]
    inputs, states = x @ w + bias, h @ u
    r = nn.sigmoid(inputs[:, :n] + states[:, :n])
    z = nn.sigmoid(inputs[:, n : 2 * n] + states[:, n : 2 * n])
    candidate = np.tanh(inputs[:, 2 * n :] + r * states[:, 2 * n :])
    h = (1 - z) * candidate + z * h
    return h


def gru(xs: Array, h: Array, w: Array, u: Array, bias: Array) -> Array:
    """Over time; the last state."""
    for x in xs:
        h = gru_cell(x, h, w, u, bias)
    return h
