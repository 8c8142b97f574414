"""Random small nest programs, with arguments to run them on: what the tests of schedules transform.

    program = draw_program(random.Random(7))
    program.text                # one function @f
    program.arguments(seed)     # arrays for it; the seed chooses the unknown extents and the elements

A family is one shape of program (a stencil, a matmul ...); inside it extents (0 to 7, static or `?`), bounds,
steps, domains, element types and the order of loops are drawn. Elements are small integers, also in float
buffers, so that sums come out exactly whatever their order. Programs with reductions in sequential order take
rounding floats instead: there the order shows.
"""

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

    `is_named`: the program says which unknown extents are equal. Where it does not, a buffer may be larger than the
    one whose extent is in the bounds of loops.
    """

    family: str
    text: str
    buffers: tuple[Buffer, ...]
    least: dict[str, int]
    rounds: bool = False
    is_named: bool = True

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

    def op(self, kind: str, a: str, b: str) -> str:
        """`add`, `sub`, `mul` or `max` of two values."""
        value = self.fresh()
        is_float = self.element.startswith("f")
        names = {"max": "maximumf" if is_float else "maxsi"}
        name = names.get(kind, f"{kind}{'f' if is_float else 'i'}")
        self.emit(f"{value} = arith.{name} {a}, {b} : {self.element}")
        return value

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
        for name, value in (("zero", 0), ("two", 2), ("lowest", -1000)):
            head.append(f"%{name} = arith.constant {value}{number} : {self.element}")
        sources = {e.name: _first_with(e.name, self.buffers) for e in used}
        axes = sorted({axis for _, axis in sources.values()})
        head += [f"%c{k} = arith.constant {k} : index" for k in axes]
        for e in used:
            b, axis = sources[e.name]
            head.append(f"%{e.name} = memref.dim %{b.name}, %c{axis} : {self.types[b.name]}")
        text = "\n".join(_indented([*head, *self.lines, "func.return", "}"]))
        return Program(self.family, text, tuple(self.buffers), least, self.rounds, self.is_named)

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


def _size(dim: Extent | int) -> int | None:
    return dim if isinstance(dim, int) else dim.size


def _indented(lines: Sequence[str]) -> Iterator[str]:
    depth = 0
    for line in lines:
        depth -= line.startswith("}")
        yield "  " * depth + line
        depth += line.endswith("{")


# ---- families ---------------------------------------------------------------------------------------


def pointwise(d: Draft) -> None:
    """One to three statements in one nest, over matrices, rows and columns; some masked or with a domain."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("row", m)
    for k in range(d.rng.randint(1, 3)):
        d.buffer(f"y{k}", n, m, role="out")
    with d.nest(d.shuffled(("i", n), ("j", m))) as v:
        i, j = v["i"], v["j"]
        value = d.load("x", f"{i}, {j}")
        for b in [b.name for b in d.buffers if b.role == "out"]:
            value = d.any_op(value, d.load("row", j) if d.maybe(0.5) else "%two")
            domain = ""
            if d.maybe(0.25):
                domain = d.rng.choice((f" where ({i} < {j})", f" where ({i} + {j} >= 2, {j} < 5)"))
            elif d.maybe(0.2):
                domain = d.mask(value)
            d.store(value, b, f"{i}, {j}", domain)


def flat(d: Draft) -> None:
    """A nest that runs over contiguous matrices, or blocks of three axes."""
    n, m, p = d.extent("n"), d.extent("m"), d.extent("p")
    axes = [n, m, p][: d.rng.choice((2, 2, 3))]
    d.buffer("x", *axes)
    d.buffer("y", *axes, role="out")
    d.buffer("z", *axes, role="out")
    with d.nest(list(zip("ijk", axes, strict=False)), plain=0.85) as v:
        index = ", ".join(v.values())
        value = d.any_op(d.load("x", index), "%two")
        d.store(value, "y", index)
        if d.maybe(0.6):
            d.store(d.tame_op(value, d.load("x", index)), "z", index)


