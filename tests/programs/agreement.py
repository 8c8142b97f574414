"""Comparing a compiled function with the same function run by NumPy."""

import copy

import nestor as nt
import numpy as np


def same(got, want, tolerance=0.0):
    """Equal in kind, dtype, shape, memory order and elements (NaNs equal); within `tolerance`, relative, when given."""
    assert type(got) is type(want), f"{type(got)} for {type(want)}"
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            same(a, b, tolerance)
        return
    if isinstance(want, np.ndarray | np.generic):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
    if isinstance(want, np.ndarray):
        assert got.flags.c_contiguous == want.flags.c_contiguous
    if tolerance and want is not None:
        np.testing.assert_allclose(got, want, rtol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def agrees(function, *arguments, tolerance=0.0, **options):
    """Compile and run `function`; compare results and written arguments with NumPy's. Returns the jitted function."""
    jitted = nt.jit(function, **options)
    ours, numpys = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        want = function(*numpys)
    got = jitted(*ours)
    same(got, want, tolerance)
    for a, b in zip(ours, numpys, strict=True):
        if isinstance(b, np.ndarray):
            same(a, b, tolerance)
    return jitted
