"""Random programs of loops and tensors whose value is a smooth number: drawn for `value_and_grad`.

def f(a, w, n):          # a: a matrix, w: a vector, of float64; n: a small integer. Both extents are in the text, too

Written views of reshapes, negative and modulo indices, loops in each other, break and continue, loops on whole arrays until
nothing changes, slices, products, reductions over axes, broadcasting. Numbers stay small: what loops add goes through sines.
"""

from __future__ import annotations

import random


class Writer:
    """One random function of a matrix of `rows` x `columns` and a vector of `length`."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.rows, self.columns = self.rng.randint(2, 5), self.rng.randint(2, 5)
        self.length = self.rng.randint(3, 12)
        self.lines: list[str] = []
        self.vectors = {"w": self.length}
        self.matrices = {"a": (self.rows, self.columns)}
        self.numbers = ["t"]
        self.own: set[str] = set()
        self.indices: list[tuple[str, int]] = []
        self.names = 0
        self.depth = 1
        self.in_loop = 0

    def text(self) -> str:
        self.lines = ["def f(a, w, n):", "    t = 0.25"]
        for _ in range(self.rng.randint(2, 6)):
            self.statement()
        parts = [self.total(name) for name in [*self.vectors, *self.matrices]]
        self.say(f"return {' + '.join([*parts, *self.numbers])}")
        return "\n".join(self.lines) + "\n"

    # ---- parts ----

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def new(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def factor(self) -> str:
        return self.pick("0.3", "0.5", "0.7", "-0.4")

    def total(self, name: str) -> str:
        if name in self.vectors:
            return self.pick(f"np.sum({name})", f"({name} * {name}).sum()", f"{name}.mean()")
        return self.pick(
            f"np.sum({name})", f"({name} * {name}).sum(axis=0).max()", f"{name}.mean(axis=1)[-1]"
        )

    def index(self, size: int) -> str:
        """An index within an axis of that size."""
        fitting = [name for name, count in self.indices if count <= size]
        kinds = ["constant"] + ["loop", "negative", "turned"] * 2 * bool(fitting)
        kinds += ["modulo"] * 2 * bool(self.indices)
        kind = self.rng.choice(kinds)
        if kind == "constant":
            return str(self.rng.randint(-size, size - 1))
        if kind == "modulo":
            scale = self.pick("", "2 * ", "3 * ")
            return f"({scale}{self.rng.choice(self.indices)[0]} + {self.rng.randint(0, 3)}) % {size}"
        name = self.rng.choice(fitting)
        return {"loop": name, "negative": f"-{name} - 1", "turned": f"{size} - 1 - {name}"}[kind]

    def element(self) -> str:
        """An element of an array, or a number."""
        r = self.rng.random()
        if r < 0.25:
            return self.rng.choice(self.numbers)
        if r < 0.65:
            name = self.rng.choice(list(self.vectors))
            return f"{name}[{self.index(self.vectors[name])}]"
        name = self.rng.choice(list(self.matrices))
        rows, columns = self.matrices[name]
        return f"{name}[{self.index(rows)}, {self.index(columns)}]"

    def scalar(self) -> str:
        a, b = self.element(), self.element()
        return self.pick(
            f"np.sin({a} * {b})", f"{self.factor()} * {a}", f"np.tanh({a} + {b})", f"{a} * {self.factor()} + 0.1",
            f"np.cos({a}) * {b} * 0.5", f"np.exp(-{a} * {a})", f"{self.factor()} * {a} * {a}",
        )  # fmt: skip

    def vector(self, size: int) -> str:
        """A vector of that size."""
        found = [name for name, count in self.vectors.items() if count == size]
        longer = [(name, count) for name, count in self.vectors.items() if count >= size]
        rows = [name for name, shape in self.matrices.items() if shape[1] == size]
        options = [f"np.full({size}, {self.scalar()})", f"np.arange({size}) * {self.scalar()}"]
        options += (
            found * 2 + [f"{name}[::-1]" for name in found] + [f"np.cumsum({name}) * 0.2" for name in found]
        )
        for name, count in longer:
            start = self.rng.randint(0, count - size)
            options += [f"{name}[{start}:{start + size}]", f"{name}[{start - count or ''}:][:{size}]"]
        for name in rows:
            height = self.matrices[name][0]
            options += [f"{name}[{self.index(height)}]", f"{name}.sum(axis=0)", f"{name}.max(axis=0)"]
            options += [f"{v} @ {name}" for v, count in self.vectors.items() if count == height]
        options += [
            f"{name}.T[{self.index(shape[1])}]" for name, shape in self.matrices.items() if shape[0] == size
        ]
        flat = [name for name, (r, c) in self.matrices.items() if r * c >= size]
        options += [f"{name}.reshape(-1)[{self.pick('', '-')}{size}:][:{size}]" for name in flat
                    if self.matrices[name][0] * self.matrices[name][1] >= 2 * size]  # fmt: skip
        return self.rng.choice(options)

    def smooth_vector(self, size: int) -> str:
        a, b = self.vector(size), self.vector(size)
        return self.pick(
            f"np.sin({a} + {b})", f"np.tanh({a}) * {self.factor()}", f"{self.factor()} * ({a}) + 0.1",
            f"({a}) * np.cos({b})", f"np.where({a} > 0.37, {b}, 0.5 * ({a}))", f"{self.scalar()} + ({a}) * 0.5",
        )  # fmt: skip

    def matrix(self, rows: int, columns: int) -> str:
        found = [name for name, shape in self.matrices.items() if shape == (rows, columns)]
        turned = [f"{name}.T" for name, shape in self.matrices.items() if shape == (columns, rows)]
        outer = f"({self.vector(rows)})[:, None] * ({self.vector(columns)})"
        inner = [
            f"{x} @ {y}.T" if self.matrices[y] == (columns, s[1]) else f"{x} @ {y}"
            for x, s in self.matrices.items() if s[0] == rows
            for y in self.matrices if self.matrices[y] in ((columns, s[1]), (s[1], columns))
        ]  # fmt: skip
        chosen = self.rng.choice([outer, *found, *found, *turned, *inner])
        return self.pick(
            f"np.sin({chosen})",
            f"np.tanh({chosen}) + {self.vector(columns)}",
            f"{self.factor()} * ({chosen})",
        )

    # ---- statements ----

    def statement(self) -> None:
        options = [self.new_vector, self.new_matrix, self.number, self.element_loop, self.element_loop]
        options += [self.write, self.write_view] * 2
        if self.in_loop < 2:
            options += [self.whole_loop, self.converging, self.branch]
        self.rng.choice(options)()

    def new_vector(self) -> None:
        size = self.rng.choice([self.length, self.rows, self.columns, self.rng.randint(2, 9)])
        made = self.pick(self.smooth_vector(size), f"np.zeros({size})", f"({self.vector(size)}).copy()")
        self.give("v", made, size)

    def new_matrix(self) -> None:
        rows, columns = (
            self.rng.choice([self.rows, self.columns, 3]),
            self.rng.choice([self.columns, self.rows]),
        )
        made = self.pick(
            self.matrix(rows, columns), f"np.zeros(({rows}, {columns})) + {self.vector(columns)}"
        )
        self.give("m", made, (rows, columns))

    def give(self, stem: str, made: str, shape: int | tuple[int, int]) -> None:
        """A new array; inside loops and branches an array that there was gets a new value, for it has one on all paths."""
        arrays = self.vectors if isinstance(shape, int) else self.matrices
        if self.depth > 1:
            same = [name for name, known in arrays.items() if known == shape and name in self.own]
            if same:
                self.say(f"{self.rng.choice(same)} = 1.0 * ({made})")
            return
        name = self.new(stem)
        self.say(f"{name} = 1.0 * ({made})")
        arrays[name] = shape  # pyright: ignore
        self.own.add(name)

    def number(self) -> None:
        self.say(f"t = {self.pick('', '0.5 * t + ')}{self.scalar()}")

    def own_arrays(self) -> list[str]:
        return sorted(self.own)

    def write(self) -> None:
        """An element or a slice of an array of the program's own."""
        if not self.own:
            return self.new_vector()
        name = self.rng.choice(self.own_arrays())
        sign = self.pick("=", "+=", "*=", "-=")
        if name in self.vectors:
            size = self.vectors[name]
            if self.rng.random() < 0.5:
                return self.say(f"{name}[{self.index(size)}] {sign} {self.scalar()}")
            start = self.rng.randint(0, size - 1)
            part = self.rng.randint(1, size - start)
            return self.say(f"{name}[{start}:{start + part}] {sign} {self.smooth_vector(part)}")
        rows, columns = self.matrices[name]
        kind = self.rng.randint(0, 2)
        if kind == 0:
            return self.say(f"{name}[{self.index(rows)}, {self.index(columns)}] {sign} {self.scalar()}")
        if kind == 1:
            return self.say(f"{name}[{self.index(rows)}] {sign} {self.smooth_vector(columns)}")
        return self.say(f"{name}[:, {self.index(columns)}] {sign} {self.smooth_vector(rows)}")

    def write_view(self) -> None:
        """A view of an array of the program's own that is written."""
        matrices = [name for name in self.own_arrays() if name in self.matrices]
        vectors = [name for name in self.own_arrays() if name in self.vectors and self.vectors[name] > 2]
        if not matrices and not vectors:
            return self.new_matrix()
        view = self.new("z")
        if matrices and (not vectors or self.rng.random() < 0.6):
            name = self.rng.choice(matrices)
            size = self.matrices[name][0] * self.matrices[name][1]
            start = self.rng.randint(0, size - 2)
            stop = self.rng.randint(start + 2, size)
            self.say(f"{view} = {name}.reshape(-1)[{start}:{stop}]")
            size = stop - start
        else:
            name = self.rng.choice(vectors)
            size = self.vectors[name]
            self.say(f"{view} = {name}{self.pick('[::-1]', '[:]', '[1:]')}")
            size -= self.lines[-1].endswith("[1:]")
        self.say(f"{view}[{self.index(size)}] {self.pick('=', '+=', '*=')} {self.scalar()}")
        if self.rng.random() < 0.5:
            self.say(f"{view} {self.pick('+=', '*=')} {self.smooth_vector(size)}")

    def block(self, least: int, most: int) -> None:
        self.depth += 1
        lines = len(self.lines)
        for _ in range(self.rng.randint(least, most)):
            self.statement()
        if len(self.lines) == lines:
            self.say(f"t = 0.5 * t + {self.scalar()}")
        self.depth -= 1

    def early_end(self) -> None:
        if self.rng.random() < 0.35:
            self.say(
                f"if {self.element()} > {self.pick('0.9', '0.55', '1.7')}: {self.pick('break', 'continue')}"
            )

    def element_loop(self) -> None:
        """Loops over elements, one to three in each other."""
        levels = 0
        while self.rng.random() < 0.6 and levels < 3 and self.in_loop + levels < 3:
            size = self.rng.choice([*self.vectors.values(), self.rows, self.columns])
            name = self.new("i")
            self.say(f"for {name} in range({self.pick(str(size), str(size), f'{size} - n')}):")
            self.indices.append((name, size))
            self.depth += 1
            levels += 1
            self.early_end()
        self.in_loop += levels
        for _ in range(self.rng.randint(1, 2)):
            if self.own and self.rng.random() < 0.7:
                name = self.rng.choice(self.own_arrays())
                shape = self.vectors.get(name) or self.matrices[name]
                place = (
                    self.index(shape)
                    if isinstance(shape, int)
                    else f"{self.index(shape[0])}, {self.index(shape[1])}"
                )
                self.say(f"{name}[{place}] {self.pick('=', '+=', '-=')} {self.scalar()}")
            else:
                self.say(f"t = 0.5 * t + {self.scalar()}")
        self.in_loop -= levels
        self.depth -= levels
        del self.indices[len(self.indices) - levels :]

    def whole_loop(self) -> None:
        """A loop whose body works on whole arrays."""
        name = self.new("i")
        self.say(f"for {name} in range({self.pick('n', '3', '9', 'n + 2')}):")
        self.indices.append((name, 12))
        self.in_loop += 1
        self.depth += 1
        self.early_end()
        self.depth -= 1
        self.block(1, 3)
        self.in_loop -= 1
        self.indices.pop()

    def converging(self) -> None:
        """A loop on a vector until it changes no more."""
        u, d, k = self.new("u"), self.new("d"), self.new("k")
        size = self.rng.choice([self.length, self.columns, 4])
        if self.depth > 1:
            return self.number()
        self.say(f"{u} = 1.0 * ({self.vector(size)})")
        self.say(f"{d}, {k} = 1.0, 0")
        self.say(f"while {d} > 1e-3 and {k} < 7:")
        self.say(f"    old = {u}.copy()")
        self.say(f"    {u} = 0.4 * np.sin({u}) + 0.3 * ({self.vector(size)})")
        if self.rng.random() < 0.5:
            self.say(f"    {u}[{self.index(size)}] += 0.1 * {self.scalar()}")
        self.say(f"    {d} = {self.pick(f'np.abs({u} - old).max()', f'np.sum(({u} - old) ** 2)')}")
        self.say(f"    {k} += 1")
        self.vectors[u] = size
        self.own.add(u)

    def branch(self) -> None:
        self.in_loop += 1
        self.say(f"if {self.element()} > {self.pick('0.1', '0.6')}:")
        self.block(1, 2)
        if self.rng.random() < 0.5:
            self.say("else:")
            self.block(1, 2)
        self.in_loop -= 1
