"""Random programs that write to their arguments, and random views of one array to call them with."""

from __future__ import annotations

import importlib.util
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROWS = [
    "for i in range(len({a})):\n    {a}[i] = {b}[i] + {c}[i]",
    "for i in range(1, len({a})):\n    {a}[i] = {b}[i - 1] - {c}[i]",
    "for i in range(len({a}) - 1, -1, -1):\n    {a}[i] = {b}[len({a}) - 1 - i] + 1",
    "for i in range(len({a})):\n    {a}[i] = {c}[i] + 1\n    {c}[i] = {b}[i] - 2",
    "for i in range(len({a})):\n    if {b}[i] > k:\n        {a}[i] = {c}[i] - 1",
    "s = 0\nfor i in range(len({b})):\n    s = s + {b}[i]\n    {a}[i] = s",
    "for i in range(len({a})):\n    t = {b}[i]\n    {a}[i] = {c}[i]\n    {b}[i] = t",
    "{a}[1:] = {b}[:-1] + {c}[1:]",
    "{a}[::2] = {a}[::2] - {b}[::2]",
    "{a}[::-1] = {b} - 1",
    "{a}[:] = <{b}>",
    "{a}[:] = {a} + {b}",
    "{a} -= {b}[::-1]",
    "{a} += 1",
    "{a} *= {a}[::-1]",
    "np.maximum({b}, {c}, out={a})",
    "np.add({b}[1:], k, out={a}[:-1])",
    "{a}[2] = k",
    "{a}[...] = {b}.sum() + {c}[0]",
    "{a}[{b} > {c}] = k",
    "{a}[[0, 2]] = {b}[[1, 0]]",
    "{a}[:] = {b}[np.arange(len({b}))[::-1]]",
    "{a}[:] = np.where({b} > k, {b}, {c})",
    "{a}.fill(k)",
    "{a}.sort()",
    "if {b}.sum() > k:\n    {a} += 1\nelse:\n    {c}[:] = <{b}[::-1]>",
    "if k > 3:\n    {a}[1:] = <{b}[1:]>",
    "for _ in range(k):\n    {a}[1:] += {b}[:-1]",
    "for _ in range(3):\n    {a} -= {b}[::-1]\n    {c}[:-1] = <{a}[1:]>",
    "for j in range(k):\n    t = {b} + {c}\n    {a}[:] = t[::-1]",
    "q = {b}\n{a}[1:] = q[1:] - 1\n{c}[:] = <q>",
    "u = {b}[1:]\n{a}[:-1] = u + {c}[1:]",
    "p = {b} - {c}\n{a}[:] = p\n{c} += p",
    "r = {b}.reshape(2, -1)\n{c}[0] = k\nresults.append(r.sum(axis=0))",
    "r = {b}.reshape(2, -1)\nresults.append(r + 1)\n{a}[0] = k",
    "q = {c}\nif k > 2:\n    q = {b}\n{a}[0] = k\nresults.append(q + 1)",
    "results.append({b} - {c})",
    "results.append({b}.sum())",
    "results.append({b}[1:])",
    "results.append({b})",
]
"""Statements on arrays of one dimension."""

PLANES = [
    "for i in range(len({a})):\n    for j in range(len({a})):\n        {a}[i, j] = {b}[j, i] + {c}[i, j]",
    "for i in range(1, len({a})):\n    for j in range(len({a})):\n        {a}[i, j] = {b}[i - 1, j] - {c}[i, j]",
    "for i in range(len({a})):\n    {a}[i] = {b}[i] + {c}[:, i]",
    "for i in range(len({a})):\n    {a}[i, :] -= {b}[i].sum()",
    "{a}[1:] = {b}[:-1] + {c}[1:]",
    "{a}[:] = {b}.T",
    "{a} += {b}.T",
    "{a}[:, 0] = <{b}[0, :]>",
    "{a}[::-1] = {b}[:, ::-1]",
    "{a}[:] = {b} @ {c}",
    "{a}[0] += {b}.sum(axis=0)",
    "{a}[0, 1:] = k",
    "if {b}[0, 0] > k:\n    {a} += 1\nelse:\n    {c}[:] = {b}.T",
    "for _ in range(k):\n    {a}[1:] += {b}[:-1]",
    "p = {b} - {c}\n{a}[:] = p\n{c} += p",
    "u = {b}[1:, :2]\n{a}[:-1, 1:3] = u",
    "results.append({b} - {c}.T)",
    "results.append({b}[1])",
    "results.append({b}.T)",
]
"""Statements on square arrays."""


