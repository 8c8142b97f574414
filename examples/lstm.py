"""LSTM and GRU, a cell and over time, in plain NumPy: the loop over time stays a loop when it is compiled."""

import numpy as np
from nestor import nn


def lstm_cell(x, h, c, w, u, bias):
    """One step: `w` (inputs, 4 * n), `u` (n, 4 * n) and `bias` hold the input, forget, cell and output gates."""
    n = h.shape[-1]
    gates = x @ w + h @ u + bias
    i, f, o = nn.sigmoid(gates[:, :n]), nn.sigmoid(gates[:, n : 2 * n]), nn.sigmoid(gates[:, 3 * n :])
    c = f * c + i * np.tanh(gates[:, 2 * n : 3 * n])
    return o * np.tanh(c), c


def lstm(xs, h, c, w, u, bias):
    """Over time: `xs` (time, batch, inputs); the last states."""
    for x in xs:
        h, c = lstm_cell(x, h, c, w, u, bias)
    return h, c


def gru_cell(x, h, w, u, bias):
    """One step: reset gate, update gate and candidate, n columns each."""
    n = h.shape[-1]
    inputs, states = x @ w + bias, h @ u
    r = nn.sigmoid(inputs[:, :n] + states[:, :n])
    z = nn.sigmoid(inputs[:, n : 2 * n] + states[:, n : 2 * n])
    candidate = np.tanh(inputs[:, 2 * n :] + r * states[:, 2 * n :])
    return (1 - z) * candidate + z * h


def gru(xs, h, w, u, bias):
    """Over time; the last state."""
    for x in xs:
        h = gru_cell(x, h, w, u, bias)
    return h
