"""Jitted functions on Dask arrays: as the whole, in whatever chunks, lazily, as the outside was when they were called."""

from __future__ import annotations

import pickle

import nestor as nt
import numpy as np
import pytest
from dask_programs import CHUNKS, PROGRAMS, RAGGED, SINGLE, SMALL, X, anomaly, borders, five_points, rolled
from nestor.frontend.interface.errors import DTypeError, ShapeError
from nestor.frontend.jit.chunked import boxes

pytestmark = pytest.mark.one_of(3)

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def in_chunks(array, kind: str):
    if not isinstance(array, np.ndarray):
        return array
    first = CHUNKS[kind]
    if kind == RAGGED and array.shape[0] != 23:
        first = 3
    return da.from_array(array, chunks=(first, *[1 if kind == SINGLE else 6] * (array.ndim - 1)))


def check(function, arguments, allowed: float, kind: str) -> None:
    jitted = nt.jit(function)
    wanted = jitted(*arguments)
    got = jitted(*(in_chunks(a, kind) for a in arguments))
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for lazy, whole in pairs:
        assert isinstance(lazy, da.Array)
        assert lazy.dtype == np.asarray(whole).dtype
        array = np.asarray(lazy.compute())
        if allowed:
            np.testing.assert_allclose(array, whole, rtol=allowed, atol=allowed)
        else:
            np.testing.assert_array_equal(array, whole)


QUICK = ("chain", "jacobi", "standardised", "place_of_largest", "with_positions", "sums_of_parts")


@pytest.mark.parametrize(
    ("function", "arguments", "allowed"),
    [one for one in PROGRAMS if one[0].__name__ in QUICK],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_chunks_are_as_the_whole(function, arguments, allowed):
    check(function, arguments, allowed, RAGGED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RAGGED, SMALL, SINGLE])
@pytest.mark.parametrize(
    ("function", "arguments", "allowed"), PROGRAMS, ids=lambda v: getattr(v, "__name__", "")
)
def test_chunks_of_all_kinds_are_as_the_whole(function, arguments, allowed, kind):
    check(function, arguments, allowed, kind)


@pytest.fixture
def small_pieces(monkeypatch):
    """Boxes of any size are computed in pieces: what is away from borders, and what is beside it."""
    monkeypatch.setattr(boxes, "LEAST_ELEMENTS", 0)
    monkeypatch.setattr(boxes, "LEAST_SHARE", 0.0)
    monkeypatch.setattr(boxes, "MOST_COMBINED", 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments", "allowed"), PROGRAMS, ids=lambda v: getattr(v, "__name__", "")
)
def test_pieces_of_chunks_are_as_the_whole(function, arguments, allowed, small_pieces):
    check(function, arguments, allowed, RAGGED)


def detrended(x):
    t = x.copy()
    t[2:-2] = (x[:-4] + x[1:-3] + x[2:-2] + x[3:-1] + x[4:]) / 5
    d = x - t
    s = d / d.std(0)
    s[1:-1] = (s[:-2] + 2 * s[1:-1] + s[2:]) / 4
    return s


@pytest.mark.parametrize("function", [five_points, detrended])
@pytest.mark.parametrize("chunks", [(8, 17), (9, 6)])
def test_what_is_inside_is_computed_by_a_program_of_its_own(function, chunks, small_pieces, monkeypatch):
    ran = set()
    run = boxes.BoxProgram.run

    def noted(self, *arguments):
        ran.add(self)
        run(self, *arguments)

    monkeypatch.setattr(boxes.BoxProgram, "run", noted)
    lazy = nt.jit(function)(da.from_array(X, chunks=chunks))
    np.testing.assert_allclose(lazy.compute(), nt.jit(function)(X), rtol=1e-12, atol=1e-12)
    recipes = {
        task.value
        for task in dict(lazy.dask).values()
        if isinstance(getattr(task, "value", None), boxes.Recipe)
    }
    inner = {one.inner for one in recipes if one.inner is not None}
    assert inner and inner <= ran and {one.any_box for one in recipes} <= ran | inner


