"""The oracle of nt.vmap: a Python loop over slices, and np.stack."""

from __future__ import annotations

import numpy as np


def paths(value):
    """The arrays and numbers in a result, in order."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in paths(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in paths(item)]
    return [] if value is None else [value]


def in_loop(function, arguments, in_axes=0, out_axes=0):
    """What nt.vmap(function, in_axes, out_axes)(*arguments) is to give, for axes that are ints or None; as leaves."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arguments)
    count = next(a.shape[x] for a, x in zip(arguments, axes, strict=True) if x is not None)
    each = []
    for k in range(count):
        given = [a if x is None else take(a, k, x) for a, x in zip(arguments, axes, strict=True)]
        each.append(paths(function(*given)))
    return [np.stack([np.asarray(one) for one in column], out_axes) for column in zip(*each, strict=True)]


def take(array, k, axis):
    """A slice; a number of an array with one axis."""
    return array[(slice(None),) * (axis % array.ndim) + (k,)]


def assert_same(got, want, tolerance):
    """The leaves of `got` have the values, shapes and dtypes of `want`."""
    got = paths(got)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert isinstance(one, np.ndarray)
        assert one.shape == other.shape and one.dtype == other.dtype, (
            one.shape,
            other.shape,
            one.dtype,
            other.dtype,
        )
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
