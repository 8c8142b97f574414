"""`python -m benchmarks.bf16`: products and ResNet-18 in bfloat16, against float32 and torch: processor time of one thread.

`OMP_NUM_THREADS=1`. All run in turn in one process; a figure is the median over rounds. The tables go to
benchmarks/results/bf16.md; `python -m benchmarks.bf16 products 256 1024` and `resnet 1 224` print some rows.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import nestor as nt
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

BF16 = np.dtype(ml_dtypes.bfloat16)
SIZES = (64, 128, 256, 512, 1024, 2048)
IMAGES = ((1, 224), (4, 224), (8, 112))
RESULTS = Path(__file__).parent / "results" / "bf16.md"


def medians(calls: dict[str, Callable[[], object]], least: float = 1.0) -> dict[str, float]:
    """The median time of each call, all in turn, for so many seconds at least."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end, k = time.perf_counter() + least, -2
    while k < 7 or time.perf_counter() < end:
        for name, call in calls.items():
            start = time.process_time()
            call()
            if k >= 0:
                times[name].append(time.process_time() - start)
        k += 1
    return {name: statistics.median(found) for name, found in times.items()}


def product(a, b):
    return a @ b


def products(sizes: Sequence[int] = SIZES) -> list[str]:
    """Rows of the table of products: 10^9 operations a second."""
    import torch

    rng, rows = np.random.default_rng(0), []
    for n in sizes:
        a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
        p, q = a.astype(BF16), b.astype(BF16)
        x, y = (torch.from_numpy(v).bfloat16() for v in (a, b))
        single, mixed, short, any_shape = (
            nt.jit(product, **options)
            for options in (
                {"dynamic": False},
                {"dynamic": False, "autocast": "bf16"},
                {"dynamic": False},
                {"dynamic": True},
            )
        )
        turned = nt.jit(lambda a, b: a @ b.T, dynamic=False)
        calls: dict[str, Callable[[], object]] = {
            "f32": lambda f=single, a=a, b=b: f(a, b),
            "bf16": lambda f=short, a=p, b=q: f(a, b),
            "any extents": lambda f=any_shape, a=p, b=q: f(a, b),
            "second transposed": lambda f=turned, a=p, b=q: f(a, b),
            "autocast": lambda f=mixed, a=a, b=b: f(a, b),
            "torch": lambda x=x, y=y: x @ y,
        }
        found = medians(calls)
        rows.append(f"| {n} | {' | '.join(f'{2 * n**3 / t / 1e9:.0f}' for t in found.values())} |")
        print(rows[-1], flush=True)
    return rows


def resnet(images: Sequence[tuple[int, int]] = IMAGES) -> list[str]:
    """Rows of the table of ResNet-18: milliseconds."""
    import resnet as example
    import torch

    from .layouts import _in_torch, _tensors

    rng, rows = np.random.default_rng(0), []
    net = example.make(rng)
    for count, size in images:
        x = rng.standard_normal((count, 3, size, size)).astype(np.float32)
        last = example.channels_last(x)
        single = nt.jit(example.classify, constants="net", dynamic=False)
        mixed = nt.jit(example.classify, constants="net", dynamic=False, autocast="bf16")
        calls: dict[str, Callable[[], Any]] = {
            "f32": lambda f=single, x=x: f(net, x),
            "bf16": lambda f=mixed, x=x: f(net, x),
            "bf16, channels last": lambda f=mixed, x=last: f(net, x),
        }
        for name, order in (
            ("torch", torch.contiguous_format),
            ("torch, channels last", torch.channels_last),
        ):
            weights, tensor = _tensors(torch, net, order), torch.from_numpy(x).to(memory_format=order)
            calls[name + ", f32"] = lambda w=weights, i=tensor: _in_torch(torch)(w, i)
            short, i = _halved(torch, weights), tensor.bfloat16()
            calls[name] = lambda w=short, i=i: _in_torch(torch)(w, i)
        exact = example.classify(example.wide(net), x.astype(np.float64))
        with torch.no_grad():
            errors = {
                name: abs(np.asarray(r if isinstance(r := call(), np.ndarray) else r.float()) - exact).max()
                for name, call in calls.items()
            }
            found = medians(calls, 4.0)
        print({name: f"{error / abs(exact).max():.1e}" for name, error in errors.items()})
        rows.append(f"| {count} x {size} | {' | '.join(f'{1e3 * t:.1f}' for t in found.values())} |")
        print(rows[-1], flush=True)
    return rows


def _halved(torch, net):
    """The same weights in bfloat16."""
    if isinstance(net, torch.Tensor):
        return net.bfloat16()
    parts = [_halved(torch, part) for part in net]
    return type(net)(*parts) if hasattr(net, "_fields") else tuple(parts)


def processor() -> str:
    """What Linux calls it, and its flags for bfloat16."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    return ", ".join([*names[:1], *sorted(flags & {"avx512_bf16", "amx_bf16"})])


def main() -> None:
    """Measure, print and write the tables."""
    import torch

    lines = [
        "# Products of bfloat16",
        "",
        "`OMP_NUM_THREADS=1 python -m benchmarks.bf16`: all in turn, processor time of one thread, "
        f"torch {torch.__version__}, {processor()}.",
        "",
        "10^9 operations a second, squares:",
        "",
        "| | f32 | bf16 | extents that the run knows | second operand transposed | autocast of f32 | torch, bf16 |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *products(),
        "",
        "Milliseconds, ResNet-18 (`examples/resnet.py`), images x size, weights are `constants`:",
        "",
        "| | f32 | autocast | autocast, channels last | torch f32 | torch bf16 | torch f32, channels last "
        "| torch bf16, channels last |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *resnet(),
    ]
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["products", *sizes]:
            products([int(n) for n in sizes] or SIZES)
        case ["resnet", *numbers]:
            pair = [int(n) for n in numbers]
            resnet([(pair[0], pair[1])] if pair else IMAGES)
        case _:
            main()
