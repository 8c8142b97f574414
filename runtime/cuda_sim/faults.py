"""The faults that the simulator finds in kernels, and how they are told."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dialects.diagnostic import NestorError
from .memory import byte_bounds
from .text import KernelText, PythonLine

_KINDS = (
    "out-of-bounds", "misaligned", "read-only", "uninitialised", "race", "pending-copy", "divergent-barrier",
    "missed-barrier", "divergent-warp", "masks-differ", "not-in-mask", "absent-lane", "deadlock",
    "out-of-bounds",
)  # fmt: skip
_ACCESSES = ("read", "write", "atomic update", "")
_SPACES = ("global", "shared")
_NO_MEMORY = 2


class RawParty(ctypes.Structure):
    """`SimParty` of hooks.h."""

    _fields_ = [
        ("pc", ctypes.c_uint64),
        ("site", ctypes.c_int32),
        ("thread", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("access", ctypes.c_uint32),
    ]


class RawReport(ctypes.Structure):
    """`SimReport` of hooks.h."""

    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("first", RawParty),
        ("second", RawParty),
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint32),
        ("space", ctypes.c_uint32),
        ("region", ctypes.c_int32),
        ("value", ctypes.c_uint64),
    ]


@dataclass
class Launch:
    """What a launch was, to tell its faults."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    text: KernelText
    library: str
    regions: list[int] = field(default_factory=list)
    arrays: list[tuple[int, str, np.ndarray]] = field(default_factory=list)
    """Of each array: the base of its region, its name, the array."""
    shared: list[tuple[int, int, str, int, tuple[int, ...]]] = field(default_factory=list)


@dataclass(frozen=True)
class Party:
    """One of the two that a fault is about: who, and where in the text."""

    thread: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    """None where the fault is one of all threads that reach the line."""
    access: str
    """`read`, `write` or `atomic update`; empty for barriers and warp operations."""
    line: int
    """Of the kernels' text, from 1; 0 where it is not known, or the thread has ended."""
    text: str
    python: PythonLine | None

    def __str__(self) -> str:
        if self.thread is None or self.block is None:
            return f"kernels.cu:{self.line}: {self.text}"
        who = f"thread {_index(self.thread)} of block {_index(self.block)}"
        where = f"  kernels.cu:{self.line}: {self.text}" if self.line else ""
        return f"{self.access} by {who}{where}" if self.access else f"{who}{where}"


@dataclass(frozen=True)
class Fault:
    """One fault of a kernel; `count` says how often it was seen."""

    kind: str
    kernel: str
    message: str
    place: str
    """The element, as `tile[3][17]`; empty where the fault is not about memory."""
    first: Party | None
    """None for what is no statement's: elements of results that nothing has written."""
    second: Party | None
    count: int

    @property
    def key(self) -> tuple:
        """What makes two faults the same one: kind, kernel, lines (in any order), array."""
        lines = sorted(party.line if party else 0 for party in (self.first, self.second))
        return self.kind, self.kernel, *lines, self.place.partition("[")[0]

    def __str__(self) -> str:
        parties = [party for party in (self.first, self.second) if party is not None]
        lines = [self.message, *(f"  {party}" for party in parties)]
        pythons = [party.python for party in parties if party.python is not None]
        lines += [f"  from {python}" for python in dict.fromkeys(pythons)]
        if self.count > 1:
            lines.append(f"  seen {self.count} times")
        return "\n".join(lines)


class SimulatorFault(NestorError):
    """A kernel did what CUDA leaves undefined. `reports` holds the faults, first seen first.

        @nt.jit(target="cuda-sim:checked", boundscheck=False)
        def f(x, k):
            return x[k]

        f(np.ones(3), np.array([0, 7]))

    The report names the kernel, the two accesses with their threads, and the Python lines. A fault of a program that Nestor
    scheduled itself is a defect of Nestor: please report it.
    """

    def __init__(self, launch: Launch | None, reports: Sequence[Fault]):
        self.reports = tuple(reports)
        count = "a fault" if len(reports) == 1 else f"{len(reports)} faults"
        head = f"{count} in the program:"
        if launch is not None:
            grid, block = _extents(launch.grid), _extents(launch.block)
            head = f"{count} in kernel '{launch.kernel}' (grid {grid}, block {block}):"
        super().__init__("\n".join([head, *(_indent(str(report)) for report in reports)]))


