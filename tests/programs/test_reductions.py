"""Reductions and running results against NumPy: axes, keepdims, initial, where, NaNs, layouts, empty arrays."""

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import UnsupportedError

from .agreement import same

pytestmark = pytest.mark.one_of(2)


def sums(x, m):
    return (
        x.sum(where=m),
        np.sum(x, axis=1, where=m, initial=3),
        x.max(axis=0, initial=1, where=m),
        np.mean(x, axis=1, where=m),
        np.var(x, axis=0, where=m, keepdims=True),
        np.any(x, where=m),
        np.all(x, axis=1, where=m),
        np.prod(x, axis=(0, 1), where=m[0]),
    )


def spread(x):
    return (
        np.ptp(x),
        np.ptp(x, axis=1),
        np.count_nonzero(x),
        np.count_nonzero(x, axis=0, keepdims=True),
        x.var(ddof=1),
        np.std(x, axis=-1, correction=1),
        x.var(ddof=200),
    )


def typed(x):
    return np.sum(x, dtype="f4"), np.sum(x, dtype=bool), np.prod(x, dtype="i1"), np.sum(x, axis=(0, -1))


def places(x):
    return (
        x.argmax(),
        np.argmin(x),
        x.argmax(axis=0),
        x.argmin(1),
        np.argmax(x, axis=-1, keepdims=True),
        np.argmax(x, keepdims=True),
    )


def numbers_only(x):
    return (
        np.nansum(x),
        np.nansum(x, axis=0),
        np.nanprod(x, axis=1),
        np.nancumsum(x, axis=1),
        np.nancumprod(x),
    )


def extremes_of_numbers(x):
    return np.nanmax(x, axis=0), np.nanmin(x, axis=1, keepdims=True), np.nanmax(x)


def places_of_numbers(x):
    return np.nanargmax(x, axis=1), np.nanargmin(x)


def moments_of_numbers(x):
    return (
        np.nanmean(x),
        np.nanmean(x, axis=0),
        np.nanvar(x, axis=1),
        np.nanstd(x),
        np.nanvar(x, ddof=3, axis=0),
    )


def running(x):
    return (
        np.cumsum(x),
        np.cumsum(x, axis=0),
        x.cumsum(axis=1),
        np.cumprod(x, axis=-1),
        np.add.accumulate(x),
        np.maximum.accumulate(x, axis=1),
    )


def norms(x):
    return (
        np.linalg.norm(x),
        np.linalg.norm(x, axis=0),
        np.linalg.norm(x, 1),
        np.linalg.norm(x, np.inf),
        np.linalg.norm(x, -1),
        np.linalg.norm(x, -np.inf, keepdims=True),
        np.linalg.norm(x, "fro"),
        np.linalg.norm(x, 0, axis=1),
        np.linalg.norm(x, 3, axis=1),
        np.linalg.norm(x, -np.inf, axis=0),
        np.linalg.norm(x[0], 1),
    )


def averages(x, w):
    return (
        np.average(x),
        np.average(x, axis=1),
        np.average(x, weights=x * 0 + 2),
        np.average(x, axis=1, weights=w, keepdims=True),
    )


FUNCTIONS = {
    "sums": sums,
    "spread": spread,
    "typed": typed,
    "places": places,
    "numbers_only": numbers_only,
    "moments_of_numbers": moments_of_numbers,
    "running": running,
    "norms": norms,
    "averages": averages,
}
JITTED = {name: nt.jit(function) for name, function in FUNCTIONS.items()}
TOLERANCE = {"f2": 2e-2, "f4": 1e-5}


def operands(name, x, rng):
    mask = rng.random(x.shape) > 0.4
    mask[0] = True
    return {"sums": (x, mask), "averages": (x, rng.random(x.shape[1]) + 1)}.get(name, (x,))


def check(name, *arguments, tolerance=0.0):
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](*arguments)
    same(JITTED[name](*arguments), want, tolerance)


def tables(name, dtype):
    """A table, and the same one in other layouts and with an axis of one element: as arguments of the function `name`."""
    rng = np.random.default_rng(0)
    x = rng.integers(-4 if dtype[0] in "fi" else 0, 6, (5, 7)).astype(dtype)
    return [operands(name, y, rng) for y in (x, np.asfortranarray(x), x[::-1, ::-1], x[:1], x[:, 2:3])]


KINDS = ("?", "u1", "i4", "f2", "f8")
NOT_OF_BOOL = ("spread", "norms", "averages")
"""NumPy does not subtract bools, and takes no norm of them."""
CASES = [(name, dtype) for name in FUNCTIONS for dtype in KINDS if dtype != "?" or name not in NOT_OF_BOOL]


def _in_turn():
    """All functions on doubles, sums on all types; of other types each function has two, and the others are slow."""
    for name, dtype in CASES:
        first = tuple(FUNCTIONS).index(name) % 2
        waits = name not in ("sums", "typed") and dtype != "f8" and KINDS.index(dtype) % 2 != first
        yield pytest.param(name, dtype, marks=[pytest.mark.slow] * waits)


