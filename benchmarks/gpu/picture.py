"""The rows of a run under two roofs, as a picture: what memory gives, and the most that was computed."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from .report import PEERS

NESTOR, PEER = "#2a7f62", "#8a8a8a"


def roofline(record: dict[str, Any]) -> Figure | None:
    """Operations a second over operations a byte; None where no row counts its operations.

    The roof of memory is the fastest copy of the run, the one of computing the fastest row: measured both, whoever did it.
    """
    rows = [row for row in record["rows"] if row.get("operations") and _times(row)]
    copies = [row["bytes"] / row["seconds"]["copy"] for row in record["rows"] if row["seconds"].get("copy")]
    if not rows or not copies:
        return None
    memory = max(copies)
    computing = max(row["operations"] / seconds for row in rows for seconds in _times(row).values())
    places = [row["operations"] / row["bytes"] for row in rows]
    figure = Figure(figsize=(8, 5))
    axes = figure.subplots()
    ends = min(*places, computing / memory) / 2, max(*places, computing / memory) * 2
    roof = [ends[0], computing / memory, ends[1]]
    axes.plot(roof, [min(computing, memory * x) * 1e-12 for x in roof], color="black", linewidth=0.8)
    for row, place in zip(rows, places, strict=True):
        times = _times(row)
        own, peers = times.get("nestor"), [times[name] for name in PEERS if name in times]
        if peers:
            axes.plot(place, row["operations"] / min(peers) * 1e-12, "o", color=PEER, markersize=4)
        if own:
            height = row["operations"] / own * 1e-12
            axes.plot(place, height, "o", color=NESTOR, markersize=5)
            axes.annotate(f" {row['name']}", (place, height), fontsize=6, va="center")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(
        f"{record['device']}: Nestor (green), the best peer (grey); roofs: copies at {memory * 1e-9:.0f} GB/s, "
        f"the fastest row at {computing * 1e-12:.0f} TFLOP/s",
        fontsize=8,
    )
    return figure


def _times(row: dict[str, Any]) -> dict[str, float]:
    """Seconds of each form that computes the row."""
    return {name: seconds for name, seconds in row["seconds"].items() if name != "copy"}