STATIC_SHARED = 48 << 10
"""Bytes of the `__shared__` arrays that a kernel declares at most; more come with the launch."""


def beyond_limits(launch: Launch) -> list[Fault]:
    """The faults of a launch that a GPU would refuse, or whose kernel no compiler takes."""
    text, kernel = launch.text, launch.kernel
    line = text.line_of(kernel)
    party = Party(None, None, "", line, text.at(line), text.python_line(line))
    found = []
    count, bound = math.prod(launch.block), text.most_threads.get(kernel)
    if bound is not None and count > bound:
        found.append(
            (
                "too-many-threads",
                f"a block has {count} threads, and the kernel is compiled for at most {bound}",
            )
        )
    if (size := text.bytes_shared(kernel)) > STATIC_SHARED:
        found.append(
            ("too-much-shared", f"arrays in shared memory have {size} bytes, of at most {STATIC_SHARED}")
        )
    return [Fault(kind, kernel, message, "", party, None, 1) for kind, message in found]


def unwritten_result(name: str, index: Sequence[int], count: int) -> Fault:
    """The fault of a result of which elements were never written: the first one, and how many there are."""
    element = f"{name}[{', '.join(map(str, index))}]"
    more = f", and of {count - 1} more" if count > 1 else ""
    return Fault(
        "unwritten",
        "",
        f"no kernel has written the element of the result {element}{more}",
        element,
        None,
        None,
        1,
    )


def describe(raw: Sequence[RawReport], launch: Launch, image_base: int) -> list[Fault]:
    """Reports of the library as faults: one for each kind and pair of lines."""
    lines = lines_of_code(
        [p.pc - image_base for r in raw for p in (r.first, r.second) if p.pc], launch.library
    )
    faults: dict[tuple, Fault] = {}
    for report in raw:
        first = _party(report.first, launch, lines, image_base)
        second = _party(report.second, launch, lines, image_base) if _has_second(report) else None
        kind = _KINDS[report.kind]
        place = _element(report, launch)
        key = kind, first.line, second.line if second else 0, place.partition("[")[0]
        if (known := faults.get(key)) is not None:
            faults[key] = Fault(**{**known.__dict__, "count": known.count + report.count})
            continue
        message = _message(kind, report, place, first)
        faults[key] = Fault(kind, launch.kernel, message, place, first, second, report.count)
    return list(faults.values())


def _has_second(report: RawReport) -> bool:
    kind = _KINDS[report.kind]
    if kind in (
        "race",
        "pending-copy",
        "divergent-barrier",
        "missed-barrier",
        "divergent-warp",
        "masks-differ",
    ):
        return True
    return kind == "deadlock" and report.first.thread != report.second.thread


def _message(kind: str, report: RawReport, place: str, first: Party) -> str:
    if report.space == _NO_MEMORY and kind == "out-of-bounds":
        return f"outside of an array: {place}"
    space = _SPACES[report.space] if report.space < len(_SPACES) else ""
    bytes = "1 byte" if report.size == 1 else f"{report.size} bytes"
    return {
        "out-of-bounds": f"{first.access} of {bytes} out of bounds: {place}",
        "misaligned": f"{first.access} of {bytes} at an address that is not a multiple of {report.size}: {place}",
        "read-only": f"write to a const array: {place}",
        "uninitialised": f"read of {space} memory that nothing has written: {place}",
        "race": f"race on {space} memory: {place}",
        "pending-copy": f"access to {space} memory that an asynchronous copy is still writing: {place}",
        "divergent-barrier": "threads of a block wait at different barriers",
        "missed-barrier": "a thread has ended, and others of its block wait at a barrier",
        "divergent-warp": "lanes of a warp are at different warp operations",
        "masks-differ": "lanes of a warp operation disagree on its mask",
        "not-in-mask": "a thread calls a warp operation without being in its mask",
        "absent-lane": f"a shuffle reads lane {report.value}, which does not take part in it",
        "deadlock": "deadlock: a barrier, warp operation or value that threads wait for does not come",
    }[kind]


