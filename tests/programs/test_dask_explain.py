"""`f.explain(...)` of calls with Dask arrays: chunks, halos, bytes that tasks read, how often sources are read, programs."""

from __future__ import annotations

import json

import nestor as nt
import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")


def numbers(*shape, chunks):
    return da.random.default_rng(0).normal(size=shape, chunks=chunks)


@nt.jit
def standard(x):
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return (y - y.mean(0)) / y.std(0)


def facts(f, *args):
    said = json.loads(f.explain(*args, format="json"))
    assert said["status"] == "in chunks"
    return said["chunks"]


def test_what_is_said_to_people():
    x = numbers(1000, 40, chunks=(130, 40))
    with dask.config.set({"nestor.held": "1 B"}):
        lines = str(standard.explain(x)).splitlines()
    begin = lines.index("chunks (docs/dask.md):")
    assert lines[begin + 1] == "  x: 8 x 1 chunks, 312.50 kiB, read 2 times"
    first, second = lines[begin + 2 : begin + 4]
    assert first.startswith("  phase 1: 8 tasks make parts of reduction 1, sums of reduction 1, ")
    assert first.endswith("), 1 more combine them; reads x[lo - 1 : hi + 1, :] (316.88 kiB)")
    assert second.startswith(
        "  phase 2: 8 tasks make the result in 8 x 1 chunks; reads x[lo - 1 : hi + 1, :] (316.88 kiB), "
    )
    assert "reduction 1[:] (2.50 kiB)" in second and "sums of reduction 1[:] (2.50 kiB)" in second
    assert "machine code:" in lines[begin + 4]
    assert "'x' is read 2 times, once for each phase" in lines[begin + 5]


def test_bytes_are_those_that_are_read():
    """Counted by an array that is read in slices: a halo is read with the chunks that have it."""
    x = numbers(1000, 40, chunks=(130, 40))
    said = facts(nt.jit(lambda x: x[3:] - x[:-3]), x)
    (step,) = said["steps"]
    assert (step["tasks"], step["chunks"], step["phase"]) == (8, [8, 1], 1)
    boxes = np.diff([0, 130, 260, 390, 520, 650, 780, 910, 997])
    assert step["reads"] == [{"name": "x", "part": "lo : hi + 3, :", "bytes": int(sum(boxes + 3)) * 40 * 8}]


def test_axes_and_steps():
    x = numbers(60, 40, chunks=(10, 20))
    (step,) = facts(nt.jit(lambda x, y: y + x.T), x, numbers(40, 60, chunks=(20, 10)))["steps"]
    assert [one["part"] for one in step["reads"]] == ["lo1 : hi1, lo0 : hi0", "lo : hi, lo : hi"]
    (step,) = facts(nt.jit(lambda x: x[1::2] * 2), x)["steps"]
    assert step["reads"][0]["part"].startswith("2 * lo + 1 : 2 * hi")


def test_shared_sources_and_several_results():
    x = numbers(60, 40, chunks=(10, 40))
    said = facts(nt.jit(lambda x: (x - x.max(0), x.sum(1))), x)
    assert said["sources"] == [{"name": "x", "chunks": [6, 1], "bytes": 19200, "readings": 1}]
    assert [one["makes"] for one in said["steps"]][-2:] == [["result 0"], ["result 1"]]
    assert sum(one["combining"] for one in said["steps"]) == 1


def test_running_results():
    """The totals of chunks, what is before each chunk, and the results from there."""
    x = numbers(60, 40, chunks=(10, 40))
    f = nt.jit(lambda x: np.cumsum(x, axis=0))
    totals, running = facts(f, x)["steps"]
    assert (totals["is_running"], totals["tasks"], totals["combining"]) == (True, 6, 5)
    assert (running["is_running"], running["tasks"], running["chunks"]) == (False, 6, [6, 1])
    assert "what is before each chunk" in str(f.explain(x))


def test_what_is_not_divided_and_what_is_refused():
    x = numbers(60, 40, chunks=(10, 40))
    said = facts(nt.jit(lambda x, i: x[i], boundscheck=False), x, np.array([3, 1]))
    (remark,) = said["remarks"]
    assert remark.startswith(
        "each chunk of a result needs all 6 chunks of 'x' along axis 0, because of x[v, j] ("
    )
    assert "refused" in str(nt.jit(lambda x: x[x > 0]).explain(x))


def test_nothing_is_computed_and_pages_have_it():
    def load():
        raise AssertionError

    x = da.map_blocks(load, chunks=((3, 3), (2,)), dtype="f8", meta=np.empty((0, 0)))
    assert "2 x 1 chunks" in standard.explain(x, format="html")
    assert facts(standard, x)["sources"][0]["chunks"] == [2, 1]
