"""Random islands as text: nests of affine reads, writes and sums over two arrays that are read and two that are written.

Indices are in bounds by construction: each is drawn until its least and its largest value are, for all loops around it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SHAPES = {"a": (6,), "b": (4, 5), "y": (6,), "z": (4, 5)}
READ, WRITTEN = ("a", "b"), ("y", "z")


def kind(shape: tuple[int, ...], of: str = "memref") -> str:
    return f"{of}<{''.join(f'{e}x' for e in shape)}f64>"


@dataclass
class Loop:
    """A loop of the island around what is written: its variable, and the least and largest value of that."""

    name: str
    low: int
    high: int


@dataclass
class Writer:
    """Writes one island."""

    rng: random.Random
    linear: bool
    lines: list[str] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    values: list[list[str]] = field(default_factory=list)
    buffers: dict[str, tuple[int, ...]] = field(default_factory=lambda: dict(SHAPES))
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, line: str) -> None:
        self.lines.append("  " * (len(self.loops) + 2) + line)

    def island(self) -> str:
        if self.rng.random() < 0.2:
            self.stencil()
        else:
            for _ in range(self.rng.randint(1, 3)):
                self.nest()
        body = "\n".join(self.lines)
        ins = ", ".join(f"%{n}0" for n in READ)
        outs = ", ".join(f"%{n}0" for n in WRITTEN)
        types = [kind(SHAPES[n], "tensor") for n in (*READ, *WRITTEN)]
        arguments = ", ".join(f"%{n}0: {t}" for n, t in zip((*READ, *WRITTEN), types, strict=True))
        buffers = ", ".join(f"%{n}: {kind(SHAPES[n])}" for n in (*READ, *WRITTEN))
        results = ", ".join(types[2:])
        return f"""func.func private @primal({arguments}) -> ({results}) {{
  %r:2 = nt.loops ins({ins} : {", ".join(types[:2])}) outs({outs} : {results}) {{
  ^bb0({buffers}):
    %one = arith.constant 1.0 : f64
    %third = arith.constant 0.3 : f64
{body}
  }}
  func.return %r#0, %r#1 : {results}
}}
"""

    def nest(self) -> None:
        depth = self.rng.randint(0, 2)
        opened = 0
        self.values.append([])
        if self.rng.random() < 0.25:
            self.alloc()
        for _ in range(depth):
            opened += self.loop()
            if self.rng.random() < 0.3:
                self.statement()
        if self.rng.random() < 0.15:
            self.alloc()
        for _ in range(self.rng.randint(1, 3)):
            self.statement()
        for _ in range(opened):
            self.close()
        if self.rng.random() < 0.3:
            self.statement()
        self.values.pop()
        for name in [n for n in self.buffers if n not in SHAPES]:
            del self.buffers[name]

    def stencil(self) -> None:
        """A sum of neighbours of each element of an array that is read."""
        rng = self.rng
        source, target = rng.choice((("a", "y"), ("b", "z")))
        shape = SHAPES[source]
        offsets = [[rng.randint(-2, 2) for _ in shape] for _ in range(rng.randint(2, 4))]
        names = [f"%i{self.count + k}" for k in range(len(shape))]
        self.count += len(shape)
        order = list(range(len(shape)))
        rng.shuffle(order)
        for k in order:
            low = max(0, *(-o[k] for o in offsets)) + rng.choice((0, 0, 1))
            high = shape[k] - max(0, *(o[k] for o in offsets)) - rng.choice((0, 0, 1))
            self.add(f'nest.for "i" {names[k]} = {low} to {high} {{')
        total = "%third"
        for one in offsets:
            value = self.fresh()
            place = ", ".join(f"{n} + {o}" for n, o in zip(names, one, strict=True))
            self.add(f"{value} = nest.load %{source}[{place}] : {kind(shape)}")
            value = self.operation(f"arith.mulf {value}, {rng.choice(('%third', value))}")
            total = self.operation(f"arith.{rng.choice(('addf', 'subf'))} {total}, {value}")
        form = rng.choice(("store {},", "accumulate add {},")).format(total)
        self.add(f"nest.{form} %{target}[{', '.join(names)}] : {kind(shape)}")
        for _ in order:
            self.add("}")

    def loop(self) -> int:
        rng, name = self.rng, f"%i{self.count}"
        self.count += 1
        low, high, step = rng.randint(0, 2), rng.randint(3, 6), rng.choice((1, 1, 1, 2))
        upper = str(high)
        outer = self.loops[-1] if self.loops else None
        if outer is not None and rng.random() < 0.3:
            upper, high = f"{outer.name} + 1", outer.high + 1
        if outer is not None and rng.random() < 0.1:
            upper = f"min({outer.name} + 2, {high})"
        stepped = f" step {step}" if step > 1 else ""
        self.add(f'nest.for "i" {name} = {low} to {upper}{stepped} {{')
        self.loops.append(Loop(name, low, max(low, high - 1)))
        self.values.append([])
        return 1

    def close(self) -> None:
        self.loops.pop()
        self.values.pop()
        self.add("}")

    def alloc(self) -> None:
        name, shape = f"t{self.count}", self.rng.choice(((), (3,)))
        self.count += 1
        self.add(f'%{name} = nest.alloc "{name}" : {kind(shape)}')
        for k in range(shape[0]) if shape else (None,):
            self.add(f"nest.store %third, %{name}[{'' if k is None else k}] : {kind(shape)}")
        self.buffers[name] = shape
        self.values[-1].append(name)  # marks where it is visible

    def visible(self) -> list[str]:
        inside = {v for values in self.values for v in values}
        return [n for n in self.buffers if n in SHAPES or n in inside]

    def index(self, extent: int) -> str:
        while True:
            loop = self.rng.choice(self.loops) if self.loops and self.rng.random() < 0.85 else None
            offset = self.rng.randint(-2, extent + 1)
            if loop is None:
                if 0 <= offset < extent:
                    return str(offset)
                continue
            factor = self.rng.choice((1, 1, 1, 1, -1, 2))
            ends = factor * loop.low + offset, factor * loop.high + offset
            if min(ends) >= 0 and max(ends) < extent:
                return f"{factor} * {loop.name} + {offset}"
            if self.rng.random() < 0.1:
                return str(self.rng.randrange(extent))

    def at(self, name: str) -> str:
        return f"%{name}[{', '.join(self.index(e) for e in self.buffers[name])}] : {kind(self.buffers[name])}"

    def load(self, names: tuple[str, ...] | list[str]) -> str:
        value = self.fresh()
        self.add(f"{value} = nest.load {self.at(self.rng.choice(names))}")
        return value

    def operation(self, form: str) -> str:
        value = self.fresh()
        self.add(f"{value} = {form} : f64")
        return value

    def expression(self) -> str:
        """Nonlinear in what is only read; in what is written linear, or seldom not."""
        rng = self.rng
        known = [v for values in self.values for v in values if v.startswith("%")]
        value = rng.choice(known) if known and rng.random() < 0.3 else self.load(self.visible())
        for _ in range(rng.randint(0, 2)):
            form = rng.randrange(6)
            if form == 0:
                value = self.operation(f"arith.addf {value}, {self.load(self.visible())}")
            elif form == 1:
                value = self.operation(f"arith.subf {self.load(self.visible())}, {value}")
            elif form == 2:
                factor = self.operation(f"math.sin {self.load(READ)}")
                value = self.operation(f"arith.mulf {value}, {factor}")
            elif form == 3:
                value = self.operation(f"arith.mulf {value}, {self.load(READ)}")
            elif form == 4:
                divisor = self.operation(f"math.exp {self.load(READ)}")
                value = self.operation(f"arith.divf {value}, {divisor}")
            elif not self.linear:
                value = self.operation(f"math.tanh {value}")
        if rng.random() < 0.3:
            self.values[-1].append(value)
        return value

    def statement(self) -> None:
        rng = self.rng
        value = self.expression()
        targets = [n for n in self.visible() if n not in READ]
        name = rng.choice(targets)
        domain = ""
        if self.loops and rng.random() < 0.2:
            domain = f" where ({rng.choice(self.loops).name} >= {rng.randint(1, 3)})"
        if rng.random() < 0.15:
            mask = self.fresh()
            self.add(f"{mask} = arith.cmpf ogt, {self.load(READ)}, %third : f64")
            domain += f" mask {mask}"
        place, _, type_ = self.at(name).partition(" : ")
        if rng.random() < 0.5:
            self.add(f"nest.accumulate add {value}, {place}{domain} : {type_}")
            return
        self.add(f"nest.store {value}, {place}{domain} : {type_}")


def random_island(seed: int) -> str:
    """A private function `@primal` of four tensors (two are written), one island."""
    rng = random.Random(seed)
    return Writer(rng, linear=rng.random() < 0.7).island()
