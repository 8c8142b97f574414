"""`python -m benchmarks.gpu`: every row is right at a small size, and a run on a (stand-in for a) GPU becomes the table."""

import dataclasses
import json
import sys
import types

import fake_cupy
import numpy as np
import pytest
from nestor.runtime.cuda import nvrtc

from benchmarks.gpu import __main__ as bench
from benchmarks.gpu import measure, report
from benchmarks.gpu.rows import ROWS

BY_DEFAULT = "iou-10m,softmax,launch"


def test_the_dry_run_is_right(capsys):
    assert bench.main(["--dry-run", "--rows", BY_DEFAULT]) == 0
    printed = capsys.readouterr().out
    assert printed.count("right, error") == 3
    assert "0 not right; nothing was timed" in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(ROWS) - set(BY_DEFAULT.split(","))))
def test_the_dry_run_of_every_row_is_right(name, capsys):
    assert bench.main(["--dry-run", "--rows", name]) == 0
    if "left out" in capsys.readouterr().out:
        pytest.skip("NumPy has bfloat16 with ml_dtypes only, which is not installed")


def test_a_wrong_row_is_said(monkeypatch, capsys):
    row = dataclasses.replace(ROWS["launch"], tolerance=-1.0)
    monkeypatch.setitem(ROWS, "launch", row)
    assert bench.main(["--dry-run", "--rows", "launch"]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert bench.main([]) == 1
    printed = capsys.readouterr().err
    assert "no CUDA device" in printed and "--dry-run" in printed


def test_a_row_that_does_not_exist(capsys):
    with pytest.raises(SystemExit):
        bench.main(["--rows", "iuo"])
    assert "no row iuo; rows: iou-100k" in capsys.readouterr().err


@pytest.fixture
def small_rows(monkeypatch):
    """The rows at the sizes of the dry run, on a stand-in for CuPy and without torch."""
    cupy = fake_cupy.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(measure, "BATCH_SECONDS", 1e-6)
    by_text = lambda text, arch, contract: types.SimpleNamespace(image=text.encode())  # noqa: E731
    monkeypatch.setattr(nvrtc, "compile_cubin", by_text)
    for name, row in ROWS.items():
        monkeypatch.setitem(ROWS, name, dataclasses.replace(row, shapes=row.small))
    return cupy


def test_a_run(small_rows, tmp_path, capsys):
    assert bench.main(["--rows", "iou-10m,launch", "--results", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "gpu-stand-in-1-tests.json").read_text())
    iou, launch = record["rows"]
    assert set(iou["seconds"]) == {"nestor", "by hand", "copy"} and not iou["failed"]
    assert iou["bytes"] == 9 * 1021 * 4
    assert set(launch["host_seconds"]) == {"nestor"}
    assert record["missing"] == ["torch"]
    text = (tmp_path / "gpu-stand-in-1-tests.md").read_text()
    assert text == report.markdown(record)
    assert "| IoU, 8 x 10M |" in text and "Not here: torch." in text
    assert "The host is busy with a call of x + 1" in text


def test_what_fails_and_what_is_not_reached_is_said(small_rows, tmp_path, monkeypatch):
    monkeypatch.setitem(ROWS, "launch", dataclasses.replace(ROWS["launch"], tolerance=-1.0))
    assert bench.main(["--rows", "launch", "--results", str(tmp_path)]) == 1
    text = (tmp_path / "gpu-stand-in-1-tests.md").read_text()
    assert "- x + 1, one element: nestor: wrong by" in text
    assert bench.main(["--rows", "launch", "--results", str(tmp_path), "--minutes", "0"]) == 0
    assert (
        "Not reached within the time limit: x + 1, one element."
        in (tmp_path / "gpu-stand-in-1-tests.md").read_text()
    )


def test_the_table_compares_with_the_best_peer():
    row = {
        "title": "softmax", "bytes": 1 << 27, "operations": 2e9, "failed": {}, "host_seconds": {},
        "seconds": {"nestor": 5e-5, "copy": 4.5e-5, "torch": 8e-5, "torch.compile": 6e-5},
    }  # fmt: skip
    line = report._line(row)
    assert [cell.strip() for cell in line.strip("| ").split("|")] == [
        "softmax", "50", "2684", "90%", "40.0", "", "80", "60", "1.20",
    ]  # fmt: skip
    assert report.slug("NVIDIA H200") == "nvidia-h200"


def test_errors_of_results():
    assert measure.error_of([np.array([1.0, 2.2])], np.array([1.0, 2.0])) == pytest.approx(0.1)
    assert measure.error_of([np.array([np.nan])], np.array([1.0])) == float("inf")
    assert measure.error_of([np.zeros(2)], np.zeros(3)) == float("inf")
    assert measure.error_of([np.zeros(2)], (np.zeros(2), np.zeros(2))) == float("inf")
