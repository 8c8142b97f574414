"""nt.vmap on every target, for known and unknown numbers of slices, again with other numbers of them and with none."""

import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slices import assert_same, in_loop, paths
from test_vmap_operations import CASES

pytestmark = pytest.mark.one_of(2)

HOST_ONLY = {
    "sort",
    "sort 2",
    "inv",
    "solve",
    "solve 2",
    "solve 3",
    "eigh",
    "fft",
    "bincount",
    "median",
    "searchsorted",
}
"""They call NumPy, which a GPU cannot."""

SOME = ("elementwise", "matrices 2", "gather", "guarded branch", "while", "mutate")


def later(arguments, in_axes, part):
    """The same arguments with another part of the slices."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arguments)
    return [
        a if x is None else a[(slice(None),) * (x % a.ndim) + (part,)]
        for a, x in zip(arguments, axes, strict=True)
    ]


def check(name, **options):
    function, arguments, in_axes = CASES[name]
    each = nt.jit(nt.vmap(function, in_axes), **options)
    tolerance = 2e-3 if arguments[0].dtype == np.float16 else 1e-9
    for part in (slice(None), slice(2, None, -1), slice(1, 2)):
        given = later(arguments, in_axes, part)
        assert_same(each(*given), in_loop(function, given, in_axes), tolerance)
    empty = paths(each(*later(arguments, in_axes, slice(0, 0))))
    for got, want in zip(empty, in_loop(function, arguments, in_axes), strict=True):
        assert got.shape == (0, *want.shape[1:]) and got.dtype == want.dtype


@pytest.mark.parametrize("name", SOME)
def test_unknown_numbers_of_slices(name):
    check(name, dynamic=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - set(SOME)))
def test_unknown_numbers_of_slices_of_the_others(name):
    check(name, dynamic=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_interpreter(name):
    check(name, target="interp")


def test_simulator():
    check("branch", target="cuda-sim")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - HOST_ONLY - {"branch"}))
def test_simulator_of_the_others(name):
    check(name, target="cuda-sim")
