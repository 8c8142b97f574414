"""Judges random programs with gradients: Python's values, and central differences."""

from __future__ import annotations

import linecache
import math
from typing import Any

import nestor as nt
import numpy as np
from nestor.dialects.diagnostic import LoweringError, NestorError
from nestor.frontend.interface.errors import UnsupportedError
from outcomes import Verdict
from smooth_programs import Writer

STEP = 1e-6
CLOSE = 2e-5
"""How far a gradient may be from differences, beside their own error."""


def function_of(text: str, name: str) -> Any:
    """The function `f` of a text."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    values: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), values)
    return values["f"]


def judge(seed: int, target: str = "cpu") -> Verdict:
    """What becomes of the program of a seed."""
    writer = Writer(seed)
    text = writer.text()
    f = function_of(text, f"<program {seed}>")
    compiled = nt.jit(f, target=target)
    with_gradient = nt.jit(nt.value_and_grad(f, argnums=(0, 1)), target=target)

    def wrong(end: str, what: str) -> Verdict:
        return Verdict(end, f"seed {seed}, call {call}, {target}: {what}\n{text}")

    for call in range(2):
        random = np.random.default_rng([seed, call])
        a, w, n = random.random((writer.rows, writer.columns)), random.random(writer.length), 1 + 2 * call
        with np.errstate(all="ignore"):
            expected = float(f(a.copy(), w.copy(), n))
        if not math.isfinite(expected) or abs(expected) > 1e6:
            return Verdict("undecided", "not finite")
        try:
            value = compiled(a.copy(), w.copy(), n)
            if not _close(value, expected, 1e-9):
                return wrong("wrong value", f"{value}, Python's {expected}")
            value, gradients = with_gradient(a.copy(), w.copy(), n)
        except (UnsupportedError, LoweringError) as error:
            return Verdict("refused", error.diagnostic.message)
        except NestorError as error:
            return wrong(f"refused by {type(error).__name__}", str(error))
        except Exception as error:
            return wrong("another exception", f"{type(error).__name__}: {error}")
        if not _close(value, expected, 1e-9):
            return wrong("wrong value", f"{value} with the gradient, Python's {expected}")
        found = wrong_gradient(f, (a, w, n), gradients)
        if found is not None:
            return wrong("wrong gradient", found)
    return Verdict("right")


def _close(value: Any, expected: float, tolerance: float) -> bool:
    return abs(float(value) - expected) <= tolerance * (1 + abs(expected))


def wrong_gradient(f: Any, given: tuple[Any, ...], gradients: tuple[Any, ...]) -> str | None:
    """The first element of a gradient that differences contradict; not at kinks, where they depend on the side."""
    middle = float(f(*_copies(given)))
    for k, gradient in enumerate(gradients):
        for place in np.ndindex(given[k].shape):
            sides = []
            for step in (STEP, -STEP, 8 * STEP, -8 * STEP):
                moved = _copies(given)
                moved[k][place] += step
                sides.append((float(f(*moved)) - middle) / step)
            estimate = (sides[0] + sides[1]) / 2
            room = CLOSE * (1 + abs(estimate)) + 2 * max(abs(s - estimate) for s in sides) * STEP**0.25
            is_smooth = max(sides) - min(sides) <= 1e-3 * (1 + abs(estimate))
            if is_smooth and not abs(float(gradient[place]) - estimate) <= room:
                return f"argument {k}, element {place}: {float(gradient[place])}, differences {estimate}"
    return None


def _copies(given: tuple[Any, ...]) -> list[Any]:
    return [one.copy() if hasattr(one, "copy") else one for one in given]
