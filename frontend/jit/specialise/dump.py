"""NESTOR_DUMP=folder: every level of every program that is compiled, as files to read.

Each function gets a folder, `f-0`, with nt.mlir, nt-fused.mlir, nest.mlir, llvm-ir.ll, asm.s; for GPUs gpu.mlir, cuda.cu.
Each file is whole or absent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from ....dialects.diagnostic import NestorError

VARIABLE = "NESTOR_DUMP"
_FOR_ALL = {"nt": "mlir", "nt-fused": "mlir"}
_CPU = {"nest": "mlir", "scf": "mlir", "llvm": "mlir", "llvm-ir": "ll", "asm": "s"}
_GPU = {"gpu": "mlir", "cuda": "cu"}
_OF_TARGET = {"cpu": _CPU, "cuda": _GPU, "cuda-sim": _GPU, "interp": {}}


def is_dumping() -> bool:
    return bool(os.environ.get(VARIABLE))


def dump(name: str, target: str, text_of: Callable[[str], str]) -> Path:
    """Write the levels of a program, whose texts `text_of` makes, to a folder of its own, which is returned.

    A level that the program cannot be lowered to has the diagnostic in its file. Raises the diagnostic where nothing can be
    written.
    """
    try:
        folder = _new_folder(
            Path(os.environ[VARIABLE]), re.sub(r"[^\w.-]+", "_", name).strip("_") or "program"
        )
        for level, ending in {**_FOR_ALL, **_OF_TARGET[target]}.items():
            try:
                text = text_of(level)
            except NestorError as error:
                level, text = f"{level}.error", str(error)
            part = folder / f".{level}.part"
            part.write_text(text if text.endswith("\n") else text + "\n")
            part.replace(folder / f"{level}.{ending}")
    except OSError as error:
        raise NestorError(
            f"{VARIABLE}: {error}", hint="name a folder that can be written, or unset it"
        ) from None
    return folder


def _new_folder(root: Path, name: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    k = 0
    while True:
        try:
            (folder := root / f"{name}-{k}").mkdir()
        except FileExistsError:
            k += 1
        else:
            return folder
