"""Says, before the tests run, what this machine lacks and which tests are skipped for it.

With `--gpu` it says whether the tests on a GPU can run, and exits with 1 where they cannot.

MLIR's own tools are looked for here alone, for lit and pytest alike: in `$MLIR_BIN`, in their Debian home, on PATH. With
`NESTOR_TEST_WITHOUT_MLIR=1` they are as good as absent, so that a machine that has them can show what one without does.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

MLIR_BIN = os.environ.get("MLIR_BIN", "/usr/lib/llvm-22/bin")
MLIR_TOOLS = ("mlir-opt", "mlir-translate", "mlir-runner", "mlir-reduce")


def mlir_is_hidden() -> bool:
    """Whether the tests are to do as if this machine had none of MLIR's tools."""
    return os.environ.get("NESTOR_TEST_WITHOUT_MLIR", "0") not in ("", "0")


def mlir_tool(name: str) -> str | None:
    """The path of one of MLIR's tools, None where it is absent or hidden."""
    return None if mlir_is_hidden() else shutil.which(name, path=_with_mlir(os.environ.get("PATH", "")))


def no_mlir_tool(name: str) -> str:
    """Why `mlir_tool` finds none."""
    if mlir_is_hidden():
        return f"{name} is hidden by NESTOR_TEST_WITHOUT_MLIR"
    return f"no {name} in {MLIR_BIN} or on PATH (Debian: apt-get install mlir-22-tools; or set MLIR_BIN)"


def path_of_tests(path: str, scratch: Path) -> str:
    """The PATH of tests that run commands: MLIR's tools are on it, or they are hidden and it has none of them.

    A folder that holds other commands as well (/usr/bin) is replaced by one of links to these, made in `scratch`.
    """
    if not mlir_is_hidden():
        return _with_mlir(path)
    folders = [Path(folder) for folder in path.split(os.pathsep) if folder]
    return os.pathsep.join(
        str(_others(folder, scratch / str(number)) if _holds_mlir(folder) else folder)
        for number, folder in enumerate(folders)
    )


def _with_mlir(path: str) -> str:
    return os.pathsep.join([MLIR_BIN, path])


def _holds_mlir(folder: Path) -> bool:
    return any((folder / name).exists() for name in MLIR_TOOLS)


def _others(folder: Path, links: Path) -> Path:
    """A folder of links to what `folder` holds, except for MLIR's tools."""
    links.mkdir(parents=True)
    for command in folder.iterdir():
        if command.name not in MLIR_TOOLS:
            (links / command.name).symlink_to(command)
    return links


def has_nvrtc() -> bool:
    """Whether NVRTC or nvcc can compile CUDA C here."""
    return shutil.which("nvcc") is not None or find_spec("nvidia") is not None


def has_gpu() -> bool:
    """Whether an NVIDIA driver is here."""
    return Path("/dev/nvidia0").exists()


def report() -> list[str]:
    """One line for each thing that is missing, saying what is skipped and how to get it."""
    lines = []
    if mlir_tool("mlir-opt") is None:
        lines.append(f"{no_mlir_tool('mlir-opt')}: tests against real MLIR are skipped")
    if not has_nvrtc():
        lines.append(
            "neither NVRTC nor nvcc: CUDA C is run by the simulator only (pip install nvidia-cuda-nvrtc)"
        )
    if find_spec("ml_dtypes") is None:
        lines.append("no ml_dtypes: NumPy has no bfloat16, whose calls are skipped (pip install ml_dtypes)")
    if find_spec("pygls") is None:
        lines.append("no pygls: the tests of the language server are skipped (pip install pygls)")
    if find_spec("torch") is None:
        lines.append("no PyTorch: the tests of its backend are skipped (pip install -e '.[torch]')")
    if not has_gpu():
        lines.append("no GPU: the cuda target is tested up to its clear error; cuda-sim runs the kernels")
    if shutil.which("g++") is None:
        lines.append("no g++: the CUDA simulator cannot run; its tests are skipped (apt-get install g++)")
    return lines


def gpu_or_reason() -> str | None:
    """None where a GPU answers through CuPy, else why the tests on a GPU cannot run."""
    from ..dialects.diagnostic import NestorError
    from ..runtime.cuda.engine import load_cupy
    from ..runtime.cuda.nvrtc import available

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
