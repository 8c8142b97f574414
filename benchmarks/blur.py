"""`python -m benchmarks.blur`: one algorithm, three schedules, as in the Halide paper: what each of them trades.

A box blur of 3 x 3 in two stages on images of float32, the schedules of examples/schedules/ replayed on two sizes. Runs are
interleaved; figures are medians, and ratios of runs next to each other. The table goes to benchmarks/results/blur.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
SIZES = ((514, 514), (4098, 4098))
ROUNDS = 31
TRADES = {
    "blur-breadth-first": "no work twice; `rows` goes through memory",
    "blur-inlined": "nothing stored between; every row is blurred three times",
    "blur-sliding": "a window of rows stays in the cache; two rows a tile are blurred twice",
}


def measure(shape: tuple[int, int]) -> dict[str, list[float]]:
    """Seconds of each schedule, one a round, on an image of `shape`; the results are compared first."""
    sys.path.insert(0, str(ROOT / "examples"))
    from blur import blur

    image = np.random.default_rng(0).random(shape, dtype=np.float32)
    lowered, out = blur.lower(image), np.empty((shape[0] - 2, shape[1] - 2), np.float32)
    kernels = {
        name: lowered.compile(schedule=ROOT / "examples" / "schedules" / f"{name}.mlir") for name in TRADES
    }
    expected = blur.__wrapped__(image)
    for kernel in kernels.values():
        np.testing.assert_array_equal(kernel(image), expected)
    seconds: dict[str, list[float]] = {name: [] for name in TRADES}
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            start = time.perf_counter()
            kernel(image, out=out)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def main() -> None:
    lines = ["| image | schedule | ms | of breadth-first | trade |", "|---|---|---|---|---|"]
    for shape in SIZES:
        seconds = measure(shape)
        base = seconds["blur-breadth-first"]
        for name, own in seconds.items():
            ratio = statistics.median(a / b for a, b in zip(own, base, strict=True))
            size = f"{shape[0] - 2} x {shape[1] - 2}"
            lines.append(
                f"| {size} | {name} | {statistics.median(own) * 1e3:.2f} | {ratio:.2f} | {TRADES[name]} |"
            )
    text = "\n".join(lines) + "\n"
    (ROOT / "benchmarks" / "results" / "blur.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
