"""Jitted functions on Dask arrays beside Dask itself: `python -m benchmarks.chunks`, written to dask.md.

    numpy    the same functions by Dask with NumPy: at least `LEAST_SPEED_UP` times as fast, in chunks of the same bytes
    numba    their stencils compiled by numba inside of `map_overlap`, with the right depth: at most `MOST_OF_NUMBA`
    graphs   what it takes to make the graph of 10,000 chunks, materialised, beside `map_blocks` and `map_overlap`

`python -m benchmarks.chunks numpy graphs` does these parts, and writes nothing. Both take turns in one process, with
Dask's threads; a figure is the median of the ratios of neighbouring turns. Sources are chunks in memory, and so are
results. Passes are how often the bytes of the source could be copied in that time, chunk by chunk in the same threads.
`small` as the last argument takes small arrays: whether it runs, not what comes out.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

from .parts import run_parts

LEAST_SPEED_UP, MOST_OF_NUMBA = 3.0, 1.0
MOST_OF_GRAPHS = {"map_blocks": 1.2, "map_overlap": 0.6}
SHAPE, CHUNKS = (8000, 2000), {"rows": (1000, 2000), "tiles": (2000, 1000)}
"""128 MB in eight chunks of 16 MB: rows of the array, or tiles of it."""

TURNS, GRAPH_TURNS = 15, 7
RESULTS = Path(__file__).parent / "results" / "dask.md"
META = np.empty((0, 0))


# ---- the programs -----------------------------------------------------------------------------------------


def five_points(x):
    y = x.copy()
    y[1:-1, 1:-1] = (x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) / 5
    return y


def normalised(x):
    return (x - x.mean(0)) / x.std(0)


def without_trend(x):
    t = x.copy()
    t[2:-2] = (x[:-4] + x[1:-3] + x[2:-2] + x[3:-1] + x[4:]) / 5
    return x - t


def smoothed(x):
    s = x.copy()
    s[1:-1] = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
    return s


def anomaly(x):
    d = without_trend(x)
    return smoothed(d / d.std(0))


def overlapped(function: Callable[[Any], Any], x: Any, depth: Any) -> Any:
    """A function of NumPy arrays on chunks with rows and columns of their neighbours."""
    return x.map_overlap(function, depth=depth, boundary="none", dtype=x.dtype, meta=META)


def in_dask(program: Callable[[Any], Any], stencils: dict[Any, Callable[[Any], Any]], x: Any) -> Any:
    """A program on Dask arrays, with these functions for its stencils."""
    if program is five_points:
        return overlapped(stencils[five_points], x, 1)
    if program is normalised:
        return normalised(x)
    d = overlapped(stencils[without_trend], x, {0: 2})
    return overlapped(stencils[smoothed], d / d.std(0), {0: 1})


PLAIN = {one: one for one in (five_points, without_trend, smoothed)}


def by_numba() -> dict[Any, Callable[[Any], Any]]:
    """The stencils as loops that numba compiles; Dask's threads run beside each other."""
    import numba

    @numba.njit(nogil=True)
    def five(x):
        n, m = x.shape
        y = x.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                y[i, j] = (x[i, j] + x[i + 1, j] + x[i - 1, j] + x[i, j + 1] + x[i, j - 1]) / 5
        return y

    @numba.njit(nogil=True)
    def detrend(x):
        n, m = x.shape
        d = np.zeros_like(x)
        for i in range(2, n - 2):
            for j in range(m):
                d[i, j] = x[i, j] - (x[i - 2, j] + x[i - 1, j] + x[i, j] + x[i + 1, j] + x[i + 2, j]) / 5
        return d

    @numba.njit(nogil=True)
    def smooth(x):
        n, m = x.shape
        s = x.copy()
        for i in range(1, n - 1):
            for j in range(m):
                s[i, j] = (x[i - 1, j] + 2 * x[i, j] + x[i + 1, j]) / 4
        return s

    return {five_points: five, without_trend: detrend, smoothed: smooth}


# ---- time -------------------------------------------------------------------------------------------------


def numpy_table(small: bool) -> list[str]:
    """A line for each program and kind of chunks."""
    least = f"{LEAST_SPEED_UP:.0f}"
    head = f"| program | chunks | Nestor, ms | passes | NumPy, ms | passes | speed-up, at least {least} | |"
    return _table(
        head,
        (five_points, normalised, anomaly),
        PLAIN,
        small,
        lambda ratio: 1 / ratio >= LEAST_SPEED_UP,
        True,
    )


def numba_table(small: bool) -> list[str]:
    """A line for each program with stencils and kind of chunks."""
    head = f"| program | chunks | Nestor, ms | passes | numba, ms | passes | Nestor / numba, at most {MOST_OF_NUMBA:.1f} | |"
    return _table(
        head, (five_points, anomaly), by_numba(), small, lambda ratio: ratio <= MOST_OF_NUMBA, False
    )


