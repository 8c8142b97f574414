"""CUDA C to PTX or cubin, by NVRTC (`pip install nvidia-cuda-nvrtc`) or by `nvcc`; neither needs a GPU.

Floating-point contraction is off unless asked for: results match NumPy's, operation by operation. A cubin comes with what
ptxas says of each kernel: registers, shared memory, spills (`cuda/kernel_resources.py`). It is kept on the disk under a
digest of the source, the architecture, the options and the compiler (`runtime/disk_cache.py` says which files).
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...dialects.diagnostic import NestorError
from .. import disk_cache
from ..errors import CompileError
from .kernel_resources import KernelResources, resources_of, table

DEFAULT_ARCH = "sm_90"
"""The architecture where neither a device nor the user names one: any that NVRTC 13 knows would do."""

_HINT = "pip install 'nvidia-cuda-nvrtc==13.0.*', or put nvcc on PATH"
_REPORT = "--ptxas-options=-v"
_OF_TENSOR_CORES = re.compile(r"\bnt_(mma|load_matrix|round_tf32)\w*")


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture, ready to load with the driver, and what each kernel takes of a processor."""

    image: bytes
    arch: str
    kernels: tuple[KernelResources, ...]

    def report(self) -> str:
        """A table: registers, shared memory, spills and theoretical occupancy of each kernel."""
        return table(self.kernels, self.arch)


def compile_ptx(cuda_source: str, arch: str = "compute_80", *, contract: bool = False) -> str:
    """The PTX of a CUDA C text for a virtual architecture. `contract` allows a * b + c in one rounding."""
    image, _ = _compile(cuda_source, arch, "PTX", _options(contract))
    return image.rstrip(b"\0").decode()


def compile_cubin(cuda_source: str, arch: str = DEFAULT_ARCH, *, contract: bool = False) -> Cubin:
    """The machine code of a CUDA C text for a real architecture; from the disk where it has been made before.

    Raises NestorError where there is no compiler, where it does not know `arch`, and where it refuses the text.
    """
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise NestorError(
            f"{arch!r} is not an architecture that machine code can be made for",
            hint='write "sm_90", or for instance "sm_80"; compute_90 is that of PTX',
        )
    options = [*_options(contract), _REPORT]
    key = _key(cuda_source, arch, options)
    kept = next(iter(disk_cache.read(key)), None)
    if kept is not None:
        image, log = kept.code, kept.program.decode()
    else:
        image, log = _compile(cuda_source, arch, "CUBIN", options)
        disk_cache.write(key, disk_cache.Variant(b"", log.encode(), image))
    return Cubin(image, arch, resources_of(log, cuda_source))


def available() -> str | None:
    """Which compiler would be used: `"nvrtc"`, `"nvcc"`, or None when there is none."""
    if _nvrtc() is not None:
        return "nvrtc"
    return "nvcc" if shutil.which("nvcc") else None


