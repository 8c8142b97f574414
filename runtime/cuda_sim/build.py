"""CUDA C text to a shared library that runs it on the CPU, kept in a cache by content."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ...dialects.diagnostic import NestorError

_HERE = Path(__file__).parent
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-w")
_SOURCES = ("scheduler.cpp", "cuda_on_cpu.h", "tensor_cores.h")
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(")
_PTX_HELPER = re.compile(r"\bnt_(?:copy_async|load_matrix|mma)_?\w+\s*\(")
_BARRIER = re.compile(r"\b__sync\w+\s*\(|\b__\w+_sync\s*\(|\bnt_(?:load_matrix|mma)_\w+\s*\(")


def kernel_names(source: str) -> list[str]:
    """The kernels that a CUDA C text defines."""
    return _KERNEL.findall(source)


def cache_directory() -> Path:
    """Where built simulator libraries are kept: `$NESTOR_CACHE_DIR` or the user's cache directory."""
    root = os.environ.get("NESTOR_CACHE_DIR")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nestor"
    directory = base / "cuda-sim"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def build_library(source: str) -> Path:
    """Compile a CUDA C text (0.3 s the first time); returns the path of the shared library.

    Raises NestorError when there is no g++, or when it refuses the text.
    """
    compiler = _compiler()
    runtime = b"".join((_HERE / name).read_bytes() for name in _SOURCES)
    toolchain = f"{compiler} {os.stat(compiler).st_mtime_ns} {_FLAGS}".encode()
    library = cache_directory() / f"{_digest(source.encode(), runtime, toolchain)}.so"
    if library.exists():
        return library
    scheduler = cache_directory() / f"scheduler-{_digest(runtime, toolchain)}.o"
    if not scheduler.exists():
        _compile(compiler, scheduler, ["-c", str(_HERE / "scheduler.cpp")])
    with tempfile.TemporaryDirectory(prefix="nestor-cuda-sim-") as work:
        unit = Path(work, "kernels.cpp")
        unit.write_text(_translation_unit(source))
        _compile(compiler, library, ["-shared", "-I", str(_HERE), str(unit), str(scheduler)])
    return library


def _translation_unit(source: str) -> str:
    """The text behind the shim: its own lines keep their numbers in error messages."""
    barriers = "#define SIM_HAS_BARRIERS\n" if _BARRIER.search(source) else ""
    exports = "".join(f"SIM_EXPORT({name})\n" for name in kernel_names(source))
    helpers = '#include "tensor_cores.h"\n' if _PTX_HELPER.search(source) else ""
    return f'{barriers}#include "cuda_on_cpu.h"\n{helpers}#line 1 "kernels.cu"\n{source}\n{exports}'


def _compiler() -> str:
    wanted = os.environ.get("CXX", "g++")
    found = shutil.which(wanted)
    if found is None:
        raise NestorError(
            f"the CUDA simulator needs a C++ compiler, and there is no {wanted!r} on PATH",
            hint="install g++, or name another compiler in the environment variable CXX",
        )
    return found


def _compile(compiler: str, target: Path, arguments: list[str]) -> None:
    """Run the compiler; the target appears complete or not at all."""
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=target.suffix)
    os.close(handle)
    try:
        command = [compiler, *_FLAGS, *arguments, "-o", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            message = done.stderr.strip() or f"exit status {done.returncode}"
            raise NestorError(f"the CUDA simulator cannot compile the emitted text:\n{message}")
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:32]