def chain(d: Draft) -> None:
    """Nests in a row that hand intermediates on: one after the other, or transposed, or shifted."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("out", n, m, role="out")
    previous = "x"
    for k in range(d.rng.randint(1, 2)):
        name = d.local(f"t{k}", n, m)
        with d.nest(d.shuffled(("i", n), ("j", m)), plain=1.0) as v:
            i, j = v["i"], v["j"]
            d.store(d.any_op(d.load(previous, f"{i}, {j}"), "%two"), name, f"{i}, {j}")
        previous = name
    axes = d.shuffled(("i", n), ("j", m)) if d.maybe(0.4) else [("i", n), ("j", m)]
    margin = int(d.maybe(0.3))
    with d.nest(axes, margin, plain=0.85) as v:
        i, j = v["i"], v["j"]
        value = d.load(previous, f"{_shifted(i, d.rng.choice((-margin, 0, margin)))}, {j}")
        if d.maybe(0.4):
            value = d.tame_op(value, d.load("x", f"{i}, {j}"))
        d.store(value, "out", f"{i}, {j}")


def rows(d: Draft) -> None:
    """Work on each row with scalars made inside the outer loop, as softmax does."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("y", n, m, role="out")
    with d.over("i", n) as i:
        d.local("top")
        d.store("%lowest", "top", "")
        with d.over("j", m, plain=0.9) as j:
            combiner = "maximum" if d.element.startswith("f") else "maxsi"
            d.accumulate(combiner, d.load("x", f"{i}, {j}"), "top", "")
        if d.maybe(0.5):
            d.local("line", m)
            with d.over("k", m, plain=1.0) as k:
                d.store(d.op("sub", d.load("x", f"{i}, {k}"), d.load("top", "")), "line", k)
            with d.over("l", m, plain=0.9) as l:
                d.store(d.any_op(d.load("line", l), "%two"), "y", f"{i}, {l}")
        else:
            with d.over("k", m, plain=0.9) as k:
                d.store(d.op("sub", d.load("x", f"{i}, {k}"), d.load("top", "")), "y", f"{i}, {k}")


def reduction(d: Draft) -> None:
    """Sums and maxima over rows, columns or everything; into a result that starts from zero or goes on."""
    n, m = d.extent("n"), d.extent("m")
    kind = d.rng.choice(("rows", "columns", "all"))
    d.buffer("x", n, m)
    role = d.rng.choice(("out", "inout"))
    d.buffer("s", *{"rows": [n], "columns": [m], "all": []}[kind], role=role)
    combiner = d.rng.choice(("add", "add", "maximum" if d.element.startswith("f") else "minsi"))
    order = ""
    if d.maybe(0.15):
        order, d.rounds = " order(sequential)", d.element.startswith("f")
    is_inside = kind != "all" and d.maybe(0.4)
    if role == "out" and not is_inside:
        axes = [("k", n if kind == "rows" else m)] if kind != "all" else []
        with d.nest(axes, plain=1.0) as v:
            d.store("%zero", "s", v.get("k", ""))
    index = {"rows": "{i}", "columns": "{j}", "all": ""}[kind]
    axes = d.shuffled(("i", n), ("j", m))
    if is_inside:
        axes = [("i", n), ("j", m)] if kind == "rows" else [("j", m), ("i", n)]
        plain = 1.0 if role == "out" else 0.6
        with d.over(*axes[0], plain=plain) as outer:
            if role == "out":
                d.store("%zero", "s", outer)
            with d.over(*axes[1]) as inner:
                i, j = (outer, inner) if kind == "rows" else (inner, outer)
                d.accumulate(combiner, d.load("x", f"{i}, {j}"), "s", outer, order=order)
        return
    with d.nest(axes) as v:
        i, j = v["i"], v["j"]
        domain = f" where ({j} <= {i})" if d.maybe(0.2) else ""
        value = d.load("x", f"{i}, {j}")
        d.accumulate(combiner, value, "s", index.format(i=i, j=j), domain, order)