def _table(
    head: str,
    programs: tuple[Callable[[Any], Any], ...],
    stencils: dict[Any, Callable[[Any], Any]],
    small: bool,
    holds: Callable[[float], bool],
    is_speed_up: bool,
) -> list[str]:
    dask: Any = import_module("dask")
    da: Any = import_module("dask.array")
    lines = [head, "|---|---|" + "---:|" * 5 + "---|"]
    shape = tuple(n // 50 for n in SHAPE) if small else SHAPE
    whole = np.random.default_rng(0).standard_normal(shape)
    with dask.config.set(scheduler="threads", num_workers=os.cpu_count()):
        for kind, chunks in CHUNKS.items():
            sizes = tuple(n // 50 for n in chunks) if small else chunks
            x = da.from_array(whole, chunks=sizes).map_blocks(np.copy, dtype=whole.dtype, meta=META).persist()
            copied = x.map_blocks(_copied, dtype=x.dtype, meta=META)
            for program in programs:
                mine, other = nt.jit(program)(x), in_dask(program, stencils, x)
                np.testing.assert_allclose(mine.compute(), other.compute(), rtol=1e-9, atol=1e-9)
                times = _turns([mine.persist, other.persist, copied.persist], TURNS)
                ratio = statistics.median(a / b for a, b in zip(*times[:2], strict=True))
                cells = [program.__name__, kind]
                for one in times[:2]:
                    passes = statistics.median(a / c for a, c in zip(one, times[2], strict=True))
                    cells += [f"{statistics.median(one) * 1e3:.1f}", f"{passes:.1f}"]
                cells += [
                    f"{1 / ratio if is_speed_up else ratio:.2f}",
                    "" if holds(ratio) else "does not hold",
                ]
                lines.append(f"| {' | '.join(cells)} |")
    return lines


def _copied(block: np.ndarray) -> np.ndarray:
    """A copy in memory that was used before, as results of compiled functions are."""
    from nestor.runtime.pool import POOL

    made = POOL.empty(block.shape, block.dtype)
    made[...] = block
    return made


def _turns(runs: list[Callable[[], Any]], turns: int) -> list[list[float]]:
    """Seconds of a call of each, turn by turn; who begins changes."""
    found: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    order = list(range(len(runs)))
    for turn in range(turns):
        for k in order if turn % 2 else reversed(order):
            began = time.perf_counter()
            result = runs[k]()
            found[k].append(time.perf_counter() - began)
            del result
    return found


# ---- graphs -----------------------------------------------------------------------------------------------


def chain(x):
    return np.sqrt(np.abs(x)) * 2 + 1


def graphs_table(small: bool) -> list[str]:
    """A line for functions of elements and for stencils."""
    da: Any = import_module("dask.array")
    count = 10 if small else 100
    x = da.ones((count * 100, count * 100), chunks=(100, 100))
    jitted: dict[Any, Callable[[Any], Any]] = {program: nt.jit(program) for program in (chain, five_points)}
    pairs: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
        "map_blocks": (chain, lambda: x.map_blocks(chain, dtype=x.dtype, meta=META)),
        "map_overlap": (five_points, lambda: overlapped(five_points, x, 1)),
    }
    lines = [
        f"| {count * count:,} chunks | Nestor, ms | tasks | | Dask, ms | tasks | Nestor / Dask | at most | |",
        "|---|---:|---:|---|---:|---:|---:|---:|---|",
    ]
    for name, (program, make) in pairs.items():
        mine, other = partial(_graph, partial(jitted[program], x)), partial(_graph, make)
        tasks = len(mine()), len(other())
        times = _turns([mine, other], GRAPH_TURNS)
        ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
        a, b = (f"{statistics.median(one) * 1e3:.0f}" for one in times)
        most = MOST_OF_GRAPHS[name]
        note = "" if ratio <= most else "does not hold"
        lines.append(
            f"| {program.__name__} | {a} | {tasks[0]:,} | {name} | {b} | {tasks[1]:,} | {ratio:.2f} | {most} | {note} |"
        )
    return lines


def _graph(make: Callable[[], Any]) -> dict[Any, Any]:
    """All tasks of an array that is made."""
    return make().dask.to_dict()


PARTS: dict[str, Callable[[bool], list[str]]] = {
    "numpy": numpy_table,
    "numba": numba_table,
    "graphs": graphs_table,
}


def main(arguments: list[str]) -> int:
    return run_parts("chunks", PARTS, arguments, RESULTS, _head)


def _head() -> str:
    from importlib.metadata import version

    versions = ", ".join(f"{title} {version(title.lower())}" for title in ("NumPy", "Dask", "numba"))
    return (
        "# Dask arrays\n\n`python -m benchmarks.chunks`: medians of neighbouring turns, of 128 MB of float64 in eight "
        "chunks; a pass is a copy of these.\n"
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, {versions}.\n\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
