"""Faults planted in the text of emitted kernels, and whether the simulator's checks see them.

    if (i >= 1000) return;     ->  if (i > 1000) return;          a mask off by one
    tile[row][col]             ->  tile[col][row]                 indices exchanged
    __syncthreads();           ->                                 a barrier left out

A mutant is one such edit of one kernel of a program. It is seen where the checked simulator reports a fault, or a result
is another one, in any of three orders of threads. What is not seen is run once more with other values in all memory that
nothing has written: where that changes a result, it has been missed; else the edit changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
from gpu_programs import Program, arguments_of
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.jit.driver.simulated_check import first_difference, unaligned
from nestor.runtime.cuda_sim.device import SimDevice
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.cuda_sim.module import SimModule
from nestor.runtime.cuda_sim.options import ORDERS

EDITS: dict[str, tuple[str, str]] = {
    "mask off by one": (r"(?<=if \()([^\n]*?) < ", r"\1 <= "),
    "guard off by one": (r"(?<=if \()([^\n]*?) >= ([^\n]*return;)", r"\1 > \2"),
    "one iteration more": (r"(for \(int \w+ = [^;]*; \w+) < ", r"\1 <= "),
    "one iteration less": (r"(for \(int \w+ = [^;]*; \w+ < )(\w+);", r"\1\2 - 1;"),
    "starts late": (r"(for \(int \w+ = )0;", r"\g<1>1;"),
    "next element read": (r"(= \w+\[[^\[\]\n]+)\];", r"\1 + 1];"),
    "next element written": (r"^( +\w+\[[^\[\]\n]+)\] = ", r"\1 + 1] = "),
    "indices exchanged": (r"(\w+)\[([a-z]\w*)\]\[([a-z]\w*)\]", r"\1[\3][\2]"),
    "no barrier": (r"__sync(?:threads|warp)\([^)]*\);", ""),
    "another axis of threads": (r"threadIdx\.x", "threadIdx.y"),
    "another axis of blocks": (r"blockIdx\.x", "blockIdx.y"),
    "twice as far": (r"( \* )(\d+)( \+ )", r"\1(2 * \2)\3"),
    "half as far": (r"(\w) \* (16|32|64|128|256|512|1024|2048|4096)\b", r"\1 * (\2 / 2)"),
    "lanes further": (r"16 >> step", "8 >> step"),
    "lanes left out": (r"0xffffffffu", "0x7fffffffu"),
    "subtracted": (r"( \w+(?:\[[^\n]*\])? )\+= ", r"\1-= "),
    "not begun": (r"(  (?:float|double|int) \w+) = 0(?:\.0f?)?;", r"\1;"),
    "no wait for copies": (r"nt_wait_copies<\d+>\(\);", ""),
}
"""What is edited, by name: a pattern and what takes its place."""

_KERNEL = re.compile(
    r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\((?:.*?)\n}\n', re.DOTALL
)


@dataclass(frozen=True)
class Mutant:
    """An edit of a kernel."""

    program: str
    kernel: str
    edit: str
    line: str
    """The line as it is after the edit."""
    text: str
    """The kernel, with the name `kernel` still."""

    def __str__(self) -> str:
        return f"{self.program}: {self.edit}: {self.line}"


def mutants_of(program: str, source: str) -> Iterator[Mutant]:
    """All edits of all kernels of a text."""
    for found in _KERNEL.finditer(source):
        kernel = found[0]
        for edit, (pattern, new) in EDITS.items():
            for place in re.finditer(pattern, kernel, re.MULTILINE):
                if kernel[kernel.rfind("\n", 0, place.start()) + 1 :].lstrip().startswith("//"):
                    continue  # a line of Python
                edited = kernel[: place.start()] + place.expand(new) + kernel[place.end() :]
                start = edited.rfind("\n", 0, place.start()) + 1
                line = edited[start : edited.find("\n", place.start())].strip()
                yield Mutant(program, found[1], edit, line, edited)


def larger(call: str) -> str:
    """A call with longer extents: of more blocks, and of more elements than a thread takes at a time."""
    ranks = [len(shape.split(",")) for shape in re.findall(r"\[([\d,]+)\]", call)]
    sizes = [math.prod(map(int, shape.split(","))) for shape in re.findall(r"\[([\d,]+)\]", call)]
    factor = {1: 101, 2: 7, 3: 3}.get(max(ranks, default=0), 2) if max(sizes, default=0) < LARGE else 1
    return re.sub(
        r"\[([\d,]+)\]",
        lambda found: (
            "[" + ",".join(str(factor * int(n)) if int(n) > 1 else n for n in found[1].split(",")) + "]"
        ),
        call,
    )


LARGE = 20_000
"""Elements of an array that need not be longer."""


class Renamed(SimDevice):
    """A device that launches another kernel in the place of one."""

    def __init__(self, module: SimModule, memory: Any, names: dict[str, str], fill: int | None = None):
        super().__init__(module, memory)
        self._names, self._fill = names, fill

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = super().allocate(shape, dtype)
        if self._fill is not None:
            array.reshape(-1).view(np.uint8)[:] = self._fill
        return array

    def launch(self, kernel, grid, block, arguments, shared=0):
        super().launch(self._names.get(kernel, kernel), grid, block, arguments, shared)


class Judge:
    """A program with chosen mutants in one text, and calls of it: of the row, on larger arrays, and on unaligned ones."""

    def __init__(self, program: Program, choose: Callable[[list[Mutant]], list[Mutant]]):
        calls = program.calls[:2]
        first, *others = map(arguments_of, (*calls, larger(calls[0])) if program.dynamic else calls[:1])
        compiled = nt.jit(program.function, dynamic=program.dynamic).lower(*first).compile("cuda-sim")
        self.engine: SimEngine = compiled.engine
        self.calls: list[list[Any]] = []
        for arguments in (first, *others):
            taken: list[list[Any]] = []

            def kernel(given: Sequence[Any], taken=taken) -> None:
                taken.append(_copied(given))
                compiled._kernel(given)

            try:
                compiled._call(kernel, arguments, {})
            except NestorError:  # a call of other types, or for which it was not compiled
                continue
            self.calls += taken
        self.calls.append(self.calls[-1])  # on unaligned arrays
        source = self.engine.plan.cuda.source
        self.mutants = choose(list(mutants_of(program.name, source)))
        texts = [
            one.text.replace(f" {one.kernel}(", f" {self.name(k)}(", 1) for k, one in enumerate(self.mutants)
        ]
        self.source = "\n".join([source, *texts])
        self.wanted = [self._run(k, "plain", ORDERS[0], {}) for k in range(len(self.calls))]

    def name(self, k: int) -> str:
        return f"mutant_{k}"

    def verdict(self, k: int) -> str:
        """`fault`, `value`, `missed` or `same`."""
        names = {self.mutants[k].kernel: self.name(k)}
        for call in range(len(self.calls)):
            for order in ORDERS:
                try:
                    got = self._run(call, "checked", order, names)
                except NestorError:
                    return "fault"
                if self._differs(got, call):
                    return "value"
        for call in range(len(self.calls)):
            for fill in (0, 0x3F):
                try:
                    got = self._run(call, "plain", "random", names, fill)
                except NestorError:
                    return "missed"
                if self._differs(got, call):
                    return "missed"
        return "same"

    def _differs(self, got: Sequence[np.ndarray], call: int) -> bool:
        pairs = zip(got, self.wanted[call], strict=True)
        return any(first_difference(one, other) is not None for one, other in pairs)

    def _run(
        self, call: int, mode: str, order: str, names: dict[str, str], fill: int | None = None
    ) -> list[np.ndarray]:
        """What the arrays hold afterwards. Raises NestorError for a fault, also of results that nothing has written."""
        module = SimModule(self.source, mode, order, seed=1)
        given = _copied(self.calls[call], shift=call + 1 == len(self.calls))
        if mode == "plain":
            self.engine.plan.run(Renamed(module, None, names, fill), given)
            return [one for one in given if isinstance(one, np.ndarray)]
        memory, copied = self.engine._guarded(given)
        record = self.engine.plan.run(Renamed(module, memory, names), copied)
        if not record.code and self.engine._unwritten(memory, copied):
            raise NestorError("elements of results are not written")
        memory.write_back()
        return [one for one in given if isinstance(one, np.ndarray)]


def _copied(arguments: Sequence[Any], shift: bool = False) -> list[Any]:
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    return unaligned(copies) if shift else copies
