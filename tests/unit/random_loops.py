"""Random programs of loops and branches on arrays that have derivatives nearly everywhere."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

VECTORS = ("h", "g")


class Writer:
    """One random function `f(h, g, w, x, n)`: two vectors of 3, two matrices of 3 and of 5 rows, a small number."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.counters = 0

    def text(self) -> str:
        self.lines = ["import numpy as np", "", "", "def f(h, g, w, x, n):", "    s = 0.5"]
        self.block(1, 4)
        self.lines.append("    return h + x[0] * w[0], g * 1.5, s * 2.0 + h.sum() * (n + 1)")
        return "\n".join(self.lines) + "\n"

    def vector(self, depth: int = 2) -> str:
        pick = self.rng.choice
        if depth == 0:
            return pick([*VECTORS, f"x[{self.row()}]"])
        one, other = self.vector(depth - 1), self.vector(depth - 1)
        return pick(
            [
                f"np.sin({one})",
                f"np.tanh({one} + {other})",
                f"(0.5 * {one} * {other})",
                f"({one} - 0.3 * {other})",
                f"np.tanh({one} @ w)",
                f"(0.4 * (w @ {one}))",
                f"np.where({one} > 0.1, {one}, 0.2 * {other})",
                f"({one} * np.cos(s))",
                f"({one} / (1 + {other} * {other}))",
                one,
            ]
        )

    def row(self) -> str:
        if self.loops and self.rng.random() < 0.7:
            return f"{self.rng.choice(self.loops)} % 5"
        return str(self.rng.randint(0, 4))

    def condition(self) -> str:
        return self.rng.choice(["h[0] > 0.1", "g.sum() < h.sum()", "n > 2", "np.abs(h).max() < 0.9"])

    def block(self, indent: int, size: int) -> None:
        for _ in range(self.rng.randint(1, size)):
            self.statement(indent)

    def add(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def statement(self, indent: int) -> None:
        r = self.rng.random()
        if indent > 3 or r < 0.45:
            self.assign(indent)
        elif r < 0.65:
            self.counted(indent)
        elif r < 0.85:
            self.branch(indent)
        else:
            self.until(indent)

    def assign(self, indent: int) -> None:
        r = self.rng.random()
        if r < 0.2:
            self.add(indent, f"s = s * 0.5 + 0.1 * ({self.vector(1)}).sum()")
        elif r < 0.3:
            self.add(indent, "h, g = g, h")
        else:
            self.add(indent, f"{self.rng.choice(VECTORS)} = {self.vector()}")

    def counted(self, indent: int) -> None:
        name = f"t{self.counters}"
        self.counters += 1
        bounds = self.rng.choice(["n", "9", "1, n + 1", "0, 12, 3", "n - 1, -1, -1", "n, 2", "x.shape[0]"])
        self.add(indent, f"for {name} in range({bounds}):")
        self.loops.append(name)
        self.block(indent + 1, 3)
        if self.rng.random() < 0.3:
            self.add(indent + 1, f"if {self.condition()}:")
            self.add(indent + 2, self.rng.choice(["break", "continue"]))
            self.assign(indent + 1)
        self.loops.pop()

    def branch(self, indent: int) -> None:
        self.add(indent, f"if {self.condition()}:")
        self.block(indent + 1, 2)
        if self.rng.random() < 0.6:
            self.add(indent, "else:")
            self.block(indent + 1, 2)

    def until(self, indent: int) -> None:
        name = f"k{self.counters}"
        self.counters += 1
        self.add(indent, f"{name} = 0")
        self.add(indent, f"while {name} < 6 and np.abs(h).sum() > 0.2:")
        self.add(indent + 1, f"{name} += 1")
        self.add(indent + 1, "h = h * 0.8")
        self.block(indent + 1, 2)


def loaded(seed: int, folder: Path) -> tuple[Callable[..., Any], str]:
    """The function of a seed, from a file in `folder`, and its text."""
    text = Writer(seed).text()
    path = folder / f"random_loops_{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f, text
