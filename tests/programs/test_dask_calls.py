"""NumPy's own functions on arrays in chunks: calls are cut along axes that they are mapped over, and travel to workers."""

from __future__ import annotations

import json

import nestor as nt
import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.one_of(2)

X = np.random.default_rng(3).standard_normal((23, 7))
X[4, 3] = np.nan
STACK = np.random.default_rng(4).standard_normal((9, 4, 4))
STACK = STACK @ STACK.swapaxes(1, 2) + np.eye(4)
EDGES = np.array([-2.0, -0.5, 0.25, 1.0])


def sorted_rows(x):
    return np.sort(x, axis=1)


def order_of_columns(x):
    return np.argsort(x, axis=0, kind="stable")


def sorted_columns_beside_neighbours(x):
    s = np.sort(x, axis=0)
    return s[:, 2:] - s[:, :-2]


def medians(x):
    return np.median(x, axis=0)


def kept_medians(x):
    return x - np.nanmedian(x, axis=1, keepdims=True)


def quantiles(x):
    return np.quantile(x, [0.1, 0.5], axis=1)


def spectrum(x):
    return np.abs(np.fft.rfft(x, axis=1))


def transforms(x):
    return np.fft.ifft(np.fft.fft(x, axis=0) * 2, axis=0)


def binned(x):
    return np.digitize(x, EDGES)


def found(x):
    return np.searchsorted(EDGES, x)


def interpolated(x):
    return np.interp(x, EDGES, EDGES**2)


def inverses(a):
    return np.linalg.inv(a)


def values_and_vectors(a):
    values, vectors = np.linalg.eigh(a)
    return values, vectors @ (values[..., None] * vectors.swapaxes(-1, -2))


def singular(a):
    return np.linalg.svd(a, compute_uv=False)


def fitted(x):
    return np.linalg.inv(x.T @ x + np.eye(7)) @ x.sum(0)


def taken(x):
    return x[np.array([4, 0, 21])] + x[[2, 2, 3]]


PROGRAMS = [
    (sorted_rows, X, (0,)),
    (order_of_columns, X, (1,)),
    (sorted_columns_beside_neighbours, X, (1,)),
    (medians, X, (1,)),
    (kept_medians, X, (0,)),
    (quantiles, X, (0,)),
    (spectrum, X, (0,)),
    (transforms, X, (1,)),
    (binned, X, (0, 1)),
    (found, X, (0, 1)),
    (interpolated, X, (0, 1)),
    (inverses, STACK, (0,)),
    (values_and_vectors, STACK, (0,)),
    (singular, STACK, (0,)),
    (fitted, np.nan_to_num(X), ()),
    (taken, X, (1,)),
]
"""A program, its argument, and the axes of it that stay in chunks."""

CHUNKS = {"ragged": lambda shape: tuple((n // 2, n - n // 2 - 1, 1) for n in shape), "of one element": 1}


def facts(f, *args):
    return json.loads(f.explain(*args, format="json"))["chunks"]


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize(("f", "x", "axes"), PROGRAMS, ids=[f.__name__ for f, *_ in PROGRAMS])
def test_results_are_those_of_the_whole_array(f, x, axes, chunks):
    how = CHUNKS[chunks]
    given = da.from_array(x, chunks=how(x.shape) if callable(how) else how)
    compiled = nt.jit(f)
    made, expected = leaves(compiled(given)), leaves(f(x))
    for one, other in zip(dask.compute(*made, scheduler="sync"), expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    read = {
        axis
        for step in facts(compiled, given)["steps"]
        for part in step["reads"]
        for axis, text in enumerate(part["part"].split(", "))
        if "lo" in text
    }
    assert set(axes) <= read


def test_a_remark_names_the_call_and_its_line():
    said = facts(nt.jit(sorted_rows), da.from_array(X, chunks=(5, 3)))["remarks"]
    line = sorted_rows.__code__.co_firstlineno + 1
    assert said == [
        "each chunk of a result needs all 3 chunks of 'x' along axis 1, because of the call of numpy.sort "
        f"(test_dask_calls.py:{line})"
    ]
    with pytest.raises(nt.UnsupportedError, match="the call of numpy"):
        nt.jit(sorted_rows, strict="fast")(da.from_array(X, chunks=(5, 3)))


def test_other_processes_call_numpy_too():
    x = da.from_array(X, chunks=(5, 7))
    made = nt.jit(kept_medians)(x).compute(scheduler="processes", num_workers=2)
    np.testing.assert_array_equal(made, kept_medians(X))


def test_what_numpy_raises_is_raised_for_its_chunk():
    broken = STACK.copy()
    broken[7] = 0.0
    made = nt.jit(inverses)(da.from_array(broken, chunks=(3, 4, 4)))
    np.testing.assert_allclose(made[:6].compute(), np.linalg.inv(broken[:6]))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        made.compute()


def test_functions_of_the_user_are_refused():
    own = nt.jit(lambda x: nt.custom_call(np.cumsum, x, result=nt.spec(x.shape, x.dtype)))
    with pytest.raises(nt.UnsupportedError, match="calls functions of Python"):
        own(da.from_array(X, chunks=(5, 7)))
