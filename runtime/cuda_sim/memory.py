"""Memory for kernels whose accesses are seen: every array between gaps, each element known as written or not.

Arrays of the caller are copied in before a program and back after it, so that an index that leaves its array meets
no other one; a copy keeps its place relative to 256 bytes (what CUDA's allocations are aligned to) as seen from
the allocation that the array is a view of.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_ALIGNMENT = 256
_BUFFER_ALIGNMENT = 64
_GAP = 1 << 16
_IS_ELEMENT, _IS_WRITTEN = 1, 2


@dataclass(eq=False)
class Region:
    """One array, or several that overlap, in memory of its own."""

    base: int
    bytes: int
    element_bytes: int
    state: np.ndarray | None
    """A byte for each element (is an element of an array, has been written); None: all of both."""
    origin: int | None = None
    """Where the bytes came from and go back to."""
    is_writeable: bool = True
    owner: np.ndarray | None = None
    """Keeps the memory of a region of the caller's; temporaries are kept by those who use them."""


@dataclass(eq=False)
class GuardedMemory:
    """The regions of a program.

    >>> memory = GuardedMemory()
    >>> x = np.arange(6)
    >>> (copy,) = memory.adopt([x])
    >>> copy[0] = 7
    >>> memory.write_back()
    >>> int(x[0])
    7
    """

    regions: list[Region] = field(default_factory=list)

    def adopt(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Copies of arrays, with their shapes and strides; those that overlap do so in the copies."""
        copies: dict[int, np.ndarray] = {}
        for members in _overlapping(arrays):
            group = [arrays[k] for k in members]
            bounds = [byte_bounds(array) for array in group]
            low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
            root = group[0]
            while isinstance(root.base, np.ndarray):
                root = root.base
            region, owner = self._new(high - low, _phase(root, low), group, low)
            ctypes.memmove(region.base, low, high - low)
            region.origin, region.owner = low, owner
            region.is_writeable = any(array.flags.writeable for array in group)
            start = region.base - owner.ctypes.data
            for k, array in zip(members, group, strict=True):
                offset = start + array.ctypes.data - low
                copies[k] = np.ndarray(array.shape, array.dtype, owner.data, offset, array.strides)
        return [copies.get(k, array) for k, array in enumerate(arrays)]

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array of which nothing has been written; its bytes are those of NaNs."""
        count = math.prod(shape)
        if count == 0:
            return np.empty(shape, dtype)
        size = count * dtype.itemsize
        region, owner = self._new(size, 0, [], 0)
        region.element_bytes = dtype.itemsize
        region.state = np.full(count, _IS_ELEMENT, np.uint8)
        owner[:] = 0xFF
        weakref.finalize(owner, self._forget, weakref.ref(region))
        return np.ndarray(shape, dtype, owner.data, region.base - owner.ctypes.data)

    def forget_contents(self, array: np.ndarray) -> None:
        """Nothing of an array counts as written, unless another one shares its memory."""
        region = self.region_of(array)
        if region is None or region.state is not None or array.nbytes != region.bytes:
            return
        region.state = np.full(region.bytes // region.element_bytes, _IS_ELEMENT, np.uint8)

    def unwritten(self, array: np.ndarray) -> np.ndarray:
        """The elements of an array that nothing has written, by their number in row-major order."""
        region = self.region_of(array) if array.size else None
        if region is None or region.state is None or region.element_bytes != array.itemsize:
            return np.zeros(0, np.int64)
        return np.flatnonzero(_elements(region, array).ravel() & _IS_WRITTEN == 0)

    def copied(self, source: np.ndarray, target: np.ndarray) -> None:
        """The host has copied an array to another one: what has been written of it is the same."""
        region, source_region = self.region_of(target), self.region_of(source)
        if region is None or region.state is None:
            return
        written = _IS_ELEMENT | _IS_WRITTEN
        if source_region is not None and source_region.state is not None:
            written = _elements(source_region, source)
        _elements(region, target)[...] = written

    def region_of(self, array: np.ndarray) -> Region | None:
        """Where an array is, if it is here."""
        address = array.ctypes.data
        for region in self.regions:
            if region.base <= address < region.base + region.bytes:
                return region
        return None

    def write_back(self) -> None:
        """Give the caller's arrays what the kernels wrote."""
        for region in self.regions:
            if region.origin is not None and region.is_writeable:
                ctypes.memmove(region.origin, region.base, region.bytes)

    def _new(self, size: int, phase: int, group: Sequence[np.ndarray], low: int) -> tuple[Region, np.ndarray]:
        owner = np.empty(size + 2 * _GAP + 2 * _ALIGNMENT, np.uint8)
        start = owner.ctypes.data + _GAP
        base = start + (phase - start) % _ALIGNMENT
        region = Region(base, size, 1, None)
        if group:
            unit = math.gcd(*(a.itemsize for a in group), *(a.ctypes.data - low for a in group), size)
            region.element_bytes = unit
            if not any(array.nbytes == size for array in group):
                region.state = np.zeros(size // unit, np.uint8)
                for array in group:
                    state = np.ndarray(
                        (*array.shape, array.itemsize // unit),
                        np.uint8,
                        region.state.data,
                        (array.ctypes.data - low) // unit,
                        (*(s // unit for s in array.strides), 1),
                    )
                    state[...] = _IS_ELEMENT | _IS_WRITTEN
        self.regions.append(region)
        return region, owner

    def _forget(self, region: weakref.ref[Region]) -> None:
        dead = region()
        self.regions = [r for r in self.regions if r is not dead]


def byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the one after its last."""
    low = high = array.ctypes.data
    for extent, stride in zip(array.shape, array.strides, strict=True):
        low += min(0, (extent - 1) * stride)
        high += max(0, (extent - 1) * stride)
    return low, high + array.itemsize


def _phase(root: np.ndarray, address: int) -> int:
    """How far past a multiple of 256 bytes an address would be if CUDA had allocated the array `root`.

    A buffer of bytes stands for the pool of results, or for another allocator: what it gave is aligned as it is.
    """
    if root.dtype == np.uint8 and root.ndim == 1 and address != root.ctypes.data:
        return address % _BUFFER_ALIGNMENT
    return (address - root.ctypes.data) % _ALIGNMENT


def _overlapping(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """The positions of arrays, in groups that share memory; arrays without elements are in none."""
    groups: list[tuple[int, list[int]]] = []
    bounds = {k: byte_bounds(array) for k, array in enumerate(arrays) if array.size}
    for k in sorted(bounds, key=lambda k: bounds[k]):
        low, high = bounds[k]
        if groups and low < groups[-1][0]:
            end, members = groups[-1]
            groups[-1] = (max(end, high), [*members, k])
        else:
            groups.append((high, [k]))
    return [members for _, members in groups]


def _elements(region: Region, array: np.ndarray) -> np.ndarray:
    """The states of the elements of an array in a region of its own element type."""
    assert region.state is not None
    offset = (array.ctypes.data - region.base) // region.element_bytes
    strides = tuple(s // region.element_bytes for s in array.strides)
    return np.ndarray(array.shape, np.uint8, region.state.data, offset, strides)