@cache
def version() -> tuple[int, int]:
    """The CUDA version of the compiler, (0, 0) where there is none. A driver refuses PTX of a later version than its own."""
    library = _nvrtc()
    if library is not None:
        major, minor = ctypes.c_int(), ctypes.c_int()
        _call(library, "Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value
    found = re.search(r"release (\d+)\.(\d+)", _ask_nvcc("--version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


@cache
def architectures() -> tuple[int, ...]:
    """The architectures that the compiler knows, in order: 80 for sm_80 and compute_80."""
    library = _nvrtc()
    if library is not None:
        count = ctypes.c_int()
        _call(library, "GetNumSupportedArchs", ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        _call(library, "GetSupportedArchs", known)
        return tuple(sorted(known))
    return tuple(sorted({int(n) for n in re.findall(r"sm_(\d+)\b", _ask_nvcc("--list-gpu-code"))}))


def image_for_device(
    capability: int,
    driver: tuple[int, int],
    known: tuple[int, ...] | None = None,
    made_by: tuple[int, int] | None = None,
) -> str:
    """What to compile for a device of a compute capability (90: 9.0) and a driver of a CUDA version: `sm_90`, `compute_90`.

    Machine code runs on devices of its generation from its own on. PTX runs on all later ones, but a driver refuses
    that of a compiler newer than itself: it is made only where the compiler does not know the generation of the device.
    """
    known = architectures() if known is None else known
    made_by = version() if made_by is None else made_by
    same = [one for one in known if one // 10 == capability // 10 and one <= capability]
    if same:
        return f"sm_{max(same)}"
    earlier = [one for one in known if one < capability]
    if not earlier:
        raise NestorError(
            f"CUDA {made_by[0]}.{made_by[1]} cannot make code for this device, which is of compute capability "
            f"{capability // 10}.{capability % 10}",
            hint="install an NVRTC that does, for instance nvidia-cuda-nvrtc-cu12",
        )
    if driver < made_by:
        raise NestorError(
            f"the driver (CUDA {driver[0]}.{driver[1]}) is older than NVRTC (CUDA {made_by[0]}.{made_by[1]}), which makes "
            f"only PTX for this device of compute capability {capability // 10}.{capability % 10}",
            hint="install an NVRTC of the driver's version or a newer driver",
        )
    return f"compute_{max(earlier)}"


def compile_for_device(cuda_source: str, capability: int, driver: tuple[int, int]) -> Cubin:
    """What a device loads: machine code, or PTX (with no report) that its driver translates."""
    wanted = image_for_device(capability, driver)
    if wanted.startswith("sm_"):
        return compile_cubin(cuda_source, wanted)
    return Cubin(compile_ptx(cuda_source, wanted).encode() + b"\0", wanted, ())


# ---- compilers --------------------------------------------------------------------------------------


def _options(contract: bool) -> list[str]:
    return [f"--fmad={'true' if contract else 'false'}", "--std=c++17"]


def _key(source: str, arch: str, options: list[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in (available() or "", *map(str, version()), arch, *options, source):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part.encode())
    return f"cubin-{digest.hexdigest()}"


def _compile(source: str, arch: str, kind: str, options: list[str]) -> tuple[bytes, str]:
    """What was made of a text, and what the compiler said."""
    library = _nvrtc()
    if library is None and shutil.which("nvcc") is None:
        raise NestorError("there is no CUDA compiler here", hint=_HINT)
    known = architectures()
    number = re.search(r"\d+", arch)
    if known and (number is None or int(number[0]) not in known):
        raise NestorError(
            f"the CUDA compiler knows no architecture {arch!r}",
            hint=f"it knows sm_{', sm_'.join(map(str, known))}",
        )
    try:
        if library is not None:
            return _Program(library, source).compile([f"--gpu-architecture={arch}", *options], kind)
        return _compile_by_nvcc(source, arch, kind, options)
    except CompileError as refused:
        raise _too_early(refused, source, arch) or refused from None


def _too_early(refused: CompileError, source: str, arch: str) -> NestorError | None:
    """The error of a text that uses instructions which an architecture does not have; None for other errors."""
    lacking = dict(re.findall(r"Feature '([^']+)' requires .target (sm_\d+)", refused.said))
    if not lacking:
        return None
    features = ", ".join(f"{name.lstrip('.')} ({since} or later)" for name, since in lacking.items())
    users = [
        name
        for name, body in re.findall(
            r"__global__[^(]*\([^)]*\)\s*(\w+)\((.*?)^}", source, re.DOTALL | re.MULTILINE
        )
        if _OF_TENSOR_CORES.search(body)
    ]
    return NestorError(
        f"{arch} does not have what the kernels {', '.join(users)} use: {features}",
        hint="compile for sm_80 or later; products of float32 that are not granted tf32 use no tensor cores",
    )


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


def _call(library: ctypes.CDLL, name: str, *arguments: object) -> None:
    status = getattr(library, f"nvrtc{name}")(*arguments)
    if status:
        raise NestorError(f"nvrtc{name} failed with status {status}")


class _Program:
    """One compilation: an `nvrtcProgram` and its outputs."""

    def __init__(self, library: ctypes.CDLL, source: str):
        self._library = library
        self._handle = ctypes.c_void_p()
        _call(
            library,
            "CreateProgram",
            ctypes.byref(self._handle),
            source.encode(),
            b"kernels.cu",
            0,
            None,
            None,
        )

    def compile(self, options: list[str], kind: str) -> tuple[bytes, str]:
        try:
            encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(self._handle, len(options), encoded)
            log = self._output("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            if status:
                raise CompileError("NVRTC cannot compile the emitted text", log)
            return self._output(kind), log
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(self._handle))

    def _output(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        _call(self._library, f"Get{what}Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        _call(self._library, f"Get{what}", self._handle, buffer)
        return buffer.raw


def _ask_nvcc(question: str) -> str:
    """What nvcc prints; nothing where there is none."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return ""
    return subprocess.run([nvcc, question], capture_output=True, text=True, check=False).stdout


def _compile_by_nvcc(source: str, arch: str, kind: str, options: list[str]) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="nestor-nvcc-") as work:
        unit, target = Path(work, "kernels.cu"), Path(work, "kernels.out")
        unit.write_text(source)
        command = ["nvcc", f"--{kind.lower()}", f"-arch={arch}", *options, str(unit), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CompileError("nvcc cannot compile the emitted text", done.stderr.strip())
        return target.read_bytes(), done.stderr
