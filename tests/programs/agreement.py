"""Comparing a compiled function with the same function run by NumPy."""

import copy
import functools

import nestor as nt
import numpy as np
from nestor.frontend.interface.ordinary import attributes_of, is_ordinary


def random(shape, dtype="f4"):
    """Ordinary numbers; integers below 100."""
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def same(got, want, tolerance=0.0):
    """Equal in kind, dtype, shape, memory order and elements (NaNs equal); within `tolerance`, relative, when given."""
    assert type(got) is type(want), f"{type(got)} for {type(want)}"
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            same(a, b, tolerance)
        return
    if isinstance(want, np.dtype):
        assert got == want
        return
    if isinstance(want, dict):
        assert list(got) == list(want)
        return same(list(got.values()), list(want.values()), tolerance)
    if is_ordinary(type(want)):
        return same(attributes_of(got), attributes_of(want), tolerance)
    if isinstance(want, np.ndarray | np.generic):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
    if isinstance(want, np.ndarray):
        assert got.flags.c_contiguous == want.flags.c_contiguous
    if tolerance and want is not None:
        np.testing.assert_allclose(got, want, rtol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def jitted(function, **options):
    """`function` compiled; one that is compiled for any extents (`dynamic=True`) is one for all tests that ask for it so."""
    return _shared(function, **options) if options.get("dynamic") is True else nt.jit(function, **options)


@functools.lru_cache(maxsize=200)
def _shared(function, **options):
    return nt.jit(function, **options)


def agrees(function, *arguments, tolerance=0.0, **options):
    """Compile and run `function`; compare results and written arguments with NumPy's. Returns the jitted function."""
    compiled = jitted(function, **options)
    ours, numpys = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        want = function(*numpys)
    got = compiled(*ours)
    same(got, want, tolerance)
    for a, b in zip(ours, numpys, strict=True):
        if not isinstance(b, np.generic):
            same(a, b, tolerance)
    return compiled
