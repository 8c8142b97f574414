"""What a call costs beside its work: `python -m benchmarks.calls`, written to benchmarks/results/calls.md.

Ten elements, so that the work is next to nothing. The contestants of a row take turns in one process, the fastest of many
short runs of each counts, and the loop around the calls is taken off. Where numba is not installed its column is empty.
"""

from __future__ import annotations

import os
import platform
import timeit
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

ROUNDS, SECONDS = 500, 2e-4
"""Runs of each contestant, and how long one takes: shorter than a turn on a busy processor."""

WARM = 40
RESULTS = Path(__file__).parent / "results" / "calls.md"


def add(x, y):
    return x + y


def into(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[i]
    return out


def iou(ax0, ay0, ax1, ay1, bx0, by0, bx1, by1):
    w = np.maximum(np.minimum(ax1, bx1) - np.maximum(ax0, bx0), np.float32(0))
    h = np.maximum(np.minimum(ay1, by1) - np.maximum(ay0, by0), np.float32(0))
    both = w * h
    return both / ((ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - both)


def total(x):
    return x.sum()


def nothing(x, y):
    return None


Row = tuple[str, dict[str, str], dict[str, Any]]


def rows() -> list[Row]:
    """A name, the call of each contestant, and what the calls refer to."""
    x, y, out = np.arange(10.0), np.ones(10), np.empty(10)
    boxes = {f"b{k}": np.random.default_rng(k).random(10, np.float32) for k in range(8)}
    eight = ", ".join(boxes)
    none = {f"e{k}": np.empty(0, np.float32) for k in range(8)}
    space = {"x": x, "y": y, "out": out, "np": np, **boxes, **none, "out32": np.empty(10, np.float32)}
    space.update(nestor=nt.jit(add), nestor_iou=nt.jit(iou), nestor_sum=nt.jit(total), numpy_iou=iou)
    space["slow"] = lambda x, y: type(space["nestor"]).__call__(space["nestor"], x, y)
    compile_ = _numba()
    if compile_ is not None:
        space.update(
            numba=compile_(add), numba_into=compile_(into), numba_iou=compile_(iou), numba_sum=compile_(total)
        )
    return [
        ("x + y", {"Nestor": "nestor(x, y)", "NumPy": "np.add(x, y)", "numba": "numba(x, y)"}, space),
        (
            "x + y, out=",
            {
                "Nestor": "nestor(x, y, out=out)",
                "NumPy": "np.add(x, y, out=out)",
                "numba": "numba_into(x, y, out)",
            },
            space,
        ),
        ("x.sum()", {"Nestor": "nestor_sum(x)", "NumPy": "np.sum(x)", "numba": "numba_sum(x)"}, space),
        (
            "IoU of 8 arrays",
            {
                "Nestor": f"nestor_iou({eight})",
                "NumPy": f"numpy_iou({eight})",
                "numba": f"numba_iou({eight})",
            },
            space,
        ),
        ("IoU of 8 arrays, out=", {"Nestor": f"nestor_iou({eight}, out=out32)"}, space),
        ("IoU of 8 empty arrays: the call alone", {"Nestor": f"nestor_iou({', '.join(none)})"}, space),
        ("x + y, answered in Python", {"Nestor": "slow(x, y)"}, space),
    ]


def _numba() -> Any:
    try:
        import numba
    except ImportError:
        return None
    return numba.njit


def measure(row: Row) -> dict[str, float]:
    """Nanoseconds a call, by contestant."""
    _, calls, space = row
    known = {who: call for who, call in calls.items() if call.split("(")[0].split(".")[0] in space}
    for call in known.values():
        code = compile(call, "<warm>", "eval")
        for _ in range(WARM):
            eval(code, space)
    timers = {who: timeit.Timer(call, globals=space) for who, call in known.items()}
    timers[""] = timeit.Timer("pass")
    counts = {who: max(1, int(SECONDS / min(timer.repeat(9, 10)) * 10)) for who, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for who, timer in timers.items():
            best[who] = min(best[who], timer.timeit(counts[who]) / counts[who])
    return {who: (best[who] - best[""]) * 1e9 for who in known}


def table() -> str:
    """The results as a table in Markdown."""
    people = ("Nestor", "NumPy", "numba")
    lines = [
        "| call, 10 elements | "
        + " | ".join(f"{who}, ns" for who in people)
        + " | NumPy / Nestor | numba / Nestor |"
    ]
    lines.append("|---|" + "---:|" * 5)
    for row in rows():
        times = measure(row)
        cells = [f"{times[who]:.0f}" if who in times else "" for who in people]
        cells += [f"{times[who] / times['Nestor']:.1f}" if who in times else "" for who in people[1:]]
        lines.append(f"| {row[0]} | " + " | ".join(cells) + " |")
    space: dict[str, Any] = {"nothing": nothing}
    python = measure(("", {"Python": "nothing(1, 2)"}, space))["Python"]
    lines.append(f"\nAn empty Python function of two arguments takes {python:.0f} ns in the same process.")
    return "\n".join(lines)


def main() -> None:
    text = table()
    print(text)
    head = (
        "# Calls\n\n`python -m benchmarks.calls`: nanoseconds a call, the fastest of "
        f"{ROUNDS} short runs; contestants take turns.\n"
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"NumPy {np.__version__}.\n\n"
    )
    RESULTS.write_text(head + text + "\n")


if __name__ == "__main__":
    main()
