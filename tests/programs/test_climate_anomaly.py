"""`examples/climate_anomaly.py`: zarr in, zarr out, with dimensions and coordinates; as the function in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT
from test_iou import load

dask = pytest.importorskip("dask", reason="dask is not installed")
xr = pytest.importorskip("xarray", reason="xarray is not installed")
zarr = pytest.importorskip("zarr", reason="zarr is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_from_a_store_into_a_store(tmp_path, capsys):
    example = load("climate_anomaly")
    example.LATITUDES, example.LONGITUDES = 9, 14
    with dask.config.set({"scheduler": "synchronous", "nestor.held": "1 B"}):
        example.make_store(tmp_path / "t2m.zarr", 0.0, 35)
        found = example.compute(tmp_path / "t2m.zarr", tmp_path / "anomaly.zarr")
    source = xr.open_zarr(tmp_path / "t2m.zarr").t2m
    assert found.dims == source.dims == ("time", "latitude", "longitude")
    for name in source.coords:
        xr.testing.assert_equal(found[name], source[name])
    assert found.data.numblocks == source.data.numblocks == (7, 1, 1)
    wanted = example.anomaly.function(source.values.astype("f8"))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
    printed = capsys.readouterr().out
    assert "phase 2" in printed and "phase 3" not in printed


@pytest.mark.slow
def test_the_script(tmp_path):
    """With two processes, and with a picture where matplotlib is."""
    command = [sys.executable, ROOT / "examples" / "climate_anomaly.py", "--gigabytes", "0.02"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"MPLBACKEND": "Agg"}
    )
    assert done.returncode == 0, done.stderr
    assert "warmer than the mean of all days" in done.stdout
    assert (tmp_path / "climate_anomaly.png").exists() or "with matplotlib it draws them" in done.stdout


def test_zarr_without_labels(tmp_path):
    import dask.array as da
    import nestor as nt

    x = np.random.default_rng(0).standard_normal((50, 8))
    source = zarr.create_array(tmp_path / "x.zarr", shape=x.shape, chunks=(10, 8), dtype="f8")
    source[:] = x
    f = nt.jit(lambda x: (x - x.mean(0))[2:])
    f(da.from_zarr(str(tmp_path / "x.zarr"))).rechunk((10, 8)).to_zarr(str(tmp_path / "y.zarr"))
    np.testing.assert_allclose(zarr.open_array(tmp_path / "y.zarr")[:], (x - x.mean(0))[2:], atol=1e-14)
