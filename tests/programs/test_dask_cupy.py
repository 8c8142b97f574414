"""Jitted functions of a GPU on Dask arrays: chunks of CuPy stay on it, chunks of NumPy are copied."""

from __future__ import annotations

import pickle

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from dask_programs import (
    CHUNKS,
    RAGGED,
    SINGLE,
    SMALL,
    X,
    anomaly,
    four_steps,
    gradient,
    histogram,
    place_in_rows,
    rolled,
    running_results,
    smoothed,
    standardised,
)
from nestor.frontend.interface.errors import DTypeError
from nestor.frontend.jit.chunked import boxes, chunk_program, dask_arrays
from nestor.runtime.errors import DeviceError

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.one_of(3)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def cupy(monkeypatch):
    chunk_program._KNOWN.clear()
    yield fake_cupy.install(monkeypatch)
    chunk_program._KNOWN.clear()


def chunks_of(kind: str, x=X):
    return (CHUNKS[kind], *[1 if kind == SINGLE else 6] * (x.ndim - 1))


def on_device(cupy, kind: str, x=X):
    return da.from_array(cupy.asarray(x), chunks=chunks_of(kind, x), name=f"device-{kind}")


def all_of(results):
    return results if isinstance(results, tuple) else (results,)


def check(cupy, lazy, whole, allowed: float) -> None:
    """Compare a Dask array of CuPy's chunks with NumPy's result."""
    assert type(lazy._meta) is cupy.ndarray and lazy.dtype == np.asarray(whole).dtype
    found = lazy.compute()
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(cupy.asnumpy(found), whole, rtol=allowed, atol=allowed)


PROGRAMS = [
    (four_steps, (), 0.0),
    (anomaly, (), 1e-13),
    (standardised, (), 1e-12),
    (running_results, (), 1e-12),
    (place_in_rows, (), 0.0),
    (gradient, (), 1e-12),
    (rolled, (), 0.0),
    (histogram, (), 0.0),
    (smoothed, (3,), 0.0),
]
QUICK = ("standardised", "running_results", "gradient")


CASES = [
    pytest.param(
        function,
        others,
        allowed,
        kind,
        marks=() if function.__name__ in QUICK and kind == RAGGED else (pytest.mark.slow,),
        id=f"{function.__name__}-{kind}",
    )
    for function, others, allowed in PROGRAMS
    for kind in (RAGGED, SMALL, SINGLE)
]


@pytest.mark.parametrize(("function", "others", "allowed", "kind"), CASES)
def test_chunks_of_cupy_stay_on_the_device(cupy, function, others, allowed, kind):
    jitted = nt.jit(function, target="cuda")
    x = X[:5, :4].copy() if kind == SINGLE else X
    wanted = nt.jit(function)(x, *others)
    got = jitted(on_device(cupy, kind, x), *others)
    for lazy, whole in zip(all_of(got), all_of(wanted), strict=True):
        check(cupy, lazy, whole, allowed)
    assert cupy.launches


@pytest.mark.slow
@pytest.mark.parametrize(("function", "others", "allowed", "kind"), CASES)
def test_the_simulator_and_chunks_of_numpy(function, others, allowed, kind):
    x = X[:5, :4].copy() if kind == SINGLE else X
    wanted = nt.jit(function)(x, *others)
    got = nt.jit(function, target="cuda-sim")(da.from_array(x, chunks=chunks_of(kind)), *others)
    for lazy, whole in zip(all_of(got), all_of(wanted), strict=True):
        found = np.asarray(lazy.compute())
        assert type(lazy._meta) is np.ndarray and found.dtype == np.asarray(whole).dtype
        np.testing.assert_allclose(found, whole, rtol=allowed, atol=allowed)


def test_chunks_of_numpy_are_copied_to_the_device_and_back(cupy):
    x = da.from_array(X, chunks=chunks_of(RAGGED))
    lazy = nt.jit(standardised, target="cuda")(x)
    found = lazy.compute()
    assert type(found) is np.ndarray and type(lazy._meta) is np.ndarray and cupy.launches
    np.testing.assert_allclose(found, standardised(X), atol=1e-12)


def test_arrays_of_both_kinds_meet_on_the_device(cupy):
    """Also those that are not in chunks, which are taken as they are."""
    jitted = nt.jit(lambda x, y, w, v: x * y + w - v, target="cuda")
    w, v = X[0].copy(), X[1].copy()
    on_host = da.from_array(X + 1, chunks=chunks_of(RAGGED))
    lazy = jitted(on_device(cupy, RAGGED), on_host, w, cupy.asarray(v))
    wanted = X * (X + 1) + w - v
    w[:] = v[:] = 0
    check(cupy, lazy, wanted, 0.0)


def test_pieces_of_a_box_are_views_of_results_on_the_device(cupy, monkeypatch):
    monkeypatch.setattr(boxes, "LEAST_ELEMENTS", 0)
    monkeypatch.setattr(boxes, "LEAST_SHARE", 0.0)
    lazy = nt.jit(four_steps, target="cuda")(on_device(cupy, RAGGED))
    check(cupy, lazy, four_steps(X), 0.0)


def test_second_calls_have_other_shapes_and_the_same_ones_other_numbers(cupy):
    jitted = nt.jit(lambda x, k: (x[2:] - x[:-2]) * k, target="cuda")
    for x, k in ((X, 2), (X[:9], 2), (X[:9, :1], 5), (X[:2], 1)):
        check(cupy, jitted(on_device(cupy, SMALL, x.copy()), k), (x[2:] - x[:-2]) * k, 0.0)


def test_complex_chunks(cupy):
    z = X[:, :8] + 1j * X[:, 8:16]
    lazy = nt.jit(lambda z: z * 2 + z[::-1], target="cuda")(on_device(cupy, SMALL, z))
    check(cupy, lazy, z * 2 + z[::-1], 1e-15)