@pytest.mark.parametrize(("rows", "is_shared"), [(1000, True), (3000, True), (400, False)])
def test_where_there_are_many_tasks_each_is_of_one_thread(rows, is_shared):
    x = np.random.default_rng(6).standard_normal((3000, 300))
    lazy = nt.jit(lambda x: x - x.mean(0))(da.from_array(x, chunks=(rows, 300)))
    values = [getattr(task, "value", None) for task in dict(lazy.dask).values()]
    programs = {value.any_box.program for value in values if isinstance(value, boxes.Recipe)}
    assert programs
    assert any(b"nestor_parallel" in program._code.code for program in programs) == is_shared
    np.testing.assert_allclose(lazy.compute(), x - x.mean(0), rtol=1e-12, atol=1e-12)


def number_of_blocks(function, array, chunks):
    return nt.jit(function)(da.from_array(array, chunks=chunks)).numblocks


def test_what_is_cut_stays_cut():
    assert number_of_blocks(anomaly, X, (5, 6)) == (5, 3)
    assert number_of_blocks(five_points, X, (5, 6)) == (5, 3)
    assert number_of_blocks(lambda x: x.T @ x, X, (5, 17)) == (1, 1)  # its sums are made in parts
    assert number_of_blocks(lambda x: x[2:] - x[:-2], X, (5, 17)) == (5, 1)
    assert number_of_blocks(rolled, X, (5, 6)) == (5, 3)
    assert number_of_blocks(borders, X, (5, 6)) == (5, 3)
    assert number_of_blocks(lambda x: x[::-1] * x, X, (5, 17)) == (5, 1)
    assert number_of_blocks(lambda x: x.argmax(1), X, (5, 6)) == (5,)
    assert number_of_blocks(lambda x: np.cumsum(x, axis=0), X, (5, 6)) == (5, 3)
    assert number_of_blocks(lambda x: np.maximum.accumulate(x, axis=1), X, (5, 6)) == (5, 3)


def test_a_chunk_needs_no_more_than_it_reads():
    """A rolled array: the first chunk needs the last row, and no other chunk does."""
    asked = []

    def load(block_info=None):
        asked.append(block_info[None]["chunk-location"][0])
        return np.ones((5, 3))

    x = da.map_blocks(load, chunks=((5,) * 4, (3,)), dtype="f8", meta=np.empty((0, 0)))
    y = nt.jit(lambda x: np.roll(x, 1, 0), strict="fast")(x)
    needed = []
    for k in range(4):
        asked.clear()
        y.blocks[k].compute()
        needed.append(sorted(asked))
    assert needed == [[0, 3], [0, 1], [1, 2], [2, 3]]


def test_a_sum_and_a_running_sum_of_the_same_are_not_taken_for_each_other():
    """Both have partial sums of the same chunks, by the same program."""
    x = np.arange(40).reshape(20, 2)
    f = nt.jit(lambda x: np.cumsum(x, 0) - x.sum(0))
    np.testing.assert_array_equal(f(da.from_array(x, chunks=(6, 2))).compute(), np.cumsum(x, 0) - x.sum(0))


def test_running_extrema_have_nans_as_numpy_does():
    x = X.copy()
    x[7, 3], x[0, 0], x[1, 1] = np.nan, -np.inf, -0.0
    f = nt.jit(lambda x: (np.maximum.accumulate(x, 0), np.minimum.accumulate(x, 1)))
    for got, wanted in zip(f(da.from_array(x, chunks=(5, 6))), f(x), strict=True):
        np.testing.assert_array_equal(got.compute(), wanted)


def test_results_that_share_axes_and_sources_are_one_program():
    def program(x):
        d = np.sqrt(np.abs(x)) - x.mean(0)
        return d * 2, x[1:] - x[:-1], d + x, x.sum(0)

    lazy = nt.jit(program)(da.from_array(X, chunks=(5, 17)))
    assert lazy[0].name.rpartition("-")[0] == lazy[2].name.rpartition("-")[0], "one task makes both"
    assert lazy[1].name not in (lazy[0].name, lazy[2].name)
    for got, wanted in zip(lazy, nt.jit(program)(X), strict=True):
        np.testing.assert_allclose(got.compute(), wanted, atol=1e-13)


