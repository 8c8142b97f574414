"""Random functions of a table whose rows are views: loops over rows that write in place and may end early.

def f(t, a, n, tol):   # t: rows of 3 or 4 float64; a: such a row; n: a small integer; tol: a float
What is returned, and what is in `t` and `a` after a call, is as Python has it, for tables of 0 to 12 rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from outcomes import Verdict, verdict

ROWS = (3, 1, 8, 9, 0, 12)


class Writer:
    """One random function."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"rows {seed}")
        self.lines: list[str] = []
        self.vectors = ["a", "v"]
        self.numbers = ["s", "tol"]
        self.loops = 0
        self.has_row = False
        self.kinds = self.rng.sample("ask", self.rng.randint(1, 3))

    def text(self) -> str:
        self.lines = ["def f(t, a, n, tol):", "    s = 0.5", "    k = 0", "    v = a * 0.5"]
        for _ in range(self.rng.randint(0, 2)):
            self.simple(1)
        for _ in range(self.rng.randint(1, 2)):
            self.loop(1)
            if self.rng.random() < 0.5:
                self.simple(1)
        self.add(1, f"return {self.result()}")
        return "\n".join(self.lines) + "\n"

    # ---- expressions ----

    def vector(self, depth: int = 2) -> str:
        names = [*self.vectors, *(["row"] * 3 if self.has_row else [])]
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice(names)
        x, y, c = self.vector(depth - 1), self.vector(depth - 1), self.number(0)
        return self.rng.choice([
            f"({x} + {y})", f"({x} * {c})", f"({x} - {y})", f"np.abs({x} - {y})", f"np.where({x} > {c}, {x}, {y})",
            f"np.maximum({x}, {c})", f"np.sqrt(np.abs({x}))", f"({x} / (1.0 + np.abs({y})))", f"{x}[::-1]",
            "t.sum(axis=0)", f"np.clip({x}, -1.0, {c})",
        ])  # fmt: skip

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice([*self.numbers, "0.5", "1.5"])
        x = self.vector(1)
        return self.rng.choice([
            f"{x}.sum()", f"{x}.max()", f"({x})[-1]", f"({x} @ a)", f"np.abs({x}).mean()", f"({x})[0] + {self.number(0)}",
            f"t.sum() * {self.number(0)}",
        ])  # fmt: skip

    def condition(self, depth: int = 2) -> str:
        r, c = self.rng.random(), self.rng.choice(["tol", "0.5", "2.0", "s"])
        if depth and r < 0.2:
            word = self.rng.choice([" and ", " or "])
            return f"({self.condition(depth - 1)}{word}{self.condition(depth - 1)})"
        if depth and r < 0.28:
            return f"not {self.condition(0)}"
        if r < 0.4:
            return self.rng.choice(["k > 2", "k == n", "k % 2 == 0", "0 < k < n", "len(t) > 4"])
        if r < 0.6:
            return f"np.{self.rng.choice(['any', 'all'])}({self.vector(1)} {self.rng.choice('<>')} {c})"
        return f"{self.number(1)} {self.rng.choice(['<', '>', '<=', '>='])} {c}"

    def result(self) -> str:
        """What every path returns: of one type and shape, copies where arrays are written afterwards."""
        parts = {
            "a": ("a.copy()", "a + v", "v * 1.0"),
            "s": ("s", "s + 1.0", "a.sum()"),
            "k": ("k", "k + 1", "-k"),
        }
        return ", ".join(self.rng.choice(parts[kind]) for kind in self.kinds)

    # ---- statements ----

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def simple(self, depth: int) -> None:
        r = self.rng.random()
        target = self.rng.choice(["a", "v", *(["row"] * 4 if self.has_row else [])])
        op = self.rng.choice(["+=", "-=", "*=", "/="])
        divisor = self.rng.choice(["(1.0 + np.abs(a))", "2.0", f"(1.0 + abs({self.number(0)}))"])
        if r < 0.3:
            self.add(depth, f"{target} {op} {divisor if op == '/=' else self.vector(1)}")
        elif r < 0.4:
            part = self.rng.choice(["1:", "::2", ":-1", ":"])
            self.add(depth, f"{target}[{part}] = ({self.vector(1)})[{part}]")
        elif r < 0.48:
            self.add(
                depth, f"{target}[{target} > {self.number(0)}] = {self.rng.choice(['0.0', '1.0', 'tol'])}"
            )
        elif r < 0.56:
            self.add(
                depth,
                f"{target}[{self.rng.choice(['0', '-1', '1'])}] {op if op != '/=' else '='} {self.number(1)}",
            )
        elif r < 0.68:
            self.add(depth, f"v = {self.vector(2)}" + ("" if self.rng.random() < 0.7 else " * 1.0"))
        elif r < 0.84:
            self.add(depth, f"s = {self.rng.choice(['s * 0.5 + ', 'min(s, 4.0) - ', ''])}{self.number(1)}")
        elif r < 0.94:
            self.add(depth, "k += 1")
        else:
            self.add(depth, f"t *= {self.rng.choice(['0.5', '1.25'])}")

    def block(self, depth: int, count: int) -> None:
        for _ in range(count):
            r = self.rng.random()
            if r < 0.18 and depth < 5:
                self.add(depth, f"if {self.condition()}:")
                self.block(depth + 1, self.rng.randint(1, 2))
                if self.rng.random() < 0.4:
                    self.add(depth, "else:")
                    self.block(depth + 1, 1)
            elif r < 0.24 and self.loops < 2:
                self.loop(depth)
            else:
                self.simple(depth)

    def loop(self, depth: int) -> None:
        self.loops += 1
        had_row, kind = self.has_row, self.rng.randrange(6)
        counter = f"c{len(self.lines)}"
        if kind == 0:
            self.add(depth, "for row in t:")
        elif kind == 1:
            self.add(depth, f"for {counter}, row in enumerate(t):")
        elif kind == 2:
            self.add(depth, f"for {counter} in range(len(t)):")
            self.add(depth + 1, f"row = t[{self.rng.choice([counter, f'-1 - {counter}'])}]")
        else:
            self.add(depth, f"{counter} = 0")
            head = ("while True:", f"while {counter} < n:", f"while {self.condition(1)} and {counter} < 12:")[
                kind - 3
            ]
            self.add(depth, head)
            self.add(depth + 1, f"{counter} += 1")
            if kind == 3:
                self.add(depth + 1, f"if {counter} > 5 or {self.condition(0)}:")
                self.add(depth + 2, self.rng.choice(["break", f"return {self.result()}"]))
        self.has_row |= kind < 3
        self.block(depth + 1, self.rng.randint(1, 3))
        ends = self.rng.random() < 0.7
        if ends:
            self.add(depth + 1, f"if {self.condition()}:")
            self.add(depth + 2, self.rng.choice(["break", "break", "continue", f"return {self.result()}"]))
            self.block(depth + 1, self.rng.randint(1, 2))
        self.has_row = had_row
        if ends and self.rng.random() < 0.25:
            self.add(depth, "else:")
            self.simple(depth + 1)
        self.loops -= 1


