"""Measures one row: every form of every peer, interleaved, after its results were compared."""

from __future__ import annotations

import gc
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .processes import Process, settle
from .yardstick.row import Row

SAMPLE_SECONDS = 0.025
"""A sample is as many calls as take about this long."""

MOST_CALLS = 100_000

SLOW, SLOW_ROUNDS = 6.0, 3
"""A form this many times slower than the fastest is timed in a few rounds only."""

SHORT, MORE_ROUNDS = 0.001, 3
"""Seconds of a call below which a row is measured in so many times as many rounds: a wait for a processor of a few
milliseconds, on machines that others share, is no part of a call of ten milliseconds and a hundred calls of this row."""

COUNTED = "nestor"
"""The form whose ratios are the figures: IEEE results."""

NOT_PEERS = ("nestor", "roof")


def measure(row: Row, processes: Sequence[Process], rounds: int) -> dict[str, Any]:
    """The record of a row, as it is written to JSON; times in seconds."""
    for process in processes:
        process.send(do="prepare", row=row.name)
    with tempfile.TemporaryDirectory(prefix="nestor-bench-") as folder:
        reference = Path(folder) / "expected.npz"
        np.savez(reference, *row.expected(row.make()))
        gc.collect()
        forms: dict[str, Process] = {}
        missing: dict[str, str] = {}
        for process in processes:
            answer = process.receive(240)
            if "missing" in answer:
                missing[process.name] = answer["missing"]
            forms |= dict.fromkeys(answer.get("forms", ()), process)
        errors = _check(row, forms, missing, reference)
    times = _rounds(forms, missing, rounds)
    for process in {id(p): p for p in forms.values()}.values():
        process.ask(do="forget")
    return _record(row, times, errors, missing)


def _check(row: Row, forms: dict[str, Process], missing: dict[str, str], file: Path) -> dict[str, float]:
    """How far each form is from the reference; those that are too far leave `forms`."""
    errors = {}
    for form, process in list(forms.items()):
        if process.name == "roof":
            continue
        answer = process.ask(do="check", form=form, file=str(file))
        error = answer.get("error", float("inf"))
        if error <= row.tolerance:
            errors[form] = error
            continue
        del forms[form]
        missing[form] = answer.get("missing") or f"wrong: off by {error:.1e} of the largest element"
    return errors


def _rounds(forms: dict[str, Process], missing: dict[str, str], rounds: int) -> dict[str, list[float | None]]:
    """Seconds of a call, by form and round; None where a form sat a round out."""
    rough = {form: _time(forms, form, 1, missing) or 1.0 for form in list(forms)}
    rough = {form: _time(forms, form, _calls(rough[form]), missing) or 1.0 for form in list(forms)}
    peers = [s for form, s in rough.items() if not form.startswith("roof")]
    fastest = min(peers, default=1.0)
    few = {f for f, s in rough.items() if s > SLOW * fastest and not f.startswith(NOT_PEERS)}
    times: dict[str, list[float | None]] = {form: [] for form in forms}
    for k in range(rounds * (MORE_ROUNDS if fastest < SHORT else 1)):
        order = list(forms)
        for form in order[k % len(order) :] + order[: k % len(order)]:
            sits_out = form in few and k >= SLOW_ROUNDS
            seconds = None if sits_out else _time(forms, form, _calls(rough[form]), missing)
            times[form].append(seconds)
    return {form: samples for form, samples in times.items() if form in forms}


def _calls(seconds: float) -> int:
    return max(1, min(MOST_CALLS, int(SAMPLE_SECONDS / max(seconds, 1e-9))))


def _time(forms: dict[str, Process], form: str, calls: int, missing: dict[str, str]) -> float | None:
    """Seconds of a call; a form whose process dies leaves `forms`."""
    if form not in forms:
        return None
    settle(set(forms.values()))
    answer = forms[form].ask(do="time", form=form, calls=calls)
    if "missing" in answer:
        process = forms[form]
        for other in [f for f, p in forms.items() if p is process]:
            del forms[other]
            missing[other] = answer["missing"]
        return None
    return answer["seconds"]


def _median(values: Sequence[float | None]) -> float:
    return statistics.median(v for v in values if v is not None)


def _paired(times: dict[str, list[float | None]], form: str) -> float:
    """The median over rounds of Nestor's time divided by the form's in the same round."""
    pairs = zip(times[COUNTED], times[form], strict=True)
    return statistics.median(a / b for a, b in pairs if a is not None and b is not None)


def _of_roof(times: dict[str, list[float | None]]) -> float | None:
    """The median over rounds of Nestor's time divided by the roof of the same round."""
    found = {form: samples for form, samples in times.items() if form.startswith("roof")}
    if not found or COUNTED not in times:
        return None
    ratios = []
    for k, own in enumerate(times[COUNTED]):
        known = {form: s for form, samples in found.items() if (s := samples[k]) is not None}
        if own is not None and len(known) == len(found) and (roof := roof_of(known)):
            ratios.append(own / roof)
    return statistics.median(ratios) if ratios else None


def _record(
    row: Row, times: dict[str, list[float | None]], errors: dict[str, float], missing: dict[str, str]
) -> dict[str, Any]:
    reads, writes = row.traffic()
    times = {form: samples for form, samples in times.items() if any(s is not None for s in samples)}
    seconds = {form: _median(samples) for form, samples in times.items()}
    roofs = {form: s for form, s in seconds.items() if form.startswith("roof")}
    peers = {form: s for form, s in seconds.items() if not form.startswith(NOT_PEERS)}
    best = min(peers, key=peers.__getitem__, default=None)
    return {
        "name": row.name,
        "title": row.title,
        "bytes": sum(reads) + sum(writes),
        "operations": row.flops(row.extents()),
        "seconds": {form: s for form, s in seconds.items() if form not in roofs},
        "roofs": roofs,
        "roof": roof_of(roofs),
        "of_roof": _of_roof(times),
        "most_of_roof": row.of_roof,
        "best": best,
        "ratio": {form: _paired(times, form) for form in peers} if COUNTED in times else {},
        "errors": errors,
        "missing": missing,
        "samples": times,
    }


def roof_of(roofs: dict[str, float]) -> float | None:
    """The better of the two ways to store, or the operations where they take longer."""
    memory = [s for form, s in roofs.items() if "bytes" in form]
    return max(min(memory), roofs["roof operations"]) if memory else None
