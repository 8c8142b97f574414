"""The processor that programs run on: what Linux says of it, and whether this process may use its matrix unit."""

from __future__ import annotations

import ctypes
import functools
import os
import sys


@functools.cache
def linux_facts() -> bytes:
    """What Linux says of the first processor, a line each; nothing on other systems."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            return file.read(1 << 14).split(b"\n\n")[0]
    except OSError:
        return b""


_AMX = (b" amx_tile", b" amx_int8")
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18
"""Linux on x86-64: the system call, what it is asked for, and the part of a thread's state that tiles are."""


@functools.cache
def may_use_tiles() -> bool:
    """Whether there is a unit that multiplies matrices of bytes (AMX), and this process may use it.

    Linux wants to be asked once per process, before the first use: for all its threads, and those of its forks. The answer
    is kept. False where `NESTOR_AMX=0` says so, and where Linux refuses (an alternate signal stack may be too small for
    the larger state of a thread).
    """
    if not has_tiles() or os.environ.get("NESTOR_AMX", "1") == "0":
        return False
    try:
        answer = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA)
    except (OSError, AttributeError):
        return False
    return answer == 0


def has_tiles() -> bool:
    """Whether the processor has the unit, as Linux says it."""
    facts = linux_facts()
    return sys.platform == "linux" and sys.maxsize > 1 << 32 and all(name in facts for name in _AMX)
