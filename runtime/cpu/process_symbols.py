"""Where functions of this process are: of the C library, the mathematical one, and the compiler's."""

from __future__ import annotations

import ctypes
import functools

_LIBRARIES = (None, "libm.so.6", "libgcc_s.so.1")


@functools.cache
def of_process(name: str) -> int:
    """The address of a function of the C library, the mathematical one, or the compiler's. Raises LookupError."""
    for library in _LIBRARIES:
        handle = _library(library)
        if handle is not None and hasattr(handle, name):
            return ctypes.cast(getattr(handle, name), ctypes.c_void_p).value or 0
    import llvmlite.binding as llvm

    address = llvm.address_of_symbol(name)
    if not address:
        raise LookupError(name)
    return address


@functools.cache
def _library(name: str | None) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