def blocked(d: Draft) -> None:
    """A sum in blocks of constant size, of everything or of each row, as a split leaves it."""
    n, m = d.extent("n"), d.extent("m")
    size = d.rng.randint(2, 4)
    of_rows = d.maybe(0.5)
    d.buffer("x", n, m, size)
    d.buffer("s", *([n] if of_rows else []), role="inout")
    with d.over("i", n, plain=0.8) as i, d.over("j", m, plain=0.8) as j, d.loop("v", "0", str(size)) as v:
        value = d.load("x", f"{i}, {j}, {v}")
        domain = d.rng.choice(("", "", f" where ({j} + {v} < 5)", f" where ({i} < 4)"))
        d.accumulate(d.rng.choice(("add", "mul")), value, "s", i if of_rows else "", domain)


def stencil(d: Draft) -> None:
    """Neighbours of each element, into another buffer or in place; sometimes in several sweeps."""
    n, m = d.extent("n"), d.extent("m")
    is_in_place = d.maybe(0.6)
    d.buffer("a", n, m, role="inout" if is_in_place else "in")
    target = "a" if is_in_place else d.buffer("b", n, m, role="out")
    sweeps = d.maybe(0.3)
    offsets = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, 1), (1, -1), (-1, -1), (0, 0)]
    chosen = d.rng.sample(offsets, d.rng.randint(1, 3))

    def body() -> None:
        with d.nest(d.shuffled(("i", n), ("j", m)), margin=1, plain=0.8) as v:
            i, j = v["i"], v["j"]
            loads = [d.load("a", f"{_shifted(i, p)}, {_shifted(j, q)}") for p, q in chosen]
            value = loads[0]
            for other in loads[1:]:
                value = d.tame_op(value, other)
            d.store(d.op("max", value, "%two") if len(loads) == 1 else value, target, f"{i}, {j}")

    if sweeps:
        with d.loop("t", "0", "2"):
            body()
    else:
        body()


def blur(d: Draft) -> None:
    """Two stencils, the first into an intermediate; the second may write what the first reads."""
    n = d.extent("n")
    is_in_place = d.maybe(0.35)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    target = "x" if is_in_place else d.buffer("out", n, role="out")
    d.local("t", n)
    with d.over("i", n, margin=1, plain=1.0) as i:
        a, b = d.load("x", _shifted(i, -1)), d.load("x", _shifted(i, 1))
        d.store(d.tame_op(a, b), "t", i)
    with d.over("j", n, margin=2, plain=0.9) as j:
        a, b = d.load("t", _shifted(j, d.rng.choice((-1, 0)))), d.load("t", _shifted(j, d.rng.choice((0, 1))))
        d.store(d.tame_op(a, b), target, j)


def matmul(d: Draft) -> None:
    """A product of matrices, its loops in any order, cleared before or in the nest."""
    n, m, p = d.extent("n"), d.extent("m"), d.extent("p")
    d.buffer("a", n, p)
    d.buffer("b", p, m)
    d.buffer("c", n, m, role="out")

    def update(i: str, j: str, k: str) -> None:
        product = d.op("mul", d.load("a", f"{i}, {k}"), d.load("b", f"{k}, {j}"))
        d.accumulate("add", product, "c", f"{i}, {j}")

    if d.maybe(0.4):
        with d.nest(d.shuffled(("i", n), ("j", m)), plain=1.0) as v:
            d.store("%zero", "c", f"{v['i']}, {v['j']}")
            with d.over("k", p) as k:
                update(v["i"], v["j"], k)
        return
    with d.nest([("i", n), ("j", m)], plain=1.0) as v:
        d.store("%zero", "c", f"{v['i']}, {v['j']}")
    with d.nest(d.shuffled(("i", n), ("j", m), ("k", p)), plain=0.8) as v:
        update(v["i"], v["j"], v["k"])


