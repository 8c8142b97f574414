"""Jitted functions on arrays of xarray: dimensions and coordinates stay where elements do, in chunks and not."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import ShapeError

pytestmark = pytest.mark.one_of(3)

xr = pytest.importorskip("xarray", reason="xarray is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

WEIGHTS = np.arange(15.0).reshape(5, 3)
X = np.random.default_rng(5).standard_normal((12, 5))


def array(values=X, dims=("time", "lat"), name="t2m"):
    coords = {
        "time": np.arange(len(values)) * 10,
        "lat": np.linspace(-90, 90, values.shape[1]),
        "month": ("time", np.arange(len(values)) % 12),
        "area": (("time", "lat"), values * 2),
        "height": 2.0,
    }
    return xr.DataArray(values, dims=dims, coords=coords, name=name, attrs={"units": "K"})


def smoothed(x):
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return y


CASES = {
    "elementwise": (lambda x: x * 2 + 1, {"time": slice(None), "lat": slice(None)}),
    "anomaly": (lambda x: (x - x.mean(0)) / x.std(0), {"time": slice(None), "lat": slice(None)}),
    "stencil": (smoothed, {"time": slice(None), "lat": slice(None)}),
    "inner": (lambda x: x[2:-1] * 2, {"time": slice(2, -1), "lat": slice(None)}),
    "differences": (lambda x: x[1:] - x[:-1], {"time": None, "lat": slice(None)}),
    "running": (lambda x: np.cumsum(x, axis=0), {"time": slice(None), "lat": slice(None)}),
    "over time": (lambda x: x.mean(0), {"lat": slice(None)}),
    "over lat": (lambda x: x.max(1), {"time": slice(None)}),
    "all": (lambda x: x.sum(), {}),
    "transposed": (lambda x: x.T + 1, {"lat": slice(None), "time": slice(None)}),
    "reversed": (lambda x: x[::-1] * 2, {"dim_0": None, "lat": slice(None)}),
    "sorted": (lambda x: np.sort(x, axis=0) + 0, {"dim_0": None, "lat": slice(None)}),
    "rolled": (lambda x: np.roll(x, 2, axis=0), {"dim_0": None, "lat": slice(None)}),
    "products": (lambda x: x @ WEIGHTS, {"time": slice(None), "dim_1": None}),
    "new axis": (lambda x: x[:, None] * 2, {"time": slice(None), "dim_1": None, "lat": slice(None)}),
    "softmax": (lambda x: nt.nn.softmax(x, 1), {"time": slice(None), "lat": slice(None)}),
}
IN_CHUNKS = sorted(CASES)


def check(got, function, kept, x):
    wanted = function(X)
    assert isinstance(got, xr.DataArray) and got.name == x.name
    assert got.dims == tuple(kept)
    np.testing.assert_allclose(got.values, wanted, rtol=1e-12, atol=1e-12)
    parts = {name: part for name, part in kept.items() if part is not None}
    for name, coordinate in x.isel(parts).coords.items():
        if set(coordinate.dims) <= set(parts):
            xr.testing.assert_equal(got.coords[name].variable, coordinate.variable)
        else:
            assert name not in got.coords
    assert "units" not in got.attrs


@pytest.mark.parametrize("case", CASES)
def test_dimensions_and_coordinates(case):
    function, kept = CASES[case]
    x = array()
    check(nt.jit(function)(x), function, kept, x)


@pytest.mark.parametrize("case", IN_CHUNKS)
def test_the_same_in_chunks(case):
    function, kept = CASES[case]
    x = array().chunk(time=5, lat=3)
    got = nt.jit(function)(x)
    assert isinstance(got.data, da.Array)
    check(got, function, kept, x)


def test_several_arguments_and_results():
    x, climate = array(), array()[0].drop_vars(["time", "month", "area"]).rename("climate")
    f = nt.jit(lambda x, c, k: {"difference": (x - c) * k, "means": (x.mean(1), c.max())})
    got = f(x.chunk(time=4), climate, 2.0)
    assert got["difference"].dims == ("time", "lat") and got["difference"].name is None
    assert got["means"][0].dims == ("time",) and got["means"][1].dims == ()
    np.testing.assert_allclose(got["difference"].values, (X - X[0]) * 2)
    np.testing.assert_array_equal(got["difference"].lat, x.lat)
    assert float(got["difference"].height) == 2.0


def test_later_calls_with_other_shapes_and_labels():
    f, g = nt.jit(lambda x: x[1:] * 2), nt.jit(lambda x: x * 3)
    for n in (12, 7, 2, 1, 0):
        x = array(X[:n]).assign_coords(time=np.arange(n) + n)
        xr.testing.assert_equal(f(x).coords.to_dataset(), x[1:].coords.to_dataset())
        np.testing.assert_array_equal(f(x), X[1:n] * 2)
        xr.testing.assert_equal(g(x), x * 3)


def test_extents_of_one_are_broadcast():
    x, row = array(), array()[:1].drop_vars("time").drop_vars(["month", "area"])
    got = nt.jit(lambda x, y: x - y)(x, row)
    assert got.dims == ("time", "lat")
    np.testing.assert_allclose(got, X - X[:1])


def test_gradients():
    x = array().chunk(time=5)
    got = nt.grad(lambda x: ((x[1:] - x[:-1]) ** 2).sum())(x)
    assert got.dims == x.dims
    np.testing.assert_allclose(got, nt.grad(lambda x: ((x[1:] - x[:-1]) ** 2).sum())(X))
    np.testing.assert_array_equal(got.time, x.time)


def test_apply_ufunc():
    f = nt.jit(lambda x: (x - x.mean(-1, keepdims=True)) * 2)
    for x in (array(), array().chunk(lat=2)):
        got = xr.apply_ufunc(
            f, x, input_core_dims=[["time"]], output_core_dims=[["time"]], dask="allowed"
        ).transpose("time", "lat")
        np.testing.assert_allclose(got, (X - X.mean(0)) * 2, atol=1e-14)
        np.testing.assert_array_equal(got.lat, x.lat)


def test_a_dataset_by_its_variables():
    both = xr.Dataset({"a": array(), "b": array() * 3})
    got = both.map(nt.jit(smoothed))
    np.testing.assert_allclose(got.b, smoothed(X * 3))
    assert got.a.dims == ("time", "lat")


def test_plain_python_and_explanations():
    x = array().chunk(time=5)
    assert "3 x 1 chunks" in str(nt.jit(smoothed).explain(x))
    assert "lat" not in str(nt.jit(smoothed).explain(array()))
    with nt.disable_jit():
        xr.testing.assert_equal(nt.jit(lambda x: x * 2)(x), x * 2)


def test_what_is_refused():
    x = array()

    def refused(match, function, *args, error=nt.UnsupportedError, **named):
        with pytest.raises(error, match=match):
            nt.jit(function)(*args, **named)

    refused("a Dataset is several arrays", smoothed, xr.Dataset({"a": x}))
    refused("no coordinates", smoothed, x.variable)
    refused(
        "other coordinates along 'time'",
        lambda x, y: x + y,
        x,
        x.assign_coords(time=x.time + 1),
        error=ShapeError,
    )
    square = array(X[:5])
    refused("is 'time' of one argument and 'lat' of another", lambda x, y: x + y, square, square.T)
    refused("out= is for arrays of NumPy", smoothed, x, out=np.empty_like(X))


def test_gaps_are_not_skipped():
    """The rules are those of NumPy, as of `xr.apply_ufunc`."""
    values = X.copy()
    values[3, 1] = np.nan
    x = array(values)
    for one in (x, x.chunk(time=5)):
        assert np.isnan(nt.jit(lambda x: x.mean(0))(one)[1])
        np.testing.assert_allclose(nt.jit(lambda x: np.nanmean(x, axis=0))(one), np.nanmean(values, axis=0))


def test_a_list_that_contains_itself_is_refused_as_without_xarray():
    values: list = [np.ones(3)]
    values.append(values)
    with pytest.raises(nt.UnsupportedError, match="that contains itself cannot be passed"):
        nt.jit(lambda v: v[0] + 1)(values)


def test_structures_that_contain_themselves_are_refused():
    x = xr.DataArray(np.ones(3), dims="t")
    first = nt.jit(lambda items: items[0] * 2)
    for value in (x, x.chunk(t=2), x.chunk(t=2).data):
        items: list = [value]
        items.append(items)
        named: dict = {0: value, "own": {}}
        named["own"]["again"] = named
        for one in (items, named, (value, items)):
            with pytest.raises(nt.UnsupportedError, match=r"(list|dict) that contains itself"):
                first(one)
            assert "that contains itself" in str(first.explain(one))
        shared = [value]
        np.testing.assert_array_equal(first([value, shared, shared]), 2 * np.ones(3))
