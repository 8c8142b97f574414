"""A mean and the squares around it (a maximum and exponentials of what is below it) on Dask arrays: in one phase."""

from __future__ import annotations

import json

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.chunked import boxes

pytestmark = pytest.mark.one_of(9)

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

X = np.random.default_rng(11).standard_normal((23, 17)) * 3 + 5

ROWS = {"ragged": (7, 5, 1, 10), "of two": 2, "of one": 1, "of all": 23}
COLUMNS = (17, 6, 1)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def normalised(x):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)


def deviation(x):
    return x.std(0, ddof=1)


def mean_and_variance(x):
    return x.mean(0), x.var(0, ddof=1)


def of_all(x):
    return (x - x.mean()) / x.std()


def of_columns(x):
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


def kept(x):
    return x.var(0, keepdims=True), x.mean(0, keepdims=True)


def third_power(x):
    return ((x - x.mean(0)) ** 3).sum(0)


def fourth_power(x):
    return ((x.mean(0) - x) ** 4).sum(0) / x.shape[0]


def softmax(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


def softmin(x):
    e = np.exp(x.min(0) - x)
    return e / e.sum(0)


def log_sum(x):
    return nt.nn.logsumexp(x, 0)


def log_sum_of_all(x):
    m = x.max()
    return np.log(np.exp(x - m).sum()) + m


def softmax_of_rows(x):
    return nt.nn.softmax(x * 3, 1)


def moments_of_rows(x):
    d = x - x.mean(1, keepdims=True)
    return x.mean(1), (d**3).mean(1)


def of_some_rows(x):
    y = x[2:-1] * 2
    return (y - y.mean(0)) / y.std(0)


def of_differences(x):
    d = x[1:] - x[:-1]
    return d / d.std(0)


def twice(x):
    y = (x - x.mean(0)) / x.std(0)
    e = np.exp(y - y.max(0))
    return e / e.sum(0)


PROGRAMS = [
    (normalised, 2),
    (deviation, 1),
    (mean_and_variance, 1),
    (of_all, 2),
    (of_columns, 2),
    (softmax_of_rows, 2),
    (moments_of_rows, 1),
    (kept, 1),
    (third_power, 1),
    (fourth_power, 1),
    (softmax, 2),
    (softmin, 2),
    (log_sum, 1),
    (log_sum_of_all, 1),
    (of_some_rows, 2),
    (of_differences, 2),
    (twice, 3),
]
"""A program, and how often it reads its source."""

ALONG_ROWS = (of_columns, softmax_of_rows, moments_of_rows)
"""Those that reduce along rows."""


def agree(function, array, chunks, tolerance=1e-12):
    jitted = nt.jit(function)
    wanted, got = jitted(array), jitted(da.from_array(array, chunks=chunks))
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for lazy, whole in pairs:
        made = np.asarray(lazy.compute())
        assert made.dtype == np.asarray(whole).dtype
        np.testing.assert_allclose(made, whole, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(np.isnan(made), np.isnan(whole))


def readings(function, x) -> int:
    """In how many phases `explain` says that the source is read."""
    steps = json.loads(nt.jit(function).explain(x, format="json"))["chunks"]["steps"]
    return len({step["phase"] for step in steps if any(part["name"] == "x" for part in step["reads"])})


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize(("function", "phases"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_chunks_are_as_the_whole(function, phases, rows):
    for columns in COLUMNS:
        agree(function, X, (rows, columns))


@pytest.mark.parametrize("function", [normalised, third_power, softmax])
def test_a_few_rows_at_a_time_are_as_the_whole(function, monkeypatch):
    monkeypatch.setattr(boxes, "CACHED_BYTES", 1)
    monkeypatch.setattr(boxes, "MOST_COMBINED", 1000)
    for columns in COLUMNS:
        agree(function, X, (9, columns))


@pytest.mark.parametrize(("function", "phases"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_source_is_read_once_for_both(function, phases):
    chunks = (23, 5) if function in ALONG_ROWS else (5, 17)
    with dask.config.set({"nestor.held": "0 B"}):
        assert readings(function, da.from_array(X, chunks=chunks)) == phases


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [normalised, mean_and_variance, softmax, log_sum])
def test_both_precisions(function, dtype):
    agree(function, X.astype(dtype), (6, 17), 1e-5 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_variance_of_numbers_far_from_zero(dtype):
    """Within the bound of two passes: twice the rounding error of a mean, squared, and that of a sum."""
    offset = 1e4 if dtype == "f4" else 1e8
    x = (np.random.default_rng(3).standard_normal((4000, 3)) + offset).astype(dtype)
    x[::2] += x.dtype.type(offset / 1000)
    wanted = x.astype(np.longdouble).var(0)
    got = nt.jit(lambda x: x.var(0))(da.from_array(x, chunks=(130, 3))).compute()
    np.testing.assert_allclose(got, wanted.astype("f8"), rtol=48 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [normalised, mean_and_variance, softmax, softmin, log_sum])
def test_nans_and_infinities_are_as_in_the_whole(function, value):
    x = X.copy()
    x[3, 2] = x[20, 2] = x[9, 5] = value
    x[:, 7] = value
    x[6:9, 8] = value
    for rows in ROWS.values():
        agree(function, x, (rows, 17))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 4), (1, 1)])
@pytest.mark.parametrize("function", [normalised, mean_and_variance, third_power])
def test_few_elements_and_none(function, shape):
    x = np.random.default_rng(5).standard_normal(shape)
    agree(function, x, -1)
    agree(function, x, (1, 2))


def test_chunks_without_rows():
    for function in (normalised, third_power, softmax):
        agree(function, X, ((0, 5, 0, 18, 0), (17,)))


def test_sources_in_other_chunks():
    def program(x, w):
        y = x * w
        return ((y - y.mean(0)) ** 2).sum(0), y.max()

    w = np.random.default_rng(2).standard_normal(X.shape)
    wanted = nt.jit(program)(X, w)
    got = nt.jit(program)(da.from_array(X, chunks=(7, 17)), da.from_array(w, chunks=(4, 6)))
    for lazy, whole in zip(got, wanted, strict=True):
        np.testing.assert_allclose(lazy.compute(), whole, rtol=1e-12)


def test_explain_names_what_is_relative_to_a_reduction():
    lines = str(nt.jit(normalised).explain(da.from_array(X, chunks=(5, 17)))).splitlines()
    (line,) = (line for line in lines if "make parts of" in line)
    made = "reduction 1, sums of reduction 1, differences of reduction 1, count of reduction 1"
    assert f"5 tasks make parts of {made}" in line


def test_a_program_is_asked_again_with_other_chunks_and_extents():
    jitted = nt.jit(normalised)
    for rows, columns, chunk in ((20, 5, 3), (31, 5, 8), (12, 2, 12), (20, 5, 7)):
        x = np.random.default_rng(rows).standard_normal((rows, columns))
        np.testing.assert_allclose(
            jitted(da.from_array(x, chunks=(chunk, 2))), jitted(x), rtol=1e-12, atol=1e-12
        )


def test_what_is_relative_to_something_else_is_a_phase_of_its_own():
    """The squares of differences from a maximum may cancel where they are shifted: they are made when it is there."""

    def squares(x):
        return ((x - x.max(0)) ** 2).sum(0)

    x = da.from_array(X, chunks=(5, 17))
    with dask.config.set({"nestor.held": "0 B"}):
        assert readings(squares, x) == 2
    agree(squares, X, (5, 17))
