"""A CUDA C text loaded into this process, and launches of its kernels on NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...dialects.diagnostic import NestorError
from .build import build_library, dynamic_shared, kernel_names
from .faults import Fault, Launch, RawReport, SimulatorFault, beyond_limits, describe
from .memory import GuardedMemory, Region
from .options import ORDERS
from .text import KernelText, size_of
from .unwritten_locals import FILLS, fault, first_difference, kept

_Extent3 = ctypes.c_uint * 3
_locks: dict[str, threading.Lock] = defaultdict(threading.Lock)  # a library runs one launch at a time


class RawRegion(ctypes.Structure):
    """`SimRegion` of hooks.h."""

    _fields_ = [
        ("base", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("element_bytes", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("state", ctypes.c_uint64),
    ]


class SimModule:
    """Kernels that run on the CPU.

    >>> text = 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }'
    >>> x = np.arange(4, dtype=np.int32)
    >>> SimModule(text).launch("twice", grid=(1,), block=(4,), args=[x])
    >>> x.tolist()
    [0, 2, 4, 6]

    `mode` is "plain", "checked" (a launch with a race, an index out of bounds, ... raises SimulatorFault) or
    "profile". `order` is that of the threads between barriers and of blocks: "forward", "reverse", or "random", which
    `seed` fixes. `places` are the Python lines that the lines of the text come from; its comments name some as well.
    `fill` is what local variables hold before they are written in mode "checked": one of `FILLS`.
    """

    def __init__(
        self,
        source: str,
        mode: str = "plain",
        order: str = "forward",
        seed: int = 0,
        places: Sequence[tuple[str, int] | None] = (),
        fill: str = "nan",
    ):
        if order not in ORDERS:
            raise NestorError(
                f"the CUDA simulator has no order {order!r}", hint=f"orders: {', '.join(ORDERS)}"
            )
        self.source, self.mode, self.order, self.seed = source, mode, order, seed
        self.kernels = kernel_names(source)
        self.path = build_library(source, mode, fill)
        self.library = ctypes.CDLL(str(self.path))
        self.library.sim_take_fault.restype = ctypes.c_char_p
        self.library.sim_prepare.argtypes = (ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64)
        self.text = KernelText(source, places)
        self.on_launch: Callable[[Launch], None] | None = None
        """Called after each launch whose accesses are seen, while the library still holds what it counted."""
        self._lock = _locks[str(self.path)]
        if mode != "plain":
            self._shared = _shared_arrays(self.library, self.path, self.text)
        self._unwritten = kept(self.path) if mode == "checked" and fill == FILLS[0] else []
        """Local variables that kernels use unwritten."""

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared_bytes: int = 0,
        memory: GuardedMemory | None = None,
    ) -> None:
        """Run a kernel on `grid` x `block` threads (x first; missing extents are 1).

        An argument is an array (its address is passed), a NumPy scalar (passed with its own type), or a
        Python int (`int`), float (`float`) or bool. `shared_bytes` is the size of `extern __shared__` memory.
        `memory` holds the arrays already, where accesses are seen; without it they are copied for this launch.
        Raises NestorError for a fault such as a deadlock, SimulatorFault for those that mode "checked" finds (arrays
        of the caller are then as they were).
        """
        if kernel not in self.kernels:
            raise NestorError(f"no kernel {kernel!r}", hint=f"kernels here: {', '.join(self.kernels)}")
        if self.mode == "plain":
            with self._lock:
                self._run(kernel, grid, block, args, shared_bytes)
            return
        own = memory is None
        memory = GuardedMemory() if memory is None else memory
        if own:
            positions = [k for k, a in enumerate(args) if isinstance(a, np.ndarray)]
            copies = iter(memory.adopt([args[k] for k in positions]))
            args = [next(copies) if isinstance(a, np.ndarray) else a for a in args]
        self._launch_seen(kernel, grid, block, args, shared_bytes, memory)
        if own:
            memory.write_back()

    def _launch_seen(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared_bytes: int,
        memory: GuardedMemory,
    ) -> None:
        """A launch whose accesses are seen. Raises SimulatorFault."""
        launch = Launch(kernel, tuple(grid), tuple(block), self.text, str(self.path))
        if beyond := beyond_limits(launch):
            raise SimulatorFault(launch, beyond)
        unwritten = [local for local in self._unwritten if self.text.kernel_at(local.line) == kernel]
        before = [array.copy() for array in _arrays_of(args)] if unwritten else []
        with self._lock, self._arrays(launch, args, shared_bytes, memory):
            failure = None
            try:
                self._run(kernel, grid, block, args, shared_bytes)
            except NestorError as error:
                failure = error
            faults = self._take_reports(launch)
            faults += [fault(local, launch) for local in unwritten if local.certain]
            if self.on_launch is not None and failure is None and not faults:
                self.on_launch(launch)
        if faults:
            raise SimulatorFault(launch, faults)
        if failure is not None:
            raise failure
        for fill in FILLS[1:] if unwritten else ():
            others = self._with_fill(fill, launch, args, shared_bytes, before)
            place = first_difference(launch, _arrays_of(args), others)
            if place is not None:
                raise SimulatorFault(launch, [fault(local, launch, place) for local in unwritten])

    def _with_fill(
        self, fill: str, launch: Launch, args: Sequence[Any], shared_bytes: int, before: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """What the arrays of a launch hold after it where unwritten local variables hold something else."""
        arrays = _arrays_of(args)
        results = [array.copy() for array in arrays]
        for array, old in zip(arrays, before, strict=True):
            array[...] = old
        module = SimModule(self.source, self.mode, self.order, self.seed, self.text.places, fill)
        try:
            module.launch(launch.kernel, launch.grid, launch.block, args, shared_bytes)
            return [array.copy() for array in arrays]
        finally:
            for array, result in zip(arrays, results, strict=True):
                array[...] = result

    def _run(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared_bytes: int
    ) -> None:
        cells = [_cell(argument) for argument in args]
        pointers = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(cell) for cell in cells))
        run = getattr(self.library, f"sim_launch_{kernel}")
        extents = _extent3(grid, "grid"), _extent3(block, "block")
        if self.library.sim_prepare(ORDERS.index(self.order), self.seed, shared_bytes):
            raise NestorError(
                f"kernel {kernel!r} asks for {shared_bytes} bytes of shared memory: CUDA has 227 KiB"
            )
        if run(pointers, *extents):
            fault = self.library.sim_take_fault().decode()
            raise NestorError(f"kernel {kernel!r} failed in the CUDA simulator: {fault}")

    @contextmanager
    def _arrays(
        self, launch: Launch, args: Sequence[Any], shared_bytes: int, memory: GuardedMemory
    ) -> Iterator[None]:
        """Tell the library which arrays the launch may touch."""
        parameters = self.text.parameters.get(launch.kernel, [])
        found: dict[int, tuple[Region, bool]] = {}
        for k, argument in enumerate(args):
            if not isinstance(argument, np.ndarray) or not argument.size:
                continue
            region = memory.region_of(argument)
            assert region is not None, "an array of a launch is not in its memory"
            constant = k < len(parameters) and parameters[k].is_const_pointer
            _, before = found.get(id(region), (region, True))
            found[id(region)] = region, before and constant
            name = parameters[k].name if k < len(parameters) else f"argument {k}"
            launch.arrays.append((region.base, name, argument))
        regions = sorted(found.values(), key=lambda pair: pair[0].base)
        launch.regions = [region.base for region, _ in regions]
        raw = [
            RawRegion(
                region.base,
                region.bytes,
                region.element_bytes,
                int(constant),
                region.state.ctypes.data if region.state is not None else 0,
            )
            for region, constant in regions
        ]
        self._set_arrays(0, raw)
        shared = list(self._shared)
        if shared_bytes:
            bounds = _shared_bounds(self.library)
            declared = [d for d in dynamic_shared(self.source)]
            unit = size_of(declared[0][0]) if declared else 1
            shared.append((bounds[2], shared_bytes, declared[0][1] if declared else "shared", unit, ()))
            shared.sort()
        launch.shared = shared
        self._set_arrays(1, [RawRegion(base, size, unit, 0, 0) for base, size, _, unit, _ in shared])
        try:
            yield
        finally:
            self._set_arrays(0, [])
            self.library.sim_forget_reports()

    def _set_arrays(self, space: int, regions: Sequence[RawRegion]) -> None:
        self.library.sim_set_arrays(space, (RawRegion * len(regions))(*regions), len(regions))

    def _take_reports(self, launch: Launch) -> list[Fault]:
        count = self.library.sim_report_count()
        if not count:
            return []
        self.library.sim_report_list.restype = ctypes.POINTER(RawReport)
        reports = self.library.sim_report_list()[:count]
        return describe(reports, launch, image_base(self.library))


def _arrays_of(args: Sequence[Any]) -> list[np.ndarray]:
    return [argument for argument in args if isinstance(argument, np.ndarray)]


def image_base(library: ctypes.CDLL) -> int:
    """Where the code of a library is in this process: what addresses in its file are relative to."""
    library.sim_image_base.restype = ctypes.c_void_p
    return library.sim_image_base()


def _shared_bounds(library: ctypes.CDLL) -> list[int]:
    bounds = (ctypes.c_uint64 * 3)()
    library.sim_shared_bounds(bounds)
    return list(bounds)


def _shared_arrays(
    library: ctypes.CDLL, path: Path, text: KernelText
) -> list[tuple[int, int, str, int, tuple[int, ...]]]:
    """The `__shared__` arrays of a library: address, bytes, name, bytes of an element, extents."""
    low, high, _ = _shared_bounds(library)
    if low == high:
        return []
    base = image_base(library)
    done = subprocess.run(
        ["nm", "-SC", "--defined-only", str(path)], capture_output=True, text=True, check=True
    )
    found = []
    for line in done.stdout.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) != 4 or not low <= base + int(fields[0], 16) < high or "sim_gap_" in fields[3]:
            continue
        kernel, _, name = fields[3].rpartition("::")
        kernel = kernel.partition("(")[0]
        name = name.partition(".")[0]
        size = int(fields[1], 16)
        known = text.shared.get((kernel, name)) or text.shared.get(("", name))
        unit = known.element_bytes if known and size % known.element_bytes == 0 else 1
        extents = known.extents if known else ()
        found.append((base + int(fields[0], 16), size, name, unit, extents))
    return sorted(found)


def _extent3(extents: Sequence[int], what: str) -> ctypes.Array:
    if not 1 <= len(extents) <= 3 or any(extent < 0 for extent in extents):
        raise NestorError(f"a {what} has one to three extents that are not negative, not {tuple(extents)}")
    return _Extent3(*extents, *[1] * (3 - len(extents)))


def _cell(argument: Any) -> Any:
    """Memory that holds an argument as the kernel expects it."""
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.generic):
        return ctypes.create_string_buffer(argument.tobytes(), argument.itemsize)
    if isinstance(argument, bool):
        return ctypes.c_bool(argument)
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    if isinstance(argument, float):
        return ctypes.c_float(argument)
    raise NestorError(f"a kernel cannot take an argument of type {type(argument).__name__}")
