"""The code that Nestor emits for the yardstick, the numerical programs, the examples and the GPU programs, as files.

    python -m benchmarks.emitted_code /tmp/before       # in one checkout
    python -m benchmarks.emitted_code /tmp/after        # in another
    diff -rq /tmp/before /tmp/after                     # silent where no code changed

`NAME.ll` is LLVM IR, `NAME.cu` CUDA C. A program that cannot be compiled leaves the text of its error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

ROOT = Path(nt.__file__).parent
sys.path[:0] = [str(ROOT / "tests" / "programs"), str(ROOT / "examples")]


def _programs() -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Name, function, and arguments or their specs."""
    import gauss_seidel
    import gpu_programs
    import iou
    import numerical

    from benchmarks.yardstick import ROWS

    for row in ROWS.values():
        yield f"yardstick-{row.name}", row.program, [_spec(value) for value in row.make(small=False)]
    for case in numerical.PROGRAMS:
        made = case.arguments(np.random.default_rng(0), 12, case.dtypes[0])
        yield f"numerical-{case.function.__name__}", case.function, list(made)
    for program in gpu_programs.PROGRAMS:
        for number, call in enumerate(program.calls):
            try:
                arguments = gpu_programs.arguments_of(call)
            except gpu_programs.Unavailable:
                continue
            yield f"gpu-{program.name}-{number}", program.function, arguments
    yield "iou", iou.ratio_iou, [nt.spec((100, 1000), np.float32)] * 8
    yield "gauss_seidel", gauss_seidel.gauss_seidel, [nt.spec((64, 64), np.float64), 3]


def _spec(value: Any) -> Any:
    return nt.spec(value.shape, value.dtype) if isinstance(value, np.ndarray) else value


def main(folder: str) -> None:
    os.environ["NESTOR_CACHE"] = "0"
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, function, arguments in _programs():
        for level, suffix in (("llvm-ir", "ll"), ("cuda", "cu")):
            try:
                text = nt.jit(function).lower(*arguments).as_text(level)
            except nt.NestorError as error:
                text = f"error: {error}\n"
            (Path(folder) / f"{name}.{suffix}").write_text(text.replace(str(ROOT), "ROOT"))


if __name__ == "__main__":
    main(*sys.argv[1:])