def scan(d: Draft) -> None:
    """Each element from earlier (or later) ones of its row, column or vector."""
    n, m = d.extent("n"), d.extent("m")
    back = d.rng.choice((1, 1, 2, -1))
    if d.maybe(0.4):
        d.buffer("x", n)
        d.buffer("a", n, role="inout")
        with d.over("i", n, margin=abs(back), plain=0.7) as i:
            d.store(d.tame_op(d.load("a", _shifted(i, -back)), d.load("x", i)), "a", i)
        return
    d.buffer("x", n, m)
    d.buffer("a", n, m, role="inout")
    along_rows = d.maybe(0.5)
    with d.nest(d.shuffled(("i", n), ("j", m)), margin=abs(back), plain=0.8) as v:
        i, j = v["i"], v["j"]
        earlier = f"{i}, {_shifted(j, -back)}" if along_rows else f"{_shifted(i, -back)}, {j}"
        d.store(d.tame_op(d.load("a", earlier), d.load("x", f"{i}, {j}")), "a", f"{i}, {j}")


def transposed(d: Draft) -> None:
    """A square matrix updated from its transpose: by stores, or by accumulates that also read it."""
    n = d.extent("n")
    d.buffer("a", n, n, role="inout")
    part = d.rng.choice(("all", "below", "above"))
    with d.over("i", n, plain=0.8) as i:
        lower, upper = {"all": ("0", n.bound), "below": ("0", i), "above": (f"{i} + 1", n.bound)}[part]
        with d.loop("j", lower, upper) as j:
            other = d.load("a", f"{i}, {j}")
            if d.maybe(0.5):
                d.accumulate("add", other, "a", f"{j}, {i}")
            else:
                d.store(d.tame_op(d.load("a", f"{j}, {i}"), other), "a", f"{j}, {i}")


def triangular(d: Draft) -> None:
    """An inner loop whose bounds depend on the outer one: below, above or around the diagonal."""
    n = d.extent("n")
    d.buffer("x", n, n)
    shape = d.rng.choice(("below", "above", "band"))
    kind = d.rng.choice(("pointwise", "reduction", "in place"))
    d.buffer("y", *([n, n] if kind == "pointwise" else [n]), role="out" if kind == "pointwise" else "inout")
    with d.over("i", n, plain=0.7) as i:
        lower, upper = {
            "below": ("0", f"{i} + 1"),
            "above": (i, n.bound),
            "band": (f"max(0, {i} - 1)", f"min({n.bound}, {i} + 2)"),
        }[shape]
        with d.loop("j", lower, upper, d.rng.choice((1, 1, 2))) as j:
            value = d.load("x", f"{i}, {j}")
            if kind == "pointwise":
                d.store(d.any_op(value, "%two"), "y", f"{i}, {j}")
            elif kind == "reduction":
                d.accumulate("add", value, "y", d.rng.choice((i, j)))
            else:
                d.store(d.tame_op(d.load("y", i), d.load("y", j)), "y", i)


def affine(d: Draft) -> None:
    """One or two statements whose indices are arbitrary affine expressions into one large buffer."""
    extents = [d.extent(name) for name in "nm"[: d.rng.choice((1, 2, 2))]]
    for k, e in enumerate(extents):
        d.buffer(f"size{k}", e)
    d.buffer("a", 64, role="inout")

    def index(variables: Sequence[str]) -> str:
        factors = [d.rng.choice((-1, 0, 1, 1, 2)) for _ in variables]
        start = 2 * MOST * len(variables) + d.rng.randint(-2, 2) + 3
        terms = [f"{f} * {v}" for f, v in zip(factors, variables, strict=True) if f]
        return " + ".join([*terms, str(start)])

    with d.nest(list(zip("ij", extents, strict=False)), plain=0.7) as v:
        variables = list(v.values())
        for _ in range(d.rng.randint(1, 2)):
            value = d.tame_op(d.load("a", index(variables)), "%two")
            if d.maybe(0.3):
                d.accumulate("add", value, "a", index(variables))
            else:
                d.store(value, "a", index(variables))


