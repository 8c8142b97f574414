"""A random program while it is written: extents, buffers, lines of nest IR; and the arguments that it is run with."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

MOST = 7
"""The largest extent."""

LARGEST = (3, 3, 40)
"""Magnitudes of the largest elements: among small ones many coincide, large ones soon leave what floats hold."""

DTYPES = {"i64": np.int64, "i32": np.int32, "f64": np.float64, "f32": np.float32}

_SIGNED = {"lt": "slt", "gt": "sgt", "eq": "eq"}

EXACT = {np.dtype(np.float64): 2.0**52, np.dtype(np.float32): 2.0**23}
"""Up to which magnitude sums of integers are exact in a float; integers wrap, in any order alike."""


@dataclass(frozen=True)
class Buffer:
    """An argument; `shape` holds numbers and names of unknown extents. `overlaps`: shares memory with that one."""

    name: str
    element: str
    shape: tuple[int | str, ...]
    role: str = "in"
    overlaps: str | None = None


@dataclass(frozen=True)
class Program:
    """A function `@f`. `least` is the smallest value of each unknown extent; `rounds`: elements are no integers.

    `tolerance`: how far results may be apart, in parts of themselves and of 1, where exact numbers are not to be had.

    `is_named`: the program says which unknown extents are equal. Where it does not, a buffer may be larger than the
    one whose extent is in the bounds of loops.
    """

    family: str
    text: str
    buffers: tuple[Buffer, ...]
    least: dict[str, int]
    rounds: bool = False
    is_named: bool = True
    tolerance: float = 0.0

    def arguments(self, seed: int, longest: int = MOST) -> list[np.ndarray]:
        """Arrays for one run; unknown extents (up to `longest`) and elements follow from the seed."""
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(least, longest + 1)) for name, least in self.least.items()}
        most = int(rng.choice(LARGEST))
        memory: dict[str, np.ndarray] = {}
        arrays = []
        for buffer in self.buffers:
            shape = tuple(n if isinstance(n, int) else sizes[n] for n in buffer.shape)
            if not self.is_named:
                more = rng.choice((0, 0, 1, 2), len(shape)).tolist()
                shape = tuple(n + more[k] * self._may_be_larger(buffer, k) for k, n in enumerate(shape))
            count, start = math.prod(shape), 0
            if buffer.overlaps is None:
                memory[buffer.name] = self._elements(rng, buffer, count + 2, most)
            else:
                memory[buffer.name] = memory[buffer.overlaps]
                start = int(rng.integers(0, 3))
            arrays.append(memory[buffer.name][start : start + count].reshape(shape))
        return arrays

    def _may_be_larger(self, buffer: Buffer, axis: int) -> bool:
        """Whether an unknown extent of a buffer is not the one that the bounds of loops are made of."""
        name = buffer.shape[axis]
        if isinstance(name, int) or any(b.overlaps is not None for b in self.buffers):
            return False
        return (buffer, axis) != _first_with(name, self.buffers)

    def _elements(self, rng: np.random.Generator, buffer: Buffer, count: int, most: int) -> np.ndarray:
        if self.rounds:
            return rng.standard_normal(count).astype(DTYPES[buffer.element])
        return rng.integers(-most, most + 1, count).astype(DTYPES[buffer.element])

    def is_exact(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether results are small enough that no order of summation rounds."""
        if self.rounds:
            return True
        return all(
            bool(np.all(np.abs(array) < EXACT[array.dtype]))
            for array in arrays
            if array.dtype in EXACT and array.size
        )


def _first_with(extent: str, buffers: Sequence[Buffer]) -> tuple[Buffer, int]:
    """The first argument that has an unknown extent, and its axis."""
    buffer = next(b for b in buffers if extent in b.shape)
    return buffer, buffer.shape.index(extent)


@dataclass(frozen=True)
class Extent:
    """An extent of the program: its text in a bound (`5`, `%n`), in a type (`5`, `?`), and its size when static."""

    name: str
    size: int | None
    least: int = 0

    @property
    def bound(self) -> str:
        return f"%{self.name}" if self.size is None else str(self.size)

    @property
    def dim(self) -> int | str:
        return self.name if self.size is None else self.size


