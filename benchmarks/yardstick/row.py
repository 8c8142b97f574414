"""What a row of the yardstick is: a program in plain NumPy, its arguments, and the same program by every peer."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

FLOAT = np.float32

STREAMS = 1.2
"""The most of its roof that a row may take whose every byte is moved once, in order."""

MOVES = 1.4
"""The most for transposes, whose lines are apart, and for running sums, of which threads need totals first."""


@dataclass(frozen=True, eq=False)
class Row:
    """One row.

    `dims` names the extents, `small` those of the tests. `arguments(rng, d)` makes the arrays, `results(d)` says the
    shape and type of each result, `flops(d)` the operations that cannot be avoided. `program` is plain NumPy: NumPy runs
    it as it stands, Nestor compiles it. `reference` takes its place in float64 where that would need too much memory.

    `peers` says how each other peer writes it; what the values are is said in `benchmarks/peers.py`. Results agree
    when they differ by at most `tolerance` times the largest element of the reference.

    `by_numpy`: NumPy runs the program as it stands; it has no gradients.

    `of_roof` is what the program may take of the time of its roof where memory is what it waits for: `STREAMS`, `MOVES`.
    """

    name: str
    title: str
    dims: Mapping[str, int]
    small: Mapping[str, int]
    arguments: Callable[[np.random.Generator, SimpleNamespace], Sequence[np.ndarray]]
    results: Callable[[SimpleNamespace], Sequence[tuple[tuple[int, ...], Any]]]
    program: Callable[..., Any]
    flops: Callable[[SimpleNamespace], float]
    peers: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    tolerance: float = 1e-5
    of_roof: float | None = None
    by_numpy: bool = True

    def extents(self, small: bool = False) -> SimpleNamespace:
        return SimpleNamespace(**(self.small if small else self.dims))

    def make(self, small: bool = False) -> list[np.ndarray]:
        """The arguments, the same ones at every call."""
        return list(self.arguments(np.random.default_rng(0), self.extents(small)))

    def parameters(self) -> list[str]:
        return list(inspect.signature(self.program).parameters)

    def expected(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results, computed in float64."""
        wide = [a.astype(np.float64) if a.dtype == FLOAT else a for a in arguments]
        return as_list((self.reference or self.program)(*wide))

    def traffic(self, small: bool = False) -> tuple[list[int], list[int]]:
        """Bytes of every array read and of every array written: what memory must move at least."""
        written = [math.prod(s) * np.dtype(t).itemsize for s, t in self.results(self.extents(small))]
        return [a.nbytes for a in self.make(small)], written


def as_list(results: Any) -> list[np.ndarray]:
    """One result or several, as arrays."""
    return [np.asarray(r) for r in (results if isinstance(results, tuple | list) else (results,))]


def error_of(results: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest difference, as a part of the largest element; infinite where shapes differ or a NaN is on one side."""
    if [r.shape for r in results] != [e.shape for e in expected]:
        return math.inf
    worst = 0.0
    for result, reference in zip(results, expected, strict=True):
        if reference.size == 0:
            continue
        largest = float(np.max(np.abs(reference))) or 1.0
        difference = float(np.max(np.abs(result - reference)))
        worst = max(worst, math.inf if math.isnan(difference) else difference / largest)
    return worst


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=FLOAT)


def uniform(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, dtype=FLOAT)


def weights(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A matrix whose products keep the size of what they multiply."""
    return normal(rng, rows, columns) / FLOAT(math.sqrt(rows))
