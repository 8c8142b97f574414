"""Running results on a simulated GPU: random shapes and operations are NumPy's; no kernel of much work has few threads.

Seeds 0 to 5 in `make test`, 300 in all; half of them with extents that are not known.
"""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest
from gpu_programs import threads_launched

pytestmark = pytest.mark.one_of(2)


def running_sum(x, axis):
    return np.cumsum(x, axis=axis)


def running_product(x, axis):
    return np.cumprod(x, axis=axis)


def running_maximum(x, axis):
    return np.maximum.accumulate(x, axis=axis)


def running_mean(x, axis):
    return np.cumsum(x, axis=axis) / x.shape[axis]


OPERATIONS = (running_sum, running_sum, running_product, running_maximum, running_mean)


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = OPERATIONS[rng.integers(len(OPERATIONS))]
    dtype = rng.choice(["f4", "f8", "i8"]) if function is not running_product else "f8"
    rank = int(rng.choice([1, 1, 2, 2, 3]))
    axis = int(rng.integers(rank))
    longest = int(rng.choice([1, 63, 64, 300, 5000, 9000, 150_000]))
    shape = [int(rng.integers(1, 5)) for _ in range(rank)]
    shape[axis] = max(0, longest - int(rng.integers(0, 3)))
    dynamic = bool(rng.random() < 0.5)
    compiled = nt.jit(function, target="cuda-sim", static_argnums=1, dynamic=dynamic)
    for more in (0, 1 if dynamic else 0):
        shape[axis] += more * int(rng.integers(1, 2500))
        x = rng.integers(-9, 9, shape) if dtype == "i8" else rng.standard_normal(shape)
        if function is running_product:
            x = 1 + x / 1000
        x = x.astype(dtype)
        want, got = function(x, axis), compiled(x, axis)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if function is running_maximum or want.dtype.kind == "i":
            np.testing.assert_array_equal(got, want)
        elif function is running_product:
            np.testing.assert_allclose(got, want, rtol=1e-9)
        else:
            bound = 100 * np.finfo(want.dtype).eps * np.cumsum(np.abs(x), axis=axis)
            assert np.all(np.abs(got - want) <= bound + 1e-30)


@pytest.mark.parametrize("seed", range(6))
def test_random_scans(seed: int):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 300))
def test_more_random_scans(seed: int):
    check(seed)


CLIFFS = {
    "long": ((10_000_000,), 0),
    "very long": ((300_000_000,), 0),
    "few rows": ((8, 1 << 20), 1),
    "few odd rows": ((3, 1_000_003), 1),
}


@pytest.mark.parametrize("name", CLIFFS)
def test_no_kernel_of_much_work_has_few_threads(name: str):
    """One thread sets where a running result starts; what it takes from block to block has 64 blocks a thread at most."""
    shape, axis = CLIFFS[name]
    compiled = nt.jit(running_sum, target="cuda", static_argnums=1)
    lowered = compiled.lower(nt.spec(shape, "f4"), axis)
    text = lowered.as_text("cuda")
    assert max(threads_launched(text)) >= 32 * 128
    for trips in map(int, re.findall(r"for \(\w+(?: \w+)* = 0; \w+ < (\d+); \w+\+\+\)", text)):
        assert trips <= 2048


@pytest.mark.parametrize("shape", [(1 << 24,), (10_000_003,)], ids=str)
def test_where_a_running_result_starts_is_no_kernel_of_its_own(shape):
    """The block that adds up what is before each block sets it."""
    text = nt.jit(running_sum, target="cuda", static_argnums=1).lower(nt.spec(shape, "f4"), 0).as_text("cuda")
    kernels = text.split("__global__")[1:]
    assert not [kernel for kernel in kernels if "__launch_bounds__(1)" in kernel and " for (" not in kernel]
    assert len(kernels) == 3 or shape[0] % 2048
