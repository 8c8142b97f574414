"""Sources in chunks that several phases read: once for each phase where they can be, held where they cannot, never wrong."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.one_of(4)

X = np.random.default_rng(7).standard_normal((40, 12))


@pytest.fixture(autouse=True)
def nothing_is_held():
    with dask.config.set({"scheduler": "synchronous", "nestor.held": "1 B"}):
        yield


class Stored:
    """An array that is read by slices, as one of zarr; `read` are the rows that each reading began with."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim
        self.read = []

    def __getitem__(self, key):
        self.read.append((key[0].start, key[1].start))
        return self.array[key]


def stored(array=X, chunks=(10, 12)):
    source = Stored(array)
    return source, da.from_array(source, chunks=chunks, meta=np.empty((0, 0), array.dtype))


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


def changes(x):
    y = x[1:] - x[:-1]
    return y - y.max(0)


@pytest.mark.parametrize(
    ("function", "phases"), [(standardised, 2), (changes, 2), (lambda x: x - x.sum(), 2)]
)
def test_each_phase_reads_each_chunk_once(function, phases):
    source, x = stored()
    np.testing.assert_allclose(nt.jit(function)(x).compute(), nt.jit(function)(X), atol=1e-13)
    assert sorted(source.read) == sorted([(row, 0) for row in (0, 10, 20, 30)] * phases)


def test_no_phase_begins_before_the_last_has_ended():
    source, x = stored()
    nt.jit(standardised)(x).compute(scheduler="threads")
    thirds = [sorted(source.read[k : k + 4]) for k in (0, 4)]
    assert thirds == [[(0, 0), (10, 0), (20, 0), (30, 0)]] * 2


def test_what_fits_is_shared():
    source, x = stored()
    with dask.config.set({"nestor.held": "1 GiB"}):
        nt.jit(standardised)(x).compute()
    assert len(source.read) == 4


def test_only_what_one_box_needs_counts():
    """Means of rows need the chunks of their rows: few."""
    source, x = stored(chunks=(10, 4))
    f = nt.jit(lambda x: x - x.mean(1, keepdims=True))
    with dask.config.set({"nestor.held": "1000 B"}):  # three chunks of 320 bytes
        np.testing.assert_allclose(f(x).compute(), X - X.mean(1, keepdims=True), atol=1e-13)
    assert len(source.read) == 12
    with dask.config.set({"nestor.held": "900 B"}):
        f(x).compute()
    assert len(source.read) == 12 + 24


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[3:],
        lambda x: x[::2, 1:],
        lambda x: x.rechunk((7, 5)),
        lambda x: x.T.rechunk((5, 40)),
        lambda x: np.sin(x * 2).astype("f4"),
        lambda x: da.concatenate([x, x]),
        lambda x: da.where(x > 0, x, 1.0),
        lambda x: nt.jit(lambda x: x[1:] + x[:-1])(x),
    ],
    ids=["rows", "steps", "rechunked", "transposed", "elementwise", "joined", "chosen", "of Nestor"],
)
def test_what_is_made_of_a_source_chunk_by_chunk_is_made_again(change):
    source, x = stored()
    y = change(x)
    whole = np.asarray(y.compute())
    once = len(source.read)
    source.read.clear()
    f = nt.jit(standardised)
    np.testing.assert_allclose(f(y).compute(), f(whole), atol=1e-5 if y.dtype == "f4" else 1e-12)
    assert len(source.read) == 2 * once
    assert "is read 2 times, once for each phase" in str(f._log.entries)


@pytest.mark.parametrize(
    "make",
    [
        lambda: da.random.default_rng(3).normal(size=(40, 12), chunks=(10, 12)),
        lambda: da.random.RandomState(3).normal(size=(40, 12), chunks=(10, 12)),
        lambda: da.arange(480, chunks=120).reshape(40, 12) * 1.0,
    ],
)
def test_random_numbers_of_dask_are_the_same_again(make):
    f = nt.jit(standardised)
    np.testing.assert_allclose(f(make()).compute(), f(make().compute()), atol=1e-12)


