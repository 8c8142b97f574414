"""CUDA C text to a shared library that runs it on the CPU, kept in a cache by content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...dialects.diagnostic import NestorError
from ..errors import CompileError
from . import unwritten_locals

_HERE = Path(__file__).parent
_FLAGS = (
    "-std=c++17", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing",
    "-fno-threadsafe-statics",
)  # fmt: skip
_PLAIN = ("-O2", "-w")
_INSTRUMENTED = ("-DSIM_INSTRUMENTED", "-O2", "-w")
# Accesses are seen where the text makes them: none is moved, made early, or taken for impossible.
_KERNELS_INSTRUMENTED = (
    "-DSIM_INSTRUMENTED", "-O1", "-g1",
    "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=1",
    "-fno-aggressive-loop-optimizations", "-fno-tree-loop-im", "-fno-tree-phiprop", "-fno-if-conversion",
    "-fno-if-conversion2", "-fno-ssa-phiopt", "-fno-tree-sra", "-fno-tree-loop-distribute-patterns",
)  # fmt: skip
_INDICES = ("-fsanitize=bounds-strict",)
"""Indices of arrays of known extents are looked at: checked.cpp has what is called."""
_FILL = "-ftrivial-auto-var-init="
"""What local variables hold that nothing has written: `pattern` is what no kernel computes."""
_KERNELS_PROFILED = (
    *_KERNELS_INSTRUMENTED, "-w", f"{_FILL}pattern", "-fsanitize-coverage=trace-pc", "-fno-reorder-blocks",
)  # fmt: skip
"""... and so are basic blocks, which lie in the order of the text."""
MODES: dict[str, tuple[str, ...]] = {
    "plain": ("scheduler.cpp",),
    "checked": ("scheduler.cpp", "hooks.cpp", "checked.cpp"),
    "profile": ("scheduler.cpp", "hooks.cpp", "profile.cpp"),
}
"""What can be asked of the simulator, and the parts of its runtime that this takes."""

_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(")
_BARRIER = re.compile(
    r"\b__sync\w+\s*\(|\b__\w+_sync\s*\(|\b__activemask\b|\bnt_(?:load_matrix|mma)_\w+\s*\("
)
_DYNAMIC_SHARED = re.compile(
    r"\bextern\s+__shared__\s+(?:__align__\(\s*\d+\s*\)\s*)?([\w ]+?)\s+(\w+)\s*\[\s*\]\s*;"
)
_REFERS = re.compile(r"(operator\[\]\(int k\)(?: const)? \{) return at\[k\]; \}")
_READS_AND_REFERS = r"\1 const T read = at[k]; (void)read; return at[k]; }"


def kernel_names(source: str) -> list[str]:
    """The kernels that a CUDA C text defines; one may be declared before."""
    return list(dict.fromkeys(_KERNEL.findall(source)))


def cache_directory() -> Path:
    """Where built simulator libraries are kept: `$NESTOR_CACHE_DIR` or the user's cache directory."""
    root = os.environ.get("NESTOR_CACHE_DIR")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nestor"
    directory = base / "cuda-sim"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def build_library(source: str, mode: str = "plain", fill: str = "nan") -> Path:
    """Compile a CUDA C text (0.2 s the first time); returns the path of the shared library.

    In mode "checked", `fill` (one of `FILLS`) is what local variables hold that nothing has written; those that the
    compiler finds are beside the library (`unwritten_locals.kept`).

    Raises NestorError when there is no g++, or when it refuses the text.
    """
    if mode not in MODES:
        raise NestorError(f"the CUDA simulator has no mode {mode!r}", hint=f"modes: {', '.join(MODES)}")
    compiler = _compiler()
    headers = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.h")))
    flags = _PLAIN if mode == "plain" else _INSTRUMENTED
    of_compiler = "pattern" if fill == "nan" else fill
    checked = (*_KERNELS_INSTRUMENTED, "-w", *_INDICES, f"{_FILL}{of_compiler}")
    kernel_flags = {"plain": _PLAIN, "checked": checked, "profile": _KERNELS_PROFILED}[mode]
    tools = f"{compiler} {os.stat(compiler).st_mtime_ns} {_FLAGS}".encode() + headers
    parts = [(_HERE / name).read_bytes() for name in MODES[mode]]
    how = f"{kernel_flags} {fill}".encode()
    library = cache_directory() / f"{_digest(source.encode(), tools, how, *parts)}.so"
    if library.exists():
        return library
    shim = _precompiled_shim(compiler, kernel_flags, tools)
    objects: list[str] = []
    for name, text in zip(MODES[mode], parts, strict=True):
        target = cache_directory() / f"{Path(name).stem}-{_digest(text, tools, str(flags).encode())}.o"
        if not target.exists():
            _compile(compiler, target, [*flags, "-c", str(_HERE / name)])
        objects.append(str(target))
    with tempfile.TemporaryDirectory(prefix="nestor-cuda-sim-") as work:
        unit, kernels = Path(work, "kernels.cpp"), Path(work, "kernels.o")
        with_fill = (
            unwritten_locals.filled_with_nan(source) if fill == "nan" and mode == "checked" else source
        )
        unit.write_text(_translation_unit(with_fill, is_checked=mode == "checked"))
        if mode == "plain":
            _compile(compiler, library, [*kernel_flags, "-shared", *_linker(), *shim, str(unit), *objects])
            return library
        _compile(compiler, kernels, [*kernel_flags, "-c", *shim, str(unit)])
        if mode == "checked" and fill == unwritten_locals.FILLS[0]:
            # by itself: where indices are looked at, g++ sees less of what is written
            warned = (*_KERNELS_INSTRUMENTED, f"{_FILL}pattern", *unwritten_locals.FLAGS)
            named = _precompiled_shim(compiler, warned, tools)
            unit.write_text(_translation_unit(source))
            said = _compile(compiler, Path(work, "warned.o"), [*warned, "-c", *named, str(unit)])
            unwritten_locals.keep(said, library)
        linked = ["-shared", *_linker(), str(kernels), *objects]  # with our hooks, not libtsan
        _compile(compiler, library, linked)
    return library


