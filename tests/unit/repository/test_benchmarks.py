"""The yardstick: every row at a small size is right on Nestor and NumPy, and what is measured becomes the right tables."""

import json
import re
import sys

import numpy as np
import pytest

import benchmarks
from benchmarks import report, run
from benchmarks.measure import _of_roof, roof_of
from benchmarks.peers import PEERS, NotWritten, onnx_text
from benchmarks.processes import Process
from benchmarks.yardstick import ROWS, loop_gradients
from benchmarks.yardstick.cold import FIRST_CALLS
from benchmarks.yardstick.row import error_of

pytestmark = pytest.mark.one_of(5)

WRITTEN = {"torch-out", "torch-loss", "numba-fresh", *PEERS}


LARGER = ("matmul-1024", "matmul-2048")  # at a small size they are matmul-512
MADE_OF_OTHERS = ("encoder-layer", "grad-encoder-layer", "grad-lstm")
"""Compiled for long; of layer norms, products and cells, which have rows, and of attention (`test_attention.py`)."""
LOOPS = tuple(row.name for row in loop_gradients.ROWS if row.name not in ("grad-seidel-2d", "grad-lu"))
"""Gradients of loops, of which two stand for all: the others have tests among those of derivatives."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LARGER + MADE_OF_OTHERS + LOOPS else [])
        for name in ROWS
    ],
)
@pytest.mark.parametrize("peer", ["nestor", "numpy"])
def test_a_row_is_right(peer, name):
    row = ROWS[name]
    arguments = row.make(small=True)
    expected = row.expected(arguments)
    described = row.results(row.extents(small=True))
    if peer == "numpy" and not row.by_numpy:
        with pytest.raises(NotWritten):
            PEERS[peer](1).prepare(row, arguments, True)
        return
    assert [e.shape for e in expected] == [shape for shape, _ in described]
    for form in PEERS[peer](1).prepare(row, arguments, True).values():
        results = form.results(form.call())
        assert error_of(results, expected) <= row.tolerance
        assert [r.dtype for r in results] == [np.dtype(kind) for _, kind in described]


def test_a_reference_of_its_own_agrees_with_the_program():
    row = ROWS["uniformity-differences"]
    arguments = row.make(small=True)
    assert error_of([np.asarray(row.program(*arguments))], row.expected(arguments)) < row.tolerance


def test_rows_name_peers_that_exist():
    for row in ROWS.values():
        assert set(row.peers) <= WRITTEN, row.name
        assert {"nestor", "numpy", "torch.compile"}.isdisjoint(row.peers), row.name
    assert {first.row for first in FIRST_CALLS.values()} <= set(ROWS)


def test_arguments_are_the_same_at_every_call():
    for first, second in zip(ROWS["layer-norm"].make(True), ROWS["layer-norm"].make(True), strict=True):
        np.testing.assert_array_equal(first, second)


def test_onnx_graphs_name_the_parameters_and_results():
    row = ROWS["batch-norm-training-nchw"]
    text = onnx_text(row, row.make(small=True), True)
    assert "(float[2,3,5,7] x, float[3] weight, float[3] bias)" in text
    assert "(float[2,3,5,7] r0, float[3] r1, float[3] r2)" in text
    with pytest.raises(NotWritten):
        onnx_text(ROWS["uniformity-differences"], [], True)


def test_errors_are_parts_of_the_largest_element():
    reference = np.array([1.0, 100.0])
    assert error_of([np.array([2.0, 100.0])], [reference]) == pytest.approx(0.01)
    assert error_of([np.array([np.nan, 100.0])], [reference]) == np.inf
    assert error_of([np.array([1.0, 100.0, 0.0])], [reference]) == np.inf
    assert error_of([], [reference]) == np.inf


def test_traffic_is_every_argument_and_result_once():
    assert ROWS["outer-add"].traffic(small=True) == ([4 * 37, 4 * 37], [4 * 37 * 37])
    assert ROWS["argmax-rows"].traffic(small=True) == ([4 * 7 * 37], [8 * 7])


def test_the_roof_is_the_better_store_or_the_operations():
    roofs = {"roof bytes": 3.0, "roof bytes, non-temporal": 2.0, "roof operations": 1.0}
    assert roof_of(roofs) == 2.0
    assert roof_of(roofs | {"roof operations": 5.0}) == 5.0
    assert roof_of({}) is None


def test_the_part_of_the_roof_is_that_of_the_same_round():
    """A machine that halves its speed between rounds changes nothing; a round that the roof sat out does not count."""
    times = {
        "nestor": [1.2, 2.4, 1.2, 9.0],
        "roof bytes": [1.0, 2.0, 1.0, None],
        "roof bytes, non-temporal": [1.5, 3.0, 1.5, 1.0],
        "roof operations": [0.1, 0.2, 0.1, 0.1],
    }
    assert _of_roof(times) == pytest.approx(1.2)
    assert _of_roof({"nestor": [1.0]}) is None
    assert _of_roof({form: times[form] for form in times if form != "nestor"}) is None


def test_rows_above_their_bound_of_the_roof_are_named():
    near = row_record("near", 1.1, {"numba": 2.0}, 1.0, most_of_roof=1.2)
    far = row_record("far", 1.3, {"numba": 2.0}, 1.0, most_of_roof=1.2)
    free = row_record("free", 9.0, {"numba": 10.0}, 1.0)
    said = report.summary({"rows": [near, far, free]})
    assert said.endswith("1 of 2 rows that wait for memory. Above it: far 1.30 (at most 1.2).")
    assert report.summary({"rows": [free]}) == "Won: 1 of 1 warm rows."


def test_rows_are_chosen_by_name_or_beginning():
    names = ["iou-small", "iou-10m", "softmax", "log-softmax"]
    assert run._chosen("", names, "row") == names
    assert run._chosen("iou", names, "row") == ["iou-small", "iou-10m"]
    assert run._chosen("softmax,iou-10m,iou", names, "row") == ["softmax", "iou-10m", "iou-small"]
    with pytest.raises(SystemExit, match=r"no row 'gelu'; there are: iou-small"):
        run._chosen("gelu", names, "row")
    with pytest.raises(SystemExit, match=r"no peer 'torch\.c'"):
        run._chosen("torch.c", ["torch", "torch.compile"], "peer", exact=True)


def row_record(name, nestor, peers, roof, **more):
    best = min(peers, key=peers.__getitem__)
    seconds = {"nestor": nestor, "nestor fastmath": nestor / 2, **peers}
    record = {
        "name": name,
        "title": name.upper(),
        "bytes": 1000,
        "operations": 500,
        "seconds": seconds,
        "roof": roof,
        "of_roof": nestor / roof,
        "most_of_roof": None,
    }
    record |= {
        "roofs": {"roof bytes": roof, "roof bytes, non-temporal": roof * 2, "roof operations": roof / 9}
    }
    ratios = {peer: nestor / s for peer, s in peers.items()}
    return record | {"best": best, "ratio": ratios, "errors": {}, "missing": {}, "samples": {}} | more


@pytest.fixture
def record():
    rows = [
        row_record("fast", 1e-3, {"numba": 2e-3, "jax": 3e-3}, 0.8e-3),
        row_record("at-roof", 1.02e-3, {"halide": 1e-3}, 0.99e-3),
        row_record(
            "slow", 4e-6, {"numba": 1e-6}, 1e-7, missing={"halide": "HalideError: too wide", "jax": ""}
        ),
    ]
    refused = row_record("refused", 1.0, {"numba": 1e-3}, 1e-4, ratio={}, missing={"nestor": "no such form"})
    del refused["seconds"]["nestor"], refused["seconds"]["nestor fastmath"]
    first = {"name": "first", "title": "first call", "seconds": {"nestor": 0.4}, "import": {"nestor": 0.03}}
    return {
        "when": "2026-01-01",
        "machine": {"processor": "P", "cores": 2, "system": "S", "python": "3", "load": 0.0},
        "threads": 2,
        "rounds": 3,
        "minutes": 1.0,
        "versions": {"nestor": "1", "numba": "2", "torch": None},
        "rows": [*rows, refused],
        "first_calls": [first | {"missing": {}}],
    }


def test_which_rows_are_won(record):
    assert [report.won(row) for row in record["rows"]] == [True, True, False, False]
    assert report.summary(record) == "Won: 2 of 3 warm rows. Lost, the widest first: slow 4.00."


def test_tables_name_what_is_missing(record):
    text = report.markdown(record)
    assert "| FAST | 1 | 2 | numba | 0.50 | 0.800 | 1.25 | 0.500 |" in text
    assert "| SLOW | 4000 ns | 1000 ns | numba | 4.00 | 100 ns | 40.00 | 2000 ns |" in text
    assert "| REFUSED | no such form | 1 | numba | - |" in text
    assert "- not installed: torch\n" in text
    assert "- slow, halide: HalideError: too wide" in text
    assert "slow, jax" not in text  # no program is no failure
    assert "| first call | 400 (30) |" in text


def test_the_page_is_refreshed_between_its_markers(record):
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    once = report.refreshed(page, record, [])
    assert once.startswith(f"before\n{report.BEGIN}\n\n2026-01-01; P, 2 cores, 2 threads;")
    assert once.endswith(f"{report.END}\nafter\n")
    assert "old" not in once and "Won: 2 of 3" in once
    assert report.refreshed(once, record, []) == once
    with pytest.raises(SystemExit, match="lacks the lines"):
        report.refreshed("no markers", record, [])


@pytest.mark.parametrize("with_plots", [True, False])
def test_a_whole_run_leaves_its_files(record, tmp_path, monkeypatch, with_plots):
    if with_plots:
        pytest.importorskip("matplotlib", reason="it comes with the bench extra")
    else:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.delitem(sys.modules, "benchmarks.plots", raising=False)
        monkeypatch.delattr(benchmarks, "plots", raising=False)
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    page.write_text(f"text\n{report.BEGIN}\n{report.END}\n")
    monkeypatch.setattr(report, "PAGE", page)
    report.write(record, tmp_path / "results")
    assert json.loads((tmp_path / "results" / "yardstick.json").read_text()) == record
    assert (tmp_path / "results" / "yardstick.md").read_text() == report.markdown(record) + "\n"
    assert ("![bars](../results/bars.svg)" in page.read_text()) == with_plots
    assert (tmp_path / "results" / "bars.svg").exists() == with_plots


def test_the_page_has_its_markers():
    assert re.search(f"{report.BEGIN}.*{report.END}", report.PAGE.read_text(), re.DOTALL)


def test_plots_are_written(record, tmp_path):
    plots = pytest.importorskip("benchmarks.plots", reason="matplotlib comes with the bench extra")
    written = plots.write(record, tmp_path)
    assert sorted(path.name for path in written) == ["bars.png", "bars.svg", "roofline.png", "roofline.svg"]
    assert "fast" in (tmp_path / "bars.svg").read_text()
    assert all(path.stat().st_size > 1000 for path in written)


def test_a_process_answers_and_dies_without_taking_the_run_along(tmp_path):
    process = Process("numpy", 1)
    try:
        assert set(process.ask(do="prepare", row="add-10")["forms"]) == {"numpy"}
        file = tmp_path / "expected.npz"
        np.savez(file, *ROWS["add-10"].expected(ROWS["add-10"].make()))
        assert process.ask(do="check", form="numpy", file=str(file))["error"] < 1e-6
        assert 0 < process.ask(do="time", form="numpy", calls=100)["seconds"] < 1
        assert process.ask(do="no such request")["missing"].startswith("its process ended with code")
        assert "forms" in process.ask(do="prepare", row="add-10")  # started again
    finally:
        process.close()


def test_a_peer_that_is_not_installed_is_named(monkeypatch):
    class Absent(PEERS["numba"]):
        modules = ("no_such_peer",)

    from benchmarks.worker import Worker

    assert Worker(Absent(1)).prepare("add-10") == {"missing": "not installed: no module no_such_peer"}


def test_a_run_of_some_rows_prints_and_writes_what_is_asked_for(tmp_path, capsys):
    file = tmp_path / "record.json"
    before = report.PAGE.read_text()
    assert run.main(["--rows", "add-10", "--peers", "numpy", "--rounds", "2", "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert set(row["seconds"]) == {"nestor", "nestor fastmath", "numpy"} and row["best"] == "numpy"
    assert row["roof"] > 0 and row["ratio"]["numpy"] > 0
    assert "x + y on 10 elements" in capsys.readouterr().out
    assert report.PAGE.read_text() == before


def test_the_parts_of_the_executor_run(monkeypatch, capsys):
    """A line of each table; what is measured is for a quiet machine."""
    from benchmarks import calls, executor

    monkeypatch.setattr(executor, "TURNS", 3)
    monkeypatch.setattr(executor, "SECONDS", 1e-4)
    monkeypatch.setattr(calls, "ROUNDS", 2)
    monkeypatch.setattr(executor.pointwise, "ROWS", [ROWS["iou-small"]])
    monkeypatch.setattr(executor.rows, "ROWS", [])
    assert executor.main(["dynamic", "calls", "small"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"| {ROWS['iou-small'].title} | ") for line in lines)
    assert any(line.startswith("| x + y | ") for line in lines)
    assert executor.main(["nothing"]) == 2 and "parts: dynamic, calls, forks" in capsys.readouterr().err


def test_the_parts_of_chunks_run(monkeypatch, capsys):
    """A line of each table, computed as by Dask; what is measured is for a quiet machine."""
    pytest.importorskip("dask.array", reason="dask is not installed")
    from benchmarks import chunks

    monkeypatch.setattr(chunks, "TURNS", 1)
    monkeypatch.setattr(chunks, "GRAPH_TURNS", 1)
    assert chunks.main(["numpy", "graphs", "small"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| anomaly | tiles | ") for line in lines)
    assert any(line.startswith("| five_points | ") and "map_overlap" in line for line in lines)
    assert chunks.main(["nothing"]) == 2 and "parts: numpy, numba, graphs" in capsys.readouterr().err
