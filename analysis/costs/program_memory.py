"""How much memory a call takes: arguments, results, and what its kernels allocate, buffer by buffer.

    %t = memref.alloc() : memref<400x30xf64>       t   float64[400, 30]   96,000 bytes   line 5
    ...                                            live from here
    memref.dealloc %t                              to here

A buffer is there from where it is allocated to where it is freed, or to the end of its block; the peak is the most that
there is at once. In a parallel loop each thread has its own. Buffers of a few kilobytes are on the stack, as the
lowering to LLVM decides; those on the heap are a whole number of cache lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ComplexType, Float16Type, IntegerType, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.diagnostic import op_location
from ..machine import LINE_BYTES, STACK_LIMIT
from ..nest.buffers import element_bytes
from ..nest.check_sites import raises
from .iterations import Extents, Iterations, NotKnown, callee, place, variable

Allocation = memref.AllocOp | memref.AllocaOp


@dataclass(frozen=True)
class ValueMemory:
    """The memory of one value."""

    name: str
    kind: str
    """`argument`, `result`, `temporary` (on the heap), `stack`, or `tape` (kept for the backward half of a derivative)."""
    type: str
    bytes: int
    """Of one copy: what the allocator is asked for."""
    file: str = ""
    line: int = 0
    """Where Python computes it; 0 where that is not known, or it is an argument."""
    copies: int = 1
    """How many there are at once: threads have their own."""
    at_peak: bool = False
    """Whether it is there when there is most."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        copies = f" for each of {self.copies} threads" if self.copies > 1 else ""
        where = f" (line {self.line})" if self.line else ""
        peak = ", at the peak" if self.at_peak else ""
        return f"{self.name}: {self.type}, {self.bytes:,} bytes{copies}{where}{peak}"


@dataclass(frozen=True)
class MemoryAnalysis:
    """How many bytes a call takes for extents, on a number of threads.

    `arguments` and `results` are arrays of the caller; `temporaries` all that kernels allocate on the heap in turn, `peak`
    the most of it at once, `stack` small buffers; `tape` what is kept for the backward half of derivatives, some of it in
    temporaries, some of it in results. Numbers are least ones where `is_exact` is false, and `reasons` say why.
    """

    name: str
    extents: dict[str, int]
    threads: int
    arguments: int
    results: int
    temporaries: int
    peak: int
    stack: int
    tape: int
    values: tuple[ValueMemory, ...]
    reasons: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether all sizes are known."""
        return not self.reasons

    @property
    def total(self) -> int:
        """Arguments, results, and the peak of temporaries."""
        return self.arguments + self.results + self.peak

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for `json`."""
        fields = {name: value for name, value in vars(self).items() if name not in ("values", "reasons")}
        fields |= {"total": self.total, "is_exact": self.is_exact, "reasons": list(self.reasons)}
        return fields | {"values": [one.as_dict() for one in self.values]}

    def __repr__(self) -> str:
        given = ", ".join(f"{name} = {number}" for name, number in self.extents.items())
        least = "" if self.is_exact else "at least "
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        lines = [
            f"memory of {self.name} on {threads}{f' for {given}' if given else ''}:",
            f"  arguments    {self.arguments:,} bytes",
            f"  results      {least}{self.results:,} bytes",
            f"  temporaries  {least}{self.temporaries:,} bytes, {least}{self.peak:,} at once",
        ]
        if self.stack:
            lines.append(f"  stack        {self.stack:,} bytes, in small buffers")
        lines += (
            [f"  tape         {least}{self.tape:,} bytes"]
            if any(v.kind == "tape" for v in self.values)
            else []
        )
        for kind in _TITLES:
            found = [one for one in self.values if one.kind == kind]
            lines += [f"  {_TITLES[kind]}:", *[f"    {one}" for one in found]] if found else []
        if self.reasons:
            lines += ["  not counted:", *[f"    {reason}" for reason in self.reasons]]
        return "\n".join(lines)