def _precompiled_shim(compiler: str, flags: tuple[str, ...], tools: bytes) -> list[str]:
    """Arguments that put the shim before a text, compiled once for these flags: it takes longer than most kernels."""
    header = cache_directory() / f"shim-{_digest(str(flags).encode(), tools)}.h"
    compiled = header.with_suffix(".h.gch")
    if not compiled.exists():
        text = "".join(f'#include "{_HERE / name}"\n' for name in ("cuda_on_cpu.h", "tensor_cores.h"))
        with _appearing(header) as written:
            written.write_text(text)
        _compile(compiler, compiled, [*flags, "-x", "c++-header", str(header)])
    return ["-include", str(header)]


def _translation_unit(source: str, is_checked: bool = False) -> str:
    """The text behind the shim: its own lines keep their numbers in error messages.

    `extern __shared__ T x[];` is the one declaration that C++ has no way to read as CUDA does. Where indices are looked
    at, elements of vectors are read before they are referred to: the compiler lets one refer to what is behind the last.
    """
    if is_checked:
        source = _REFERS.sub(_READS_AND_REFERS, source)
    run = "SIM_RUN_FIBERS" if _BARRIER.search(source) else "SIM_RUN_LOOPS"
    exports = "".join(f"SIM_EXPORT({name}, {run})\n" for name in kernel_names(source))
    text = _DYNAMIC_SHARED.sub(r"SIM_DYNAMIC_SHARED(\1, \2);", source)
    return f'#line 1 "kernels.cu"\n{text}\n#line 1 "launches"\n{exports}'


def _linker() -> list[str]:
    """gold, where there is one: it opens the C++ library in a third of the time."""
    return ["-fuse-ld=gold"] if shutil.which("ld.gold") else []


def dynamic_shared(source: str) -> list[tuple[str, str]]:
    """The `extern __shared__` arrays that a text declares: element type and name."""
    return _DYNAMIC_SHARED.findall(source)


def _compiler() -> str:
    wanted = os.environ.get("CXX", "g++")
    found = shutil.which(wanted)
    if found is None:
        raise NestorError(
            f"the CUDA simulator needs a C++ compiler, and there is no {wanted!r} on PATH",
            hint="install g++, or name another compiler in the environment variable CXX",
        )
    return found


@contextlib.contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Where to write a file that appears complete or not at all."""
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=target.suffix)
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def _compile(compiler: str, target: Path, arguments: list[str]) -> str:
    """Run the compiler; what it warned of."""
    with _appearing(target) as written:
        command = [compiler, *_FLAGS, *arguments, "-o", str(written)]
        plain = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
        if done.returncode != 0:
            message = done.stderr.strip() or f"exit status {done.returncode}"
            raise CompileError("the CUDA simulator cannot compile the emitted text", message)
    return done.stderr


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:32]
