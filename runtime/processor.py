"""The processor that programs run on: what Linux says of it, and what the automatic schedule asks about it."""

from __future__ import annotations

import functools


@functools.cache
def linux_facts() -> bytes:
    """What Linux says of the first processor, a line each; nothing on other systems."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            return file.read(1 << 14).split(b"\n\n")[0]
    except OSError:
        return b""


@functools.cache
def is_faster_past_caches() -> bool:
    """Whether stores that pass the caches are the faster ones for results larger than these.

    Measured (transforms/nest/cpu_streams.py): so on Sapphire Rapids, known by its tiles of matrices, not on Cascade Lake;
    other processors are taken to be like the latter. False where Linux does not say what there is.
    """
    return b" amx_tile" in linux_facts()
