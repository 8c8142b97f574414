"""Kernels of much work have many threads: reductions, running results and updates of random shapes, scheduled only.

Of each kind 20 shapes of a million elements and more. A kernel that does 2^18 iterations has 32 blocks of 128 threads.
"""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.kernels.barriers import kernels_in
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.registry import make_context
from nestor.dialects.remarks import listening
from nestor.frontend.jit.specialise.stages import passes_of
from nestor.transforms.pass_manager import PassManager
from nestor.transforms.pipelines import expand
from nestor.transforms.schedulers.cuda.few_threads import threads_of, work_of


def total(x, axis):
    return x.sum(axis)


def largest(x, axis):
    return x.max(axis)


def mean_and_spread(x, axis):
    return x.mean(axis), x.var(axis)


def normalised(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def running(x, axis):
    return np.cumsum(x, axis=axis[0])


def added(x, axis):
    y = np.zeros(1000, np.float32)
    np.add.at(y, x.astype(np.int32).ravel(), x.ravel())
    return y


_ALONE = re.compile(r"runs as one GPU thread, (\d+) iterations")

REDUCTIONS = (total, largest, mean_and_spread, normalised)


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    """One to four extents, some of them small, of which there are a million elements together."""
    rank = int(rng.integers(1, 5))
    while True:
        shape = tuple(int(2 ** rng.uniform(0.6, 21)) for _ in range(rank))
        if 2**20 <= np.prod([float(n) for n in shape]) <= 2**24:
            return shape


def judged(function, shape, axis) -> list[str]:
    """The kernels of much work with few threads."""
    return judged_program(nt.jit(function, target="cuda", static_argnums=1).lower(nt.spec(shape, "f4"), axis))


def judged_program(lowered) -> list[str]:
    module = lowered.program.module.clone()
    said: list[str] = []
    names = list(expand(["cuda"]))
    with listening(lambda diagnostic: said.append(str(diagnostic.message))):
        passes = passes_of(module, names[: names.index("nest-freeze")])
        PassManager(make_context(), verify=True).run(passes, module)
    kernels = [kernel for one in functions(module) for kernel in kernels_in(one)]
    assert kernels and all(work_of(kernel) is not None and threads_of(kernel) for kernel in kernels)
    alone = [text for text in said if (found := _ALONE.search(text)) and int(found[1]) > 64]
    return alone + [text for text in said if " iterations with " in text]


@pytest.mark.parametrize("seed", range(4))
def test_reductions(seed: int):
    check_reduction(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 60))
def test_more_reductions(seed: int):
    check_reduction(seed)


def check_reduction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = shape_of(rng)
    count = int(rng.integers(1, len(shape) + 1))
    axis = tuple(sorted(int(k) for k in rng.choice(len(shape), count, replace=False)))
    function = REDUCTIONS[seed % len(REDUCTIONS)]
    found = judged(function, shape, axis)
    assert not found, f"{function.__name__} of {shape} over {axis}: {found}"


@pytest.mark.parametrize("seed", range(2))
def test_running_results(seed: int):
    check_scan(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 24))
def test_more_running_results(seed: int):
    check_scan(seed)


def check_scan(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    shape = shape_of(rng)
    axis = (int(rng.integers(len(shape))),)
    found = judged(running, shape, axis)
    assert not found, f"{shape} along {axis}: {found}"


def last_values(x, axis):
    y = np.zeros(1000, np.float32)
    y[x.astype(np.int32).ravel()] = x.ravel()
    return y


def rows_at_indices(x, axis):
    y = np.zeros((1000, x.shape[-1]), np.float32)
    np.add.at(y, x.reshape(-1, x.shape[-1])[:, 0].astype(np.int32), x.reshape(-1, x.shape[-1]))
    return y


UPDATES = (added, last_values, rows_at_indices)


@pytest.mark.parametrize("seed", range(2))
def test_updates(seed: int):
    check_update(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 24))
def test_more_updates(seed: int):
    check_update(seed)


def check_update(seed: int) -> None:
    shape, function = shape_of(np.random.default_rng(2000 + seed)), UPDATES[seed % len(UPDATES)]
    found = judged(function, shape, ())
    assert not found, f"{function.__name__} of {shape}: {found}"


def sum_of_differences(x, y):
    return np.abs(x[:, None] - y[None]).sum()


def largest_difference(x, y):
    return np.abs(x[:, None] - y[None]).max()


def largest_distances(x, y):
    return np.abs(x[:, None] - y[None]).max(-1)


def squared_distances(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


OF_TWO = (sum_of_differences, largest_difference, largest_distances, squared_distances)


@pytest.mark.parametrize("seed", range(4))
def test_reductions_of_two_arrays(seed: int):
    check_two(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 24))
def test_more_reductions_of_two_arrays(seed: int):
    check_two(seed)


def check_two(seed: int) -> None:
    """Of a million differences and more."""
    rng, extents = np.random.default_rng(3000 + seed), (1, 1, 1)
    while not 2**20 <= np.prod([float(n) for n in extents]) <= 2**34:
        extents = tuple(int(2 ** rng.uniform(0.6, 14)) for _ in range(3))
    m, n, k = extents
    function = OF_TWO[seed % len(OF_TWO)]
    found = judged_program(
        nt.jit(function, target="cuda").lower(nt.spec((m, k), "f4"), nt.spec((n, k), "f4"))
    )
    assert not found, f"{function.__name__} of {extents}: {found}"
