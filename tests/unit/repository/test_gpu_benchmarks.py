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

BY_DEFAULT = "iou-10m,softmax,launch,conv-gradients,embedding"


def test_the_dry_run_is_right(capsys):
    assert bench.main(["--dry-run", "--rows", BY_DEFAULT]) == 0
    printed = capsys.readouterr().out
    assert printed.count("right, error") == 5
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


def test_formulas_of_gradients_are_those_of_differences():
    """The references are no gradients of Nestor's: here they are compared with differences of the function."""
    rng = np.random.default_rng(3)
    for name in ("conv-gradients", "attention-gradients"):
        row = ROWS[name]
        arrays = [rng.standard_normal(shape) for shape in row.small]
        forward = {"conv-gradients": ROWS["conv"], "attention-gradients": ROWS["attention"]}[name].program
        *given, cotangent = arrays
        for k, by in enumerate(row.reference(*arrays)):
            way = rng.standard_normal(given[k].shape)
            moved = [[*given[:k], given[k] + step * way, *given[k + 1 :]] for step in (1e-5, -1e-5)]
            ahead, behind = (np.sum(forward(*operands) * cotangent) for operands in moved)
            assert np.isclose((ahead - behind) / 2e-5, np.sum(by * way), rtol=1e-6)


def test_a_training_step_goes_down():
    row = ROWS["training-step"]
    x, wanted, *parameters = (np.random.default_rng(4).standard_normal(shape) for shape in row.small)

    def loss(w, b, u, c):
        return np.mean((np.maximum(x @ w + b, 0) @ u + c - wanted) ** 2)

    stepped = row.reference(x, wanted, *parameters)
    for k, after in enumerate(stepped):
        way = np.random.default_rng(k).standard_normal(after.shape)
        moved = [[*parameters[:k], parameters[k] + s * way, *parameters[k + 1 :]] for s in (1e-6, -1e-6)]
        difference = (loss(*moved[0]) - loss(*moved[1])) / 2e-6
        assert np.isclose(difference, np.sum((parameters[k] - after) / 0.1 * way), rtol=1e-5)


def test_a_run_of_products_is_drawn(small_rows, tmp_path):
    pytest.importorskip("matplotlib", reason="it comes with the bench extra")
    assert bench.main(["--rows", "matmul-f32-odd,launch", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "gpu-stand-in-1-tests-roofline.png").stat().st_size > 1000


def test_without_matplotlib_there_is_no_picture(small_rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert bench.main(["--rows", "launch", "--results", str(tmp_path)]) == 0
    assert "no picture: pip install matplotlib" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.png"))


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
