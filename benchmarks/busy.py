"""Beside other processes: `python -m benchmarks.busy [row ...]`, written to benchmarks/results/busy.md.

Four conditions: alone, beside one process that never rests, beside four, and with one processor's worth of time (a control
group with a quota where one can be made, else one processor by affinity; Nestor is told no number of threads there). In
each, the forms take turns: Nestor, Nestor on one thread, and peers, each in a process of its own; a figure is the median
over rounds of the ratio of two neighbouring turns. Beside others Nestor is to take at most `OF_ONE_THREAD` of its own time
on one thread, and everywhere at most `OF_BEST` of the best peer's.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .processes import Process, settle
from .run import machine
from .yardstick import BUSY_ROWS
from .yardstick.row import Row

OF_ONE_THREAD, OF_BEST = 1.5, 1.2
ROUNDS, SECONDS = 9, 0.25
"""Turns of each form, and how long one is: several of the periods in which a quota is accounted (0.1 s) and a scheduler is
fair. In a shorter one a program has what a process that has slept may have at once, which none has who goes on."""

PEERS = ("numba", "jax", "torch")
RESULTS = Path(__file__).parent / "results" / "busy.md"
BUSY = "while True: pass"
GROUP = Path("/sys/fs/cgroup/cpu/nestor-busy"), Path("/sys/fs/cgroup/nestor-busy")
"""Where version 1 and version 2 of control groups have one of ours."""


def main() -> int:
    rows = [row for row in BUSY_ROWS.values() if not sys.argv[1:] or row.name in sys.argv[1:]]
    if not rows:
        print(f"busy: no such row; there are: {', '.join(BUSY_ROWS)}", file=sys.stderr)
        return 1
    parts = []
    for title, others, limited in (
        ("Alone", 0, False),
        ("Beside one busy process", 1, False),
        ("Beside four busy processes", 4, False),
        ("One processor's worth of time", 0, True),
    ):
        with _busy(others), _limited(limited) as how:
            parts.append(_part(title + how, rows, limited))
        print(parts[-1], flush=True)
    if not sys.argv[1:]:
        RESULTS.write_text(_head() + "\n".join(parts))
    return 0


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for one in processes:
            one.kill()
            one.wait()


@contextlib.contextmanager
def _limited(wanted: bool) -> Iterator[str]:
    """One processor's worth of time for this process and those that it starts; how that is done."""
    if not wanted:
        yield ""
        return
    before = os.sched_getaffinity(0)
    for group, files in zip(
        GROUP, ({"cpu.cfs_quota_us": "100000"}, {"cpu.max": "100000 100000"}), strict=True
    ):
        home = group.parent / "cgroup.procs"
        try:
            group.mkdir()
            for name, text in files.items():
                (group / name).write_text(text)
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield ", by a quota"
        finally:
            home.write_text(str(os.getpid()))
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    os.sched_setaffinity(0, {min(before)})
    try:
        yield ", by affinity"
    finally:
        os.sched_setaffinity(0, before)


def _part(title: str, rows: list[Row], limited: bool) -> str:
    """A table: a line a row."""
    threads = min(2, os.cpu_count() or 1)
    count = 1 if limited else threads
    processes = {
        "nestor": Process("nestor", None if limited else threads),
        "one thread": Process("nestor", 1),
        **{name: Process(name, count) for name in PEERS},
    }
    names = list(processes)
    lines = [
        f"## {title}",
        "",
        f"| row | {', ms | '.join(names)}, ms | of one thread | of the best peer |",
        f"|---|{'---:|' * (len(names) + 2)}",
    ]
    try:
        for row in rows:
            print(f"timing {row.name} ...", file=sys.stderr, flush=True)
            lines.append(_line(row, processes))
    finally:
        for process in processes.values():
            process.close()
    return "\n".join([*lines, "", ""])


def _line(row: Row, processes: dict[str, Process]) -> str:
    for process in processes.values():
        process.send(do="prepare", row=row.name)
    forms = {}
    for name, process in processes.items():
        answer = process.receive(240)
        found = answer.get("forms", {})
        if not found:
            print(f"busy: {row.name}, {name}: {answer.get('missing') or 'not written'}", file=sys.stderr)
        if found:
            usual = {form: seconds for form, seconds in found.items() if "fastmath" not in form}
            forms[name] = min(usual, key=usual.__getitem__)
    times: dict[str, list[float]] = {name: [] for name in forms}
    for k in range(ROUNDS):
        order = list(forms)
        for name in order[k % len(order) :] + order[: k % len(order)]:
            settle(processes.values())
            answer = processes[name].ask(do="during", form=forms[name], long=SECONDS)
            times[name].append(answer["seconds"])
    for process in processes.values():
        process.ask(do="forget")
    peers = [name for name in PEERS if name in times]
    best = min(peers, key=lambda name: statistics.median(times[name]), default=None)
    cells = [f"{statistics.median(times[n]) * 1e3:.3f}" if n in times else "-" for n in processes]
    cells += [_ratio(times, "one thread"), "-" if best is None else f"{_ratio(times, best)} {best}"]
    return f"| {row.title} | {' | '.join(cells)} |"


def _ratio(times: dict[str, list[float]], other: str) -> str:
    return f"{statistics.median(a / b for a, b in zip(times['nestor'], times[other], strict=True)):.2f}"


def _head() -> str:
    of = machine()
    return (
        "# Beside other processes\n\n"
        f"`python -m benchmarks.busy`: {ROUNDS} rounds in turns, medians. Wanted: at most {OF_ONE_THREAD} of one thread "
        f"beside others, at most {OF_BEST} of the best peer.\n"
        f"{time.strftime('%Y-%m-%d')}; {of['processor']}, {of['cores']} processors, Python {of['python']}.\n\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
