"""CUDA C to PTX or cubin, by NVRTC (`pip install nvidia-cuda-nvrtc`) or by `nvcc`; neither needs a GPU.

Floating-point contraction is off unless asked for: results match NumPy's, operation by operation.
"""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from ..dialects.diagnostic import NestorError

_HINT = "pip install 'nvidia-cuda-nvrtc==13.0.*', or put nvcc on PATH"


def compile_ptx(cuda_source: str, arch: str = "compute_80", *, contract: bool = False) -> str:
    """The PTX of a CUDA C text for a virtual architecture. `contract` allows a * b + c in one rounding."""
    return _compile(cuda_source, arch, "PTX", contract).rstrip(b"\0").decode()


def compile_cubin(cuda_source: str, arch: str = "sm_90", *, contract: bool = False) -> bytes:
    """The machine code of a CUDA C text for a real architecture, ready to load with the driver."""
    return _compile(cuda_source, arch, "CUBIN", contract)


def available() -> str | None:
    """Which compiler would be used: `"nvrtc"`, `"nvcc"`, or None when there is none."""
    if _nvrtc() is not None:
        return "nvrtc"
    return "nvcc" if shutil.which("nvcc") else None


def _compile(source: str, arch: str, kind: str, contract: bool) -> bytes:
    options = [f"--fmad={'true' if contract else 'false'}", "--std=c++17"]
    library = _nvrtc()
    if library is not None:
        return _Program(library, source).compile([f"--gpu-architecture={arch}", *options], kind)
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return _compile_by_nvcc(nvcc, source, arch, kind, options)
    raise NestorError("there is no CUDA compiler here", hint=_HINT)


@cache
def _nvrtc() -> ctypes.CDLL | None:
    """The NVRTC library of the pip package, or the system's; None when there is none."""
    for directory in _library_directories():
        found = sorted(glob.glob(os.path.join(directory, "libnvrtc.so.*")))
        if not found:
            continue
        for builtins in glob.glob(os.path.join(directory, "libnvrtc-builtins.so.*")):
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)  # NVRTC looks for it by name only
        return ctypes.CDLL(found[0])
    try:
        return ctypes.CDLL("libnvrtc.so")
    except OSError:
        return None


def _library_directories() -> list[str]:
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    return [
        os.path.join(root, package, "lib") for root in roots for package in ("cu13", "cu12", "cuda_nvrtc")
    ]


class _Program:
    """One compilation: an `nvrtcProgram` and its outputs."""

    def __init__(self, library: ctypes.CDLL, source: str):
        self._library = library
        self._handle = ctypes.c_void_p()
        self._call("CreateProgram", ctypes.byref(self._handle), source.encode(), b"kernels.cu", 0, None, None)

    def compile(self, options: list[str], kind: str) -> bytes:
        try:
            encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            if self._library.nvrtcCompileProgram(self._handle, len(options), encoded):
                log = self._output("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
                raise NestorError(f"NVRTC cannot compile the emitted text:\n{log}")
            return self._output(kind)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(self._handle))

    def _output(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", self._handle, buffer)
        return buffer.raw

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, f"nvrtc{name}")(*arguments)
        if status:
            raise NestorError(f"nvrtc{name} failed with status {status}")


def _compile_by_nvcc(nvcc: str, source: str, arch: str, kind: str, options: list[str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="nestor-nvcc-") as work:
        unit, target = Path(work, "kernels.cu"), Path(work, "kernels.out")
        unit.write_text(source)
        command = [nvcc, f"--{kind.lower()}", f"-arch={arch}", *options, str(unit), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NestorError(f"nvcc cannot compile the emitted text:\n{done.stderr.strip()}")
        return target.read_bytes()