@pytest.mark.parametrize(("name", "dtype"), list(_in_turn()))
def test_dtypes(name, dtype):
    """Each function on doubles in two layouts, and on half of the other types in a layout of theirs."""
    arguments = tables(name, dtype)
    for k in {0, 4} if dtype == "f8" else {KINDS.index(dtype)}:
        check(name, *arguments[k], tolerance=TOLERANCE.get(dtype, 1e-12))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_layouts_of_every_type(name, dtype):
    for arguments in tables(name, dtype):
        check(name, *arguments, tolerance=TOLERANCE.get(dtype, 1e-12))


@pytest.mark.parametrize("dtype", ["f4", pytest.param("f8", marks=pytest.mark.slow)])
def test_nans(dtype):
    x = np.random.default_rng(0).standard_normal((6, 9)).astype(dtype)
    x[1, 2] = x[3] = np.nan
    x[2, 0], x[0, 0] = np.inf, -np.inf
    for name in ("places", "numbers_only", "moments_of_numbers", "running"):
        check(name, x, tolerance=1e-5)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        want = extremes_of_numbers(x)
    same(nt.jit(extremes_of_numbers)(x), want)
    same(nt.jit(places_of_numbers)(x[:3]), places_of_numbers(x[:3]))


def test_all_nans_raise():
    x = np.full((2, 3), np.nan)
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        nt.jit(places_of_numbers)(x)


def test_weights_of_zero_raise():
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        JITTED["averages"](np.ones((3, 2)), np.zeros(2))


def highest(x):
    return x.max(axis=0)


def first_highest(x):
    return np.argmax(x, axis=0)


def places_of_rows(x):
    return np.argmax(x, axis=1)


@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_places_in_long_rows(dtype):
    """Ties in several lanes, nothing but the least number, NaNs."""
    x = (np.random.default_rng(0).standard_normal((5, 1024)) * 100).astype(dtype)
    x[0, [130, 131, 700]] = 1000
    x[1] = -np.inf if dtype == "f4" else np.iinfo(dtype).min
    x[2, -1] = 1000
    if dtype == "f4":
        x[3, [300, 900]], x[3, 200] = np.nan, np.inf
        x[4] = 0
        x[4, :513] = -0.0
    f = nt.jit(places_of_rows)
    same(f(x), places_of_rows(x))


def masked_highest(x):
    return x.max(where=x > 0)


def total(x):
    return x.sum(axis=0), np.cumsum(x), x.max(initial=-1), np.mean(x, axis=1)


def test_empty():
    x = np.zeros((0, 4))
    same(nt.jit(total)(x), total(x))
    for function, text in ((highest, "zero-size array"), (first_highest, "attempt to get argmax")):
        with pytest.raises(ValueError, match=text):
            nt.jit(function)(x)
    with pytest.raises(ValueError, match="does not have an identity"):
        nt.jit(masked_highest)(np.zeros((2, 2)))


def of_numbers(x):
    return np.cumsum(x), np.sum(x), np.argmax(x)


def test_rank_zero():
    same(nt.jit(of_numbers)(np.array(3.0)), of_numbers(np.array(3.0)))


def stacks(x):
    return np.cumsum(x, axis=1), np.cumsum(x, axis=0), x.sum(axis=(0, 2), keepdims=True), x.argmax()


def test_three_axes():
    x = np.random.default_rng(0).integers(0, 9, (4, 5, 6))
    for y in (x, x.transpose(2, 0, 1), x[:, ::2]):
        same(nt.jit(stacks)(y), stacks(y))


def running_in_place(x):
    x[:] = np.cumsum(x[::-1])
    return x


def test_running_of_itself():
    x, y = np.arange(9.0), np.arange(9.0)
    same(nt.jit(running_in_place)(x), running_in_place(y))


@pytest.mark.parametrize("target", ["interp", "cuda-sim"])
def test_targets(target):
    x = np.random.default_rng(0).integers(0, 9, (4, 5)).astype("f4")
    same(nt.jit(running, target=target)(x), running(x), 1e-6)
    same(nt.jit(places, target=target)(x), places(x))


def accumulated(x):
    return np.subtract.accumulate(x), np.logical_and.accumulate(x, axis=1), np.fmin.accumulate(x, 1)


def test_accumulate():
    for x in (np.arange(12.0).reshape(3, 4) % 5, np.asfortranarray(np.arange(12).reshape(3, 4) % 5)):
        same(nt.jit(accumulated)(x), accumulated(x))


def compared(x):
    return np.less.accumulate(x)


def test_accumulate_refusal():
    with pytest.raises(UnsupportedError, match=r"np\.less.accumulate is not supported"):
        nt.jit(compared)(np.arange(3.0))
