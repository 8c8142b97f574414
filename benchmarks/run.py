"""`make bench`: every program by every peer, interleaved, each peer in a process of its own.

A row's figure is the median over rounds of Nestor's time divided by the peer's in the same round: the machine's
drift cancels. Results go to benchmarks/results/ as JSON and a table; outputs are compared first.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from .programs import PROGRAMS, Program

RESULTS = Path(__file__).parent / "results"
PEERS = ("nestor", "numba", "numpy")


class Worker:
    """One peer on one program, in its own process."""

    def __init__(self, peer: str, program: Program):
        self.peer = peer
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", peer, program.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: str):
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: the {self.peer} process ended with code {self.process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(program: Program) -> dict:
    """Medians in milliseconds by peer, and the paired ratios of Nestor to the others."""
    workers = [Worker(peer, program) for peer in PEERS]
    samples = {w.peer: np.asarray(w.ask("check")) for w in workers}
    for peer in PEERS[1:]:
        np.testing.assert_allclose(
            samples["nestor"],
            samples[peer],
            rtol=program.tolerance,
            atol=1e-7,
            err_msg=f"{program.name}: {peer}",
        )
    rounds = [{w.peer: w.ask("time") for w in workers} for _ in range(program.rounds)]
    for worker in workers:
        worker.close()
    return {
        "program": program.name,
        "title": program.title,
        "median_ms": {p: statistics.median(r[p] for r in rounds) * 1e3 for p in PEERS},
        "ratio": {p: statistics.median(r["nestor"] / r[p] for r in rounds) for p in PEERS[1:]},
    }


def pipeline_ms() -> float:
    """Median time of the passes for IoU, nt to LLVM IR text, in a warm process, in milliseconds."""
    code = (
        "import sys,time,statistics; sys.path.insert(0,'examples'); import nestor as nt; from iou import ratio_iou\n"
        "s=nt.spec((100,1000),'f4'); t=[]\n"
        "for _ in range(15):\n"
        "    low=nt.jit(ratio_iou).lower(*[s]*8); a=time.perf_counter()\n"
        "    low.as_text('llvm-ir'); t.append(time.perf_counter()-a)\n"
        "print(statistics.median(t[3:])*1e3)"
    )
    return statistics.median(float(_fresh(code)) for _ in range(3))


def fresh_process_ms() -> dict[str, float]:
    """What a fresh process pays, medians of 7 interleaved runs in milliseconds, and how a first call compares with
    its imports of libraries: the machine's speed drifts, the ratio does not.
    """
    first_call = (
        "import sys,time; sys.path.insert(0,'examples'); import numpy as np, nestor as nt; from iou import ratio_iou\n"
        "a=[np.ones((100,1000),np.float32)]*8; f=nt.jit(ratio_iou)\n"
        "t=time.perf_counter(); f(*a); print((time.perf_counter()-t)*1e3)"
    )
    names = ("builtin", "func", "arith", "math", "memref", "scf", "cf", "vector", "llvm")
    modules = ", ".join([f"xdsl.dialects.{name}" for name in names] + ["llvmlite.binding"])
    libraries = (
        f"import time, numpy; t=time.perf_counter(); import {modules}; print((time.perf_counter()-t)*1e3)"
    )
    bare = "import time, numpy; t=time.perf_counter(); import nestor; print((time.perf_counter()-t)*1e3)"
    _fresh(first_call)  # writes the bytecode that an installed package has
    runs = [[_fresh(code) for code in (first_call, libraries, bare)] for _ in range(7)]
    calls, imports, own = zip(*runs, strict=True)
    return {
        "first call of IoU in a fresh process, ms": statistics.median(calls),
        "importing only xDSL's dialects and llvmlite, ms": statistics.median(imports),
        "first call / that import": statistics.median(c / i for c, i in zip(calls, imports, strict=True)),
        "import nestor after numpy, ms": statistics.median(own),
    }


def _fresh(code: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def table(rows: list[dict], compile_times: dict[str, float]) -> str:
    lines = [
        "| program | nestor ms | numba ms | numpy ms | nestor / numba | nestor / numpy |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ms, ratio = row["median_ms"], row["ratio"]
        lines.append(
            f"| {row['title']} | {ms['nestor']:.3f} | {ms['numba']:.3f} | {ms['numpy']:.3f} "
            f"| {ratio['numba']:.2f} | {ratio['numpy']:.2f} |"
        )
    lines.append("")
    lines += [f"{what}: {value:.2f}" for what, value in compile_times.items()]
    return "\n".join(lines)


def main() -> int:
    rows = []
    for program in PROGRAMS.values():
        print(f"timing {program.title} ...", file=sys.stderr)
        rows.append(measure(program))
    compile_times = {
        "passes for IoU, nt to LLVM IR text, warm, ms": pipeline_ms(),
        **fresh_process_ms(),
    }
    text = table(rows, compile_times)
    RESULTS.mkdir(exist_ok=True)
    record = {
        "when": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "rows": rows,
        "compile": compile_times,
    }
    (RESULTS / "cpu.json").write_text(json.dumps(record, indent=2) + "\n")
    (RESULTS / "cpu.md").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