@dataclass(frozen=True)
class Program:
    """The text of a function of these parameters and `k`.

    What is assigned as it is stands in `<>`: where it overlaps its target and both have one axis, NumPy 2.4 reads
    elements that it has already written. Python is given a copy of it.
    """

    parameters: tuple[str, ...]
    text: str
    rank: int

    def load(self, folder: Path) -> tuple[Any, Any]:
        """The function as it is compiled, and as Python runs it, from files in the folder."""
        return self._load(folder, ""), self._load(folder, ".copy()")

    def _load(self, folder: Path, copied: str) -> Any:
        path = folder / f"program_{len(list(folder.glob('*.py')))}.py"
        path.write_text(_ASSIGNED.sub(rf"\1{copied}", self.text))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f


_ASSIGNED = re.compile(r"<([^<>]+)>")


def program(rng: random.Random) -> Program:
    """A function of two to five arrays, which writes to some of them, and returns what it saw."""
    parameters = tuple("xyzvw"[: rng.choice([2, 3, 3, 3, 4, 5])])
    rank = rng.choice([1, 1, 1, 2])
    table = ROWS if rank == 1 else PLANES
    lines = ["results = []"]
    for _ in range(rng.randint(2, 4)):
        names = {name: rng.choice(parameters) for name in "abc"}
        lines += rng.choice(table).format(**names).splitlines()
    lines.append(f"return tuple(results), {rng.choice(parameters)} - {rng.choice(parameters)}")
    body = "".join(f"    {line}\n" for line in lines)
    return Program(parameters, f"import numpy as np\n\n\ndef f({', '.join(parameters)}, k):\n{body}", rank)


DTYPES = [np.int64, np.int64, np.float64, np.int32, np.int8]


@dataclass(frozen=True)
class Memory:
    """An array, and views of it, by what they are of it: dtype, first element, shape and steps in elements."""

    dtype: Any
    size: int
    views: tuple[tuple[Any, int, tuple[int, ...], tuple[int, ...]], ...]

    def fresh(self, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The array with small numbers in it, and its views."""
        base = np.random.default_rng(seed).integers(-9, 10, self.size).astype(self.dtype)
        return base, [_view(base, *one) for one in self.views]


def _view(
    base: np.ndarray, dtype: Any, first: int, shape: tuple[int, ...], steps: tuple[int, ...]
) -> np.ndarray:
    elements = base.view(dtype)[first:]
    bytes_apart = tuple([step * elements.itemsize for step in steps])
    return np.lib.stride_tricks.as_strided(elements, shape, bytes_apart)


def memory(rng: random.Random, count: int, rank: int, n: int) -> Memory:
    """Views of the same shape: apart, the same, shifted, backwards, with steps, of other types, one between two others."""
    dtype = rng.choice(DTYPES)
    views: list[Any] = []
    size = 3 * n if rank == 1 else 3 * n * n
    while len(views) < count:
        if views and rng.random() < 0.15:
            views.append(rng.choice(views))
            continue
        one = np.int32 if dtype is np.int64 and rng.random() < 0.15 else dtype
        views.append((one, *(_row(rng, n, size) if rank == 1 else _square(rng, n, size))))
    return Memory(dtype, size, tuple(views))


def _row(rng: random.Random, n: int, size: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    step = rng.choice([1, 1, 1, 1, -1, 2, -2])
    reach = (n - 1) * abs(step)
    # Some lie end to end, which is apart, and some a little beside each other.
    first = rng.choice([0, 1, n - 1, n, n + 1, rng.randrange(size - reach)])
    first = min(first, size - reach - 1)
    return first + (reach if step < 0 else 0), (n,), (step,)


def _square(rng: random.Random, n: int, size: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    wide = rng.choice([n, n + 1, 2 * n])
    reach = (n - 1) * wide + n - 1
    first = min(rng.choice([0, 1, n, n * n, wide, rng.randrange(size - reach)]), size - reach - 1)
    how = rng.randrange(6)
    if how == 0:
        return first, (n, n), (1, wide)
    if how == 1:
        return first + (n - 1) * wide, (n, n), (-wide, 1)
    return first, (n, n), (wide, 1)
