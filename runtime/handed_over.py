"""Arrays that compiled code allocates for its caller (`lowering/abi/handed_over.py`): memory that becomes an array's.

words = np.zeros(1 + rank, np.int64)
kernel([x, words])                       # on an error: release(words)
result = take(words, np.dtype("f8"))
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from .real_parts import PARTS, complex_view

SMALL = 1 << 14
"""Bytes: what is smaller is copied into an ordinary array, which costs less than an owner of its memory."""


@functools.cache
def _allocator() -> tuple[Any, Any]:
    """`aligned_alloc` and `free` of the C library, which compiled code calls too."""
    library = ctypes.CDLL(None)
    allocate, free = library.aligned_alloc, library.free
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    return allocate, free


class _Owner:
    """Memory as bytes, freed when no array looks at it any more."""

    __slots__ = ("__array_interface__", "_address", "_free")

    def __init__(self, address: int, size: int):
        self._address = address
        self._free = _allocator()[1]
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self._free(self._address)


def take(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array that was handed over in `words`; its memory is the array's from now on."""
    if dtype in PARTS:
        return complex_view(take(words, PARTS[dtype]))
    address, *shape = words.tolist()
    assert address, "a kernel ended without handing over a result"
    words[0] = 0
    count = 1
    for extent in shape:
        count *= extent
    size = count * dtype.itemsize
    if size >= SMALL:
        return np.asarray(_Owner(address, size)).view(dtype).reshape(shape)
    result = np.empty(shape, dtype)
    if size:
        ctypes.memmove(result.ctypes.data, address, size)
    _allocator()[1](address)
    return result


def give(array: np.ndarray, words: np.ndarray, shape: tuple[int, ...]) -> None:
    """Hand over the first elements of `array`, as compiled code does: what the interpreter calls. Raises MemoryError."""
    count = 1
    for extent in shape:
        count *= extent
    first = np.ascontiguousarray(array).reshape(-1)[:count]
    address = _allocator()[0](64, (first.nbytes + 64) & -64)
    if not address:
        raise MemoryError
    ctypes.memmove(address, first.ctypes.data, first.nbytes)
    words[:] = (address, *shape)


def release(words: np.ndarray) -> None:
    """Free what was handed over, where the call goes on to fail."""
    if words[0]:
        _allocator()[1](int(words[0]))
        words[0] = 0