class Draft:
    """A program while it is being written."""

    def __init__(self, family: str, rng: random.Random, elements: Sequence[str] = tuple(DTYPES)):
        self.family = family
        self.rng = rng
        self.element = rng.choice(elements)
        self.is_named = rng.random() < 0.5
        self.rounds = False
        self.tolerance = 0.0
        self.buffers: list[Buffer] = []
        self.types: dict[str, str] = {}
        self.extents: dict[str, Extent] = {}
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[str] = []

    # ---- pieces ----

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def extent(self, name: str, least: int = 0) -> Extent:
        """An extent that is not below `least`, unknown half the time."""
        size = None if self.maybe(0.5) else self.rng.randint(least, MOST)
        self.extents[name] = Extent(name, size, least)
        return self.extents[name]

    def buffer(self, name: str, *dims: Extent | int, role: str = "in", overlaps: str | None = None) -> str:
        """An argument."""
        shape = tuple(d if isinstance(d, int) else d.dim for d in dims)
        self.buffers.append(Buffer(name, self.element, shape, role, overlaps))
        self.types[name] = self._type(dims)
        return name

    def local(self, name: str, *dims: Extent | int) -> str:
        """A buffer allocated here."""
        self.types[name] = self._type(dims)
        sizes = [d.bound for d in dims if isinstance(d, Extent) and d.size is None]
        given = f"({', '.join(sizes)})" if sizes else ""
        self.emit(f'%{name} = nest.alloc "{name}"{given} : {self.types[name]}')
        return name

    def _type(self, dims: Sequence[Extent | int]) -> str:
        texts = ["?" if isinstance(d, Extent) and d.size is None else str(_size(d)) for d in dims]
        return f"memref<{'x'.join([*texts, self.element])}>"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def load(self, buffer: str, index: str) -> str:
        value = self.fresh()
        self.emit(f"{value} = nest.load %{buffer}[{index}] : {self.types[buffer]}")
        return value

    def store(self, value: str, buffer: str, index: str, domain: str = "") -> None:
        self.emit(f'nest.store "{buffer}" {value}, %{buffer}[{index}]{domain} : {self.types[buffer]}')

    def accumulate(
        self, combiner: str, value: str, buffer: str, index: str, domain: str = "", order: str = ""
    ) -> None:
        target = f"%{buffer}[{index}]{domain}{order}"
        self.emit(f'nest.accumulate "{buffer}" {combiner} {value}, {target} : {self.types[buffer]}')

    def accumulate_together(
        self,
        combine: Callable[[Sequence[str], Sequence[str]], Sequence[str]],
        identity: Sequence[int],
        values: Sequence[str],
        buffers: Sequence[str],
        index: str,
        tail: str = "",
    ) -> None:
        """A reduction of buffers together, by what `combine` writes; `tail` is a domain, or an order."""
        number = ".0" if self.element.startswith("f") else ""
        texts = ", ".join(f"{one}{number} : {self.element}" for one in identity)
        given = ", ".join(values)
        targets = ", ".join(f"%{name}" for name in buffers)
        self.emit(f"nest.accumulate custom ({given}), ({targets})[{index}]{tail} identity [{texts}] {{")
        sides = [[self.fresh() for _ in buffers] for _ in range(2)]
        arguments = ", ".join(f"{name}: {self.element}" for side in sides for name in side)
        self.emit(f"^bb0({arguments}):")
        results = ", ".join(combine(*sides))
        kinds = ", ".join(self.element for _ in buffers)
        self.emit(f"nest.yield {results} : {kinds}")
        self.emit(f"}} : {', '.join(self.types[name] for name in buffers)}")

    def select(self, predicate: str, a: str, b: str, then: str, other: str) -> str:
        """One of two values, by the comparison of two others: `lt`, `gt` or `eq`."""
        condition, value = self.fresh(), self.fresh()
        kind = f"cmpf o{predicate}" if self.element.startswith("f") else f"cmpi {_SIGNED[predicate]}"
        self.emit(f"{condition} = arith.{kind}, {a}, {b} : {self.element}")
        self.emit(f"{value} = arith.select {condition}, {then}, {other} : {self.element}")
        return value

    def op(self, kind: str, a: str, b: str) -> str:
        """`add`, `sub`, `mul` or `max` of two values."""
        value = self.fresh()
        is_float = self.element.startswith("f")
        names = {"max": "maximumf" if is_float else "maxsi"}
        name = names.get(kind, f"{kind}{'f' if is_float else 'i'}")
        self.emit(f"{value} = arith.{name} {a}, {b} : {self.element}")
        return value

    def exponential(self, a: str) -> str:
        value = self.fresh()
        self.emit(f"{value} = math.exp {a} : {self.element}")
        return value

    def place(self, value: str, size: int) -> str:
        """An index below `size`, a power of two, that a value says."""
        number, rest, index, most = (self.fresh() for _ in range(4))
        if self.element.startswith("f"):
            self.emit(f"{number} = arith.fptosi {value} : {self.element} to i64")
        elif self.element == "i32":
            self.emit(f"{number} = arith.extsi {value} : i32 to i64")
        else:
            number = value
        self.emit(f"{most} = arith.constant {size - 1} : i64")
        self.emit(f"{rest} = arith.andi {number}, {most} : i64")
        self.emit(f"{index} = arith.index_cast {rest} : i64 to index")
        return index

    def any_op(self, a: str, b: str) -> str:
        return self.op(self.rng.choice(("add", "sub", "add", "max", "mul")), a, b)

    def tame_op(self, a: str, b: str) -> str:
        """An operation that keeps repeated updates small."""
        return self.op(self.rng.choice(("add", "sub", "max")), a, b)

    def mask(self, value: str) -> str:
        """A mask that is on where `value` is positive."""
        mask = self.fresh()
        compare = "cmpf ogt" if self.element.startswith("f") else "cmpi sgt"
        self.emit(f"{mask} = arith.{compare}, {value}, %zero : {self.element}")
        return f" mask {mask}"

    @contextmanager
    def loop(self, name: str, lower: str, upper: str, step: int = 1, mark: str = "") -> Iterator[str]:
        label, k = name, 1
        while label in self.loops:
            label, k = f"{name}.{k}", k + 1
        self.loops.append(label)
        variable = f"%{label.replace('.', '_')}"
        steps = f" step {step}" if step != 1 else ""
        self.emit(f'nest.for "{label}" {variable} = {lower} to {upper}{steps} {mark}{" " * bool(mark)}{{')
        yield variable
        self.emit("}")

    @contextmanager
    def over(self, name: str, extent: Extent, margin: int = 0, plain: float = 0.6) -> Iterator[str]:
        """A loop over an axis, or over a part of it that stays `margin` away from both ends."""
        lower, upper, step = margin, margin, 1
        is_plain = self.maybe(plain)
        if not is_plain:
            lower += self.rng.choice((0, 0, 1, 2))
            upper += self.rng.choice((0, 0, 1))
            step = self.rng.choice((1, 1, 2, 3))
        if extent.size is not None:
            end = str(extent.size - upper)
        else:
            end = f"{extent.bound} - {upper}" if upper else extent.bound
        if not is_plain and self.maybe(0.2):
            end = f"min({end}, {self.rng.randint(0, MOST)})"
        with self.loop(name, str(lower), end, step) as variable:
            yield variable

    @contextmanager
    def nest(
        self, axes: Sequence[tuple[str, Extent]], margin: int = 0, plain: float = 0.6
    ) -> Iterator[dict[str, str]]:
        """Loops over several axes, in the order given: the variable of each."""
        if not axes:
            yield {}
            return
        (name, extent), rest = axes[0], axes[1:]
        with self.over(name, extent, margin, plain) as variable, self.nest(rest, margin, plain) as others:
            yield {name: variable, **others}

    def shuffled(self, *items):
        items = list(items)
        self.rng.shuffle(items)
        return items

    # ---- the whole ----

    def finish(self) -> Program:
        unknown = [e for e in self.extents.values() if e.size is None]
        used = [e for e in unknown if any(e.name in b.shape for b in self.buffers)]
        inputs = {n for b in self.buffers if b.role != "out" for n in b.shape}
        least = {e.name: max(e.least, 2 if self.is_named and e.name in inputs else 0) for e in used}
        head = [f"func.func @f({', '.join(self._parameter(b) for b in self.buffers)}) {{"]
        number = ".0" if self.element.startswith("f") else ""
        for name, value in (("zero", 0), ("one", 1), ("two", 2), ("lowest", -1000)):
            head.append(f"%{name} = arith.constant {value}{number} : {self.element}")
        sources = {e.name: _first_with(e.name, self.buffers) for e in used}
        axes = sorted({axis for _, axis in sources.values()})
        head += [f"%c{k} = arith.constant {k} : index" for k in axes]
        for e in used:
            b, axis = sources[e.name]
            head.append(f"%{e.name} = memref.dim %{b.name}, %c{axis} : {self.types[b.name]}")
        text = "\n".join(_indented([*head, *self.lines, "func.return", "}"]))
        buffers = tuple(self.buffers)
        return Program(self.family, text, buffers, least, self.rounds, self.is_named, self.tolerance)

    def _parameter(self, buffer: Buffer) -> str:
        attributes = []
        if buffer.role != "in":
            attributes.append(f'nest.role = "{buffer.role}"')
        if self.is_named and buffer.shape:
            dims = ", ".join(f'"{n}"' if isinstance(n, str) else str(n) for n in buffer.shape)
            attributes.append(f"nest.dims = [{dims}]")
        if buffer.overlaps is not None or any(b.overlaps == buffer.name for b in self.buffers):
            attributes.append("nest.alias_set = 0 : i64")
        return f"%{buffer.name}: {self.types[buffer.name]}" + (
            f" {{{', '.join(attributes)}}}" if attributes else ""
        )


def shifted(variable: str, by: int) -> str:
    """An index some places away."""
    return variable if by == 0 else f"{variable} {'+' if by > 0 else '-'} {abs(by)}"


def _size(dim: Extent | int) -> int | None:
    return dim if isinstance(dim, int) else dim.size


def _indented(lines: Sequence[str]) -> Iterator[str]:
    depth = 0
    for line in lines:
        depth -= line.startswith("}")
        yield "  " * depth + line
        depth += line.endswith("{")