def test_nothing_is_computed_before_it_is_asked_for():
    asked = []

    def load(block_info=None):
        asked.append(block_info[None]["chunk-location"])
        return np.ones((4, 3))

    x = da.map_blocks(load, chunks=((4, 4, 4), (3,)), dtype="f8", meta=np.empty((0, 0)))
    asked.clear()
    y = nt.jit(lambda x: x[1:] - x[:-1])(x)
    assert not asked
    np.testing.assert_array_equal(y[:2].compute(), np.zeros((2, 3)))
    assert (2, 0) not in asked, "the first rows do not need the last chunk"


SCALE = 2.0
TABLE = np.arange(3.0)


def test_what_is_read_outside_is_that_of_the_call():
    global SCALE
    f = nt.jit(lambda x: x * SCALE + TABLE)
    x = da.from_array(X[:, :3].copy(), chunks=(5, 3))
    wanted = X[:, :3] * 2.0 + np.arange(3.0)
    before = f(x)
    SCALE = 5.0
    TABLE[:] = 100.0
    try:
        np.testing.assert_array_equal(before.compute(), wanted)
        after = f(x)
        np.testing.assert_array_equal(after.compute(), X[:, :3] * 5.0 + 100.0)
        assert before.name != after.name
    finally:
        SCALE, TABLE[:] = 2.0, np.arange(3.0)


def test_the_same_call_has_the_same_name_and_another_has_not():
    x = da.from_array(X, chunks=(5, 17))
    f = nt.jit(lambda x, k: x * k)
    assert f(x, 2.0).name == f(x, 2.0).name
    assert f(x, 2.0).name != f(x, 3.0).name
    assert nt.jit(lambda x, k: x / k)(x, 2.0).name != f(x, 2.0).name


def test_arrays_of_numpy_are_those_of_the_call():
    w = np.ones(17)
    y = nt.jit(lambda x, w: x * w)(da.from_array(X, chunks=(5, 6)), w)
    w[:] = 7
    np.testing.assert_array_equal(y.compute(), X)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(dtype):
    z = (X + 1j * X[::-1]).astype(dtype)

    def steps(z):
        y = z.copy()
        y[1:-1] = (z[2:] + z[:-2]) * 0.5j
        return np.conj(y).T, np.abs(y) + np.angle(z[::-1])

    for array in (z, np.asfortranarray(z), z[::2, ::-1]):
        got = nt.jit(steps, strict="fast")(da.from_array(array, chunks=(5, 6)))
        for lazy, whole in zip(got, nt.jit(steps)(array), strict=True):
            assert lazy.dtype == whole.dtype and lazy._meta.dtype == whole.dtype
            np.testing.assert_array_equal(lazy.compute(), whole)
    tolerance = 1e-6 if dtype == "c8" else 1e-13
    centred = nt.jit(lambda z: z - z.mean(0))(da.from_array(z, chunks=(5, 6)))
    assert centred.numblocks == (5, 3)
    np.testing.assert_allclose(centred.compute(), z - z.mean(0), atol=tolerance)


def test_an_index_that_is_outside_is_an_error_of_its_chunk():
    places = np.arange(23) % 17
    places[20] = 17
    lazy = nt.jit(lambda x, k: x[:17][k] * 2)(X[:, 0], da.from_array(places, chunks=5))
    np.testing.assert_array_equal(lazy[:20].compute(), X[places[:20], 0] * 2)
    with pytest.raises(IndexError, match="17"):
        lazy.compute()


def test_chunks_of_nothing():
    x = da.from_array(X, chunks=((5, 0, 18), (17,)))
    np.testing.assert_array_equal(nt.jit(five_points)(x).compute(), nt.jit(five_points)(X))
    np.testing.assert_allclose(nt.jit(anomaly)(x).compute(), X - X.mean(0), atol=1e-14)
    empty = da.from_array(X[:0], chunks=(1, 17))
    assert nt.jit(lambda x: x + 1)(empty).compute().shape == (0, 17)


def test_tasks_travel_to_other_processes():
    y = nt.jit(anomaly)(da.from_array(X, chunks=(5, 6)))
    again = pickle.loads(pickle.dumps(y))
    np.testing.assert_array_equal(again.compute(), y.compute())


def refused(function, *arguments, match: str, error=nt.UnsupportedError):
    with pytest.raises(error, match=match):
        nt.jit(function)(*arguments)