_TITLES: dict[str, str] = {
    "argument": "arguments",
    "result": "results",
    "temporary": "temporaries, on the heap",
    "tape": "kept for the backward half",
}


@dataclass(frozen=True)
class Allocated:
    """What a function allocates."""

    values: tuple[ValueMemory, ...]
    peak: int
    reasons: tuple[str, ...]


def allocated_by(
    module: ModuleOp, function: FuncOp, extents: Extents, threads: int, is_gpu: bool = False
) -> Allocated:
    """What a function, and those that it calls, allocate: at the scf level, or for a GPU what the host allocates there."""
    reader = _Reader(module, threads, (lambda size: size) if is_gpu else on_the_heap)
    peak = max([reader.peak(block, extents, 1) for block in function.body.blocks], key=lambda one: one.bytes)
    values = [
        ValueMemory(
            v.name,
            v.kind,
            v.type,
            v.bytes,
            v.file,
            v.line,
            v.copies,
            op in peak.ops and v.kind == "temporary",
        )
        for op, v in reader.values.items()
    ]
    return Allocated(tuple(values), peak.bytes, tuple(reader.reasons))


@dataclass(frozen=True)
class _Peak:
    """The most bytes at once, and what they are of."""

    bytes: int = 0
    ops: frozenset[Operation] = frozenset()


