"""A function that nothing refers to gives its memory back: programs, machine code, IR, and what was read of its source."""

from __future__ import annotations

import gc
import linecache
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

SOURCES = (
    "def f(x):\n    return np.sqrt(x) * {k} + x\n",
    "def f(x):\n    return x.sum() + {k}\n",
    "def f(x):\n    s = 0.0\n    for i in range(x.shape[0]):\n        s = s * 0.5 + x[i] * {k}\n    return s\n",
    "def f(x):\n    n = 0\n    while np.abs(x).max() > 1e-3 and n < {k}:\n        x, n = x * 0.5, n + 1\n    return x, n\n",
    "def f(x):\n    y = x[:, None] * x[None, :]\n    return y @ x + {k}\n",
    "def f(x):\n    return (np.sin(x) * {k}).sum()\n",
)
WARM, COUNT, MEGABYTES = 90, 2000, 100


def make_call_and_drop(k: int) -> None:
    source, file = SOURCES[k % len(SOURCES)].format(k=k), f"<dropped {k}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"np": np}
    exec(compile(source, file, "exec"), names)
    plain = names["f"]
    compiled = nt.jit(nt.grad(plain)) if "sin" in source else nt.jit(plain)
    x = np.linspace(0.1, 1.0, 64)
    for _ in range(3):
        compiled(x)
    del linecache.cache[file]


def resident() -> float:
    """Megabytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_functions_that_are_dropped_leave_nothing():
    for k in range(WARM):
        make_call_and_drop(k)
    before = resident()
    for k in range(WARM, WARM + COUNT):
        make_call_and_drop(k)
    assert resident() - before < MEGABYTES