def branches(d: Draft) -> None:
    """Statements under a branch on a loop variable or on data."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("y", n, m, role="out")
    d.buffer("z", n, role="inout")
    d.emit("%edge = arith.constant 3 : index")
    with d.nest([("i", n), ("j", m)], plain=0.8) as v:
        i, j = v["i"], v["j"]
        value = d.load("x", f"{i}, {j}")
        if d.maybe(0.5):
            d.emit(f"%cond = arith.cmpi slt, {d.rng.choice((i, j))}, %edge : index")
        else:
            d.emit(f"%cond = arith.{_greater(d)}, {value}, %zero : {d.element}")
        d.emit("nest.if %cond {")
        d.store(value, "y", f"{i}, {j}")
        if d.maybe(0.5):
            d.emit("} else {")
            if d.maybe(0.5):
                d.accumulate("add", value, "z", i)
            else:
                d.store("%two", "y", f"{i}, {j}")
        d.emit("}")


def aliased(d: Draft) -> None:
    """Two arguments that may share memory."""
    n = d.extent("n")
    d.buffer("x", n, role="inout")
    d.buffer("y", n, role="inout", overlaps="x")
    with d.over("i", n, plain=0.8) as i:
        d.store(d.tame_op(d.load("x", i), "%two"), "y", i)
        if d.maybe(0.4):
            d.store(d.load("y", i), "x", i)


def checked(d: Draft) -> None:
    """A Python index that is checked, and fails for some extents."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", m)
    d.buffer("y", n, m, role="out")
    with d.nest([("i", n), ("j", m)], plain=0.8) as v:
        i, j = v["i"], v["j"]
        d.emit(f'%at = nest.index {d.rng.choice((i, j))} - 1 of {m.bound} axis 0 of "x"')
        d.store(d.any_op(d.load("x", "%at"), "%two"), "y", f"{i}, {j}")


def scratch(d: Draft) -> None:
    """One loop with buffers made before it: filled anew in each iteration, by some, a window that moves, or a scalar."""
    n = d.extent("n", least=2)
    d.buffer("x", n)
    d.buffer("y", n, role="inout")
    kind = d.rng.choice(("filled", "by some", "window", "handed on"))
    if kind == "window":
        d.local("u", n)
        d.store("%two", "u", "0")
        d.store("%two", "u", "1")
    else:
        d.local("u", *([] if kind == "handed on" else [4]))
    with d.over("i", n, margin=int(kind == "window"), plain=1.0 if kind == "window" else 0.8) as i:
        value = d.load("x", i)
        if kind == "window":
            d.store(value, "u", f"{i} + 1")
            value = d.tame_op(d.load("u", _shifted(i, d.rng.choice((-1, 0)))), d.load("u", f"{i} + 1"))
        elif kind == "handed on":
            d.store("%zero", "u", "", f" where ({i} < 3)")  # the first iteration is one of these
            other = d.load("u", "")
            d.store(value, "u", "")
            value = d.tame_op(value, other)
        else:
            with d.loop("j", "0", "4") as j:
                if kind == "by some":
                    d.store("%two", "u", j, f" where ({i} < 3)")
                d.store(value, "u", j, f" where ({j} < {i})" if kind == "by some" else "")
            with d.loop("k", str(d.rng.randint(0, 2)), "4") as k:
                d.accumulate("add", d.load("u", k), "y", i)
        d.store(d.op("max", value, d.load("y", i)), "y", i)


def window(d: Draft) -> None:
    """Each iteration computes a window of an intermediate, mostly again what the one before has computed, and reads it."""
    n = d.extent("n", least=3)
    is_in_place = d.maybe(0.4)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    d.buffer("y", n, role="out")
    d.local("t", n)
    width, step = d.rng.choice((2, 3, 3)), d.rng.choice((1, 1, 2))
    with d.loop("o", str(d.rng.choice((0, 0, 1))), f"{n.bound} - {width - 1}", step) as o:
        if (is_sum := d.maybe(0.4)) and d.maybe(0.8):
            with d.loop("h", o, f"{o} + {width}") as h:
                d.store("%zero", "t", h)
        elif is_sum:
            d.store("%zero", "t", o)
            width = 1
        with d.loop("i", o, f"{o} + {width}") as i:
            value = d.load("x", i)
            if is_sum:
                d.accumulate("add", value, "t", i)
            elif d.maybe(0.3):
                d.store(value, "t", i, f" where ({i} <= 2 * {o} + 1)")
                width = 1
            else:
                d.store(d.op("max", value, "%two"), "t", i)
        value = d.tame_op(d.load("t", o), d.load("t", _shifted(o, width - 1)))
        d.store(value, "y", o)
        if is_in_place:
            d.store(value, "x", _shifted(o, d.rng.choice((0, width - 1))))


