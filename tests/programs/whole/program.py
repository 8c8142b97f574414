"""The rows of the tables of whole programs: a function, its arguments, and what changes outside of it between calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
from nestor.frontend.interface.ordinary import attributes_of, is_ordinary

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


def outcome(program, function, k):
    """What a call gives or raises, its arguments after it, and what is outside."""
    if program.outside is not None:
        program.outside(k)
    arguments = program.arguments(np.random.default_rng(k), k)
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
    except nt.NestorError as error:
        if not isinstance(error, AssertionError | LookupError | ArithmeticError):
            raise
        kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
        result = (kind.__name__, error.diagnostic.message)
    except Exception as error:
        result = (type(error).__name__, str(error))
    return result, list(arguments), program.seen()


def same(program, got, want, what):
    if program.joins and isinstance(want, int | float) and isinstance(got, np.generic):
        want = got.dtype.type(want)
    assert type(got) is type(want), f"{what}: {type(got)} for {type(want)}"
    if isinstance(want, tuple | list):
        assert len(got) == len(want), what
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            same(program, a, b, f"{what}[{i}]")
        return
    if isinstance(want, dict):
        assert list(got) == list(want), what
        return same(program, list(got.values()), list(want.values()), what)
    if is_ordinary(type(want)):
        return same(program, attributes_of(got), attributes_of(want), what)
    if not isinstance(want, np.ndarray | np.generic | int | float | complex) or isinstance(want, bool):
        assert got == want, what
        return
    mine, theirs = np.asarray(got), np.asarray(want)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, what
    if isinstance(want, np.ndarray) and (want.flags.c_contiguous or want.flags.f_contiguous):
        assert got.flags.c_contiguous == want.flags.c_contiguous, f"{what}: memory order"
    if theirs.dtype.kind not in "fc":
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
        return
    size = np.abs(theirs[np.isfinite(theirs)])
    absolute = program.tolerance * size.max() if size.size else 0.0
    np.testing.assert_allclose(mine, theirs, rtol=program.tolerance, atol=absolute, err_msg=what)