def _party(raw: RawParty, launch: Launch, lines: dict[int, int], image_base: int) -> Party:
    line = (raw.pc and lines.get(raw.pc - image_base, 0)) or raw.site
    access = _ACCESSES[raw.access] if raw.pc else ""
    text = launch.text.at(line) if line else ""
    return Party(
        _split(raw.thread, launch.block),
        _split(raw.block, launch.grid),
        access,
        line,
        text,
        launch.text.python_line(line) if line else None,
    )


def _element(report: RawReport, launch: Launch) -> str:
    """The element at an address: `x[3, 4]` of a parameter, `tile[3][17]` of shared memory."""
    if report.space == _NO_MEMORY and _KINDS[report.kind] == "out-of-bounds":
        index = ctypes.c_int64(report.value).value
        return f"index {index} of {ctypes.string_at(report.address).decode()}"
    if report.space == 1 and 0 <= report.region < len(launch.shared):
        _, size, name, unit, extents = launch.shared[report.region]
        return name + _shared_index(report.value // unit, extents, size // unit)
    if report.space != 0:
        return ""
    here = launch.regions[report.region] if 0 <= report.region < len(launch.regions) else 0
    for base, name, array in launch.arrays:
        if base == here and (index := _array_index(report.address, array)) is not None:
            return f"{name}[{', '.join(map(str, index))}]"
    if not launch.arrays:
        return f"address {report.address:#x}"
    return min(_beside(report.address, name, array) for _, name, array in launch.arrays)[1]


def _beside(address: int, name: str, array: np.ndarray) -> tuple[int, str]:
    """How far an address is from an array, and what it is called as an index of it."""
    low, high = byte_bounds(array)
    elements, rest = divmod(address - array.ctypes.data, array.itemsize)
    odd = f" and {rest} bytes" if rest else ""
    shape = " x ".join(map(str, array.shape))
    where = f", where {name} has shape ({shape})" if array.ndim else ""
    return max(low - address, address - high + 1, 0), f"{name}[{elements}{odd}]{where}"


def _array_index(address: int, array: np.ndarray) -> tuple[int, ...] | None:
    """The index of the element of an array that holds an address."""
    rest = address - array.ctypes.data
    order = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
    low = sum((array.shape[k] - 1) * array.strides[k] for k in order if array.strides[k] < 0)
    rest -= low
    index = [0] * array.ndim
    for k in order:
        stride = abs(array.strides[k])
        if stride == 0:
            continue
        index[k] = min(rest // stride, array.shape[k] - 1)
        rest -= index[k] * stride
        if array.strides[k] < 0:
            index[k] = array.shape[k] - 1 - index[k]
    return tuple(index) if 0 <= rest < array.itemsize else None


def _shared_index(position: int, extents: tuple[int, ...], count: int) -> str:
    if not extents:
        return f"[{position}]" if count != 1 or position else ""
    index = []
    for extent in reversed(extents[1:]):
        position, k = divmod(position, extent)
        index.append(k)
    return "".join(f"[{k}]" for k in (position, *reversed(index)))


def lines_of_code(offsets: Sequence[int], library: str) -> dict[int, int]:
    """The line of the kernels' text that each return address (relative to the library) belongs to."""
    wanted = list(dict.fromkeys(offsets))
    if not wanted:
        return {}
    command = ["addr2line", "-a", "-i", "-e", library, *(f"{offset - 1:#x}" for offset in wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: dict[int, int] = {}
    current = -1
    for text in done.stdout.splitlines():
        if text.startswith("0x"):
            current += 1
            continue
        file, _, rest = text.rpartition(":")
        number = rest.split()[0]
        if file.endswith("kernels.cu") and number.isdigit():  # the outermost frame: the kernel itself
            lines[wanted[current]] = int(number)
    return lines


def _split(linear: int, extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, _ = (*extents, 1, 1, 1)[:3]
    return linear % x, linear // x % y, linear // (x * y)


def _index(index: tuple[int, int, int]) -> str:
    return str(index[0]) if index[1:] == (0, 0) else f"({', '.join(map(str, index))})"


def _extents(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
