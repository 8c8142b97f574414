"""`python -m benchmarks.gpu_static`: what kernels are, as machine code: the table benchmarks/results/gpu-static.md.

Compiled by NVRTC (`nvidia-cuda-nvrtc==13.0.*`) and read by `nvdisasm` (`nvidia-cuda-nvdisasm`); neither needs a GPU. A
row is a kernel. tests/unit/repository/test_gpu_static.py holds the figures as upper bounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..gpu.__main__ import RESULTS
from .figures import ARCHITECTURES, Kernel, kernels_of, parse, table
from .rows import ROWS, Row
from .sass import tool

PAGE = RESULTS / "gpu-static.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_static", description=__doc__)
    parser.add_argument("--rows", default="", help="parts of names of rows, with commas; default: all")
    options = parser.parse_args(arguments)
    if tool() is None:
        print("nvdisasm is missing: pip install nvidia-cuda-nvdisasm, or put it on PATH", file=sys.stderr)
        return 1
    wanted = [part for part in options.rows.split(",") if part]
    rows = [row for row in ROWS.values() if not wanted or any(part in row.name for part in wanted)]
    if not rows:
        parser.error(f"no row has {options.rows} in its name")
    made: dict[str, list[Kernel]] = parse(PAGE.read_text()) if wanted and PAGE.exists() else {}
    for row in rows:
        made[row.name] = _shown(row)
    PAGE.write_text(table({name: made[name] for name in ROWS if name in made}))
    return 0


def _shown(row: Row) -> list[Kernel]:
    found = kernels_of(row, ARCHITECTURES)
    for kernel in found:
        print(kernel.line(row.name), flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
