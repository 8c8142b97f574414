"""The uniformity of points on a sphere, log of the mean of exp(-t |x - y|^2) over all pairs, in two formulations.

By differences nothing but the points is read when it is compiled: the (n, n, d) array of NumPy never exists. By products
it is a product of matrices, and the differences cancel: less work, fewer digits.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def _log_mean_potential(distances: Array, t: float) -> float:
    n = distances.shape[0]
    others = np.sum(np.exp(-t * distances)) - n
    result: float = np.log(others / (n * (n - 1)))
    return result


def uniformity_by_differences(x: Array, t: float = 2.0) -> float:
    difference = x[:, None, :] - x[None, :, :]
    return _log_mean_potential(np.sum(difference * difference, axis=-1), t)


def uniformity_by_products(x: Array, t: float = 2.0) -> float:
    squares = np.sum(x * x, axis=1)
    return _log_mean_potential(squares[:, None] + squares[None, :] - 2 * (x @ x.T), t)
