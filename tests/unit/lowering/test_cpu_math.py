"""The error of every expanded function, in units in the last place, over ordinary and extreme arguments."""

import subprocess
import sys

import numpy as np
import pytest
from math_accuracy import (
    ONE_OPERAND,
    REFERENCES,
    TWO_OPERANDS,
    Accuracy,
    doubles,
    exact_values,
    kernel,
    measure,
    singles,
)
from places import ROOT

pytestmark = pytest.mark.one_of(3)


def arguments(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(dtype)
    ranges = [(-1, 1), (-20, 20), (-110, 95), (-750, 715), (0, 3), (0.5, 1.5), (0.99, 1.01), (-1e5, 1e5)]
    spread = [rng.uniform(low, high, 2000) for low, high in ranges]
    spread += [10.0 ** rng.uniform(-18, 18, 2000), 1 - 10.0 ** rng.uniform(-17, -1, 1000)]
    turns = np.arange(1, 1500)
    spread += [turns * np.pi / 2, turns * np.pi / 4, 1 + 10.0 ** rng.uniform(-16, 0, 1000)]
    corners = [0.0, np.inf, np.nan, 0.2, 0.26, 0.41421356, 0.5, 1, 2, 2**17, 2**30, 1e154, 1.3e154, 1.7e308]
    corners += [88.72284, 88.73, 87.4, 103.97, 104.1, 709.78, 709.79, 89.41, 89.42, 710.47, 710.48]
    corners += [745.13, 745.2, 708.5, 1e-40, 5e-324, 1e-310, 2e-16, 1e-8, 1.2e-38, 3.4e38]
    # The double, and two singles, that are nearest to a multiple of pi / 2 for their size.
    corners += [6381956970095103 * 2.0**797, 16367173 * 2.0**72, 13253829.0 * 2.0**-6]
    corners += [-c for c in corners]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.concatenate([bits, *spread, corners]).astype(dtype)
    return np.concatenate([values, np.zeros(-len(values) % 16, dtype)])


SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-42, 1e-310, 1e30, 1e300, 3e38, 1.7e308, np.inf]


def pairs(name: str, dtype: type) -> list[np.ndarray]:
    """Ordinary numbers, numbers of any size, whole ones; and all pairs of special ones."""
    rng = np.random.default_rng(2)
    every = arguments(dtype)
    ordinary = np.exp(rng.uniform(-20, 20, 20000))
    if name == "powf":  # results of all sizes
        largest = 88 if dtype is np.float32 else 709
        other = rng.uniform(-largest, largest, 20000) / np.log(ordinary)
    else:
        other = ordinary * rng.uniform(-3, 3, 20000)
    corners = np.array([*SPECIAL, *(-v for v in SPECIAL), np.nan])
    first, second = (grid.ravel() for grid in np.meshgrid(corners, corners))
    with np.errstate(over="ignore"):
        x = np.concatenate([ordinary, every, np.abs(every), first]).astype(dtype)
        whole = rng.integers(-20, 20, len(every))
        y = np.concatenate([other, whole, rng.permutation(every), second]).astype(dtype)
    rest = np.zeros(-len(x) % 16, dtype)
    return [np.concatenate([x, rest]), np.concatenate([y, rest])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONE_OPERAND)
def test_error_bound(name, dtype):
    _, bound = ONE_OPERAND[name]
    check(name, bound, [arguments(dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TWO_OPERANDS)
def test_error_bound_of_two(name, dtype):
    _, bound = TWO_OPERANDS[name]
    check(name, bound, pairs(name, dtype))


def check(name, bound, operands):
    """Vectors and scalars alike; the special cases to the bit, signs of zeros too; the others within the bound."""
    dtype = operands[0].dtype.type
    vector, scalar = np.empty_like(operands[0]), np.empty_like(operands[0])
    element = "f32" if dtype is np.float32 else "f64"
    for width, result in ((16, vector), (1, scalar)):
        compiled = kernel(name, element, width, len(operands))
        declared = [line for line in compiled.llvm_ir.splitlines() if line.startswith("declare")]
        assert all("@llvm." in line for line in declared)  # nothing of a library
        compiled(*operands, result)
    np.testing.assert_array_equal(vector, scalar)
    accuracy = Accuracy(name)
    accuracy.add(operands, vector, exact_values(name, operands))
    assert not accuracy.wrong
    assert accuracy.error <= bound, accuracy.worst


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCES)
def test_every_1009th_single_and_a_million_doubles(name):
    _, bound = REFERENCES[name]
    for blocks in (singles(1009, name), doubles(10**6)):
        accuracy = measure(name, blocks)
        assert not accuracy.wrong
        assert accuracy.error <= bound, accuracy.worst


SHORTER = [
    ("tan", np.float32),
    ("tan", np.float64),
    ("tanh", np.float64),
]
"""Functions with a shorter form for `afn`."""


@pytest.mark.parametrize("name, dtype", SHORTER)
def test_approximate_forms_are_others_and_near(name, dtype):
    x = np.random.default_rng(4).uniform(1.1, 3.0, 4096).astype(dtype)
    element = "f32" if dtype is np.float32 else "f64"
    results = [np.empty_like(x) for _ in range(3)]
    for result, width, flags in zip(results, (16, 16, 1), ("", "afn", "afn"), strict=True):
        kernel(name, element, width, flags=flags)(x, result)
    exact, fast, scalar = results
    np.testing.assert_array_equal(fast, scalar)
    assert (fast != exact).any()
    np.testing.assert_array_max_ulp(fast, exact, 4)


def test_the_constants_are_what_their_script_derives():
    command = [sys.executable, "-m", "nestor.tools.constants.derive_math_constants"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "lowering" / "math" / "constants.py").read_text()
