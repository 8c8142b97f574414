"""How much memory gradients need beside arguments and results: planned, from the IR, and measured, what a call allocates.

    python -m benchmarks.peak_memory                        # the rows grad- of the yardstick: a table
    python -m benchmarks.peak_memory --rows grad-softmax --small

Three forms of each program. `nestor`: as it is compiled. `stored`: without nt-recompute, so that fusions hand each other
everything in memory. `save-all`: the loss is `nt.checkpoint(loss, policy="save-all")`, which keeps every value that the
derivative reads, as autograd does; each half is fused by itself.

A plan counts each `memref.alloc` of the scf level from where it stands to its `memref.dealloc`, for one thread: others hold
their own copies of what is allocated in a parallel loop. What threads allocate for a strip of unknown length is left out. A
measurement counts what malloc and its kin hand out in a process of its own
(`allocations.c`, by LD_PRELOAD) while the kernel runs, its results being there.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

from .yardstick import ROWS
from .yardstick.gradients import LOSSES, with_gradients_of
from .yardstick.row import Row

FORMS = ("nestor", "stored", "save-all")
SOURCE = Path(__file__).with_name("allocations.c")


def lowered(row: Row, form: str, small: bool = False) -> tuple[Any, str]:
    """A form of a row at the scf level, and the name of its function."""
    from nestor.frontend.jit.specialise.stages import lowered_copy
    from nestor.transforms.pipelines import expand

    program = row.program
    if form == "save-all":
        program = with_gradients_of(nt.checkpoint(LOSSES[row.name], policy="save-all"))
    specs = [nt.spec(a.shape, a.dtype) for a in row.make(small)]
    made = nt.jit(program).lower(*specs).program
    names = [name for name in expand(("cpu-to-scf",)) if form != "stored" or name != "nt-recompute"]
    return lowered_copy(made.module, names), made.name


# ---- plans -------------------------------------------------------------------------------------------------


def planned(module: Any, name: str, threads: int = 1) -> int:
    """The most bytes that a call of a function has on the heap at once, where `threads` share its parallel loops."""
    from xdsl.dialects import arith, func, memref, scf

    functions = {op.sym_name.data: op for op in module.ops if op.name == "func.func"}

    def size(kind: Any) -> int:
        if min(kind.get_shape(), default=0) < 0:
            return 0
        return int(np.prod(kind.get_shape(), dtype=int)) * max(kind.element_type.bitwidth // 8, 1)

    def inside(op: Any) -> list[Any]:
        """The blocks that run while `op` runs."""
        if isinstance(op, func.CallOp):
            callee = functions.get(op.callee.string_value())
            return [] if callee is None else list(callee.body.blocks)
        return [block for region in op.regions for block in region.blocks]

    def number(value: Any) -> int | None:
        return value.owner.value.value.data if isinstance(value.owner, arith.ConstantOp) else None

    def at_once(op: Any) -> int:
        """How many iterations of a parallel loop there are at a time."""
        if not isinstance(op, scf.ParallelOp):
            return 1
        trips = 1
        for ends in zip(op.lowerBound, op.upperBound, op.step, strict=True):
            lower, upper, step = [number(value) for value in ends]
            if lower is None or upper is None or step is None:
                return threads
            trips *= max(-(-(upper - lower) // step), 0)
        return min(trips, threads)

    def peak(block: Any) -> int:
        live = most = 0
        for op in block.ops:
            if isinstance(op, memref.AllocOp):
                live += size(op.memref.type)
            elif isinstance(op, memref.DeallocOp):
                live -= size(op.memref.type)
            most = max([most, live, *(live + at_once(op) * peak(b) for b in inside(op))])
        return most

    return max(peak(block) for block in functions[name].body.blocks)


# ---- measurements ------------------------------------------------------------------------------------------


def measured(name: str, form: str, small: bool = False) -> int:
    """The bytes that a call allocates beside arguments and results at its peak, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="nestor-allocations-") as folder:
        library = Path(folder) / "allocations.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True)
        environment = os.environ | {"LD_PRELOAD": str(library), "NESTOR_CACHE": "0"}
        command = [sys.executable, "-m", "benchmarks.peak_memory", "--worker", name, form]
        run = subprocess.run(
            [*command, *(["--small"] if small else [])],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            cwd=SOURCE.parents[1],
        )
        if run.returncode:
            raise RuntimeError(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def _measure_here(row: Row, form: str, small: bool) -> int:
    """The same in this process, which counts."""
    counter = ctypes.CDLL(None)
    counter.allocations_peak.restype = ctypes.c_long
    kernel = _kernel(*lowered(row, form, small))
    results = [np.empty(shape, kind) for shape, kind in row.results(row.extents(small))]
    arrays = [*row.make(small), *results]
    kernel(arrays)
    require_agreement(row, results, nt.jit(row.program)(*arrays[: -len(results)]))
    counter.allocations_start()
    kernel(arrays)
    return counter.allocations_peak()


def require_agreement(row: Row, results: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    """Raise where a form gives something else than the program."""
    for got, wanted in zip(results, expected, strict=True):
        scale = max(float(np.abs(wanted).max()), 1e-30)
        if not np.allclose(got / scale, wanted / scale, atol=row.tolerance):
            raise AssertionError(f"{row.name}: another result")


def _kernel(module: Any, name: str) -> Any:
    """What runs a function of the scf level on arrays, those of results last."""
    from nestor.frontend.jit.call.cpu_kernel import CpuKernel
    from nestor.frontend.jit.specialise.stages import run_pipeline
    from nestor.lowering.llvm_ir.emit import emit_llvm_ir
    from nestor.runtime.abi import Packer
    from nestor.runtime.cpu.engine import compile_llvm_ir

    function = next(op for op in module.ops if op.name == "func.func" and op.sym_name.data == name)
    packer = Packer.for_function(function)
    engine = compile_llvm_ir(emit_llvm_ir(run_pipeline(module, ("cpu-to-llvm",))))
    return CpuKernel(engine, name, packer, [], False)


# ---- the table ---------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="grad-", help="rows whose names contain this")
    parser.add_argument("--small", action="store_true", help="the extents of the tests")
    parser.add_argument("--worker", nargs=2, metavar=("ROW", "FORM"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        name, form = options.worker
        print(_measure_here(ROWS[name], form, options.small))
        return
    print("| KiB: planned, measured | results | Nestor | | all stored | | save-all | | save-all / Nestor |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in LOSSES:
        if options.rows not in name:
            continue
        row = ROWS[name]
        found = [(planned(*lowered(row, f, options.small)), measured(name, f, options.small)) for f in FORMS]
        cells = " | ".join(f"{n / 1024:,.0f}" for both in found for n in both)
        results = sum(row.traffic(options.small)[1]) / 1024
        ours, theirs = found[0][1], found[2][1]
        ratio = f"{theirs / ours:.1f}" if ours else "all" if theirs else "-"
        print(f"| {row.title} | {results:,.0f} | {cells} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
