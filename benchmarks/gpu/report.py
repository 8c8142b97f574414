"""The record of a run as a table."""

from __future__ import annotations

import re
from typing import Any

PEERS = ("by hand", "torch", "torch.compile")


def slug(device: str) -> str:
    """A file's name for a device: `NVIDIA H200` is `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-") or "gpu"


def markdown(record: dict[str, Any]) -> str:
    """The table, what it was measured on, and what failed."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [
        f"{record['when']}; {record['device']} (compute capability {record['capability']}); {versions}.",
        "",
        "Times are medians of CUDA events around batches of calls that take turns; a copy moves as many bytes on the"
        " device as the row reads and writes at least. GB/s count those bytes.",
        "",
    ]
    if record["missing"]:
        lines += [f"Not here: {', '.join(record['missing'])}.", ""]
    lines += [
        "| row | Nestor, us | GB/s | of the copy | TFLOP/s | by hand, us | torch, us | torch.compile, us "
        "| best peer / Nestor |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_line(row) for row in record["rows"]]
    host = [row for row in record["rows"] if row["host_seconds"]]
    for row in host:
        times = ", ".join(f"{name} {_us(seconds)}" for name, seconds in row["host_seconds"].items())
        lines += ["", f"The host is busy with a call of {row['title']} for (us): {times}."]
    failures = [(row["title"], name, why) for row in record["rows"] for name, why in row["failed"].items()]
    if failures:
        lines += ["", "Not timed:", "", *[f"- {title}: {name}: {why}" for title, name, why in failures]]
    if record["left_out"]:
        lines += ["", f"Not reached within the time limit: {', '.join(record['left_out'])}."]
    return "\n".join(lines) + "\n"


def _us(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def _line(row: dict[str, Any]) -> str:
    times = row["seconds"]
    own, copy = times.get("nestor"), times.get("copy")
    peers = [times[name] for name in PEERS if name in times]
    cells = [row["title"], _us(own), "", "", "", *[_us(times.get(name)) for name in PEERS], ""]
    if own:
        cells[2] = f"{row['bytes'] / own * 1e-9:.0f}"
        cells[3] = f"{copy / own:.0%}" if copy else ""
        if "operations" in row:
            cells[4] = f"{row['operations'] / own * 1e-12:.1f}"
        if peers:
            cells[8] = f"{min(peers) / own:.2f}"
    return "| " + " | ".join(cells) + " |"
