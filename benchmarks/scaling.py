"""What a second thread brings: `python -m benchmarks.scaling`, written to benchmarks/results/scaling.md.

The rows of the yardstick that are bound by computing: their operations at the peak of one core take `COMPUTE_BOUND`
times as long as their bytes. The roof's threads are pinned to cores; one and two threads take turns in one process.
The figure is the median of the ratios of neighbouring turns; it should be at least `WANTED`. Where other guests of
the machine come and go, a core is up to twice as fast in one turn as in the next, for seconds or for minutes. So the
rows are measured by rounds, a few turns each, that no row has all its turns in one such time; and the roof is
measured in the same turns: what multiply-adds in registers gain from a second thread. Beside it stands what the row
has of that (the median over turns of the one ratio by the other), and the median of those turns in which both cores
were there for the roof (`CALM`). Guests that share a core's caches slow a row down, and not the roof, which has none
of its data there; so there is as well the fastest turn with one thread by the fastest with two: what the second core
brings where nobody disturbs either.
"""

from __future__ import annotations

import ctypes
import os
import platform
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WANTED = 1.7
COMPUTE_BOUND = 2
ROUNDS, TURNS, SECONDS = 8, 6, 0.015
"""How often all rows have their turns, the turns of a row one after the other, and how long a turn is about."""
CALM, FEWEST = 1.8, 3
"""What multiply-adds gain in a turn that counts as calm, and how many such turns there must be to say something."""
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
        "| row | 1 thread, ms | 2 threads, ms | speed-up | of multiply-adds | of their speed-up | in calm turns "
        "| of the fastest turns | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    chosen = [r for r in ROWS.values() if ((r.name in names) if names else _is_compute_bound(library, r))]
    measured = [Turns(row) for row in chosen]
    for _ in range(ROUNDS):
        for row in measured:
            row.take(library)
    for row, found in zip(chosen, [each.speed_up() for each in measured], strict=True):
        cells = [row.title, f"{found.one * 1e3:.3f}", f"{found.two * 1e3:.3f}"]
        cells += [f"{r:.2f}" for r in (found.ratio, found.roof, found.share)]
        cells += ["-" if found.calm is None else f"{found.calm:.2f}", f"{found.fastest:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {found.note()} |")
    return "\n".join(lines)


def _is_compute_bound(library: Any, row: Any) -> bool:
    from .roofs import forms

    calls = forms(library, row, 1)
    return _seconds(calls["roof operations"], 1) > COMPUTE_BOUND * _seconds(calls["roof bytes"], 1)


@dataclass(frozen=True)
class SpeedUp:
    """Seconds with one thread and with two, medians; and ratios of the one to the other."""

    one: float
    two: float
    ratio: float
    """Of neighbouring turns."""
    roof: float
    """Of multiply-adds in registers."""
    share: float
    """The first by the second, in the same turns."""
    calm: float | None
    """The first, in the turns in which the roof had both cores; None where there were few."""
    fastest: float
    """Of the fastest turn of each."""

    def note(self) -> str:
        """What is to be said where it is less than wanted."""
        if max(self.ratio, self.calm or 0, self.fastest) >= WANTED:
            return ""
        return "the machine's" if self.calm is None and self.share >= WANTED / 2 else f"below {WANTED}"


class Turns:
    """What a row and the roof took with one thread and with two, turn by turn."""

    def __init__(self, row: Any) -> None:
        import nestor as nt

        program, arguments = nt.jit(row.program), row.make()
        self._call = lambda: program(*arguments)
        self._call()
        self._calls = max(1, round(SECONDS / _seconds(self._call, 1)))
        self._turns: dict[int, list[float]] = {1: [], 2: []}
        self._peaks: dict[int, list[float]] = {1: [], 2: []}

    def take(self, library: Any) -> None:
        """Some turns more."""
        from nestor.runtime.cpu.threads import set_num_threads

        for turn in range(TURNS):
            for threads in (1, 2) if turn % 2 else (2, 1):
                set_num_threads(threads)
                self._turns[threads].append(_seconds(self._call, self._calls))
                self._peaks[threads].append(_seconds(lambda: library.roof_fma(PEAK, threads), 1))  # noqa: B023

    def speed_up(self) -> SpeedUp:
        ratios, roofs = (
            [one / two for one, two in zip(of[1], of[2], strict=True)] for of in (self._turns, self._peaks)
        )
        calm = [ratio for ratio, roof in zip(ratios, roofs, strict=True) if roof >= CALM]
        return SpeedUp(
            statistics.median(self._turns[1]),
            statistics.median(self._turns[2]),
            statistics.median(ratios),
            statistics.median(roofs),
            statistics.median(ratio / roof for ratio, roof in zip(ratios, roofs, strict=True)),
            statistics.median(calm) if len(calm) >= FEWEST else None,
            min(self._turns[1]) / min(self._turns[2]),
        )


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
        f"pinned to cores; medians of {ROUNDS} rounds of {TURNS} turns.\n{time.strftime('%Y-%m-%d')}; {where['processor']}, "
        f"{os.cpu_count()} processors, Python {platform.python_version()}.\n\n"
    )


if __name__ == "__main__":
    sys.exit(main())
