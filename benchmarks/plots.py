"""The plots of a run: Nestor against the best peer, row by row, and both under the roofs. As PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from .report import ratio, won

matplotlib.rcParams["svg.hashsalt"] = "nestor"  # the same figures make the same file

WON, LOST, PEER = "#2a7f62", "#c0504d", "#8a8a8a"

A_CALL, BEYOND_CACHES = 500, 100e6
"""Rows of fewer bytes are about the cost of a call; rows of more bytes than the other say what memory can do."""


def write(record: dict[str, Any], folder: Path) -> list[Path]:
    """The files written."""
    rows = [row for row in record["rows"] if ratio(row) is not None]
    if not rows:
        return []
    written = []
    for name, figure in (("bars", _bars(rows)), ("roofline", _roofline(rows))):
        for kind in ("svg", "png"):
            path = folder / f"{name}.{kind}"
            figure.savefig(
                path, dpi=110, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None
            )
            written.append(path)
    return written


def _bars(rows: list[dict[str, Any]]) -> Figure:
    """How many times as fast as the best peer: to the right of the line Nestor is faster."""
    rows = sorted(rows, key=ratio, reverse=True)  # type: ignore[arg-type]
    speedups = [1 / ratio(row) for row in rows]  # type: ignore[operator]
    figure = Figure(figsize=(8, 0.26 * len(rows) + 1.2))
    axes = figure.subplots()
    axes.barh(
        [row["name"] for row in rows],
        [s - 1 for s in speedups],
        left=1,
        color=[WON if won(row) else LOST for row in rows],
    )
    axes.set_xscale("log", base=2)
    axes.axvline(1, color="black", linewidth=0.8)
    for k, (row, speedup) in enumerate(zip(rows, speedups, strict=True)):
        side = "left" if speedup >= 1 else "right"
        axes.annotate(
            f" {speedup:.2f} {row['best'].partition(',')[0]} ", (speedup, k), va="center", ha=side, fontsize=7
        )
    axes.margins(x=0.25, y=0.01)
    axes.set_xlabel("the best peer's time / Nestor's (its name beside the bar)")
    axes.tick_params(axis="y", labelsize=8)
    return figure


def _roofline(rows: list[dict[str, Any]]) -> Figure:
    """Operations a second against operations a byte; the lines are the highest roofs that any row measured."""
    rows = [row for row in rows if row["operations"] and row["roofs"] and row["bytes"] > A_CALL]
    widest = [row for row in rows if row["bytes"] > BEYOND_CACHES] or rows
    bandwidth = max(row["bytes"] / _memory(row) for row in widest)
    peak = max(row["operations"] / row["roofs"]["roof operations"] for row in rows)
    figure = Figure(figsize=(8, 5.5))
    axes = figure.subplots()
    intensities = sorted(row["operations"] / row["bytes"] for row in rows)
    line = [intensities[0] / 2, peak / bandwidth, intensities[-1] * 2]
    axes.plot(line, [min(peak, bandwidth * x) / 1e9 for x in line], color="black", linewidth=1)
    label = f"{bandwidth / 1e9:.0f} GB/s of memory, {peak / 1e9:.0f} GF/s"
    axes.annotate(label, (line[1], peak / 1e9), ha="right", va="bottom", fontsize=8)
    for row in rows:
        x, seconds = row["operations"] / row["bytes"], row["seconds"]
        own, peer = (row["operations"] / seconds[form] / 1e9 for form in ("nestor", row["best"]))
        axes.plot([x, x], [own, peer], color=PEER, linewidth=0.8)
        axes.plot(x, peer, "o", color=PEER, markersize=4)
        axes.plot(x, own, "o", color=WON if won(row) else LOST, markersize=5)
        axes.annotate(row["name"], (x, own), xytext=(4, 2), textcoords="offset points", fontsize=6)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("operations a byte of compulsory traffic (rows in the cache may lie above the slope)")
    axes.set_ylabel("10^9 operations a second; grey: the best peer")
    return figure


def _memory(row: dict[str, Any]) -> float:
    return min(seconds for form, seconds in row["roofs"].items() if "bytes" in form)