def test_what_may_be_other_numbers_is_read_once():
    calls = []

    def load(block_info=None):
        calls.append(1)
        return np.random.standard_normal((10, 12))

    x = da.map_blocks(load, chunks=((10,) * 4, (12,)), dtype="f8", meta=np.empty((0, 0)))
    calls.clear()
    f = nt.jit(standardised)
    got, whole = dask.compute(f(x), x)
    assert len(calls) == 4
    np.testing.assert_allclose(got, f(whole), atol=1e-12)
    remark = (
        "of 'x' are held, or spilled, until reductions of them are complete: 'load' may give other numbers"
    )
    assert remark in str(f._log.entries)
    with pytest.raises(nt.UnsupportedError, match="does not stream"):
        nt.jit(standardised, strict="fast")(x)


@pytest.mark.parametrize(
    "change",
    [lambda x: x - x.mean(0), lambda x: x - x.sum(0), lambda x: nt.jit(lambda x: x - x.max(0))(x)],
    ids=["mean", "sum", "of Nestor"],
)
def test_reductions_before_are_not_made_again(change):
    source, x = stored()
    f, y = nt.jit(standardised), change(x)
    whole = y.compute()
    once = len(source.read)
    np.testing.assert_allclose(f(y).compute(), f(whole), atol=1e-12)
    assert len(source.read) - once == once + 4


def test_products_before_are_not_made_again():
    source, x = stored()
    f = nt.jit(standardised)
    np.testing.assert_allclose(f((x @ x.T) @ x).compute(), f((X @ X.T) @ X), atol=1e-12)
    assert len(source.read) == 4
    assert "combines many chunks" in str(f._log.entries)


def test_what_is_in_memory_stays_there():
    f = nt.jit(standardised, strict="fast")
    for x in (da.from_array(X, chunks=(10, 12)), da.ones((40, 12), chunks=(10, 12)).persist()):
        y = f(x)
        assert not any("read" in layer for layer in map(str, f._log.entries))
        np.testing.assert_allclose(y.compute(), f(x.compute()), atol=1e-12)


def test_two_results_share_their_readings():
    source, x = stored()
    f = nt.jit(lambda x: (x - x.mean(0), x / x.max(0), x.min()))
    a, b, c = dask.compute(*f(x))
    np.testing.assert_allclose(a, X - X.mean(0), atol=1e-13)
    np.testing.assert_array_equal(b, X / X.max(0))
    assert c == X.min()
    assert len(source.read) == 8


def test_sources_that_wait_for_each_other():
    """Each of two sources is read in the phase in which the other's sums are."""
    (a, x), (b, z) = stored(), stored(X[::-1] * 2)
    f = nt.jit(lambda x, z: ((x * z.sum(0)).max(0) + z) * ((z * x.sum(0)).max(0) + x))
    np.testing.assert_allclose(f(x, z).compute(), f(X, X[::-1] * 2), rtol=1e-12)
    assert len(a.read) == len(b.read) == 12


def test_running_results_and_complex_numbers():
    source, x = stored()
    running = nt.jit(lambda x: np.cumsum(x - x.mean(0), axis=0))
    np.testing.assert_allclose(running(x).compute(), np.cumsum(X - X.mean(0), axis=0), atol=1e-12)
    assert (
        len(source.read) == 4 + 3 + 4
    )  # nothing is before the first chunk, and nobody asks for what is before a fifth
    z = X + 1j * X[::-1]
    source, x = stored(z)
    np.testing.assert_allclose(nt.jit(lambda x: x - x.mean(0))(x).compute(), z - z.mean(0), atol=1e-12)
    assert len(source.read) == 8


def test_names_stay_those_of_the_call():
    _, x = stored()
    x = da.from_array(X, chunks=(10, 12)) * 2
    f = nt.jit(standardised)
    assert f(x).name == f(x).name
    assert dict(f(x).dask).keys() == dict(f(x).dask).keys()
