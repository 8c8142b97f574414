"""`python -m benchmarks.first_call PEER ROW THREADS`: prints, as JSON, seconds of importing a peer and of its first call.

`measure` runs it for every peer in turn. Caches on the disk are off; Nestor runs a second time with its own on, beside.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from .peers import PEERS, NotWritten, environment
from .processes import ROOT
from .yardstick import ROWS
from .yardstick.cold import First

SLOW = 5.0
"""A first call of more seconds is timed once."""


def main(name: str, row: str, threads: int) -> dict[str, Any]:
    peer, chosen = PEERS[name](threads), ROWS[row]
    arguments = chosen.make()
    start = time.perf_counter()
    try:
        peer.load()
        loaded = time.perf_counter()
        form = next(iter(peer.prepare(chosen, arguments, False).values()))
        form.call()
    except NotWritten:
        return {"missing": ""}
    except ModuleNotFoundError as error:
        return {"missing": f"not installed: no module {error.name}"}
    return {"import": loaded - start, "first": time.perf_counter() - loaded}


def measure(first: First, peers: Sequence[str], threads: int, rounds: int) -> dict[str, Any]:
    """The record of a first call: medians over rounds, the peers taking turns."""
    runs: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
    missing: dict[str, str] = {}
    stored: list[float] = []
    with tempfile.TemporaryDirectory(prefix="nestor-first-") as kept:
        for k in range(rounds):
            _round(k, first, peers, threads, runs, missing)
            answer = _run("nestor", first.row, threads, kept) if "nestor" in peers else {}
            if k > 0 and "first" in answer:
                stored.append(answer["first"])
    found = {peer: r for peer, r in runs.items() if r}
    return {
        "name": first.name,
        "title": first.title,
        "seconds": {peer: statistics.median(run["first"] for run in r) for peer, r in found.items()},
        "stored": statistics.median(stored) if stored else None,
        "import": {peer: statistics.median(run["import"] for run in r) for peer, r in found.items()},
        "missing": missing,
    }


def _round(
    k: int,
    first: First,
    peers: Sequence[str],
    threads: int,
    runs: dict[str, list[dict[str, float]]],
    missing: dict[str, str],
) -> None:
    """One call of each peer; the first round writes the bytecode that an installed package has."""
    for peer in peers:
        slow = k > 0 and bool(runs[peer]) and runs[peer][0]["first"] > SLOW
        if peer in missing or slow:
            continue
        answer = _run(peer, first.row, threads)
        if "missing" in answer:
            missing[peer] = answer["missing"]
        elif k > 0 or answer["first"] > SLOW:
            runs[peer].append(answer)


def _run(peer: str, row: str, threads: int, kept: str | None = None) -> dict[str, Any]:
    """A process for one peer; `kept` is the folder of Nestor's cache, which is off without."""
    with tempfile.TemporaryDirectory(prefix="nestor-first-") as folder:
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": folder,
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            "NESTOR_CACHE": "0" if kept is None else "1",
            "NESTOR_CACHE_DIR": kept or folder,
        }
        command = [sys.executable, "-m", "benchmarks.first_call", peer, row, str(threads)]
        settings = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
        settings |= environment(threads) | caches
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=ROOT, env=settings, timeout=180, check=False
            )
        except subprocess.TimeoutExpired:
            return {"missing": "no answer within 180 s"}
    if done.returncode:
        return {"missing": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