def options(seed: int) -> dict[str, Any]:
    """How the program is compiled."""
    target = {3: "interp", 7: "cuda-sim"}.get(seed % 10, "cpu")
    return {"target": target, "dynamic": True} if seed % 3 == 1 else {"target": target}


def judge(seed: int, folder: Path) -> Verdict:
    """Compare the calls of a program."""
    rng, chosen = random.Random(seed), options(seed)

    def compared(python: Any, compiled: Any) -> Iterator[tuple[str, list[Any], list[Any]]]:
        for call, rows in enumerate(rng.sample(ROWS, 4)):
            columns, n, tol = rng.choice((3, 3, 4)), rng.randint(0, 6), rng.choice((0.3, 1.0, 2.5, 50.0))
            values = np.random.default_rng([seed, call])
            given = values.random((rows, columns)) * 2 - 0.5, values.random(columns), n, tol
            where = f"seed {seed}, call {call}, {chosen}, {rows} rows, n = {n}, tol = {tol}"
            yield where, outcome(python, *given), outcome(compiled, *given)

    return verdict(Writer(seed).text(), folder, f"random_rows_{seed}", compared, agree=close, **chosen)


def outcome(function: Any, table: np.ndarray, row: np.ndarray, n: int, tol: float) -> list[Any]:
    """What a call gives, and the arrays after it."""
    t, a = table.copy(), row.copy()
    with np.errstate(all="ignore"):
        result = function(t, a, n, tol)
    return [*(result if isinstance(result, tuple) else (result,)), t, a]


def close(got: list[Any], want: list[Any]) -> bool:
    return all(
        np.allclose(g, w, rtol=1e-9, atol=1e-9, equal_nan=True) for g, w in zip(got, want, strict=True)
    )
