"""`python -m benchmarks.matmul [SCHEDULE]`: a matrix product by its schedule, against the BLAS that NumPy ships.

examples/matmul.mlir is the algorithm, examples/schedules/matmul.mlir (or SCHEDULE) says how it runs. One thread each.
The two run in turn in one process; the figure is the median over rounds of the BLAS's time divided by the nest's in
the same round, so that the machine's drift cancels: 1 is as fast, more is faster. The table goes to
benchmarks/results/matmul.md.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

ROOT = Path(__file__).parents[1]
ALGORITHM = ROOT / "examples" / "matmul.mlir"
SCHEDULE = ROOT / "examples" / "schedules" / "matmul.mlir"
SHAPES = ((512, 512, 512), (1024, 1024, 1024), (500, 700, 900))
"""(m, n, k) of `(m, k) @ (k, n)`."""
ROUNDS = 41
LOWERING = ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm")

MatMul = Callable[["np.ndarray", "np.ndarray", "np.ndarray"], None]


def compile_nest(text: str) -> MatMul:
    """Machine code for the only function of a module of nest IR, called with arrays."""
    from nestor.dialects.parse import parse_module
    from nestor.dialects.registry import make_context
    from nestor.dialects.verifier import verify
    from nestor.lowering.llvm_ir.emit import emit_llvm_ir
    from nestor.runtime.abi import ErrorRecord, Packer
    from nestor.runtime.cpu.engine import compile_llvm_ir
    from nestor.transforms.registry import load_pass
    from xdsl.dialects.func import FuncOp

    module = parse_module(text)
    verify(module)
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    packer, name = Packer.for_function(function), function.sym_name.data
    for name_of_pass in LOWERING:
        load_pass(name_of_pass)().apply(make_context(), module)
    entry = compile_llvm_ir(emit_llvm_ir(module)).entry(name)
    record = ErrorRecord()

    def call(*arrays: np.ndarray) -> None:
        status = entry(packer(*arrays), ctypes.addressof(record))
        if status:
            raise SystemExit(f"matmul: the kernel failed with status {status}: {list(record)}")

    return call


def compare(matmul: MatMul, shape: tuple[int, int, int], rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Gflop/s of the nest and of the BLAS (medians), and the paired ratio; the results are compared first."""
    import numpy as np

    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    ours, theirs = np.empty((m, n), np.float32), np.empty((m, n), np.float32)

    def timed(function: Callable[[], object]) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    pairs = []
    for _ in range(rounds):
        pairs.append((timed(lambda: matmul(a, b, ours)), timed(lambda: np.matmul(a, b, out=theirs))))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * k)
    flops = 2e-9 * m * n * k
    nest, blas = (flops / statistics.median(times) for times in zip(*pairs, strict=True))
    return nest, blas, statistics.median(y / x for x, y in pairs)


def scheduled(schedule: Path) -> str:
    """The nest IR that the schedule makes of the algorithm."""
    from nestor.dialects.parse import parse_module
    from nestor.transforms.schedule.apply_schedule import apply_sequence, load_sequences

    module = parse_module(ALGORITHM.read_text(), str(ALGORITHM))
    for sequence in load_sequences(str(schedule)):
        apply_sequence(sequence, module)
    return str(module)


def main(arguments: list[str]) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when NumPy is imported
    matmul = compile_nest(scheduled(Path(arguments[0]) if arguments else SCHEDULE))
    lines = ["| m x n x k | nest GF/s | BLAS GF/s | nest / BLAS |", "|---|---|---|---|"]
    for shape in SHAPES:
        nest, blas, ratio = compare(matmul, shape)
        lines.append(f"| {' x '.join(map(str, shape))} | {nest:.1f} | {blas:.1f} | {ratio:.2f} |")
        print(lines[-1], flush=True)
    if not arguments:
        (ROOT / "benchmarks" / "results" / "matmul.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if "numpy" in sys.modules:
        raise SystemExit("matmul: NumPy was imported before its number of threads was set")
    main(sys.argv[1:])