def kernel(d: Draft) -> None:
    """Blocks of threads that hand elements on to each other through a buffer of the block, or keep their own."""
    n, threads = d.extent("n"), d.rng.randint(2, 4)
    d.buffer("x", n, threads)
    d.buffer("y", n, threads, role="out")
    with d.loop("b", "0", n.bound, mark='bind "block.x"') as b:
        d.local("s", threads)
        with d.loop("t", "0", str(threads), mark='bind "thread.x"') as t:
            d.store(d.any_op(d.load("x", f"{b}, {t}"), "%two"), "s", t)
        with d.loop("u", "0", str(threads), mark='bind "thread.x"') as u:
            value = d.load("s", d.rng.choice((u, f"{threads - 1} - {u}")))
            for _ in range(d.rng.randint(0, 2)):
                value = d.any_op(value, d.load("x", f"{b}, {u}"))
            d.store(value, "y", f"{b}, {u}")


def epilogue(d: Draft) -> None:
    """Sums that are started and completed in one iteration of a loop, and a nest that uses them."""
    n = d.extent("n", least=1)
    is_in_place = d.maybe(0.5)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    target = "x" if is_in_place else d.buffer("y", n, role="inout")
    d.local("t", n)
    with d.loop("i", "0", n.bound) as i:
        d.store("%zero", "t", i)
        start = d.rng.choice(("0", "0", i))
        with d.loop("k", start, n.bound if d.maybe(0.6) else f"{i} + 1") as k:
            d.accumulate("add", d.load("x", k), "t", i)
    with d.over("j", n, plain=0.7) as j:
        d.store(d.tame_op(d.load("t", j), d.load("x", j)), target, j)


def _shifted(variable: str, by: int) -> str:
    return variable if by == 0 else f"{variable} {'+' if by > 0 else '-'} {abs(by)}"


def _greater(d: Draft) -> str:
    return "cmpf ogt" if d.element.startswith("f") else "cmpi sgt"


INTEGERS = ("i64", "i32")

FAMILIES: dict[str, tuple[Callable[[Draft], None], Sequence[str]]] = {
    "pointwise": (pointwise, tuple(DTYPES)),
    "flat": (flat, tuple(DTYPES)),
    "chain": (chain, tuple(DTYPES)),
    "rows": (rows, tuple(DTYPES)),
    "reduction": (reduction, tuple(DTYPES)),
    "blocked": (blocked, INTEGERS),
    "stencil": (stencil, tuple(DTYPES)),
    "blur": (blur, tuple(DTYPES)),
    "matmul": (matmul, tuple(DTYPES)),
    "scan": (scan, tuple(DTYPES)),
    "transposed": (transposed, INTEGERS),
    "triangular": (triangular, tuple(DTYPES)),
    "affine": (affine, INTEGERS),
    "branches": (branches, tuple(DTYPES)),
    "aliased": (aliased, tuple(DTYPES)),
    "checked": (checked, tuple(DTYPES)),
    "kernel": (kernel, tuple(DTYPES)),
    "scratch": (scratch, tuple(DTYPES)),
    "window": (window, tuple(DTYPES)),
    "epilogue": (epilogue, tuple(DTYPES)),
}
"""A family, and its element types; values of repeated updates may grow beyond what floats hold exactly."""


def draw_program(rng: random.Random, family: str | None = None) -> Program:
    """A random program, of one family when it is given."""
    name = family or rng.choice(list(FAMILIES))
    write, elements = FAMILIES[name]
    draft = Draft(name, rng, elements)
    write(draft)
    return draft.finish()
