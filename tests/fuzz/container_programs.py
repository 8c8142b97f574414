"""Random functions that change lists, dicts, sets, objects and arrays under several names, and may end in an exception.

def f(a, xs, d, o, n, m):   # a: 4 float64 multiples of 0.5; xs: a list of floats; d: a dict; o: a Box; n, m: small integers
What the caller holds is looked at after each call, also of one that raised: it is what Python would have left.
"""

from __future__ import annotations

import random

HELPERS = """
class Refused(Exception):
    pass


class Box:
    def __init__(self, total, items):
        self.total = total
        self.items = items

    def add(self, v):
        self.total += v
        return self.total

    def keep(self, v):
        self.items.append(v)
        if len(self.items) > 6:
            raise Refused("full", len(self.items))


def last(ys):
    return ys[-1]


def grow(ys, v):
    ys.append(v)
    return len(ys)


def moved(ys, k):
    ys.insert(0, ys.pop(k))
    return ys
"""

KEYS = ("'p'", "'q'", "'r'")


class Writer:
    """One random function."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.lists = ["xs"]
        self.dicts = ["d"]
        self.sets: list[str] = []
        self.arrays = ["a"]
        self.integers = ["n", "m", "k"]
        self.loops = 0
        self.names = 0

    def text(self) -> str:
        self.lines = ["def f(a, xs, d, o, n, m):", "    s = 0.5", "    k = 1"]
        for _ in range(self.rng.randint(4, 9)):
            self.statement(1)
        self.lines.append(f"    return {self.result()}")
        return "\n".join(self.lines) + "\n"

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    # ---- expressions ----

    def list(self) -> str:
        return self.pick(*self.lists, "o.items") if self.rng.random() < 0.8 else "xs"

    def integer(self) -> str:
        r = self.rng.random()
        if r < 0.35:
            return str(self.rng.randint(-2, 3))
        if r < 0.75:
            return self.pick(*self.integers)
        if r < 0.85:
            return f"len({self.list()})"
        return f"({self.pick(*self.integers)} {self.pick('+', '-')} {self.rng.randint(1, 2)})"

    def index(self) -> str:
        """Of something with a few items: mostly one that is there."""
        return self.pick("0", "0", "1", "-1") if self.rng.random() < 0.8 else self.integer()

    def number(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.25:
            return self.pick("s", "1.5", "-0.5")
        if r < 0.45:
            return f"{self.list()}[{self.index()}]"
        if r < 0.55:
            return f"{self.pick(*self.arrays)}[{self.index()}]"
        if r < 0.65:
            return self.pick(
                f"{self.pick(*self.dicts)}[{self.pick(*KEYS)}]", f"d.get({self.pick(*KEYS)}, 2.5)"
            )
        if r < 0.72:
            return "o.total"
        if r < 0.82:
            return f"({self.number(depth - 1)} {self.pick('+', '-')} {self.number(depth - 1)})"
        if r < 0.88:
            ys = self.list()
            return self.pick(f"sum({ys})", f"max({ys})", f"last({ys})", f"min({ys})")
        if r < 0.93:
            return self.pick(f"{self.list()}.pop()", f"o.add({self.number(0)})")
        return f"({self.number(0)} if {self.condition()} else {self.number(0)})"

    def condition(self) -> str:
        r = self.rng.random()
        if r < 0.35:
            return f"{self.integer()} {self.pick('<', '>', '==')} {self.integer()}"
        if r < 0.6:
            return f"{self.number(1)} {self.pick('<', '>=')} {self.pick('0.5', '1.0', '2.5')}"
        if r < 0.7:
            return f"{self.pick(*KEYS)} in {self.pick(*self.dicts)}"
        if r < 0.8:
            return f"len({self.list()}) {self.pick('<', '>')} {self.pick('2', 'n', 'm')}"
        if r < 0.86 and self.sets:
            return f"{self.integer()} in {self.pick(*self.sets)}"
        if r < 0.93:
            return self.list()
        return f"{self.pick('1.5', 's')} in {self.list()}"

    def result(self) -> str:
        parts = ["s", "k", *self.lists, *self.dicts, *self.arrays[1:], "o.total", "o.items"]
        chosen = [self.pick(*parts) for _ in range(self.rng.randint(1, 3))]
        if self.sets:
            chosen.append(f"sorted({self.pick(*self.sets)})")
        return ", ".join(chosen)

    # ---- statements ----

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int) -> None:
        r = self.rng.random()
        if r < 0.25:
            self.add(depth, self.list_change())
        elif r < 0.36:
            self.add(depth, self.dict_change())
        elif r < 0.46:
            self.add(depth, self.object_change())
        elif r < 0.56:
            self.add(depth, self.array_change())
        elif r < 0.62:
            self.add(
                depth, self.pick(f"s = {self.number()}", f"k = {self.integer()}", f"s += {self.number()}")
            )
        elif r < 0.74 and depth == 1:
            self.add(depth, self.another_name())
        elif r < 0.78:
            self.ending(depth)
        elif depth < 3:
            self.compound(depth)
        else:
            self.add(depth, f"s = s + {self.number(1)}")

    def list_change(self) -> str:
        ys, v, k = self.list(), self.number(), self.index()
        return self.pick(
            f"{ys}.append({v})", f"{ys}.append({v})", f"{ys}[{k}] = {v}", f"{ys}[{k}] += {v}", f"s = {ys}.pop()",
            f"s = {ys}.pop({k})", f"{ys}.insert({k}, {v})", f"del {ys}[{k}]", f"{ys}.extend([{v}, s])", f"{ys} += [{v}]",
            f"{ys}.reverse()", f"k = grow({ys}, {v})", f"moved({ys}, {k})", f"{ys}[1:] = [{v}]", f"{ys} *= 2",
            f"{ys}[{k}], {ys}[0] = {ys}[0], {ys}[{k}]", f"{ys}.clear()", f"{ys}.sort()", f"{ys}.remove({self.number(0)})",
        )  # fmt: skip

    def dict_change(self) -> str:
        e, key, v = self.pick(*self.dicts), self.pick(*KEYS), self.number()
        return self.pick(
            f"{e}[{key}] = {v}", f"{e}[{key}] = {v}", f"{e}[{key}] += {v}", f"s = {e}.pop({key})", f"del {e}[{key}]",
            f"{e}.update({{{key}: {v}}})", f"{e} |= {{{key}: {v}}}", f"s = {e}.setdefault({key}, {v})",
            f"s = {e}.pop({key}, {v})", f"s = sum({e}.values())", f"k = len({e})",
        )  # fmt: skip

    def object_change(self) -> str:
        v = self.number()
        return self.pick(
            f"o.total = {v}", f"o.total += {v}", f"s = o.add({v})", f"o.keep({v})", f"o.items = [{v}, s]",
            f"o.items = {self.pick(*self.lists)}",
        )  # fmt: skip

    def array_change(self) -> str:
        b, v = self.pick(*self.arrays), self.number()
        return self.pick(
            f"{b}[{self.index()}] = {v}", f"{b}[{self.index()}] += {v}", f"{b} += {v}", f"{b}[1:] = {v}", f"{b}[:2] *= 2",
            f"{b}[::-1][1] = {v}",
        )  # fmt: skip

    def another_name(self) -> str:
        kind = self.pick("list", "list", "dict", "array", "set", "set change")
        if kind == "list":
            y, old = self.fresh("y"), self.list()
            made = self.pick(old, old, f"list({old})", f"[{self.number()}, {self.number()}]", f"{old}[1:]", f"{old} + [s]",
                             f"[v * 2 for v in {old}]", f"moved({old}, 0)")  # fmt: skip
            self.lists.append(y)
            return f"{y} = {made}"
        if kind == "dict":
            e = self.fresh("e")
            old = self.pick(*self.dicts)
            self.dicts.append(e)
            return f"{e} = {self.pick(old, old, f'dict({old})', f'{{**{old}, {self.pick(*KEYS)}: {self.number()}}}')}"
        if kind == "array":
            b = self.fresh("b")
            old = self.pick(*self.arrays)
            self.arrays.append(b)
            return f"{b} = {self.pick(old, f'{old}.copy()', f'{old}[::-1]', f'{old} * 2', f'{old}[:]')}"
        if not self.sets or kind == "set":
            t = self.fresh("t")
            made = (
                self.pick(*self.sets, "{1, 2}", "set()", "{n, m}")
                if self.sets
                else self.pick("{1, 2}", "{n, 1}")
            )
            self.sets.append(t)
            return f"{t} = {made}"
        t = self.pick(*self.sets)
        return self.pick(
            f"{t}.add({self.integer()})", f"{t} |= {{{self.integer()}}}", f"{t} &= {{1, 2, n}}", f"{t} -= {{m}}",
            f"{t}.discard(1)", f"{t}.remove({self.integer()})", f"{t} = {t} | {{3}}",
        )  # fmt: skip

    def ending(self, depth: int) -> None:
        self.add(depth, f"if {self.condition()}:")
        end = self.pick("return", "raise ValueError", "raise Refused", "assert", "known")
        if end == "return":
            end = f"return {self.result()}"
        elif end == "raise ValueError":
            end = f"raise ValueError('small', {self.integer()})"
        elif end == "known":  # when the call is compiled
            end = self.pick(
                f"s = {self.list()}[9]",
                "s = {'p': 1.0}['z']",
                "s = a[7]",
                "a += np.ones(7)",
                "s += a.size / 0",
            )
        elif end == "raise Refused":
            end = f"raise Refused({self.number(1)})"
        else:
            end = f"assert {self.condition()}, 'no'"
        self.add(depth + 1, end)

    def compound(self, depth: int) -> None:
        if self.rng.random() < 0.5 or self.loops:
            self.add(depth, f"if {self.condition()}:")
            self.statement(depth + 1)
            if self.rng.random() < 0.4:
                self.add(depth, "else:")
                self.statement(depth + 1)
            return
        self.loops += 1
        r = self.rng.random()
        name = self.fresh("i")
        if r < 0.6:
            self.add(depth, f"for {name} in range({self.pick('n', 'm', '2', '3', 'len(xs)')}):")
            self.integers.append(name)
        elif r < 0.8:
            over = self.pick("list(xs)", "a", *self.lists[1:])
            self.add(depth, f"for {name} in {over}:")
            self.add(depth + 1, f"s += {name}")
            if over in self.lists:  # it may be the list that the body appends to
                self.add(depth + 1, f"if len({over}) > 9:")
                self.add(depth + 2, "break")
        else:
            self.add(depth, f"{name} = 0")
            self.add(depth, f"while {name} < {self.pick('n', '3')} and {self.condition()}:")
            self.add(depth + 1, f"{name} += 1")
            self.integers.append(name)
        for _ in range(self.rng.randint(1, 2)):
            self.statement(depth + 1)
        if self.rng.random() < 0.3:
            self.add(depth + 1, f"if {self.condition()}:")
            self.add(depth + 2, self.pick("break", "continue"))
        self.integers = [i for i in self.integers if i != name]
        self.loops -= 1
