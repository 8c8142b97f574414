"""Loop-and-slice programs against numba's njit on the same source: `python -m benchmarks.loops [names]`.

One thread each (numba's njit has one). Nestor checks every index that it cannot prove to be in bounds; numba does not
(`njit`), and does with `boundscheck=True` (`checked`). Calls alternate, each with fresh copies of the first arguments.
A figure is the median over rounds of Nestor's time divided by numba's in the same round.
"""

from __future__ import annotations

import copy
import gc
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import nestor as nt
import numba
import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))

from numerical import PROGRAMS, Case, arguments_of  # noqa: E402

ROUNDS = 15
RESULT = ROOT / "benchmarks" / "results" / "loops.md"


def main(names: list[str]) -> None:
    rows = []
    for case in PROGRAMS:
        if names and case.function.__name__ not in names:
            continue
        row = measure(case)
        rows.append(row)
        print(f"{row[0]:24} {row[1]:9.3f} ms  {row[2]:6.2f}  {row[3]:6.2f}", flush=True)
    unchecked, checked = ([r[k] for r in rows if r[k] == r[k]] for k in (2, 3))
    summary = (
        f"median {statistics.median(unchecked):.2f}, worst {max(unchecked):.2f} of numba; "
        f"median {statistics.median(checked):.2f}, worst {max(checked):.2f} of numba with bounds checks"
    )
    print(summary)
    if not names:
        write(rows, summary)


def measure(case: Case) -> tuple[str, float, float, float]:
    """The name, Nestor's median in milliseconds, and the paired ratios to numba without and with bounds checks."""
    dtype = case.dtypes[0]
    first = arguments_of(case, case.large, dtype)
    ours = nt.jit(case.function)
    peers = [numba.njit(case.function), numba.njit(boundscheck=True)(case.function)]
    check(ours, peers[0], first, case)
    times: list[list[float]] = [[], [], []]
    for function in (ours, *peers):
        call(function, first)
    for _ in range(ROUNDS):
        for own, function in zip(times, (ours, *peers), strict=True):
            own.append(call(function, first))
    ratios = [statistics.median(a / b for a, b in zip(times[0], peer, strict=True)) for peer in times[1:]]
    return case.function.__name__, statistics.median(times[0]) * 1e3, ratios[0], ratios[1]


def call(function: Any, first: tuple[Any, ...]) -> float:
    """The time of one call on fresh copies."""
    arguments = copy.deepcopy(first)
    gc.disable()
    start = time.perf_counter()
    function(*arguments)
    end = time.perf_counter()
    gc.enable()
    return end - start


def check(ours: Any, numbas: Any, first: tuple[Any, ...], case: Case) -> None:
    """Both compute the same."""
    a, b = copy.deepcopy(first), copy.deepcopy(first)
    for mine, theirs in zip([*parts(ours(*a)), *a], [*parts(numbas(*b)), *b], strict=True):
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=max(case.tolerance, 1e-9), atol=1e-9)


def parts(result: Any) -> list[Any]:
    """The arrays and numbers of a result."""
    return [p for item in result for p in parts(item)] if isinstance(result, tuple) else [result]


def write(rows: list[tuple[str, float, float, float]], summary: str) -> None:
    lines = [
        "# Loops and slices against numba",
        "",
        "Written by `python -m benchmarks.loops`; the programs are in `tests/programs/numerical.py`. One thread each,",
        "float64 or the first dtype of a program. Nestor checks what it cannot prove in bounds.",
        "Ratios below 1: Nestor is faster.",
        "",
        f"**{summary}**",
        "",
        "| program | Nestor, ms | of numba | of numba with bounds checks |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {ms:.3f} | {a:.2f} | {b:.2f} |" for name, ms, a, b in rows),
        "",
    ]
    RESULT.write_text("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
