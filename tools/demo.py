"""`make demo`: compile the IoU function from plain NumPy source, run it on 10 million boxes, show every level."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..frontend.jit.driver.explain import nest_accesses
from ..frontend.jit.driver.jit import jit
from ..frontend.jit.specialise.stages import lowered_copy
from ..runtime.user_files import run_file

BOXES = 10_000_000
ROUNDS = 5
FOLDER = Path("demo-output")

LEVELS = (
    ("nt", "1-nt.mlir", "tensors: NumPy made explicit"),
    ("nest", "2-nest.mlir", "one scheduled loop nest"),
    ("scf", "3-scf-vector.mlir", "upstream loops and vectors"),
    ("llvm", "4-llvm.mlir", "the llvm dialect"),
    ("llvm-ir", "5-iou.ll", "LLVM IR"),
    ("asm", "6-iou.s", "assembly for this machine"),
    ("gpu", "7-gpu.mlir", "the gpu dialect"),
    ("cuda", "8-iou.cu", "CUDA C"),
)


def load_program() -> Callable:
    """The function of examples/iou.py: plain NumPy, no decorator."""
    return run_file(Path(__file__).resolve().parents[1] / "examples" / "iou.py").ratio_iou


def random_boxes(count: int) -> list[np.ndarray]:
    """x, y, w, h of two sets of `count` boxes, float32."""
    rng = np.random.default_rng(0)
    return [rng.random(count, dtype=np.float32) * np.float32(s) for s in (1, 1, 0.5, 0.5) * 2]


def timed(function: Callable, arguments: list) -> tuple[float, np.ndarray]:
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def write_levels(lowered, folder: Path) -> list[tuple[str, str]]:
    """Write the text of every level; returns (path, what it is) pairs."""
    folder.mkdir(exist_ok=True)
    written = []
    for level, name, what in LEVELS:
        (folder / name).write_text(lowered.as_text(level))
        written.append((str(folder / name), what))
    return written


def fused(lowered) -> str:
    """The kernels that the program became, and the memory accesses of each, as `explain` counts them."""
    nests = list(nest_accesses(lowered_copy(lowered.program.module, ("to-nest",))))
    number = "one kernel" if len(nests) == 1 else f"{len(nests)} kernels"
    return f"{number}: {'; '.join(accesses for _, accesses in nests)} an element"


def main() -> int:
    plain = load_program()
    fast = jit(plain)
    boxes = random_boxes(BOXES)

    print(f"ratio_iou(x1, y1, w1, h1, x2, y2, w2, h2): plain NumPy source, {BOXES:,} pairs of boxes, float32")
    first, result = timed(fast, boxes)
    _, expected = timed(plain, boxes)
    numpy_times, nestor_times = [], []
    for _ in range(ROUNDS):
        numpy_times.append(timed(plain, boxes)[0])
        nestor_times.append(timed(fast, boxes)[0])
    numpy_ms, nestor_ms = (statistics.median(t) * 1e3 for t in (numpy_times, nestor_times))
    error = float(np.max(np.abs(result - expected)))

    lowered = fast.lower(*boxes)
    written = write_levels(lowered, FOLDER)

    print(f"  NumPy            {numpy_ms:8.1f} ms   (one pass over memory for each operation)")
    print(f"  Nestor           {nestor_ms:8.1f} ms   ({numpy_ms / nestor_ms:.1f} times faster)")
    print(f"  first call       {first * 1e3:8.1f} ms   (parse, compile and run)")
    print(f"  largest error    {error:8.1g}      (0 means the same bits as NumPy)")
    print(f"  fused            {fused(lowered)}")
    print()
    print(fast.explain(*boxes))
    print()
    print(f"Every level of the compiler is in {FOLDER}/:")
    for path, what in written:
        print(f"  {path:28} {what}")
    return 0 if error == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
