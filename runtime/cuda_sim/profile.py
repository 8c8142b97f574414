"""Profiles: a GPU program run once in the simulator's mode `profile`, and what its launches counted put together."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..cuda.host_program import ErrorRecord, HostProgram
from .device import SimDevice
from .faults import Launch, lines_of_code
from .memory import GuardedMemory, Region
from .module import SimModule, image_base
from .report import SECTOR_BYTES, ArrayProfile, KernelProfile, LineProfile, ProfileReport

_KINDS = ("load", "store", "atomic")
_GLOBAL = 0
_SITE = np.dtype(
    [
        ("code", "u8"), ("space", "i4"), ("array", "i4"), ("kind", "u8"), ("size", "u8"), ("requests", "u8"),
        ("lanes", "u8"), ("cost", "u8"), ("ideal", "u8"),
    ]
)  # fmt: skip
"""`SimSite` of profile.cpp."""
_COUNTS = ("requests", "lanes", "cost", "ideal")


def profile(
    plan: HostProgram, memory: GuardedMemory, arguments: Sequence[Any]
) -> tuple[ErrorRecord, ProfileReport]:
    """Run a program whose arguments are in `memory`; how it ended, and what it cost. Raises SimulatorFault."""
    module = SimModule(plan.cuda.source, mode="profile", places=plan.cuda.places)
    profiler = Profiler(module, memory)
    module.on_launch = profiler.launched
    record = plan.run(SimDevice(module, memory), arguments)
    return record, profiler.report(plan.name)


@dataclass(eq=False)
class _Kernel:
    grid: tuple[int, ...]
    block: tuple[int, ...]
    launches: int = 0
    lines: dict[tuple, np.ndarray] = field(default_factory=dict)
    """By line, kind, space, array and size: `_COUNTS`."""


@dataclass(eq=False)
class _Array:
    """What launches did to a region; `made` and `needed` only of an argument, a bool for each byte."""

    name: str
    region: Region
    requested: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_KINDS, 0))
    moved: int = 0
    made: np.ndarray | None = None
    needed: np.ndarray | None = None


class Profiler:
    """Puts the counts of launches together."""

    def __init__(self, module: SimModule, memory: GuardedMemory):
        self._module, self._memory = module, memory
        self._kernels: dict[str, _Kernel] = {}
        self._arrays: dict[int, _Array] = {}
        """By address."""
        self._gone: list[_Array] = []
        self._lines: dict[int, int] = {}
        """Of the kernels' text, by the place of code in the library; 0 where it is not known."""

    def launched(self, launch: Launch) -> None:
        """Take what the library has counted in a launch that has just ended."""
        kernel = self._kernels.setdefault(launch.kernel, _Kernel(launch.grid, launch.block))
        kernel.launches += 1
        sites = self._sites()
        image = image_base(self._module.library)
        new = {int(code) - image for code in sites["code"]} - self._lines.keys()
        self._lines |= dict.fromkeys(new, 0) | lines_of_code(sorted(new), launch.library)
        for base, name, _ in launch.arrays:
            self._see(base, name)
        arrays = [self._arrays[base] for base in launch.regions]
        for site in sites:
            kind, counts = _KINDS[site["kind"]], np.array([site[name] for name in _COUNTS], np.int64)
            if site["space"] == _GLOBAL:
                array = arrays[site["array"]]
                array.requested[kind] += int(site["cost"]) * SECTOR_BYTES
                space = "global"
                name = "/".join(dict.fromkeys(n for base, n, _ in launch.arrays if base == array.region.base))
            else:
                name, space = launch.shared[site["array"]][2], "shared"
            key = self._lines[int(site["code"]) - image], kind, space, name, int(site["size"])
            kernel.lines[key] = kernel.lines.get(key, np.zeros(len(_COUNTS), np.int64)) + counts
        for k, array in enumerate(arrays):
            self._count_bytes(k, array)

    def report(self, name: str) -> ProfileReport:
        """All of it."""
        kernels = [self._kernel_profile(name, kernel) for name, kernel in self._kernels.items()]
        return ProfileReport(
            name, tuple(kernels), tuple(map(_array_profile, [*self._gone, *self._arrays.values()]))
        )

    def _sites(self) -> np.ndarray:
        count = ctypes.c_size_t()
        function = self._module.library.sim_profile_sites
        function.restype = ctypes.c_void_p
        address = function(ctypes.byref(count))
        if not count.value:
            return np.zeros(0, _SITE)
        return np.frombuffer(ctypes.string_at(address, count.value * _SITE.itemsize), _SITE)

    def _see(self, base: int, name: str) -> None:
        """Begin to count for an array, unless it is known."""
        region = next(region for region in self._memory.regions if region.base == base)
        known = self._arrays.get(base)
        if known is not None and known.region is region:
            return
        if known is not None:  # a temporary that is gone; this one has its place
            self._gone.append(known)
        array = self._arrays[base] = _Array(name, region)
        if region.origin is not None:
            array.made, array.needed = np.zeros(region.bytes, bool), np.zeros(region.bytes, bool)

    def _count_bytes(self, position: int, array: _Array) -> None:
        """Add the bytes that a launch touched."""
        sets = (ctypes.c_void_p * 3)()
        self._module.library.sim_profile_bytes(ctypes.c_size_t(position), sets)
        size = array.region.bytes
        read, written, needed = (_bits(address, size) for address in sets)
        array.moved += SECTOR_BYTES * (_sectors(read, array.region) + _sectors(written, array.region))
        if array.made is not None and array.needed is not None:
            array.needed |= needed & ~array.made
            array.made |= written

    def _kernel_profile(self, name: str, kernel: _Kernel) -> KernelProfile:
        text = self._module.text
        lines = []
        for (line, kind, space, array, size), counts in sorted(kernel.lines.items()):
            python = text.python_line(line)
            place = f"{python.file}:{python.line}" if python else ""
            row = LineProfile(
                name, line, text.at(line), place, array, space, kind, size, *(int(n) for n in counts)
            )
            lines.append(row)
        return KernelProfile(name, _three(kernel.grid), _three(kernel.block), kernel.launches, tuple(lines))


def _three(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    return int(x), int(y), int(z)


def _array_profile(array: _Array) -> ArrayProfile:
    requested = array.requested
    needed = 0
    if array.made is not None and array.needed is not None:
        needed = int(np.count_nonzero(array.needed)) + int(np.count_nonzero(array.made))
    return ArrayProfile(
        name=array.name,
        is_temporary=array.made is None,
        bytes=array.region.bytes,
        requested_read=requested["load"] + requested["atomic"],
        requested_written=requested["store"] + requested["atomic"],
        moved=array.moved,
        needed=needed,
    )


def _bits(address: int | None, size: int) -> np.ndarray:
    """A set of bytes of profile.cpp as a bool for each."""
    raw = np.frombuffer(ctypes.string_at(address or 0, (size + 7) // 8), np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").view(bool)


def _sectors(touched: np.ndarray, region: Region) -> int:
    """How many sectors hold the bytes of a region that were touched."""
    before = region.base % SECTOR_BYTES
    padded = np.zeros(-(-(before + touched.size) // SECTOR_BYTES) * SECTOR_BYTES, bool)
    padded[before : before + touched.size] = touched
    return int(np.count_nonzero(padded.reshape(-1, SECTOR_BYTES).any(axis=1)))
