"""A recurrent network as a plain Python loop that reports as it runs: compiled, it prints the same lines."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def rnn(xs: Array, h: Array, w: Array, u: Array, bias: Array) -> Array:
    """`xs` (time, batch, inputs), the state `h` (batch, n); the states of all steps, (time, batch, n)."""
    states = np.empty((len(xs), *h.shape), h.dtype)
    for t in range(len(xs)):
        h = np.tanh(xs[t] @ w + h @ u + bias)
        if t % 10 == 0:
            print(f"step {t}: mean {h.mean():+.4f}, largest {np.abs(h).max():.4f}")
        states[t] = h
    return states


def rnn_list(xs: Array, h: Array, w: Array, u: Array, bias: Array) -> tuple[Array, Array]:
    """The same with a list of the states before each step; they, stacked, and the last state."""
    states: list[Array] = []
    for t, x in enumerate(xs):
        states.append(h)
        h = np.tanh(x @ w + h @ u + bias)
        if t % 10 == 0:
            print("step", t, "norm", f"{np.linalg.norm(h):.3f}")
    return np.stack(states), h
