"""Random functions full of control flow that may end early: raise, assert, short circuits, returns, loops, reads and writes.

def f(a, n, m):          # a: 4 float64 multiples of 0.5; n, m: small integers
Numbers are such that all arithmetic is exact; float division is left out, since Python's floats raise and NumPy's do not.
"""

from __future__ import annotations

import random

HELPERS = """
class Refused(Exception):
    def __init__(self, where, value=0):
        super().__init__(where, value)


def checked(v):
    if v > 2:
        raise Refused("checked", v)
    return v + 1


def element(a, k):
    assert k < 9, f"far {k}"
    return a[k] * 2
"""


class Writer:
    """One random function; `prints` says whether it may print."""

    def __init__(self, seed: int, prints: bool):
        self.rng = random.Random(seed)
        self.prints = prints
        self.lines: list[str] = []
        self.integers = ["n", "m", "k"]
        self.has_copy = False
        self.loops = 0
        self.names = 0

    def text(self) -> str:
        self.lines = ["def f(a, n, m):", "    s = 0.5", "    k = 1"]
        self.block(1, self.rng.randint(3, 6))
        self.lines.append(f"    return {self.result()}")
        return "\n".join(self.lines) + "\n"

    # ---- expressions ----

    def integer(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.5:
            return self.rng.choice(self.integers)
        if r < 0.7:
            return str(self.rng.randint(-1, 4))
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        if r < 0.92:
            return f"({a} {self.rng.choice('+-')} {b})"
        if r < 0.96:
            return f"({a} {self.rng.choice(['//', '%'])} {b})"
        return f"({a} if {self.condition(1)} else {b})"

    def number(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.35:
            return self.rng.choice(["s", "1.5", "-0.5"])
        if r < 0.65:
            return f"{self.array()}[{self.integer(1)}]"
        if r < 0.75:
            return f"({self.number(depth - 1)} + {self.number(depth - 1)})"
        if r < 0.85:
            return f"({self.number(depth - 1)} if {self.condition(1)} else {self.number(depth - 1)})"
        if r < 0.93:
            return f"element(a, {self.integer(1)})"
        return f"{self.array()}.sum()"

    def array(self) -> str:
        return self.rng.choice(["a", "b"]) if self.has_copy else "a"

    def comparison(self, depth: int) -> str:
        r, op = self.rng.random(), self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        if r < 0.45:
            return f"{self.integer(depth)} {op} {self.integer(depth)}"
        if r < 0.6:
            return f"{self.number(depth)} {op} {self.rng.choice(['0.5', '1.0', '2.5'])}"
        if r < 0.75:
            return f"0 <= {self.integer(1)} < {self.rng.choice(['n', 'len(a)', '4'])}"
        if r < 0.85:
            return f"{self.integer(1)} < checked({self.integer(1)}) <= {self.integer(1)}"
        if r < 0.93:
            word = self.rng.choice(["all", "any"])
            return f"{word}(a[q] > {self.number(0)} for q in range({self.integer(1)}))"
        return f"{self.number(1)} < {self.number(1)} < {self.number(1)}"

    def condition(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.45:
            return self.comparison(min(depth, 1))
        if r < 0.55:
            index = self.integer(0)
            return f"{index} < {self.rng.choice(['4', 'len(a)', 'n'])} and a[{index}] > {self.number(0)}"
        word = self.rng.choice([" and ", " or "])
        text = word.join([self.condition(depth - 1) for _ in range(self.rng.randint(2, 3))])
        return f"not ({text})" if self.rng.random() < 0.2 else f"({text})"

    def result(self) -> str:
        return self.rng.choice(["s", "s + k", "s + a.sum()"])

    def exception(self) -> str:
        k, s = self.integer(1), self.number(1)
        return self.rng.choice([
            "ValueError", "KeyError()", f"ValueError('small', {k})", f"IndexError({s})", f"Refused({k}, value=n)",
            "RuntimeError(f'{n} and {s}')", f"TypeError('%d of %.2f' % ({k}, s))",
            f"ValueError('{{}}'.format({k})) from None", f"KeyError(str({k}) + 'x') from Refused(m)",
            "Refused", "AssertionError('own')", "ValueError((n, [m, s]))",
        ])  # fmt: skip

    # ---- statements ----

    def block(self, depth: int, count: int) -> None:
        for _ in range(count):
            self.statement(depth)

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def under(self, depth: int, head: str, body: str) -> None:
        self.add(depth, head)
        self.add(depth + 1, body)

    def statement(self, depth: int) -> None:
        r = self.rng.random()
        if r < 0.12:
            self.under(depth, f"if {self.condition()}:", f"raise {self.exception()}")
        elif r < 0.18:
            message = self.rng.choice(["'no'", "f'{k} {n}'", "k"])
            self.add(depth, f"assert {self.condition()}, {message}")
        elif r < 0.24:
            self.under(depth, f"if {self.condition()}:", f"return {self.result()}")
        elif r < 0.32:
            self.add(depth, f"s = s + {self.number()}")
        elif r < 0.4:
            self.add(depth, f"k = {self.integer()}")
        elif r < 0.52:
            self.add(depth, f"{self.array()}[{self.integer(1)}] = {self.number()}")
        elif r < 0.57:
            self.add(depth, f"a += {self.number(1)}")
        elif r < 0.6 and self.prints:
            self.add(depth, f"print({self.integer(1)}, {self.number(0)})")
        elif r < 0.64 and depth == 1 and not self.has_copy:
            self.has_copy = True
            self.add(depth, "b = a * 2 - 1")
        elif r < 0.68:
            self.add(depth, f"k = checked({self.integer(1)})")
        elif depth < 4:
            self.compound(depth, r)
        else:
            self.add(depth, "s = s + 1.0")

    def compound(self, depth: int, r: float) -> None:
        if r < 0.84 or self.loops == 2:
            return self.branch(depth)
        self.loops += 1
        name = f"i{self.names}"
        self.names += 1
        if self.rng.random() < 0.7:
            self.add(depth, f"for {name} in range({self.rng.choice(['n', 'm', '3', 'len(a)', 'k'])}):")
        else:
            self.add(depth, f"{name} = 0")
            limit = self.rng.choice(["n", "m", "3"])
            self.add(depth, f"while {name} < {limit} and {self.condition(1)}:")
            self.add(depth + 1, f"{name} += 1")
        self.integers.append(name)
        self.block(depth + 1, self.rng.randint(1, 3))
        if self.rng.random() < 0.4:
            self.under(depth + 1, f"if {self.condition(1)}:", self.rng.choice(["break", "continue"]))
            self.statement(depth + 1)
        self.integers.remove(name)
        self.loops -= 1

    def branch(self, depth: int) -> None:
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, self.rng.randint(1, 2))
        r = self.rng.random()
        if r < 0.25:
            self.add(depth, f"elif {self.condition(1)}:")
            self.block(depth + 1, 1)
        if r < 0.45:
            self.add(depth, "else:")
            self.block(depth + 1, self.rng.randint(1, 2))
            if self.rng.random() < 0.25:
                self.add(depth + 1, f"raise {self.exception()}")
