"""The rows of the tables of whole programs: a function, its arguments, and what changes outside of it between calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZED = "the length of an array depends on elements"
NUMPY = "NumPy runs a part of it"
"""Why a GPU does not run a program."""


@dataclass(frozen=True, eq=False)
class Program:
    """A function as people write it, and how it is called.

    `arguments(rng, k)` gives the arguments of call k (0, 1, 2), of other shapes each. `outside(k)`, called before each
    call, sets what the function reads or writes outside of its arguments; `seen()` gives what it may have written there.
    `tolerance` is relative to the largest element of a result. `python` says why a program needs Python (a routine of
    NumPy that is called, a result that is text), and is not compiled with `strict=True`; `host` why a GPU cannot run
    it; `refused` what the diagnostic says of a program that is not compiled today. `joins` allows what
    docs/differences.md says of a Python number that joins with a scalar of NumPy. `quick` marks what runs in the
    simulator with the quick tests, `long` what takes seconds to compile: slow tests.
    """

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    tolerance: float = 1e-12
    outside: Callable[[int], None] | None = None
    seen: Callable[[], Any] = lambda: None
    python: str = ""
    host: str = ""
    joins: bool = False
    refused: str = ""
    quick: bool = False
    long: bool = False
    dynamic: Any = "auto"

    @property
    def name(self) -> str:
        return self.function.__name__


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    m = rng.standard_normal((n, n))
    return m @ m.T + n * np.eye(n)
