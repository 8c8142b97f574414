"""`compiled.export_c("dir")`: a compiled program as a C library, with all that a build without Python needs.

    f.h  f.c            the interface, to read and to build again
    f.o  libf.a  libf.so
    fConfig.cmake  f.pc
    f_example.c

docs/decisions/0029-export.md says what the C function looks like and who owns memory.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import Any

import numpy as np

from ....runtime.cpu.freestanding import NotAlone, compile_alone
from ....runtime.cpu.instruction_sets import needed, uses_tiles
from ....runtime.cpu.toolchain import Toolchain, ToolError
from ...interface.errors import FileError, UnsupportedError
from ..call.alone import why_not_alone
from .build_files import cmake_config, pkg_config
from .c_interface import KEYWORDS, Interface
from .example import example
from .header import build_macro, header
from .source import Source

THREADS = ("openmp", "none")


def export_c(
    compiled: Any, folder: str | os.PathLike[str], name: str | None, threads: str, cc: str | None
) -> list[str]:
    """Write the library into a folder; the paths of its files. Raises UnsupportedError, FileError."""
    program, kernel, engine = compiled.program, compiled._kernel, compiled.engine
    name = _name(program.name if name is None else name)
    if threads not in THREADS:
        raise UnsupportedError(f"no threads={threads!r}", hint="threads='openmp' (libgomp), or 'none'")
    reason = why_not_alone(program, kernel)
    if reason is None and kernel.frozen is not None:
        reason = (
            "what it computes from constant arguments is kept in the process",
            "lower it without constants=...",
        )
    if reason is None and not hasattr(engine, "llvm_ir"):
        reason = (
            "it was loaded from a file, which has machine code for Python only",
            "export it from f.lower(...).compile()",
        )
    if reason is not None:
        raise UnsupportedError(f"'{name}' cannot be exported to C: {reason[0]}", hint=reason[1])
    machine = engine._machine
    interface = Interface(program, kernel.packer.forms, name)
    tiles, has_threads = uses_tiles(engine.llvm_ir), threads == "openmp"
    needs = needed(machine, tiles=tiles)
    try:
        code = compile_alone(
            engine.llvm_ir, program.name, name, threads=has_threads, machine=machine, native=engine.native
        )
    except NotAlone as missing:
        raise UnsupportedError(
            f"'{name}' cannot be exported to C: it calls '{missing}', which a library without Python does not have"
        ) from None
    has_threads = has_threads and "@nestor_parallel" in engine.llvm_ir
    links = ["-lgomp", "-lm"] if has_threads else ["-lm"]
    texts = {
        f"{name}.h": header(interface, has_threads, needs, _compiled_in(interface, program)),
        f"{name}.c": Source(interface, kernel.sites, has_threads, needs, tiles).text(),
        f"{name}_example.c": example(interface, links),
        f"{name}Config.cmake": cmake_config(name, has_threads),
        f"{name}.pc": pkg_config(name, has_threads),
    }
    return _written(os.fspath(folder), name, texts, code, links, cc)


def _name(name: str) -> str:
    """A name that C takes."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in KEYWORDS or name.startswith("nestor_"):
        raise UnsupportedError(
            f"'{name}' is no name of a function in C", hint="compiled.export_c(dir, name='...')"
        )
    return name


def _compiled_in(interface: Interface, program: Any) -> list[str]:
    """What the header says of values that are constants: arguments, and numbers found outside."""
    said = [f"{one.name} = {one.value!r}" for one in interface.compiled_in]
    for read in program.captured:
        if isinstance(read.value, bool | int | float | complex | str | np.generic) and isinstance(
            read.name, str
        ):
            said.append(f"{read.name} = {read.value!r}")
    return list(dict.fromkeys(text if len(text) < 80 else f"{text[:76]} ..." for text in said))


def _written(
    folder: str, name: str, texts: dict[str, str], code: bytes, links: list[str], cc: str | None
) -> list[str]:
    """Build beside the folder's files, and move them there when all are made."""
    try:
        tools = Toolchain(cc)
        os.makedirs(folder, exist_ok=True)
        work = tempfile.mkdtemp(prefix=f".{name}-", dir=folder)
    except ToolError as error:
        raise UnsupportedError(
            f"'{name}' cannot be exported to C: {error}", hint="install gcc and binutils"
        ) from None
    except OSError as error:
        raise FileError(
            f"'{folder}' cannot be written: {error.strerror}",
            hint="give a folder that may be made and written to",
        ) from None
    try:
        for file, text in texts.items():
            with open(os.path.join(work, file), "w", encoding="utf-8") as stream:
                stream.write(text)
        with open(os.path.join(work, "kernel.part.o"), "wb") as stream:
            stream.write(code)
        tools.joined(name, work, f"{name}.c", "kernel.part.o", build_macro(name))
        tools.libraries(name, work, links)
        files = sorted(one for one in os.listdir(work) if not one.endswith(".part.o"))
        for file in files:
            os.replace(os.path.join(work, file), os.path.join(folder, file))
    except ToolError as error:
        raise UnsupportedError(
            f"'{name}' cannot be built: {error}",
            hint="export_c(dir, name='...', cc='...') take other ones",
        ) from None
    except OSError as error:
        raise FileError(f"'{folder}' cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [os.path.join(folder, file) for file in files]
