"""`python -m benchmarks.run`: Nestor and its peers on every row of the yardstick.

Each peer has a process of its own; the forms of all peers take turns in every round, and a figure is the median over
rounds of Nestor's time divided by the peer's in the same round, so that the machine's drift cancels. Results are compared
with NumPy's in float64 first. A run of all rows writes benchmarks/results/ and refreshes docs/performance.md; a run of
some (`--rows iou,softmax`: names or their beginnings) prints only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import first_call, report
from .measure import measure
from .peers import PEERS
from .processes import Process
from .yardstick import ROWS
from .yardstick.cold import FIRST_CALLS

RESULTS = Path(__file__).parent / "results"
FIRST_CALL_ROUNDS = 5
LIMIT_MINUTES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    rows = _chosen(options.rows, [*ROWS, *FIRST_CALLS], "row")
    peers = _chosen(options.peers, list(PEERS), "peer", exact=True)
    peers = ["nestor", *[p for p in peers if p != "nestor"]]
    started = time.monotonic()
    record = {
        "when": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "threads": options.threads,
        "rounds": options.rounds,
        "versions": {name: PEERS[name](options.threads).version() for name in peers},
        "rows": _warm([r for r in rows if r in ROWS], peers, options),
        "first_calls": _first([r for r in rows if r in FIRST_CALLS], peers, options),
    }
    record["minutes"] = (time.monotonic() - started) / 60
    print(report.markdown(record))
    if not options.rows and not options.peers:
        report.write(record, RESULTS)
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    if record["minutes"] > LIMIT_MINUTES:
        print(f"bench: took {record['minutes']:.0f} minutes, more than {LIMIT_MINUTES}", file=sys.stderr)
    lost = [row["name"] for row in record["rows"] if "nestor" not in row["seconds"]]
    if lost:
        print(f"bench: Nestor has no right result for {', '.join(lost)}", file=sys.stderr)
    return 1 if lost else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "--rows", default="", help="names of rows, or how they begin, with commas; default: all"
    )
    parser.add_argument("--peers", default="", help=f"of {', '.join(PEERS)}; default: all")
    parser.add_argument("--rounds", type=int, default=11, help="default: 11")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="default: 2")
    parser.add_argument("--json", help="write the record to this file as well")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    return options


def _chosen(wanted: str, names: Sequence[str], what: str, exact: bool = False) -> list[str]:
    """The names that `wanted` lists or begins; all for an empty text. Ends the program where one is unknown."""
    if not wanted:
        return list(names)
    chosen: list[str] = []
    for part in wanted.split(","):
        found = [n for n in names if n == part] or [n for n in names if n.startswith(part) and not exact]
        if not found:
            raise SystemExit(f"bench: no {what} {part!r}; there are: {', '.join(names)}")
        chosen += [n for n in found if n not in chosen]
    return chosen


def _warm(rows: Sequence[str], peers: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    processes = [Process(name, options.threads) for name in (*peers, "roof")]
    records = []
    try:
        for name in rows:
            print(f"timing {name} ...", end=" ", file=sys.stderr, flush=True)
            start = time.monotonic()
            records.append(measure(ROWS[name], processes, options.rounds))
            print(f"{report.one_line(records[-1])}  ({time.monotonic() - start:.0f} s)", file=sys.stderr)
    finally:
        for process in processes:
            process.close()
    return records


def _first(names: Sequence[str], peers: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    records = []
    for name in names:
        print(f"timing {name} ...", file=sys.stderr, flush=True)
        rounds = min(FIRST_CALL_ROUNDS, options.rounds + 1)
        records.append(first_call.measure(FIRST_CALLS[name], peers, options.threads, rounds))
    return records


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = (line.split(":", 1) for line in information.read_text().splitlines() if ":" in line)
        model = next((value.strip() for key, value in lines if key.strip() == "model name"), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))  # the peers' processes end as well
    sys.exit(main())