class _Reader:
    def __init__(self, module: ModuleOp, threads: int, asked: Callable[[int], int]):
        self._asked = asked
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._threads = threads
        self.values: dict[Operation, ValueMemory] = {}
        self.reasons: dict[str, None] = {}

    def peak(self, block: Block, extents: Extents, copies: int) -> _Peak:
        """The peak of what runs in a block, of which there are `copies` at a time."""
        live: dict[SSAValue, tuple[Operation, int]] = {}
        most = _Peak()
        for op in block.ops:
            if isinstance(op, Allocation):
                size = self._allocate(op, extents, copies)
                if size:
                    live[op.results[0]] = op, size
            elif isinstance(op, memref.DeallocOp):
                live.pop(op.memref, None)
            now = sum(size for _, size in live.values())
            inside = self._inside(op, extents, copies)
            if now + inside.bytes > most.bytes:
                most = _Peak(now + inside.bytes, inside.ops | {one for one, _ in live.values()})
        return most

    def _inside(self, op: Operation, extents: Extents, copies: int) -> _Peak:
        """The peak of what runs while `op` runs."""
        if isinstance(op, CallOp):
            return self._called(op, extents, copies)
        if not op.regions or not any(_allocates(inner) for inner in op.walk()):
            return _Peak()
        at_once = self._at_once(op, extents) if isinstance(op, scf.ParallelOp) else 1
        found = [
            self.peak(block, extents, copies * at_once) for region in op.regions for block in region.blocks
        ]
        most = max(found, key=lambda one: one.bytes, default=_Peak())
        return _Peak(most.bytes * at_once, most.ops)

    def _called(self, op: CallOp, extents: Extents, copies: int) -> _Peak:
        name = op.callee.string_value()
        function = self._functions.get(name)
        if function is None or not function.body.blocks:
            if not raises(op) and not name.startswith("nestor_"):
                self.reasons[f"what '{callee(op)}' allocates, which is called{place(op)}"] = None
            return _Peak()
        shapes: dict[SSAValue, Sequence[int]] = {}
        numbers: dict[SSAValue, int] = {}
        for inner, given in zip(function.body.blocks[0].args, op.arguments, strict=True):
            if isinstance(inner.type, MemRefType):
                try:
                    shapes[inner] = extents.shape(given)
                except NotKnown:
                    continue
            elif isinstance(known := extents.value(given, {}), int):
                numbers[inner] = known
        there = Extents(shapes, numbers)
        return max(
            (self.peak(block, there, copies) for block in function.body.blocks), key=lambda one: one.bytes
        )

    def _at_once(self, op: scf.ParallelOp, extents: Extents) -> int:
        """How many iterations of a parallel loop there are at a time, at most."""
        trips = 1
        for ends in zip(op.lowerBound, op.upperBound, op.step, strict=True):
            lower, upper, step = (extents.value(end, {}) for end in ends)
            if lower is None or upper is None or step is None:
                return self._threads
            trips *= max(-(-(upper - lower) // step), 0)
        return min(trips, self._threads)

    def _allocate(self, op: Allocation, extents: Extents, copies: int) -> int:
        """Note an allocation; its bytes on the heap, 0 for one on the stack."""
        kind = op.results[0].type
        assert isinstance(kind, MemRefType)
        where = op_location(op)
        name = op.results[0].name_hint or "a buffer"
        try:
            shape = [
                n if n >= 0 else size for n, size in zip(kind.get_shape(), _sizes(op, extents), strict=True)
            ]
        except NotKnown:
            self.reasons[f"'{name}'{place(op)}: its size is known when it runs"] = None
            return 0
        size = element_bytes(kind.element_type) * int(np.prod(shape, dtype=object))
        is_small = (
            isinstance(op, memref.AllocaOp) and size <= STACK_LIMIT and min(kind.get_shape(), default=0) >= 0
        )
        on_heap = 0 if is_small else self._asked(size)
        text = f"{element_name(kind.element_type)}[{', '.join(map(str, shape))}]"
        file, line = (where.file, where.line) if where is not None else ("", 0)
        known = self.values.get(op)
        if known is None or known.bytes < (on_heap or size):
            self.values[op] = ValueMemory(
                name, "stack" if is_small else "temporary", text, on_heap or size, file, line, copies
            )
        return on_heap


def on_the_heap(size: int) -> int:
    """What the allocator is asked for, for a buffer of so many bytes: whole cache lines, and one at least."""
    return (size + LINE_BYTES) // LINE_BYTES * LINE_BYTES


def _allocates(op: Operation) -> bool:
    return isinstance(op, Allocation | CallOp)


def _sizes(op: Allocation, extents: Extents) -> Iterator[int]:
    """The largest extent of each axis, over all iterations of the loops around; those of the type stand for themselves."""
    sizes = iter(op.dynamic_sizes)
    kind = op.results[0].type
    assert isinstance(kind, MemRefType)
    for extent in kind.get_shape():
        yield extent if extent >= 0 else _largest(op, next(sizes), extents)


def _largest(op: Operation, value: SSAValue, extents: Extents) -> int:
    support = extents.support(value)
    loops: list[Operation] = []
    outer = op.parent_op()
    while outer is not None:
        loops.insert(0, outer)
        outer = outer.parent_op()
    needed = set(support)
    for loop in reversed(loops):
        for name, ends in _variables(loop):
            if name in needed:
                needed |= extents.supports(ends)
    points = Iterations({})
    for loop in loops:
        for name, ends in _variables(loop):
            if name not in needed:
                continue
            first, end, step = (extents.value(one, points.values) for one in ends)
            if first is None or end is None or step is None:
                raise NotKnown("a bound of a loop")
            points.expand(name, first, step, np.maximum(-((first - end) // step), 0))
    found = extents.value(value, points.values)
    if found is None:
        raise NotKnown("a size")
    return int(np.max(found, initial=0))


def _variables(loop: Operation) -> Iterator[tuple[SSAValue, tuple[SSAValue, ...]]]:
    """The variables of a loop, with bounds and steps."""
    if isinstance(loop, scf.ForOp):
        yield variable(loop), (loop.lb, loop.ub, loop.step)
    elif isinstance(loop, scf.ParallelOp):
        ends = zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)
        yield from zip(loop.body.block.args, ends, strict=True)


def element_name(element: Any) -> str:
    """The element type as NumPy calls it, as far as memory tells: integers there have no sign."""
    if isinstance(element, IntegerType):
        return f"int{element.width.data}"
    if isinstance(element, ComplexType):
        return "complex"
    return (
        "float16"
        if isinstance(element, Float16Type)
        else str(element).replace("bf", "bfloat").replace("f", "float", 1)
    )
