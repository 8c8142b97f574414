"""Models of PyTorch under `torch.compile` with the backends nestor and inductor: first results, and calls after that.

    python -m benchmarks.torch_models                      all models, inference and training; writes benchmarks/results
    python -m benchmarks.torch_models bert gpt2 --modes inference --rounds 5

    python -m benchmarks.torch_models --threads 1          processor time of one thread, for machines that others use

First results are measured in processes of their own: with nothing cached, and with what the process before left on the disk.
Calls after that are measured in one process, the backends by turns. Processor time is that of the process and of the
compilers that it starts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
BACKENDS = ("nestor", "inductor")
MODES = ("inference", "training")
SAMPLE_SECONDS = 0.1


def _step(name: str, mode: str, backend: str | None) -> Callable[[], Any]:
    """One call of a model, or one step of training: forward, backward, SGD."""
    import torch

    from .torch_corpus import case

    model, inputs = case(name)
    model.train(mode == "training")
    run = model if backend is None else torch.compile(model, backend=backend)
    if mode == "inference":

        def infer() -> Any:
            with torch.no_grad():
                return run(*inputs)

        return infer
    optimiser = torch.optim.SGD(model.parameters(), 1e-3)

    def train() -> Any:
        optimiser.zero_grad()
        y = run(*inputs)
        loss = (y * y).mean()
        loss.backward()
        optimiser.step()
        return loss.detach()

    return train


def _clock(threads: int) -> Callable[[], float]:
    """Seconds: of the wall for several threads, of processors for one."""

    def processor() -> float:
        used = os.times()
        return used.user + used.system + used.children_user + used.children_system

    return processor if threads == 1 else time.perf_counter


def first(name: str, mode: str, threads: int, backend: str) -> float:
    """Seconds until a compiled model has given its first result; PyTorch is imported, the model made."""
    import torch

    torch.set_num_threads(threads)
    step, clock = _step(name, mode, backend), _clock(threads)
    start = clock()
    step()
    return clock() - start


def steady(name: str, mode: str, threads: int, rounds: int) -> dict[str, Any]:
    """Seconds of a call, the median of rounds, by backend; and how far nestor's result is from inductor's."""
    import torch

    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    steps: dict[str, Callable[[], Any]] = {}
    results = {}
    for backend in (*BACKENDS, None):
        torch.manual_seed(0)
        step = _step(name, mode, backend)
        results[backend or "eager"] = step()
        for _ in range(2):
            step()
        steps[backend or "eager"] = step
    expected = results["eager"]
    error = {b: float((results[b] - expected).abs().max() / expected.abs().max()) for b in BACKENDS}
    counts = {}
    for backend, step in steps.items():
        start = clock()
        step()
        counts[backend] = max(1, min(200, int(SAMPLE_SECONDS / (clock() - start))))
    times: dict[str, list[float]] = {backend: [] for backend in steps}
    for _ in range(rounds):
        for backend, step in steps.items():
            start = clock()
            for _ in range(counts[backend]):
                step()
            times[backend].append((clock() - start) / counts[backend])
    ratios = [a / b for a, b in zip(times["nestor"], times["inductor"], strict=True)]
    medians = {backend: statistics.median(each) for backend, each in times.items()}
    return {"seconds": medians, "ratio": statistics.median(ratios), "error": error}


def _in_process(*arguments: str, threads: int, caches: Path, limit: int) -> Any:
    """What a process of its own measures; None where it takes too long or fails."""
    environment = {
        **os.environ,
        "NESTOR_CACHE": str(caches / "nestor"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
    }
    command = [sys.executable, "-m", "benchmarks.torch_models", "--worker", *arguments]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit, check=True
        )
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:
        print(error.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(name: str, mode: str, threads: int, rounds: int, limit: int) -> dict[str, Any]:
    """The record of a model."""
    record: dict[str, Any] = {"model": name, "mode": mode, "threads": threads}
    call = (name, mode, str(threads))
    with tempfile.TemporaryDirectory(prefix="nestor-torch-") as folder:
        about: dict[str, Any] = {"threads": threads, "caches": Path(folder), "limit": limit}
        for when in ("first", "cached"):
            record[when] = {backend: _in_process("first", *call, backend, **about) for backend in BACKENDS}
        record.update(_in_process("steady", *call, str(rounds), **about) or {})
    return record


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def table(records: list[dict[str, Any]]) -> str:
    """The records as a page."""
    kinds = {one["threads"] for one in records}
    how = "processor time of one thread" if kinds == {1} else f"{max(kinds, default=2)} threads"
    lines = [
        "# Models of PyTorch",
        "",
        f"`python -m benchmarks.torch_models`: `torch.compile` with the backends nestor and inductor, float32, {how}.",
        "First results in seconds: nothing cached, and with what a process before left on the disk. A call in milliseconds,",
        "measured by turns; the ratio is nestor's time to inductor's.",
        "",
        "| model | mode | first: nestor | inductor | cached: nestor | inductor | call: nestor | inductor | eager | ratio |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in records:
        first = [_seconds(one[when][b]) for when in ("first", "cached") for b in BACKENDS]
        calls = [f"{1e3 * one['seconds'][b]:.3g}" if "seconds" in one else "-" for b in (*BACKENDS, "eager")]
        ratio = f"{one['ratio']:.2f}" if "ratio" in one else "-"
        lines.append(f"| {one['model']} | {one['mode']} | {' | '.join([*first, *calls, ratio])} |")
    for mode in MODES:
        ratios = [one["ratio"] for one in records if one["mode"] == mode and "ratio" in one]
        if ratios:
            lines += ["", f"Geometric mean of the ratios, {mode}: {geometric_mean(ratios):.2f}."]
    return "\n".join(lines) + "\n"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def worker(arguments: list[str]) -> None:
    what, *rest = arguments
    name, mode, threads, last = rest
    made = (
        first(name, mode, int(threads), last)
        if what == "first"
        else steady(name, mode, int(threads), int(last))
    )
    print(json.dumps(made))


def main() -> None:
    from .torch_corpus import MODELS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=[], help="names; all where none is given")
    parser.add_argument("--modes", nargs="*", default=MODES, choices=MODES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one process")
    parser.add_argument("--print", action="store_true", help="print the table, and write nothing")
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker(given.worker)
    records = []
    for name in given.models or MODELS:
        for mode in given.modes:
            records.append(measure(name, mode, given.threads, given.rounds, given.limit))
            print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    if given.print:
        return print(table(records))
    (RESULTS / "torch_models.json").write_text(json.dumps(records, indent=1) + "\n")
    (RESULTS / "torch_models.md").write_text(table(records))


if __name__ == "__main__":
    main()
