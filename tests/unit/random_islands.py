"""Random islands as text: nests of affine reads, writes and sums over two arrays that are read and two that are written.

Indices are in bounds by construction: each is drawn until its least and its largest value are, for all loops around it. Wild
islands overwrite what their derivatives need, branch, loop while something holds, and as often as they compute.
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
    wild: bool = False
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
    %n0 = arith.constant 0 : i64
    %n1 = arith.constant 1 : i64
    %n3 = arith.constant 3 : i64
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
            self.wild_statement() if self.wild else self.statement()
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

    # ---- what is wild -------------------------------------------------------------------------------------

    def wild_statement(self, depth: int = 0) -> None:
        """A statement, a branch, or a loop whose number of iterations only the run knows."""
        form = self.rng.randrange(9) if depth < 2 else 8
        if form == 0 or form == 1:
            self.branch(depth)
        elif form == 2:
            self.repeated(depth)
        elif form == 3:
            self.as_often_as_computed(depth)
        else:
            self.statement()

    def inside(self, depth: int) -> None:
        self.values.append([])
        for _ in range(self.rng.randint(1, 2)):
            self.wild_statement(depth + 1)
        self.values.pop()

    def condition(self) -> str:
        value = self.fresh()
        one = self.load(self.visible())
        self.add(
            f"{value} = arith.cmpf {self.rng.choice(('ogt', 'olt'))}, {one}, {self.load(self.visible())} : f64"
        )
        return value

    def branch(self, depth: int) -> None:
        self.add(f"nest.if {self.condition()} {{")
        self.inside(depth)
        if self.rng.random() < 0.4:
            self.add("} else {")
            self.inside(depth)
        self.add("}")

    def repeated(self, depth: int) -> None:
        """At most three iterations, fewer where a condition on elements does not hold."""
        cell, now, inner, index = (self.fresh() for _ in range(4))
        few, more, goes_on, then = (self.fresh() for _ in range(4))
        self.add(f'{cell} = nest.alloc "count" : memref<i64>')
        self.add(f"nest.store %n0, {cell}[] : memref<i64>")
        self.add("scf.while () : () -> () {")
        self.add(f"{now} = nest.load {cell}[] : memref<i64>")
        self.add(f"{few} = arith.cmpi slt, {now}, %n3 : i64")
        more = self.condition()
        self.add(f"{goes_on} = arith.andi {few}, {more} : i1")
        self.add(f"scf.condition({goes_on})")
        self.add("} do {")
        self.add(f"{inner} = nest.load {cell}[] : memref<i64>")
        self.add(f"{index} = arith.index_cast {inner} : i64 to index")
        self.loops.append(Loop(index, 0, 2))
        self.inside(depth)
        self.loops.pop()
        self.add(f"{then} = arith.addi {inner}, %n1 : i64")
        self.add(f"nest.store {then}, {cell}[] : memref<i64>")
        self.add("scf.yield")
        self.add("}")

    def as_often_as_computed(self, depth: int) -> None:
        """A loop of one or three iterations."""
        number, bound, name = (self.fresh() for _ in range(3))
        self.add(f"{number} = arith.select {self.condition()}, %n1, %n3 : i64")
        self.add(f"{bound} = arith.index_cast {number} : i64 to index")
        self.add(f'nest.for "j" {name} = 0 to {bound} {{')
        self.loops.append(Loop(name, 0, 2))
        self.inside(depth)
        self.loops.pop()
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
        if self.wild and rng.random() < 0.6:
            value = self.curved(value)
        if rng.random() < 0.3:
            self.values[-1].append(value)
        return value

    def curved(self, value: str) -> str:
        """Something that is not linear in a value, and another one."""
        other = self.load(self.visible())
        form = self.rng.randrange(4)
        if form == 0:
            return self.operation(f"math.sin {self.operation(f'arith.mulf {value}, {other}')}")
        if form == 1:
            both = self.operation(f"arith.addf {value}, {other}")
            return self.operation(f"math.tanh {self.operation(f'arith.mulf {both}, {value}')}")
        if form == 2:
            larger, chosen = self.fresh(), self.fresh()
            self.add(f"{larger} = arith.cmpf ogt, {value}, {other} : f64")
            self.add(f"{chosen} = arith.select {larger}, {value}, {other} : f64")
            return chosen
        return self.operation(f"arith.mulf {self.operation(f'math.sin {value}')}, {other}")

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


def random_island(seed: int, wild: bool = False) -> str:
    """A private function `@primal` of four tensors (two are written), one island."""
    rng = random.Random(seed)
    return Writer(rng, linear=rng.random() < 0.7, wild=wild).island()
