"""What a second thread brings: `python -m benchmarks.scaling`, written to benchmarks/results/scaling.md.

The rows of the yardstick that are bound by computing: their operations at the peak of one core take `COMPUTE_BOUND`
times as long as their bytes. Threads are pinned to cores; one and two threads take turns in one process. The figure is
the median of the ratios of neighbouring turns; it should be at least `WANTED`. Where other guests of the machine come
and go, a core is up to twice as fast in one turn as in the next: the ratio of the fastest turns is beside it, and what
multiply-adds in registers gain from a second thread in the same turns.
"""

from __future__ import annotations

import ctypes
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

WANTED = 1.7
COMPUTE_BOUND = 4
ROUNDS, SECONDS = 21, 0.02
PEAK = ctypes.c_double(1e9)
"""Multiply-adds."""
RESULTS = Path(__file__).parent / "results" / "scaling.md"
PINNED = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores", "OMP_NUM_THREADS": "2"}


def main() -> int:
    if (os.cpu_count() or 1) < 2:
        print("scaling: this machine has one processor", file=sys.stderr)
        return 1
    if any(os.environ.get(name) != value for name, value in PINNED.items()):
        arguments = [sys.executable, "-m", "benchmarks.scaling", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, **PINNED})
    text = table(sys.argv[1:])
    print(text)
    if not sys.argv[1:]:
        RESULTS.write_text(_head() + text + "\n")
    return 0


def table(names: list[str]) -> str:
    """A line for each row that is bound by computing, or for those that are named."""
    from . import roofs
    from .yardstick import ROWS

    library = roofs.load()
    lines = [
        "| row | 1 thread, ms | 2 threads, ms | speed-up | of the fastest turns | of multiply-adds | |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in ROWS.values():
        if (row.name in names) if names else _is_compute_bound(library, row):
            one, two, *ratios = speed_up(library, row)
            note = "" if max(ratios[:2]) >= WANTED else f"below {WANTED}"
            cells = [row.title, f"{one * 1e3:.3f}", f"{two * 1e3:.3f}", *(f"{r:.2f}" for r in ratios), note]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _is_compute_bound(library: Any, row: Any) -> bool:
    from .roofs import forms

    calls = forms(library, row, 1)
    return _seconds(calls["roof operations"], 1) > COMPUTE_BOUND * _seconds(calls["roof bytes"], 1)


def speed_up(library: Any, row: Any) -> tuple[float, float, float, float, float]:
    """Seconds with one thread and with two; the ratios of neighbouring turns (median), of the fastest turns, and of
    multiply-adds in registers."""
    import nestor as nt
    from nestor.runtime.threads import set_num_threads

    program, arguments = nt.jit(row.program), row.make()

    def call() -> None:
        program(*arguments)

    call()
    calls = max(1, round(SECONDS / _seconds(call, 1)))
    turns: dict[int, list[float]] = {1: [], 2: []}
    peaks: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for threads, seconds in turns.items():
            set_num_threads(threads)
            seconds.append(_seconds(call, calls))
            peaks[threads].append(_seconds(lambda: library.roof_fma(PEAK, threads), 1))  # noqa: B023

    def ratio(of: dict[int, list[float]]) -> float:
        return statistics.median(one / two for one, two in zip(of[1], of[2], strict=True))

    fastest = min(turns[1]) / min(turns[2])
    return statistics.median(turns[1]), statistics.median(turns[2]), ratio(turns), fastest, ratio(peaks)


def _seconds(call: Any, calls: int) -> float:
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def _head() -> str:
    from .run import machine

    where = machine()
    return (
        "# Threads\n\n`python -m benchmarks.scaling`: the rows that are bound by computing, with one thread and with two, "
        f"pinned to cores; medians of {ROUNDS} turns.\n{time.strftime('%Y-%m-%d')}; {where['processor']}, "
        f"{os.cpu_count()} processors, Python {platform.python_version()}.\n\n"
    )


if __name__ == "__main__":
    sys.exit(main())
