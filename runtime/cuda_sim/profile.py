"""Profiles: a GPU program run once in the simulator's mode `profile`, and what its launches counted put together."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..host_plan import ErrorRecord, HostPlan
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


def profile(plan: HostPlan, arguments: Sequence[Any]) -> tuple[ErrorRecord, ProfileReport]:
    """Run a program on copies of its arguments; how it ended, and what it cost. Raises SimulatorFault."""
    module, memory = SimModule(plan.cuda.source, mode="profile"), GuardedMemory()
    profiler = Profiler(module, memory)
    module.on_launch = profiler.launched
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    copies = iter(memory.adopt(arrays))
    own = [next(copies) if isinstance(a, np.ndarray) else a for a in arguments]
    record = plan.run(_Device(module, memory), own)
    return record, profiler.report(plan.name)


class _Device:
    """The simulator with all arrays in guarded memory."""

    def __init__(self, module: SimModule, memory: GuardedMemory):
        self._module, self._memory = module, memory

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return self._memory.allocate(shape, dtype)

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        np.copyto(target, source)
        self._memory.copied(source, target)

    def launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any]) -> None:
        self._module.launch(kernel, grid, block, arguments, memory=self._memory)

    def read_element(self, source: np.ndarray, index: tuple[int, ...]) -> Any:
        return source[index].item()

    def new_error_record(self) -> np.ndarray:
        (record,) = self._memory.adopt([np.zeros(4, np.int64)])
        return record

    def read_error_record(self, record: np.ndarray) -> Sequence[int]:
        return record.tolist()


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

    def launched(self, launch: Launch) -> None:
        """Take what the library has counted in a launch that has just ended."""
        kernel = self._kernels.setdefault(launch.kernel, _Kernel(launch.grid, launch.block))
        kernel.launches += 1
        sites = self._sites()
        base = image_base(self._module.library)
        lines = lines_of_code([int(code) - base for code in sites["code"]], launch.library)
        arrays = [self._array(region, launch) for region in launch.regions]
        for site in sites:
            kind, counts = _KINDS[site["kind"]], np.array([site[name] for name in _COUNTS], np.int64)
            if site["space"] == _GLOBAL:
                array = arrays[site["array"]]
                array.requested[kind] += int(site["cost"]) * SECTOR_BYTES
                space = "global"
                name = "/".join(dict.fromkeys(n for base, n, _ in launch.arrays if base == array.region.base))
            else:
                name, space = launch.shared[site["array"]][2], "shared"
            key = lines.get(int(site["code"]) - base, 0), kind, space, name, int(site["size"])
            kernel.lines[key] = kernel.lines.get(key, np.zeros(len(_COUNTS), np.int64)) + counts
        for k, array in enumerate(arrays):
            self._count_bytes(k, array)

    def report(self, name: str) -> ProfileReport:
        """All of it."""
        kernels = [self._kernel_profile(name, kernel) for name, kernel in self._kernels.items()]
        return ProfileReport(name, tuple(kernels), tuple(map(_array_profile, self._arrays.values())))

    def _sites(self) -> np.ndarray:
        count = ctypes.c_size_t()
        function = self._module.library.sim_profile_sites
        function.restype = ctypes.c_void_p
        address = function(ctypes.byref(count))
        if not count.value:
            return np.zeros(0, _SITE)
        return np.frombuffer(ctypes.string_at(address, count.value * _SITE.itemsize), _SITE)

    def _array(self, base: int, launch: Launch) -> _Array:
        region = next(region for region in self._memory.regions if region.base == base)
        known = self._arrays.get(id(region))
        if known is None:
            name = next(name for at, name, _ in launch.arrays if at == base)
            known = self._arrays[id(region)] = _Array(name, region)
            if region.origin is not None:
                known.made = np.zeros(region.bytes, bool)
                known.needed = np.zeros(region.bytes, bool)
        return known

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
