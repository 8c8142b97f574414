"""Derivatives by central differences in float64: the oracle of tests, which knows no rules."""

import numpy as np

STEP = 1e-6


def gradient(function, x, step=STEP):
    """The gradient of a function of one array or float that gives one number."""
    x = np.array(x, np.float64)
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[index] = step
        found[index] = (function(x + shift) - function(x - shift)) / (2 * step)
    return found


def tangent(function, x, direction, step=STEP):
    """The derivative of a function in a direction."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)
