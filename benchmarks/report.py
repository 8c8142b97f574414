"""What a run leaves behind: JSON, tables, plots, and the tables of docs/performance.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end: written by make bench -->"

NEAR_ROOF, ALLOWED = 1.05, 1.03
"""Where the best peer is this near to the roof, a ratio up to `ALLOWED` counts as won."""


def ratio(row: dict[str, Any]) -> float | None:
    """Nestor's paired ratio to the best peer."""
    return row["ratio"].get(row["best"])


def won(row: dict[str, Any]) -> bool:
    value, roof = ratio(row), row["roof"]
    if value is None:
        return False
    at_roof = roof is not None and row["seconds"][row["best"]] <= NEAR_ROOF * roof
    return value < 1 or (at_roof and value <= ALLOWED)


def time_text(seconds: float | None) -> str:
    """Milliseconds to three digits, or nanoseconds below ten microseconds."""
    if seconds is None:
        return "-"
    if seconds < 1e-5:
        return f"{seconds * 1e9:.0f} ns"
    milliseconds = seconds * 1e3
    return f"{milliseconds:.3f}" if milliseconds < 1 else f"{milliseconds:.4g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def one_line(row: dict[str, Any]) -> str:
    seconds, best = row["seconds"], row["best"]
    if "nestor" not in seconds:
        return f"Nestor: {row['missing'].get('nestor', 'no time')}"
    peer = f"{best} {time_text(seconds[best])}" if best else "no peer"
    return f"nestor {time_text(seconds['nestor'])}, {peer}, ratio {_number(ratio(row))}"


def summary(record: dict[str, Any]) -> str:
    rows = [row for row in record["rows"] if ratio(row) is not None]
    if not rows:
        return "No row has both Nestor and a peer."
    lost = sorted((row for row in rows if not won(row)), key=ratio, reverse=True)  # type: ignore[arg-type]
    text = f"Won: {len(rows) - len(lost)} of {len(rows)} warm rows."
    if lost:
        text += " Lost, the widest first: " + ", ".join(f"{r['name']} {ratio(r):.2f}" for r in lost) + "."
    return text + _against_roofs(rows)


def _against_roofs(rows: list[dict[str, Any]]) -> str:
    """How many of the rows that wait for memory are as near to their roofs as they should be."""
    limited = [row for row in rows if row["most_of_roof"] and row["of_roof"]]
    if not limited:
        return ""
    above = [row for row in limited if row["of_roof"] > row["most_of_roof"]]
    text = f" Within their bound of the roof: {len(limited) - len(above)} of {len(limited)} rows that wait for memory."
    if above:
        listed = (f"{row['name']} {row['of_roof']:.2f} (at most {row['most_of_roof']})" for row in above)
        text += f" Above it: {', '.join(listed)}."
    return text


def main_table(record: dict[str, Any]) -> list[str]:
    lines = [
        "| row | Nestor, ms | best peer, ms | | ratio | roof, ms | Nestor / roof | fastmath, ms |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for row in record["rows"]:
        seconds, own = row["seconds"], row["seconds"].get("nestor")
        cells = [
            row["title"],
            time_text(own) if own else row["missing"].get("nestor") or "no program",
            time_text(seconds.get(row["best"])),
            row["best"] or "",
            _number(ratio(row)),
            time_text(row["roof"]),
            _number(row["of_roof"]),
            time_text(seconds.get("nestor fastmath")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def first_calls_table(record: dict[str, Any]) -> list[str]:
    peers = [p for p in record["versions"] if any(p in r["seconds"] for r in record["first_calls"])]
    lines = [
        "| first call, after its import, ms (the import) | "
        + " | ".join(peers)
        + " | nestor, from the disk |",
        "|---|" + "---:|" * (len(peers) + 1),
    ]
    for row in record["first_calls"]:
        cells = [
            f"{row['seconds'][p] * 1e3:.0f} ({row['import'][p] * 1e3:.0f})" if p in row["seconds"] else "-"
            for p in peers
        ]
        stored = row.get("stored")
        cells.append("-" if stored is None else f"{stored * 1e3:.0f}")
        lines.append(f"| {row['title']} | " + " | ".join(cells) + " |")
    return lines


def all_forms_table(record: dict[str, Any]) -> list[str]:
    """Every form of every peer, in milliseconds."""
    forms = list(dict.fromkeys(form for row in record["rows"] for form in row["seconds"]))
    lines = ["| row | " + " | ".join(forms) + " |", "|---|" + "---:|" * len(forms)]
    for row in record["rows"]:
        cells = [time_text(row["seconds"].get(form)) for form in forms]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return lines


def notes(record: dict[str, Any]) -> list[str]:
    """Peers that are not installed, and programs that failed or were wrong."""
    lines = []
    absent = [name for name, version in record["versions"].items() if version is None]
    if absent:
        lines.append(f"- not installed: {', '.join(absent)}")
    for row in [*record["rows"], *record["first_calls"]]:
        lines += [
            f"- {row['name']}, {who}: {why}"
            for who, why in row["missing"].items()
            if why and not why.startswith("not installed")
        ]
    return lines


def conditions(record: dict[str, Any]) -> str:
    machine = record["machine"]
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in record["versions"].items())
    return (
        f"{record['when']}; {machine['processor']}, {machine['cores']} cores, {record['threads']} threads; "
        f"{machine['system']}, Python {machine['python']}; {versions}. {record['rounds']} rounds, "
        f"{record['minutes']:.0f} minutes, load at the start {machine['load']}."
    )


def markdown(record: dict[str, Any]) -> str:
    """All of it, for the terminal and for benchmarks/results/yardstick.md."""
    parts = [[conditions(record)], [summary(record)]]
    if record["rows"]:
        parts += [main_table(record), all_forms_table(record)]
    if record["first_calls"]:
        parts.append(first_calls_table(record))
    if notes(record):
        parts.append(notes(record))
    return "\n\n".join("\n".join(part) for part in parts)


def write(record: dict[str, Any], folder: Path) -> None:
    """The files of a whole run."""
    folder.mkdir(exist_ok=True)
    (folder / "yardstick.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / "yardstick.md").write_text(markdown(record) + "\n")
    pictures = _plots(record, folder)
    PAGE.write_text(refreshed(PAGE.read_text(), record, pictures))


def _plots(record: dict[str, Any], folder: Path) -> list[Path]:
    try:
        from . import plots
    except ModuleNotFoundError as error:
        print(f"bench: no plots: no module {error.name}")
        return []
    return plots.write(record, folder)


def refreshed(page: str, record: dict[str, Any], pictures: list[Path]) -> str:
    """`page` with what stands between its two markers made anew."""
    before, found_begin, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise SystemExit(f"bench: {PAGE} lacks the lines {BEGIN!r} and {END!r}")
    parts = [conditions(record), summary(record), "\n".join(main_table(record))]
    if record["first_calls"]:
        parts.append("\n".join(first_calls_table(record)))
    parts += [
        f"![{p.stem}]({Path(os.path.relpath(p, PAGE.parent)).as_posix()})"
        for p in pictures
        if p.suffix == ".svg"
    ]
    if notes(record):
        parts.append("\n".join(notes(record)))
    return f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}"
