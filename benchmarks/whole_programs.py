"""The loop programs among tests/programs/whole against numba's njit: `python -m benchmarks.whole_programs [names]`.

As in `benchmarks.loops`, whose figures these are: one thread each, calls alternate with fresh copies of the arguments,
ratios are medians over rounds. A program that numba does not compile is named, and has no ratio.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .loops import ROOT, measure

sys.path.insert(0, str(ROOT / "tests" / "programs"))

from numba.core.errors import NumbaError
from numerical import Case
from whole import (
    finance,
    geometry,
    graphs,
    images,
    parsing,
    particles,
    polynomials,
    signals,
    sparse_rows,
    tables,
)
from whole import statistics as stats

RESULT = ROOT / "benchmarks" / "results" / "whole_programs.md"
Rng = np.random.Generator


def row(
    function: Callable[..., Any], arguments: Callable[[Rng], tuple[Any, ...]], tolerance: float = 1e-9
) -> Case:
    return Case(function, lambda r, n, t: arguments(r), tolerance=tolerance)


def _csr(r: Rng, n: int) -> tuple[np.ndarray, ...]:
    return sparse_rows.random_csr(r, n, n, 0.02)


def _grid(r: Rng, n: int) -> np.ndarray:
    return r.random((n, n))


def _bytes(r: Rng, n: int) -> np.ndarray:
    return r.integers(0, 256, n, dtype=np.uint8)


CASES = [
    row(sparse_rows.csr_times_vector, lambda r: (*_csr(r, 1000), r.random(1000))),
    row(sparse_rows.transpose_csr, lambda r: (*_csr(r, 1000), 1000)),
    row(sparse_rows.row_extremes, lambda r: _csr(r, 1000)[::2]),
    row(graphs.breadth_first_levels, lambda r: (*_csr(r, 2000)[:2], 0)),
    row(graphs.connected_components, lambda r: (r.integers(0, 20000, (20000, 2)), 20000)),
    row(stats.running_moments, lambda r: (r.standard_normal(100000),)),
    row(stats.histogram_by_hand, lambda r: (r.standard_normal(200000),)),
    row(stats.kendall_tau, lambda r: (r.integers(0, 99, 600), r.standard_normal(600))),
    row(signals.radix_two_fft, lambda r: (r.standard_normal(4096),)),
    row(signals.goertzel, lambda r: (r.standard_normal(5000), np.arange(20))),
    row(signals.fir_filter, lambda r: (r.standard_normal(50000),)),
    row(signals.biquad_cascade, lambda r: (r.standard_normal(100000), r.random((4, 5)) / 4)),
    row(signals.resample_linear, lambda r: (r.standard_normal(100000), 1.7)),
    row(images.otsu_threshold, lambda r: (_bytes(r, 250000).reshape(500, 500),)),
    row(images.flood_fill, lambda r: (np.zeros((200, 200), dtype=np.int64), (100, 100), 7)),
    row(images.dither, lambda r: (_bytes(r, 160000).reshape(400, 400),)),
    row(images.integral_image_means, lambda r: (_grid(r, 300), 3)),
    row(
        finance.implied_volatility, lambda r: (r.random(500) * 20 + 5, 100.0, np.linspace(90, 110, 500), 0.5)
    ),
    row(finance.bootstrap_curve, lambda r: (np.arange(1.0, 301), r.random(300) / 200)),
    row(finance.garch_likelihood, lambda r: (r.standard_normal(100000), 0.1, 0.2, 0.6)),
    row(particles.lennard_jones, lambda r: (r.random((400, 2)) * 3, 1.5), 1e-6),
    row(tables.longest_increasing, lambda r: (r.integers(0, 10**6, 50000),)),
    row(tables.time_warp, lambda r: (r.random((200, 3)), r.random((200, 3)), 50)),
    row(tables.knapsack_with_items, lambda r: (r.integers(1, 99, 100), r.integers(1, 50, 100), 5000)),
    row(parsing.crc32, lambda r: (_bytes(r, 200000),)),
    row(parsing.variable_length_decode, lambda r: (_bytes(r, 200000) & 0x7F,)),
    row(parsing.polynomial_hash_matches, lambda r: (r.integers(0, 2, 100000), r.integers(0, 2, 20))),
    row(geometry.closest_pair, lambda r: (r.random((2000, 2)),)),
    row(polynomials.multiply_and_divide, lambda r: (r.random(500) + 1, r.random(500) + 1), 1e-3),
    row(polynomials.power_mod_table, lambda r: (r.integers(1, 99, 200), r.integers(0, 1000, 200))),
    row(polynomials.josephus_by_arrays, lambda r: (3000, 7)),
    row(polynomials.heap_sort, lambda r: (r.random(30000),)),
    row(polynomials.collatz_lengths, lambda r: (50000,)),
    row(
        polynomials.newton_interpolation, lambda r: (np.arange(30.0), r.random(30), r.random(5000) * 30), 1e-6
    ),
]


def main(names: list[str]) -> None:
    rows, without = [], []
    for case in CASES:
        name = case.function.__name__
        if names and name not in names:
            continue
        try:
            found = measure(case)
        except NumbaError as error:
            without.append(name)
            print(f"{name:26} numba: {str(error).splitlines()[0]}", flush=True)
            continue
        rows.append(found)
        print(f"{name:26} {found[1]:9.3f} ms  {found[2]:6.2f}  {found[3]:6.2f}", flush=True)
    if not rows:
        return
    ratios = [r[2] for r in rows]
    summary = f"median {statistics.median(ratios):.2f}, worst {max(ratios):.2f} of numba"
    print(summary)
    if not names:
        write(rows, without, summary)


def write(rows: list[tuple[str, float, float, float]], without: list[str], summary: str) -> None:
    lines = [
        "# Whole programs with loops against numba",
        "",
        "Written by `python -m benchmarks.whole_programs`; the programs are in `tests/programs/whole`. One thread each.",
        "Nestor checks what it cannot prove in bounds. Ratios below 1: Nestor is faster.",
        "",
        f"**{summary}**",
        "",
        "| program | Nestor, ms | of numba | of numba with bounds checks |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {ms:.3f} | {a:.2f} | {b:.2f} |" for name, ms, a, b in rows),
        "",
    ]
    if without:
        lines += [f"numba does not compile {', '.join(without)} as they are.", ""]
    RESULT.write_text("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
