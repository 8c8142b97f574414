"""Says, before the tests run, what this machine lacks and which tests are skipped for it.

With `--gpu` it says whether the tests on a GPU can run, and exits with 1 where they cannot.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

MLIR_BIN = os.environ.get("MLIR_BIN", "/usr/lib/llvm-22/bin")


def has_mlir() -> bool:
    """Whether real MLIR 22 is here (`MLIR_BIN` names its folder)."""
    return (Path(MLIR_BIN) / "mlir-opt").exists()


def has_nvrtc() -> bool:
    """Whether NVRTC or nvcc can compile CUDA C here."""
    return shutil.which("nvcc") is not None or find_spec("nvidia") is not None


def has_gpu() -> bool:
    """Whether an NVIDIA driver is here."""
    return Path("/dev/nvidia0").exists()


def report() -> list[str]:
    """One line for each thing that is missing, saying what is skipped and how to get it."""
    lines = []
    if not has_mlir():
        lines.append(
            f"no mlir-opt in {MLIR_BIN}: tests against real MLIR are skipped (apt-get install mlir-22-tools)"
        )
    if not has_nvrtc():
        lines.append(
            "neither NVRTC nor nvcc: CUDA C is run by the simulator only (pip install nvidia-cuda-nvrtc)"
        )
    if find_spec("ml_dtypes") is None:
        lines.append("no ml_dtypes: NumPy has no bfloat16, whose calls are skipped (pip install ml_dtypes)")
    if not has_gpu():
        lines.append("no GPU: the cuda target is tested up to its clear error; cuda-sim runs the kernels")
    if shutil.which("g++") is None:
        lines.append("no g++: the CUDA simulator cannot run; its tests are skipped (apt-get install g++)")
    return lines


def gpu_or_reason() -> str | None:
    """None where a GPU answers through CuPy, else why the tests on a GPU cannot run."""
    from ..dialects.diagnostic import NestorError
    from ..runtime.cuda import load_cupy
    from ..runtime.nvrtc import available

    try:
        load_cupy()
    except NestorError as error:
        return error.diagnostic.message
    return None if available() else "neither NVRTC nor nvcc is installed (pip install nvidia-cuda-nvrtc)"


def main() -> int:
    if sys.argv[1:] == ["--gpu"]:
        reason = gpu_or_reason()
        if reason is not None:
            print(f"test-gpu: nothing was tested: {reason}", file=sys.stderr)
        return 1 if reason is not None else 0
    for line in report():
        print(f"note: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
