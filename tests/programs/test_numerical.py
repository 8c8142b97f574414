"""Loop-and-slice programs compiled and run by Python: results and all arguments agree, in every dtype."""

import copy

import nestor as nt
import numpy as np
import pytest
from numerical import PROGRAMS, arguments_of

pytestmark = pytest.mark.one_of(2)


def typed():
    """Every program in one of its types, which takes turns; in the others among slow tests."""
    for k, case in enumerate(PROGRAMS):
        for j, dtype in enumerate(case.dtypes):
            marks = [] if j == k % len(case.dtypes) else [pytest.mark.slow]
            yield pytest.param(case, dtype, id=f"{case.function.__name__}-{dtype}", marks=marks)


@pytest.mark.parametrize(("case", "dtype"), list(typed()))
def test_program(case, dtype):
    compare(case, dtype, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda c: c.function.__name__)
def test_on_a_gpu(case):
    compare(case, case.dtypes[0], "cuda-sim")


def compare(case, dtype, target):
    """Two sizes against Python: the result and every argument."""
    compiled = nt.jit(case.function, target=target)
    for seed in range(2):
        arguments = arguments_of(case, case.small + seed, dtype, seed)
        ours, pythons = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with np.errstate(all="ignore"):
            want = case.function(*pythons)
        got = compiled(*ours)
        assert type(got) is type(want)
        pairs = [(got, want), *zip(ours, pythons, strict=True)]
        for mine, pythons_own in pairs:
            if pythons_own is None:
                continue
            assert np.asarray(mine).dtype == np.asarray(pythons_own).dtype
            if case.tolerance and np.asarray(pythons_own).dtype.kind == "f":
                scale = case.tolerance if dtype == "f4" else case.tolerance * 1e-7
                np.testing.assert_allclose(mine, pythons_own, rtol=scale, atol=scale)
            else:
                np.testing.assert_array_equal(mine, pythons_own)


CHECKED = {
    "interpolate",
    "knapsack",
    "moving_average",
    "rolling_maximum",
    "sieve",
    "viterbi",
}
"""Programs with an index that nobody can bound before they run, or only by an argument."""


@pytest.mark.parametrize("case", PROGRAMS, ids=[case.function.__name__ for case in PROGRAMS])
def test_indices_are_proved(case):
    text = nt.jit(case.function).lower(*arguments_of(case, 12, case.dtypes[0])).as_text("nest")
    assert ("nest.index" in text) == (case.function.__name__ in CHECKED)


@pytest.mark.parametrize("name", ["matmul", "gemm_chain"])
def test_products_are_vectors_of_columns(name):
    (case,) = (case for case in PROGRAMS if case.function.__name__ == name)
    lowered = nt.jit(case.function, machine="x86-64-v4").lower(*arguments_of(case, 70, "f8"))
    text = lowered.as_text("nest")
    assert 'nest.for "j.i"' in text and "vectorized(32)" in text
    assert lowered.as_text("nest", schedule=str(lowered.schedule())) == text


def test_there_are_enough():
    assert len(PROGRAMS) >= 40
