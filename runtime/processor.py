"""What the automatic schedule asks about the processor that it runs on."""

from __future__ import annotations

import functools


@functools.cache
def is_faster_past_caches() -> bool:
    """Whether stores that pass the caches are the faster ones for results larger than these.

    Measured (transforms/nest/cpu_streams.py): so on Sapphire Rapids, known by its tiles of matrices, not on Cascade Lake;
    other processors are taken to be like the latter. False where Linux does not say what there is.
    """
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first = file.read(1 << 14).split(b"\n\n")[0]
    except OSError:
        return False
    return b" amx_tile" in first
