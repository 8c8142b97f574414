"""Random loop nests on integers, and the check of a primitive on them: the same results, or refused and unchanged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp

EXTENT = 24
"""The extent of every axis: more than any index of a random nest."""

HEAD = """
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {
"""


class RandomLoops:
    """The text of a function, written statement by statement. Loop variables stay in [0, 8]."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.masks = random.Random(f"masks of {seed}")
        self.branches = random.Random(f"branches of {seed}")
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        return HEAD + "\n".join(self.lines) + "\nfunc.return\n}"

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bounds(self, around: list[str]) -> str:
        """`1 to %n step 2`, now and then with a triangle over the loops around."""
        lower = self.rng.choice(["0", "0", "1", "2", *around])
        upper = self.rng.choice(["%n", "%n", "5", "7", "1", "0", *(f"{v} + 1" for v in around)])
        return f"{lower} to {upper}" + self.rng.choice(["", "", "", " step 2"])

    def loop(self, name: str, bounds: str, around: list[str], inside: Callable[[list[str]], None]) -> None:
        variable = f"%{name}"
        self.lines.append(f'nest.for "{name}" {variable} = {bounds} {{')
        inside([*around, variable])
        self.lines.append("}")

    def body(self, around: list[str], depth: int, pieces: tuple[int, int] = (1, 2)) -> None:
        for _ in range(self.rng.randint(*pieces)):
            kind = self.rng.random()
            if depth and kind < 0.45:
                self.loop(self.fresh("l"), self.bounds(around), around, lambda ivs: self.body(ivs, depth - 1))
            elif kind < 0.55:
                self.branch(around)
            elif kind < 0.65:
                self.private(around)
            else:
                self.statement(around)

    def element(self, around: list[str]) -> tuple[str, str]:
        """A buffer with indices, and its type."""
        buffer, rank = self.rng.choice([("a", 1), ("a", 1), ("b", 1), ("d", 2), ("s", 0)])
        indices = ", ".join(self.index(around) for _ in range(rank))
        return f"%{buffer}[{indices}]", f"memref<{'?x' * rank}i64>"

    def index(self, around: list[str]) -> str:
        variable = self.rng.choice(around)
        return self.rng.choice(
            [variable, variable, f"{variable} + {self.rng.randint(0, 3)}", f"2 * {variable}", "3"]
        )

    def value(self, around: list[str]) -> str:
        element, kind = self.element(around)
        loaded, number, result = self.fresh("%v"), self.fresh("%c"), self.fresh("%w")
        self.lines.append(f"{loaded} = nest.load {element} : {kind}")
        self.lines.append(f"{number} = arith.index_cast {self.rng.choice(around)} : index to i64")
        operation = self.rng.choice(["addi", "subi", "xori"])
        self.lines.append(f"{result} = arith.{operation} {number}, {loaded} : i64")
        return result

    def statement(self, around: list[str]) -> None:
        value = self.value(around)
        element, kind = self.element(around)
        domain = f" where ({self.rng.choice(around)} < 4)" if self.rng.random() < 0.2 else ""
        domain += self.mask(value)
        label = self.fresh("p")
        if self.rng.random() < 0.5:
            self.lines.append(f'nest.store "{label}" {value}, {element}{domain} : {kind}')
            return
        combiner = self.rng.choice(["add", "add", "maxsi"])
        order = self.rng.choice(["", "", " order(sequential)"])
        self.lines.append(f'nest.accumulate "{label}" {combiner} {value}, {element}{domain}{order} : {kind}')

    def mask(self, value: str) -> str:
        """Now and then a mask that is on where `value` is large enough. What else there is does not depend on it."""
        if self.masks.random() >= 0.15:
            return ""
        limit, holds = self.fresh("%k"), self.fresh("%q")
        self.lines.append(f"{limit} = arith.constant {self.masks.randint(-20, 20)} : i64")
        self.lines.append(f"{holds} = arith.cmpi sgt, {value}, {limit} : i64")
        return f" mask {holds}"

    def branch(self, around: list[str]) -> None:
        limit, holds = self.fresh("%k"), self.fresh("%q")
        self.lines.append(f"{limit} = arith.constant {self.rng.randint(0, 5)} : index")
        self.lines.append(f"{holds} = arith.cmpi slt, {self.rng.choice(around)}, {limit} : index")
        self.lines.append(f"nest.if {holds} {{")
        self.statement(around)
        if self.rng.random() < 0.3:
            self.loop(self.fresh("l"), "0 to 3", around, self.statement)
        if self.branches.random() < 0.3:
            self.branch(around)
        if self.branches.random() < 0.4:
            self.lines.append("} else {")
            self.statement(around)
        self.lines.append("}")

    def private(self, around: list[str]) -> None:
        """A buffer of one iteration: written, updated and read."""
        buffer, read = self.fresh("%t"), self.fresh("%r")
        self.lines.append(f'{buffer} = nest.alloc "t" : memref<i64>')
        self.lines.append(f'nest.store "{self.fresh("p")}" {self.value(around)}, {buffer}[] : memref<i64>')
        if self.rng.random() < 0.3:
            return
        self.lines.append(f"{read} = nest.load {buffer}[] : memref<i64>")
        element, kind = self.element(around)
        self.lines.append(f'nest.store "{self.fresh("p")}" {read}, {element} : {kind}')


def arguments(seed: int) -> list:
    rng = np.random.default_rng(seed)
    shapes = [(EXTENT,), (EXTENT,), (EXTENT, EXTENT), ()]
    return [int(rng.integers(0, 9)), *(rng.integers(-99, 99, shape) for shape in shapes)]


def check(text: str, primitive: Callable[[ModuleOp], object], seeds: int = 3) -> str:
    """Apply a primitive: `legal` when it computes the same, else why it was refused; nothing may change then."""
    original = parse_module(text)
    module = original.clone()
    try:
        primitive(module)
    except NestorError as refusal:
        assert refusal.diagnostic.message.startswith("cannot "), refusal
        assert str(module) == str(original), f"refused, and changed:\n{text}"
        return refusal.diagnostic.message.partition(": ")[2]
    verify(module)
    names = [loop.label for loop in loops_in(module)]
    assert len(names) == len(set(names)), f"two loops of one name:\n{module}"
    transformed, untouched = (compile_nest(functions(m)[0]) for m in (module, original))
    for seed in range(seeds):
        results, expected = arguments(seed), arguments(seed)
        transformed(*results)
        untouched(*expected)
        for got, wanted in zip(results, expected, strict=True):
            assert np.array_equal(got, wanted), f"seed {seed}:\n{text}\n{module}"
    return "legal"


def outcomes(texts: list[str], primitive: Callable[[ModuleOp], object]) -> Counter[str]:
    """How often the primitive was legal, and how often refused for which reason."""
    return Counter(check(text, primitive) for text in texts)


def loop_called(module: ModuleOp, name: str) -> ForOp:
    return next(loop for loop in loops_in(module) if loop.label == name)