def test_what_is_not_divided_is_noted_and_refused_where_that_is_asked_for():
    x = da.from_array(X, chunks=(5, 6))
    f = nt.jit(lambda x: np.logaddexp.accumulate(x, axis=0))
    np.testing.assert_allclose(f(x).compute(), np.logaddexp.accumulate(X, axis=0), atol=1e-13)
    assert "each chunk of a result needs all 5 chunks of 'x' along axis 0" in str(f.explain(X))
    with pytest.raises(
        nt.UnsupportedError, match="not divided: each chunk of a result needs all 5 chunks of 'x'"
    ):
        nt.jit(lambda x: np.logaddexp.accumulate(x, axis=0), strict="fast")(x)
    assert nt.jit(lambda x: x.sum(0) + x, strict="fast")(x).numblocks == (5, 3)


def test_arrays_in_the_order_of_fortran():
    w = np.asfortranarray(np.arange(289.0).reshape(17, 17))
    y = nt.jit(lambda x, w: x[:17] * w + w.T)(da.from_array(X, chunks=(5, 6)), w)
    np.testing.assert_array_equal(y.compute(), X[:17] * w + w.T)


def test_plain_python_and_a_way_out():
    x = da.from_array(X, chunks=(5, 6))
    with nt.disable_jit():
        np.testing.assert_array_equal(nt.jit(anomaly)(x).compute(), anomaly(x).compute())
    with pytest.warns(RuntimeWarning, match="runs in Python"):
        found = nt.jit(lambda x: x[x > 0], fallback="numpy")(x)
    np.testing.assert_array_equal(found.compute(), X[X > 0])


def test_chunks_that_are_not_what_their_array_says():
    """Machine code would read beside them."""
    x = da.from_array(X, chunks=(5, 6))
    short = x.map_blocks(lambda block: block[:-1], dtype="f8", chunks=x.chunks)
    with pytest.raises(ShapeError, match="where it says"):
        nt.jit(lambda x: x + 1)(short).compute()
    bits = x.map_blocks(lambda block: block.view("u8"), dtype="i8", chunks=x.chunks)
    with pytest.raises(DTypeError, match="uint64 where it says int64"):
        nt.jit(lambda x: x + 1)(bits).compute()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: (x[i, 0] * 2, x[i, 1]),
        lambda x, i: x[i, 0] + x[i][:, 1],
        lambda x, i: (x[i] + x[i - 1], i * 2),
    ],
)
def test_indices_that_are_looked_up_twice_are_checked_by_who_looks_them_up(function):
    i = np.array([3, -1, 0, 22, 7, 7, -22, 5])
    check(function, (X, i), 0.0, SMALL)
    i[5] = 23
    results = nt.jit(function)(in_chunks(X, SMALL), in_chunks(i, SMALL))
    for lazy in results[:2] if isinstance(results, tuple) else (results,):
        lazy.blocks[0].compute()
    first = results[0] if isinstance(results, tuple) else results
    with pytest.raises(IndexError, match="23 is out of bounds for axis 0 with size 23"):
        first.blocks[2].compute()


def counted_twice(x):
    """The second one for nothing."""
    counts, others = np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64)
    np.add.at(counts, np.clip(x * 2, 0, 4).astype(np.int64), 1)
    np.add.at(others, np.clip(x * 2, 0, 4).astype(np.int64), 2)
    return x * counts.max()


def test_what_nobody_looks_up_does_not_stand_in_the_way():
    check(counted_twice, (X,), 0.0, RAGGED)


def test_results_may_have_extents_of_0_and_1():
    """A program for any extents takes neither: another one is made for these."""
    for rows in (5, 4, 3, 2):
        check(lambda x: (x[2:] - x[:-2]) * x[:, -1:][:1], (X[:rows],), 0.0, SMALL)


def test_what_is_refused_says_why():
    x = da.from_array(X, chunks=(5, 6))

    def written(x):
        x[0] = 1
        return x

    refused(written, x, match="writes to its arguments")
    refused(lambda x: x[x > 0], x, match="only a run of")
    refused(lambda x, k: x * k, x, 2j, match="given a complex number")
    refused(lambda x: x + 1, da.ma.masked_greater(x, 0), match="chunks that are numpy.ma")
    refused(lambda x: x + 1, x[x[:, 0] > 0], match="chunks of unknown size")
    with pytest.raises(nt.UnsupportedError, match="which has no programs of chunks"):
        nt.jit(lambda x: x + 1, target="interp")(x)
