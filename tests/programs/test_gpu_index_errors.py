"""Indices outside of their axis, in kernels that look them up and in those that check before writing, on the simulated GPU.

The IndexError of the interpreter and of NumPy, which names the index and the line, and arguments as they were.
"""

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(3)

BEFORE, AFTER = -8, 7
"""The indices next to the axis, of 7 elements."""


def taken(x, at):
    return x[at]


def taken_and_scaled(x, at):
    return np.tanh(x)[at] * 2


def columns(x, at):
    return x[:, at]


def normalised(x, at):
    rows = x[at]
    return rows - rows.mean(axis=1, keepdims=True)


def summed(x, at):
    return x[at].sum()


def first_of_those_taken(x, at):
    return x[at][:2]


def chosen(x, at):
    return np.where(x[at] > 0, x[at], 1)


def stored(x, at):
    x[at] = 1


def increased(x, at):
    x[at] += 1


def stored_in_a_copy(x, at):
    y = x.copy()
    y[at] = 1
    return y


def moved(x, at):
    x[1:] = x[at][1:]


READERS = (
    taken,
    taken_and_scaled,
    columns,
    normalised,
    summed,
    first_of_those_taken,
    chosen,
    stored_in_a_copy,
)
WRITERS = (stored, increased, moved)


@pytest.mark.parametrize("bad", [BEFORE, AFTER])
@pytest.mark.parametrize("function", [*READERS, *WRITERS], ids=lambda f: f.__name__)
def test_an_index_outside_is_an_index_error(function, bad):
    x = np.random.default_rng(0).standard_normal((7, 7)).astype(np.float32)
    at = np.array([3, -7, 6, 0, 2, bad, 1], np.int64)
    before = x.copy()
    line = function.__code__.co_firstlineno
    with pytest.raises(IndexError, match=rf"index {bad} is out of bounds for axis . with size 7") as error:
        nt.jit(function, target="cuda-sim:checked,random=3")(x, at)
    assert any(f"test_gpu_index_errors.py:{line + k}" in str(error.value) for k in range(1, 4))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("function", [*READERS, *WRITERS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_indices_inside_are_those_of_numpy(function, dynamic):
    x = np.random.default_rng(0).standard_normal((7, 7)).astype(np.float32)
    at = np.array([3, -7, 6, 0, 2, -1, 1], np.int32)
    want, mine = x.copy(), x.copy()
    expected = function(want, at)
    result = nt.jit(function, target="cuda-sim:checked", dynamic=dynamic)(mine, at)
    assert np.allclose(mine, want, rtol=0, atol=0)
    if expected is not None:
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [taken, taken_and_scaled, columns, normalised], ids=lambda f: f.__name__)
def test_readers_are_no_more_kernels_than_without_checks(function):
    """`normalised` and those that only read are one; what is computed of each element of `x` first is another."""
    x, at = np.ones((9, 64), np.float32), np.zeros(5, np.int64)
    compiled = nt.jit(function, target="cuda-sim:profile").lower(x, at).compile()
    unchecked = nt.jit(function, target="cuda-sim:profile", boundscheck=False).lower(x, at).compile()
    assert compiled.profile(x, at).launches <= unchecked.profile(x, at).launches
    assert compiled.profile(x, at).launches == (2 if function is taken_and_scaled else 1)


@pytest.mark.parametrize("function", [taken, normalised, summed, increased], ids=lambda f: f.__name__)
def test_schedules_of_lookups_replay(function):
    x, at = np.ones((9, 64), np.float32), np.zeros(5, np.int64)
    low = nt.jit(function).lower(x, at)
    assert low.as_text("cuda", schedule=low.schedule("cuda")) == low.as_text("cuda")


def one_column(x, at):
    return x[:, at[0]] / 3


def unused(x, at):
    x[0, at[0]]
    return x * 2


def placed(x, at):
    rows = np.zeros(3)
    rows[at[1]] = x[1, at[0]]
    return rows, x[at[2]] + 1


@pytest.mark.parametrize("function", [one_column, unused, placed], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [None, pytest.param(True, marks=pytest.mark.slow)])
def test_the_host_checks_an_index_that_it_reads(function, dynamic):
    """Outside of loops: also where no kernel uses the element, or none runs."""
    compiled = nt.jit(function, target="cuda-sim", dynamic=dynamic)
    for x in (np.arange(12.0).reshape(3, 4), np.ones((0, 4)), np.arange(6.0).reshape(3, 2)[::-1]):
        for numbers in ((1, 2, 0), (-1, 0, -3), (4, 1, 1), (1, -4, 1), (-5, 0, 0), (1, 1, 3)):
            at = np.array(numbers)
            try:
                want = function(x, at)
            except IndexError:
                with pytest.raises(IndexError):
                    compiled(x, at)
                continue
            got = compiled(x, at)
            pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
            for ours, numpys in pairs:
                np.testing.assert_array_equal(ours, numpys)
