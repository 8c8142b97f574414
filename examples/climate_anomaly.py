"""A zarr store larger than memory: running mean over time, anomaly, standardisation and smoothing in space, in one function.

    python climate_anomaly.py                  # a small store, in seconds
    python climate_anomaly.py --gigabytes 20   # two processes of 1.4 GiB each; nothing is held
    python climate_anomaly.py --keep store     # where the stores are, to look at them

Chunks are of whole days, and the function is compiled once. What a chunk needs of those beside it (15 days), and that mean
and deviation are complete before, is read off the function. The source is read twice, since it is not held.
"""

# xarray and Dask have types for some of their functions only:
# pyright: strict, reportUnknownMemberType=false, reportPrivateImportUsage=false

from __future__ import annotations

import argparse
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import nestor as nt
import numpy as np
import xarray as xr

LATITUDES, LONGITUDES = 90, 180
DAYS = 30
"""Days of the running mean."""


@nt.jit
def anomaly(t: Any) -> Any:
    """What 30 days were warmer than all, in deviations of each place, smoothed over its neighbours."""
    half = DAYS // 2
    month = t.copy()
    sums = np.zeros_like(t[DAYS:])
    for k in range(DAYS + 1):
        sums = sums + t[k : t.shape[0] - DAYS + k]
    month[half:-half] = sums / (DAYS + 1)
    warmer = (month - month.mean(0)) / month.std(0)
    smooth = warmer.copy()
    smooth[:, 1:-1, 1:-1] = (
        4 * warmer[:, 1:-1, 1:-1]
        + warmer[:, :-2, 1:-1]
        + warmer[:, 2:, 1:-1]
        + warmer[:, 1:-1, :-2]
        + warmer[:, 1:-1, 2:]
    ) / 8
    return smooth


def make_store(path: Path, gigabytes: float, days_a_chunk: int) -> None:
    """Temperatures of a world that warms, written chunk by chunk."""
    days = max(8 * DAYS, int(gigabytes * 2**30 / (4 * LATITUDES * LONGITUDES)))
    da: Any = import_module("dask.array")
    latitude = np.linspace(-89, 89, LATITUDES).astype("f4")
    longitude = np.linspace(0, 358, LONGITUDES).astype("f4")

    def chunk(block_info: Any = None) -> Any:
        first, last = block_info[None]["array-location"][0]
        day = np.arange(first, last, dtype="f4")[:, None, None]
        rng = np.random.default_rng(first)
        season = 12 * np.sin(day * np.float32(2 * np.pi / 365.25)) * np.sin(np.radians(latitude))[:, None]
        warming = 2 * day / days * (1 + (np.abs(latitude) / 90)[:, None])
        world = 30 * np.cos(np.radians(latitude))[:, None] + season + warming
        noise = 2 * rng.standard_normal((last - first, LATITUDES, LONGITUDES), dtype="f4")
        return (world + noise).astype("f4")

    chunks = da.core.normalize_chunks((days_a_chunk, -1, -1), (days, LATITUDES, LONGITUDES), dtype="f4")
    values = da.map_blocks(chunk, chunks=chunks, dtype="f4", meta=np.empty((0, 0, 0), "f4"))
    dims = ("time", "latitude", "longitude")
    coords = {"time": np.arange(days), "latitude": latitude, "longitude": longitude}
    xr.Dataset({"t2m": xr.DataArray(values, dims=dims, coords=coords)}).to_zarr(path)


def compute(source: Path, target: Path) -> xr.DataArray:
    """The anomalies of a store, into another one."""
    t2m = xr.open_zarr(source).t2m
    print(f"{t2m.name}: {t2m.nbytes / 2**30:.2f} GiB in {t2m.data.npartitions} chunks")
    result = anomaly(t2m)
    print(*[line for line in str(anomaly.explain(t2m)).splitlines() if line.startswith("  phase")], sep="\n")
    begin = time.perf_counter()
    result.to_dataset(name="anomaly").to_zarr(target, encoding={"anomaly": {"chunks": result.data.chunksize}})
    print(f"computed and stored in {time.perf_counter() - begin:.1f} s")
    stored: xr.DataArray = xr.open_zarr(target).anomaly
    return stored


def plot(found: xr.DataArray, path: str = "climate_anomaly.png") -> None:
    """The last day as a map, and the mean of latitudes over time."""
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
    last = found[-1].values
    shown = left.imshow(last, origin="lower", extent=(0, 360, -90, 90), cmap="RdBu_r", vmin=-3, vmax=3)
    left.set(title=f"day {int(found.time[-1])}", xlabel="longitude", ylabel="latitude")
    every = found[:: max(1, len(found) // 300)].mean("longitude").values.T
    right.imshow(
        every, origin="lower", extent=(0, len(found), -90, 90), aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3
    )
    right.set(title="mean of each latitude", xlabel="day")
    figure.colorbar(shown, ax=(left, right), label="deviations")
    figure.savefig(path)
    print(f"drawn in {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.05)
    parser.add_argument("--days-a-chunk", type=int, default=0, help="by default, chunks of at most 32 MiB")
    parser.add_argument("--keep", type=Path, help="a folder for the stores, which stay there")
    given = parser.parse_args()
    most = 2**25 // (4 * LATITUDES * LONGITUDES)
    days_a_chunk = given.days_a_chunk or min(most, max(DAYS, int(given.gigabytes * most)))
    distributed: Any = import_module("dask.distributed")
    with tempfile.TemporaryDirectory() as folder:
        place = given.keep or Path(folder)
        with (
            dask.config.set({"temporary-directory": folder}),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, memory_limit="1.4 GiB", dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster),
        ):
            make_store(place / "t2m.zarr", given.gigabytes, days_a_chunk)
            found = compute(place / "t2m.zarr", place / "anomaly.zarr")
            print(f"last day: {float(found[-1].mean()):.2f} deviations warmer than the mean of all days")
            try:
                plot(found)
            except ImportError:
                print("with matplotlib it draws them")


if __name__ == "__main__":
    main()
