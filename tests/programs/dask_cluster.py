"""Programs in chunks on a real scheduler and two worker processes: `test_dask_schedulers.py` runs the parts of this script.

python dask_cluster.py streams /tmp/folder
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import nestor as nt
import numpy as np
import psutil
from dask.distributed import Client, LocalCluster

COLUMNS = 5000


class Virtual:
    """An array that is computed where it is read. `marker`: the process that reads it the 30th time kills itself, once."""

    def __init__(self, rows: int, columns: int = COLUMNS, marker: str | None = None):
        self.shape, self.dtype, self.ndim, self.marker = (rows, columns), np.dtype("f4"), 2, marker

    def __getitem__(self, key):
        rows, columns = (np.arange(*one.indices(n)) for one, n in zip(key, self.shape, strict=True))
        if self.marker is not None:
            with open(self.marker, "a") as file:
                file.write("x")
            if os.path.getsize(self.marker) == 30:
                os.kill(os.getpid(), signal.SIGKILL)
        first = ((rows * 7919) % 1009).astype("f4")[:, None]
        return (first - ((columns * 31) % 17).astype("f4") * ((rows * 13) % 257).astype("f4")[:, None]) / 1009

    def in_chunks(self, rows: int):
        return da.from_array(self, chunks=(rows, self.shape[1]), meta=np.empty((0, 0), "f4"))


def normalised(x):
    return (x - x.mean(0)) / x.std(0)


def anomaly(x):
    """Five rows' mean, the difference to it, standardised, and smoothed over columns."""
    y = x.copy()
    y[2:-2] = (x[:-4] + x[1:-3] + x[2:-2] + x[3:-1] + x[4:]) / 5
    s = normalised(x - y)
    z = s.copy()
    z[:, 1:-1] = (s[:, :-2] + 2 * s[:, 1:-1] + s[:, 2:]) / 4
    return z


class Memory:
    """The greatest resident memory of processes together, in MB."""

    def __init__(self, processes):
        self.most = 0.0
        self._processes = [psutil.Process(one) for one in processes]
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while True:
            try:
                used = sum(one.memory_info().rss for one in self._processes) / 1e6
            except psutil.Error:
                return
            self.most = max(self.most, used)
            time.sleep(0.02)


def processes(client) -> list[int]:
    return sorted(client.run(os.getpid).values())


def streams(client, folder: Path) -> None:
    """1.2 GB in chunks of 20 MB; the first columns are compared with those of the whole."""
    source = Virtual(60_000)
    idle = sum(psutil.Process(one).memory_info().rss for one in processes(client)) / 1e6
    for function in (normalised, anomaly):
        memory = Memory(processes(client))
        got = nt.jit(function)(source.in_chunks(1000))[:, :9].compute()
        wanted = function(source[:, :10].astype("f8"))[:, :9]
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4)
        grown = memory.most - idle
        print(f"{function.__name__}: {grown:.0f} MB more than idle workers")
        assert grown < 700, "the chunks of the source are held"
    spilled = client.run(lambda dask_worker: sum(dask_worker.data.spilled_total))
    assert set(spilled.values()) == {0}, spilled


def killed(client, folder: Path) -> None:
    """A worker ends in the second of two phases of 20 chunks."""
    marker, before = str(folder / "read"), processes(client)
    source = Virtual(2000, 60, marker)
    with dask.config.set({"nestor.held": "1 B"}):
        got = nt.jit(normalised)(source.in_chunks(100)).compute()
    assert processes(client) != before
    read = os.path.getsize(marker)
    assert read > 40, "what the worker had is read again"
    np.testing.assert_array_equal(got, nt.jit(normalised)(Virtual(2000, 60).in_chunks(100)).compute())
    np.testing.assert_allclose(got, normalised(Virtual(2000, 60)[:, :].astype("f8")), rtol=2e-4, atol=2e-4)


def spilled(client, folder: Path) -> None:
    """600 MB are held by two workers of which neither may have more than 350 MB."""
    x = Virtual(30_000).in_chunks(1000).map_blocks(np.copy).persist()
    got = nt.jit(normalised)(x)[:, :9].compute()
    on_disk = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    assert sum(on_disk.values()) > 0
    wanted = normalised(Virtual(30_000)[:, :9].astype("f8"))
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4)


if __name__ == "__main__":
    part, folder = {"streams": streams, "killed": killed, "spilled": spilled}[sys.argv[1]], Path(sys.argv[2])
    limit = "350 MB" if part is spilled else "900 MB"
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        part(client, folder)
    print("right")
