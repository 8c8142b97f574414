"""The roofs of a row, measured beside it: moving its compulsory bytes, and its operations at the peak of multiply-adds.

`roofs.c` is compiled for this machine where it runs. The arrays have the sizes and the number of the row's own.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from nestor.runtime.pool import ALIGNMENT, aligned_empty

from .yardstick.row import Row

SOURCE = Path(__file__).with_name("roofs.c")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")

WORTH_THREADS = 1 << 16
"""Bytes below which one thread is faster than several."""


def load() -> ctypes.CDLL:
    """The library, compiled for this machine."""
    with tempfile.TemporaryDirectory(prefix="nestor-roofs-") as folder:
        library = Path(folder) / "roofs.so"
        subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def _aligned(size: int) -> np.ndarray:
    """Float32 array of at least `size` bytes, whole cache lines."""
    array = aligned_empty((-(-size // ALIGNMENT) * ALIGNMENT // 4,), np.dtype(np.float32))
    array.fill(1)
    return array


def forms(library: ctypes.CDLL, row: Row, threads: int) -> dict[str, Callable[[], None]]:
    """What is timed: the row's traffic by ordinary and by non-temporal stores, and its operations."""
    traffic = row.traffic()
    threads = threads if sum(map(sum, traffic)) > WORTH_THREADS else 1
    reads, writes = ([_aligned(n) for n in sizes] for sizes in traffic)

    def table(arrays: list[np.ndarray]) -> tuple:
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        lengths = (ctypes.c_size_t * len(arrays))(*[a.size for a in arrays])
        return pointers, lengths, len(arrays)

    streams = (*table(reads), *table(writes))
    count = ctypes.c_double(row.flops(row.extents()) / 2)

    def stream(past_cache: int) -> Callable[[], None]:
        def call(_keep=(reads, writes)) -> None:
            library.roof_stream(*streams, past_cache, threads)

        return call

    return {
        "roof bytes": stream(0),
        "roof bytes, non-temporal": stream(1),
        "roof operations": lambda: library.roof_fma(count, threads),
    }
