"""argmax and argmin as reductions of pairs: random arrays of many ties, NaNs and infinities, on each target."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from layouts import laid_out

pytestmark = pytest.mark.one_of(2)

FUNCTIONS = {"argmax": np.argmax, "argmin": np.argmin}
DTYPES = ["f4", "f8", "f2", "i1", "i4", "i8", "u1", "u4", "?", "c8", "c16"]
SHAPES = [(1,), (7,), (3, 1), (1, 9), (5, 33), (2, 3, 4), (4, 130), (2, 700), (65, 3)]
EXTREMES = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -0.0],
    "c": [np.nan, 1j * np.nan, np.inf, -np.inf, complex(-0.0, 1)],
}


def array_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Few different numbers; sometimes one number only, or some that are special."""
    most = rng.choice([1, 2, 4, 50])
    x = rng.integers(0, most, shape) - (most // 2 if dtype.kind != "u" else 0)
    x = x.astype(dtype)
    if dtype.kind == "c":
        x = x + (1j * rng.integers(-1, 2, shape)).astype(dtype)
    if dtype.kind in EXTREMES and rng.random() < 0.6:
        special = rng.random(shape) < rng.choice([0.02, 0.3, 1.0])
        chosen = rng.choice(EXTREMES[dtype.kind][rng.integers(0, 3) :], shape)
        x = np.where(special, chosen.astype(dtype), x)
    elif dtype.kind in "iu" and rng.random() < 0.3:
        x[...] = rng.choice([np.iinfo(dtype).min, np.iinfo(dtype).max])
    return x


@pytest.mark.parametrize("seed", range(12))
def test_random_arrays(seed):
    check(seed, ["cpu"])


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_arrays_on_each_target(seed):
    check(seed, ["interp", "cuda-sim"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1170))
def test_many_random_arrays(seed):
    check(seed, ["cpu", "interp", "cuda-sim"])


def check(seed: int, targets: list[str]) -> None:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(FUNCTIONS)))
    function = FUNCTIONS[name]
    shape = SHAPES[rng.integers(0, len(SHAPES))]
    axis = [None, *range(-len(shape), len(shape))][rng.integers(0, 2 * len(shape) + 1)]
    keepdims = bool(rng.integers(0, 2))
    dtype = np.dtype(DTYPES[rng.integers(0, len(DTYPES))])

    def place(x):
        return function(x, axis=axis, keepdims=keepdims)

    compiled = [nt.jit(place, target=target, dynamic=bool(rng.integers(0, 2))) for target in targets]
    for _ in range(3):
        x = laid_out(rng, array_of(rng, shape, dtype))
        for one, target in zip(compiled, targets, strict=True):
            got, want = one(x), place(x)
            np.testing.assert_array_equal(got, want, err_msg=f"{name} {target} {axis=} {keepdims=}\n{x!r}")
            assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("dtype", ["f4", "i4", "f8", "c8"])
def test_lengths_around_those_of_vectors(dtype):
    function = nt.jit(lambda x: (np.argmax(x, axis=1), np.argmin(x)))
    rng = np.random.default_rng(0)
    for extent in (1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 129, 1000):
        x = rng.integers(0, 5, (3, extent)).astype(dtype)
        for got, want in zip(function(x), (np.argmax(x, axis=1), np.argmin(x)), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=str(extent))
