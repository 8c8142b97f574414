"""`python -m benchmarks.gpu`: Nestor's GPU programs, a kernel by hand, torch and torch.compile on the GPU of this machine.

Every row is checked against NumPy in float64 first. Results go to benchmarks/results/gpu-<device>.{json,md}, and a roofline
beside them where matplotlib is installed. Nothing is fetched: a peer that is not installed is said and left out. `--dry-run`
runs the same rows at small sizes in the CUDA simulator and checks them; it times nothing and needs no GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MINUTES = 15.0


def main(arguments: Sequence[str] | None = None) -> int:
    _find_nestor()
    from .rows import ROWS

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", default="", help=f"with commas, of {', '.join(ROWS)}; default: all")
    parser.add_argument("--dry-run", action="store_true", help="small sizes in the simulator, no times")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help=f"rows begin until then; default: {MINUTES:g}"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the table and the record go")
    options = parser.parse_args(arguments)
    names = [name for name in options.rows.split(",") if name] or list(ROWS)
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no row {', '.join(unknown)}; rows: {', '.join(ROWS)}")
    rows = [ROWS[name] for name in names]
    return _dry_run(rows) if options.dry_run else _run(rows, options)


def _find_nestor() -> None:
    """Let the clone be imported as `nestor` where it is not installed."""
    if importlib.util.find_spec("nestor") is not None:
        return
    spec = importlib.util.spec_from_file_location(
        "nestor", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["nestor"] = module
    spec.loader.exec_module(module)


def _dry_run(rows: Sequence[Any]) -> int:
    import nestor as nt
    import numpy as np

    from .measure import error_of

    wrong = []
    for row in rows:
        try:
            arguments = row.arguments(small=True)
        except ImportError as error:
            print(f"{row.name:16} left out: {error}")
            continue
        try:
            results = nt.jit(row.program, target="cuda-sim", dynamic=False)(*arguments)
        except nt.NestorError as error:
            print(f"{row.name:16} FAILED: {error.diagnostic.message}")
            wrong.append(row.name)
            continue
        several = results if isinstance(results, tuple) else (results,)
        picked = [np.asarray(row.pick(r)).astype(np.float64) for r in several]
        error = error_of(picked, row.expected(arguments))
        if error > row.tolerance:
            wrong.append(row.name)
        print(f"{row.name:16} {'WRONG' if error > row.tolerance else 'right'}, error {error:.1e}")
    print(f"dry run of {len(rows)} rows, {len(wrong)} not right; nothing was timed")
    return 1 if wrong else 0


def _run(rows: Sequence[Any], options: argparse.Namespace) -> int:
    from nestor.dialects.diagnostic import NestorError
    from nestor.runtime.cuda.engine import load_cupy

    from . import report
    from .measure import Machine, measure

    try:
        load_cupy()
    except NestorError as error:
        print(f"bench-gpu: {error.diagnostic.message}", file=sys.stderr)
        print("bench-gpu: --dry-run runs the rows at small sizes in the simulator", file=sys.stderr)
        return 1
    machine, started = Machine(), time.monotonic()
    record: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%d"),
        "device": machine.device,
        "capability": machine.capability,
        "versions": machine.versions(),
        "missing": machine.missing,
        "rows": [],
        "left_out": [],
    }
    for row in rows:
        if time.monotonic() - started > options.minutes * 60:
            record["left_out"].append(row.title)
            continue
        began = time.monotonic()
        try:
            record["rows"].append(measure(machine, row))
        except Exception as error:
            why = {"nestor": f"{type(error).__name__}: {str(error)[:300]}"}
            nothing: dict[str, Any] = {"seconds": {}, "host_seconds": {}, "failed": why, "bytes": 0}
            record["rows"].append({"name": row.name, "title": row.title, **nothing})
        machine.cupy.get_default_memory_pool().free_all_blocks()
        times = {name: f"{s * 1e6:.4g} us" for name, s in record["rows"][-1]["seconds"].items()}
        print(f"{row.name}: {times} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
        _write(record, options.results, report)  # what there is, should the run be ended
    record["minutes"] = (time.monotonic() - started) / 60
    _write(record, options.results, report)
    _draw(record, options.results, report)
    print(report.markdown(record))
    lost = [row["name"] for row in record["rows"] if "nestor" not in row["seconds"]]
    if lost:
        print(f"bench-gpu: Nestor has no right result for {', '.join(lost)}", file=sys.stderr)
    return 1 if lost else 0


def _write(record: dict[str, Any], folder: Path, report: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"gpu-{report.slug(record['device'])}"
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / f"{name}.md").write_text(report.markdown(record))


def _draw(record: dict[str, Any], folder: Path, report: Any) -> None:
    """The roofline, where matplotlib is installed and a row counts its operations."""
    if importlib.util.find_spec("matplotlib") is None:
        print("bench-gpu: no picture: pip install matplotlib", file=sys.stderr)
        return
    from .picture import roofline

    figure = roofline(record)
    if figure is not None:
        figure.savefig(
            folder / f"gpu-{report.slug(record['device'])}-roofline.png", dpi=110, bbox_inches="tight"
        )


if __name__ == "__main__":
    sys.exit(main())
