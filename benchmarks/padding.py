"""`python -m benchmarks.padding`: a BERT-base-like encoder, padded and on rows, against torch: processor time of one thread.

`OMP_NUM_THREADS=1`. 12 layers of width 768 with 12 heads, random weights; lengths from a log-normal distribution, cut off
at the number of positions. All run in turn; a figure is the least over rounds. The table goes to
benchmarks/results/padding.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import nestor as nt
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

LAYERS, WIDTH, HEADS = 12, 768, 12
CASES = ((8, 512), (32, 128))
ROUNDS = 3
RESULTS = Path(__file__).parent / "results" / "padding.md"


def lengths_of(batch: int, positions: int, share: float = 0.3) -> np.ndarray:
    """Long-tailed, with a mean of about a share of the positions."""
    rng = np.random.default_rng(0)
    drawn = rng.lognormal(0, 1, batch)
    found = np.minimum(positions, drawn * positions * share / drawn.mean()).astype(np.int64)
    while found.mean() < share * positions:
        found = np.minimum(positions, found * 1.02 + 1).astype(np.int64)
    return found


def least(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least time of each call, all in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: min(found) for name, found in times.items()}


def row(batch: int, positions: int, depth: int) -> str:
    import torch
    import transformer as example

    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    layers = [example.make_encoder(rng, WIDTH, 4 * WIDTH) for _ in range(depth)]
    lengths = lengths_of(batch, positions)
    x = rng.standard_normal((batch, positions, WIDTH)).astype(np.float32)
    on_rows = nt.jit(example.encode_rows, static_argnames="heads")
    padded = nt.jit(example.encode, static_argnames="heads", dynamic=False)

    def whole() -> np.ndarray:
        y = x
        for layer in layers:
            y = padded(layer, y, lengths, HEADS)
        return y

    def rows() -> np.ndarray:
        return example.encode_ragged(layers, x, lengths, HEADS, on_rows)

    keep = np.arange(positions) < lengths[:, None]
    tensor, mask = torch.from_numpy(x), torch.from_numpy(~keep)
    in_torch = {}
    for nested in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True, dropout=0.0
        )
        in_torch[nested] = torch.nn.TransformerEncoder(layer, depth, enable_nested_tensor=nested).eval()
    with torch.no_grad():
        difference = abs(rows() - whole())[keep].max()
        calls = {
            "padded": whole,
            "rows": rows,
            "torch padded": lambda: in_torch[False](tensor, src_key_padding_mask=mask),
            "torch nested": lambda: in_torch[True](tensor, src_key_padding_mask=mask),
        }
        calls["torch nested"]()
        found = least(calls, ROUNDS)
    share = 100 * keep.mean()
    times = " | ".join(f"{1e3 * t:.0f}" for t in found.values())
    ratios = f"{found['padded'] / found['rows']:.2f} | {found['rows'] / found['torch nested']:.2f}"
    text = f"| {batch} x {positions} | {share:.0f}% | {times} | {ratios} |"
    print(text, f"largest difference {difference:.1e}", flush=True)
    return text


def main(depth: int = LAYERS) -> None:
    """Measure, print and write the table."""
    import torch

    from .bf16 import processor

    lines = [
        "# Padding that is skipped",
        "",
        "`OMP_NUM_THREADS=1 python -m benchmarks.padding`: milliseconds of one thread, "
        f"torch {torch.__version__}, {processor()}.",
        "",
        "| batch x positions | tokens | padded | rows | torch, padded | torch, nested tensors "
        "| padded by rows | rows by torch's |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(row(*case, depth) for case in CASES),
    ]
    if depth == LAYERS:
        RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
