"""Random products of what is computed of other products, with gradients, on a simulated GPU: as in attention and layers.

    def f(x, w, k, v, b):
        h = np.maximum((x @ w), 0) + b
        s = (h @ np.swapaxes(k, -1, -2))
        p = np.where(np.arange(s.shape[-2])[:, None] >= np.arange(s.shape[-1]), s, 0.0)
        o = p @ v
        return np.sum(o * o)

The loss is NumPy's, of float64, and the gradients are those of the CPU, of float64; `smooth_judge.py` judges these.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import nestor as nt
import numpy as np
from nestor.dialects.diagnostic import LoweringError
from nestor.frontend.interface.errors import UnsupportedError
from outcomes import Verdict
from smooth_judge import function_of

EXTENTS = (1, 3, 5, 8, 12, 16, 24, 33, 40, 48, 64, 70)
STACKS = ((), (), (2,), (1, 3))
APPLIED = ("np.maximum({}, 0)", "np.tanh({})", "({} ** 2)", "{}", "np.exp(-{} * {})", "({} * 0.5 + 0.1)")
DTYPES = ("f8", "f8", "f8", "f4", "f2")
CLOSE = {"f8": 1e-9, "f4": 2e-4, "f2": 0.06}
"""How far results may be from those of float64, relative to the largest."""

NAMES = ("x", "w", "k", "v", "b")


class ChainProgram:
    """The program of a seed."""

    def __init__(self, seed: int):
        draw = random.Random(seed)
        self.dtype, self.is_dynamic = draw.choice(DTYPES), draw.random() < 0.25
        stack = draw.choice(STACKS)
        n, a, b, m, d = (draw.choice(EXTENTS) for _ in range(5))
        w = (a, b) if draw.random() < 0.7 else (*stack, a, b)
        self.shapes = ((*stack, n, a), w, (*stack, m, b), (*stack, m, d), (b,))
        lines = [f"h = {self._applied('(x @ w)', draw)}"]
        if draw.random() < 0.3:
            lines.append(f"h = h + {draw.choice(('b', '1.5', 'x.sum()'))}")
        lines.append(f"s = {self._applied('(h @ np.swapaxes(k, -1, -2))', draw)}")
        if draw.random() < 0.4:
            lines += ["e = np.exp(s - s.max(-1, keepdims=True))", "p = e / e.sum(-1, keepdims=True)"]
        else:
            lines.append("p = s")
        if draw.random() < 0.3:
            rows, columns = "np.arange(p.shape[-2])[:, None]", "np.arange(p.shape[-1])"
            lines.append(f"p = np.where({rows} >= {columns}, p, 0.0)")
        if draw.random() < 0.8:
            lines.append("o = p @ v")
            losses = (
                "np.sum(o * o)",
                "np.sum(o ** 2) + np.sum(p)",
                "np.sum((np.swapaxes(p, -1, -2) @ o) ** 2)",
            )
            self.argnums, loss = range(4), draw.choice(losses)
        else:
            self.argnums, loss = range(3), "np.sum(p ** 2)"
        self.argnums = tuple(sorted(draw.sample(self.argnums, draw.randint(1, len(self.argnums)))))
        self.text = "\n    ".join((f"def f({', '.join(NAMES)}):", *lines, f"return {loss}")) + "\n"

    @staticmethod
    def _applied(text: str, draw: random.Random) -> str:
        return draw.choice(APPLIED).replace("{}", text)


def judge(seed: int, target: str = "cuda-sim:checked") -> Verdict:
    """What becomes of the program of a seed."""
    program = ChainProgram(seed)
    f = function_of(program.text, f"<chain {seed}>")
    rng = np.random.default_rng(seed)
    given = [(rng.standard_normal(shape) * 0.3).astype(program.dtype) for shape in program.shapes]
    wide = [one.astype("f8") for one in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f(*wide)
        _, gradients = nt.value_and_grad(f, argnums=program.argnums)(*wide)
        compiled = nt.jit(f, target=target, dynamic=program.is_dynamic)
        try:
            value, found = nt.value_and_grad(compiled, argnums=program.argnums)(*given)
        except (UnsupportedError, LoweringError) as refusal:
            return Verdict("refused", str(refusal).splitlines()[0])
    shown = (
        f"seed {seed}, {target}, {program.dtype}, {program.shapes}, argnums {program.argnums}\n{program.text}"
    )
    if not np.isfinite(expected) or any(not np.all(np.isfinite(one)) for one in found):
        return Verdict("undecided", "not finite")
    for what, one, other in zip(
        ("value", *map("gradient {}".format, program.argnums)),
        (value, *found),
        (expected, *gradients),
        strict=True,
    ):
        if not is_close(one, other, CLOSE[program.dtype]):
            return Verdict("wrong value" if what == "value" else "wrong gradient", f"{what}: {shown}")
    return Verdict("right")


def is_close(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether the largest error is small beside the largest number."""
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    return bool(np.abs(np.asarray(found, "f8") - expected).max(initial=0.0) <= tolerance * scale)
