"""How long the passes on tensors take by the size of a program: `python -m benchmarks.tensor_passes`.

The programs are random: elementwise operations, broadcasts, views and reductions (`tests/unit/nt_programs.py`),
all of whose values are needed. Times are medians of processor time, in milliseconds, over several programs of a size. The
time an operation is what must not grow.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from nestor.dialects.registry import make_context
from nestor.transforms.pipelines import PIPELINES
from nestor.transforms.registry import load_pass

SIZES = (100, 300, 1000)
PROGRAMS = 5
LIMIT_MS = 1500.0
"""For all passes on the largest program."""

LOWERING = "convert-nt-to-nest"
PASSES = PIPELINES["to-nest"][: PIPELINES["to-nest"].index(LOWERING)]


def measure(size: int) -> dict[str, float]:
    """Median milliseconds a pass."""
    from nt_programs import random_module  # pyright: ignore

    context = make_context()
    times: dict[str, list[float]] = {name: [] for name in PASSES}
    for seed in range(PROGRAMS):
        module = random_module(seed, size, keep_all=True)
        for name in PASSES:
            instance = load_pass(name)()
            start = time.process_time()
            instance.apply(context, module)
            times[name].append(time.process_time() - start)
    return {name: 1e3 * statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Print a line a size; fails where the largest program takes too long."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
    measure(20)  # what is loaded on first use
    print(f"{'operations':>10} {''.join(f'{name:>18}' for name in PASSES)} {'all':>9}  us an operation")
    total = 0.0
    for size in SIZES:
        times = measure(size)
        total = sum(times.values())
        columns = "".join(f"{ms:>15.1f} ms" for ms in times.values())
        print(f"{size:>10} {columns} {total:>6.0f} ms  {1e3 * total / size:.0f}")
    if total > LIMIT_MS:
        print(f"more than {LIMIT_MS:.0f} ms for {SIZES[-1]} operations", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
