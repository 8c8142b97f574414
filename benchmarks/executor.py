"""What the executor costs and brings: `python -m benchmarks.executor`, written to executor.md beside the other results.

    dynamic   the program for unknown extents beside that for known ones: rows of the yardstick, at most `MOST_DYNAMIC`
    calls     ten elements, three live specialisations, guarded globals: at most `MOST_NANOSECONDS` of a call
    forks     two halves of the encoder's batch by `nt.fork`, beside the batch on one thread: at least `LEAST_FORKED`

`python -m benchmarks.executor dynamic calls` does these parts, and writes nothing. Two contestants take turns in one
process; a figure is the median of the ratios of neighbouring turns, and calls count as in `benchmarks.calls`. `small` as
the last argument takes the small sizes of the tests: whether it runs, not what comes out.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

from . import calls
from .parts import run_parts
from .yardstick import ROWS, networks, pointwise, rows
from .yardstick.row import Row

MOST_DYNAMIC, LEAST_FORKED = 1.15, 1.7
MOST_NANOSECONDS = {"x + y": 130, "IoU of 8 arrays": 220}
TURNS, SECONDS = 45, 0.02
"""Turns of a pair, how long one takes at least."""

RESULTS = Path(__file__).parent / "results" / "executor.md"

SCALE, SHIFT, MODE = 1.0, 0.0, "plain"


# ---- unknown extents --------------------------------------------------------------------------------------


def dynamic(small: bool) -> list[str]:
    """A line for each pointwise and row row."""
    lines = [
        f"| row | known extents, ms | unknown, ms | unknown / known, at most {MOST_DYNAMIC} | |",
        "|---|---:|---:|---:|---|",
    ]
    for row in (*pointwise.ROWS, *rows.ROWS):
        lines.append(_dynamic_line(row, small))
    return lines


def _dynamic_line(row: Row, small: bool) -> str:
    arguments = row.make(small)
    known = nt.jit(row.program, dynamic=False)
    unknown = nt.jit(row.program, dynamic=True)
    results = [known(*arguments), unknown(*arguments)]
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    static, open_ = _turns(lambda: known(*arguments), lambda: unknown(*arguments))
    ratio = statistics.median(b / a for a, b in zip(static, open_, strict=True))
    return _line(row.title, static, open_, ratio, ratio <= MOST_DYNAMIC)


# ---- calls ------------------------------------------------------------------------------------------------


def scaled_add(x, y):
    return (x + y) * SCALE + SHIFT if MODE == "scaled" else x + y


def guarded_iou(ax0, ay0, ax1, ay1, bx0, by0, bx1, by1):
    w = np.maximum(np.minimum(ax1, bx1) - np.maximum(ax0, bx0), np.float32(0))
    h = np.maximum(np.minimum(ay1, by1) - np.maximum(ay0, by0), np.float32(0))
    both = w * h
    union = (ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - both
    return both / union if MODE == "plain" else both


def calls_table(small: bool) -> list[str]:
    """A line for each call: with one specialisation and nothing from outside, and with three and a guarded global."""
    del small
    x, y = np.arange(10.0), np.ones(10)
    boxes = {f"b{k}": np.random.default_rng(k).random(10, np.float32) for k in range(8)}
    eight = ", ".join(boxes)
    space: dict[str, Any] = {"x": x, "y": y, **boxes}
    space.update(add=nt.jit(calls.add), iou=nt.jit(calls.iou))
    space.update(guarded_add=nt.jit(scaled_add), guarded_iou=nt.jit(guarded_iou))
    for others in (np.float32, np.int64):
        space["guarded_add"](x.astype(others), y.astype(others))
    for change in (lambda b: b.astype(np.float64), lambda b: b[:4].reshape(2, 2)):
        space["guarded_iou"](*map(change, boxes.values()))
    lines = [
        "| call, 10 elements | alone, ns | three specialisations, guarded, ns | at most | |",
        "|---|" + "---:|" * 3 + "---|",
    ]
    for title, plain, guarded in (
        ("x + y", "add(x, y)", "guarded_add(x, y)"),
        ("IoU of 8 arrays", f"iou({eight})", f"guarded_iou({eight})"),
    ):
        times = calls.measure((title, {"alone": plain, "guarded": guarded}, space))
        most = MOST_NANOSECONDS[title]
        note = "" if times["guarded"] <= most else "more"
        lines.append(f"| {title} | {times['alone']:.0f} | {times['guarded']:.0f} | {most} | {note} |")
    for name in ("guarded_add", "guarded_iou"):
        assert space[name].cache_info()["compiled"] == 3, name
    return lines


# ---- forks ------------------------------------------------------------------------------------------------


def forks(small: bool) -> list[str]:
    """The encoder's batch on one thread, and its halves beside each other."""
    row = ROWS["encoder-layer"]
    x, *weights = row.make(small)
    half = x.shape[0] // 2
    layer = nt.jit(networks.encoder_layer, dynamic=False)  # a program for each size
    halves = [np.ascontiguousarray(x[:half]), np.ascontiguousarray(x[half:])]

    def alone() -> Any:
        nt.set_num_threads(1)
        return layer(x, *weights)

    def beside() -> Any:
        nt.set_num_threads(2)
        left = nt.fork(layer, halves[0], *weights)
        right = layer(halves[1], *weights)
        return np.concatenate([nt.wait(left), right])

    before = nt.get_num_threads()
    try:
        np.testing.assert_allclose(alone(), beside(), rtol=1e-3, atol=1e-3)
        one, two = _turns(alone, beside)
    finally:
        nt.set_num_threads(before)
    ratio = statistics.median(a / b for a, b in zip(one, two, strict=True))
    return [
        f"| row | one thread, ms | two halves by nt.fork, ms | speed-up, at least {LEAST_FORKED} | |",
        "|---|---:|---:|---:|---|",
        _line(row.title, one, two, ratio, ratio >= LEAST_FORKED),
    ]


# ---- turns ------------------------------------------------------------------------------------------------


def _turns(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Seconds of a call of each, turn by turn; who begins changes."""
    found: tuple[list[float], list[float]] = [], []
    for run in (first, second):  # what is compiled or packed at first is no part of it
        for _ in range(3):
            run()
    counts = [max(1, int(SECONDS / max(_seconds(run, 1), 1e-9))) for run in (first, second)]
    for turn in range(TURNS):
        for k in (0, 1) if turn % 2 else (1, 0):
            found[k].append(_seconds((first, second)[k], counts[k]))
    return found


def _seconds(run: Callable[[], Any], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - began) / count


def _line(title: str, one: list[float], other: list[float], ratio: float, holds: bool) -> str:
    times = [f"{statistics.median(each) * 1e3:.3f}" for each in (one, other)]
    return f"| {title} | {' | '.join(times)} | {ratio:.2f} | {'' if holds else 'does not hold'} |"


PARTS: dict[str, Callable[[bool], list[str]]] = {"dynamic": dynamic, "calls": calls_table, "forks": forks}


def main(arguments: list[str]) -> int:
    return run_parts("executor", PARTS, arguments, RESULTS, _head)


def _head() -> str:
    return (
        "# Executor\n\n`python -m benchmarks.executor`: medians of neighbouring turns; calls are the fastest of "
        f"{calls.ROUNDS} short runs.\n{platform.machine()}, {os.cpu_count()} processors, Python "
        f"{platform.python_version()}, NumPy {np.__version__}.\n\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
