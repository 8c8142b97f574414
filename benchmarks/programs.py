"""The programs that are timed: how to make their inputs, and what is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


def boxes(shape: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Eight float32 arrays: x, y, w, h of two sets of random boxes."""
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(2):
        arrays += [rng.random(shape, dtype=np.float32) for _ in range(2)]
        arrays += [rng.random(shape, dtype=np.float32) * np.float32(0.5) for _ in range(2)]
    return arrays


@dataclass(frozen=True)
class Program:
    """`inputs()` makes the arguments; `sample(result, inputs)` is what peers must agree on, within `tolerance`.

    `repeat` calls are timed together, so that a sample lasts long enough to measure.
    """

    name: str
    title: str
    inputs: Callable[[], list]
    sample: Callable[[object, list], np.ndarray]
    repeat: int = 1
    rounds: int = 15
    tolerance: float = 1e-5


def _rows(shape: tuple[int, int]) -> list:
    return [np.random.default_rng(1).standard_normal(shape, dtype=np.float32)]


def _grid(shape: tuple[int, int], sweeps: int) -> list:
    return [np.random.default_rng(2).random(shape), sweeps]


PROGRAMS: dict[str, Program] = {
    p.name: p
    for p in (
        Program(
            "iou-10m",
            "IoU, 8 x 10M float32, output allocated by the call",
            lambda: boxes((10_000_000,)),
            lambda result, _: np.asarray(result)[::1009],
        ),
        Program(
            "iou-100x1000",
            "IoU, 8 x (100, 1000) float32",
            lambda: boxes((100, 1000)),
            lambda result, _: np.asarray(result).ravel(),
            repeat=50,
        ),
        Program(
            "gauss-seidel",
            "Gauss-Seidel, one sweep of (1000, 1000) float64 in place",
            lambda: _grid((1000, 1000), 1),
            lambda _, inputs: inputs[0].ravel()[::97],
            repeat=3,
            tolerance=1e-12,
        ),
        Program(
            "softmax",
            "softmax of rows, (4096, 1024) float32",
            lambda: _rows((4096, 1024)),
            lambda result, _: np.asarray(result).ravel()[::97],
            repeat=3,
        ),
    )
}