def on_devices(cupy, numbers):
    """Chunks along the first axis on these devices in turn."""
    cupy.devices = 2

    def place(block, block_info=None):
        with cupy.cuda.Device(numbers[block_info[0]["chunk-location"][0] % len(numbers)]):
            return cupy.asarray(block.host)

    return on_device(cupy, RAGGED).map_blocks(place, dtype=X.dtype, meta=cupy.empty((0, 0)))


def test_a_task_runs_on_the_device_of_its_chunks(cupy):
    lazy = nt.jit(lambda x: x[1:] + x[:-1], target="cuda")(on_devices(cupy, [1]))
    assert cupy.loaded == [0]  # where it was compiled
    numbers = lazy.map_blocks(lambda block: np.full((1, 1), block.number), dtype=int, meta=np.empty((0, 0)))
    assert (numbers.compute() == 1).all()
    assert set(cupy.loaded[1:]) == {1} and cupy.device == 0


def test_chunks_of_several_devices_are_refused_by_a_task(cupy):
    lazy = nt.jit(lambda x: x[1:] + x[:-1], target="cuda")(on_devices(cupy, [0, 1]))
    with pytest.raises(DeviceError, match="GPU 0 and GPU 1"):
        lazy.compute()


@pytest.mark.slow
def test_other_architectures_compile_the_text_again(cupy, monkeypatch):
    lazy = nt.jit(anomaly, target="cuda")(on_device(cupy, RAGGED))
    travelled = pickle.loads(pickle.dumps(lazy))
    cupy.capability = "80"
    compiled = []
    monkeypatch.setattr(
        "nestor.runtime.cuda.engine.compile_for_device",
        lambda text, capability, _: (
            compiled.append(capability) or fake_cupy.Cubin(text.encode(), "sm_80", ())
        ),
    )
    check(cupy, travelled, anomaly(X), 1e-13)
    assert set(compiled) == {80}


def test_names_say_what_the_target_is(cupy):
    x = da.from_array(X, chunks=chunks_of(RAGGED))
    names = [nt.jit(anomaly, target=target)(x).name for target in ("cpu", "cuda-sim", "cuda", "cuda")]
    assert names[2] == names[3] and len(set(names)) == 3


def test_kernels_with_long_indices_travel_where_arrays_are_large(monkeypatch):
    """Chunks are small, and where they are in the array is not."""
    monkeypatch.setattr(dask_arrays, "LARGEST_SMALL", X.size)
    x = da.from_array(X, chunks=chunks_of(RAGGED))
    lazy = nt.jit(lambda x: x + np.arange(x.shape[0])[:, None], target="cuda-sim")(x)
    monkeypatch.setattr("nestor.runtime.cuda.host_program.LARGEST_SMALL", 6)
    np.testing.assert_array_equal(lazy.compute(), X + np.arange(23)[:, None])


def test_a_chunk_that_is_too_large_for_its_kernels_is_refused(monkeypatch):
    x = da.from_array(X, chunks=chunks_of(RAGGED))
    lazy = nt.jit(lambda x: x + np.arange(x.shape[0])[:, None], target="cuda-sim")(x)
    monkeypatch.setattr("nestor.runtime.cuda.host_program.LARGEST_SMALL", 6)
    with pytest.raises(nt.UnsupportedError, match="has 2 \\*\\* 31 elements or more"):
        lazy.compute()


def test_errors_of_kernels_have_their_line(cupy):
    def looked_up(x, i):
        return x[i]

    i = da.from_array(cupy.asarray(np.array([0, 30, 2])), chunks=2)
    lazy = nt.jit(looked_up, target="cuda")(on_device(cupy, RAGGED), i)
    with pytest.raises(IndexError, match="30 is out of bounds for axis 0 with size 23"):
        lazy.compute()


def test_what_is_refused_says_why(cupy):
    x = on_device(cupy, RAGGED)
    for target in ("cpu", "cuda-sim"):
        with pytest.raises(nt.UnsupportedError, match=r"chunks that are fake_cupy.Array") as caught:
            nt.jit(lambda x: x + 1, target=target)(x)
        assert 'target="cuda"' in str(caught.value)
    said_to_be_numpys = x.map_blocks(lambda block: block, dtype=X.dtype, meta=np.empty((0, 0)))
    with pytest.raises(DTypeError, match=r"are fake_cupy.Array where it says numpy.ndarray"):
        nt.jit(lambda x: x + 1)(said_to_be_numpys).compute()
    with pytest.raises(nt.UnsupportedError, match='"interp", which has no programs of chunks'):
        nt.jit(lambda x: x + 1, target="interp")(da.from_array(X, chunks=5))


def test_without_a_device_nothing_is_compiled_for_one():
    with pytest.raises(DeviceError, match="no CUDA device"):
        nt.jit(anomaly, target="cuda")(da.from_array(X, chunks=chunks_of(RAGGED)))


@pytest.mark.slow
def test_explain_lists_the_tasks_of_a_device(cupy):
    text = str(nt.jit(anomaly, target="cuda").explain(on_device(cupy, RAGGED)))
    assert "4 tasks" in text or "12 tasks" in text


@pytest.mark.slow
def test_labels_stay_with_chunks_of_cupy(cupy):
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = on_device(cupy, RAGGED)
    one, other = xr.DataArray(x, dims=("t", "y")), xr.DataArray(x, dims=("t", "y"), name="other")
    found = nt.jit(lambda x, y: x[1:-1] * y[2:], target="cuda")(one, other)
    assert found.dims == ("t", "y")
    check(cupy, found.data, X[1:-1] * X[2:], 0.0)
