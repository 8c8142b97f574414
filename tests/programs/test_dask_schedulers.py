"""Programs in chunks on the schedulers of Dask: threads, processes, and workers that have little memory, or end."""

from __future__ import annotations

import subprocess
import sys

import nestor as nt
import numpy as np
import pytest
from dask_programs import X, standardised
from places import ROOT

da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")


def smoothed(x):
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return standardised(y)


@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_schedulers_of_one_machine(scheduler):
    got = nt.jit(smoothed)(da.from_array(X, chunks=(5, 6))).compute(scheduler=scheduler)
    np.testing.assert_allclose(got, nt.jit(smoothed)(X), rtol=1e-12, atol=1e-12)


def test_workers_that_are_threads():
    x = da.from_array(X, chunks=(5, 6))
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=2, dashboard_address=":0"):
        got = nt.jit(smoothed)(x).compute()
        largest = nt.jit(lambda x: x.max(0))(x.persist()).compute()
    np.testing.assert_allclose(got, nt.jit(smoothed)(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(largest, X.max(0))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["streams", "killed", "spilled"])
def test_two_worker_processes(part, tmp_path):
    """`streams`: memory does not grow with the source. `killed`: a worker that ends changes nothing. `spilled`: nor does a
    source that is held, and that memory is too small for."""
    command = [sys.executable, ROOT / "tests" / "programs" / "dask_cluster.py", part, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.endswith("right\n"), done.stdout + done.stderr
