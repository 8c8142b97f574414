"""The C compiler of the machine: object files, static and shared libraries. For what is exported, and for
C text of the user's (`native_code.py`); nothing else needs one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence


class ToolError(Exception):
    """A tool is missing, or what it said when it failed."""


class Toolchain:
    """A C compiler, `ar` and `objcopy`. Raises ToolError where one is missing."""

    def __init__(self, cc: str | None = None):
        first, *rest = shlex.split(cc or os.environ.get("CC") or "cc") or ["cc"]
        self.cc = (_found(first), *rest)
        self.ar = _found("ar")
        self.objcopy = _found("objcopy")

    def joined(self, name: str, folder: str, source: str, code: str, macro: str) -> None:
        """`<name>.o` in a folder: a C source and object code in one, in which only what the source exports is seen.

        `macro` is what the source wants defined.
        """
        flags = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-exceptions")
        self._run(folder, *self.cc, *flags, f"-D{macro}", "-c", source, "-o", "interface.part.o")
        self._run(folder, *self.cc, "-r", "-nostdlib", "interface.part.o", code, "-o", f"{name}.o")
        self._run(folder, self.objcopy, "--localize-hidden", f"{name}.o")

    def libraries(self, name: str, folder: str, links: Sequence[str]) -> None:
        """`lib<name>.a` and `lib<name>.so` in a folder, of `<name>.o`."""
        self._run(folder, self.ar, "rcsD", f"lib{name}.a", f"{name}.o")
        strict = ("-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--as-needed", "-s")
        soname = f"-Wl,-soname,lib{name}.so"
        self._run(folder, *self.cc, "-shared", f"{name}.o", "-o", f"lib{name}.so", soname, *strict, *links)

    def object_of(self, unit: str, flags: Sequence[str], symbol: str) -> bytes:
        """Object code of a C text in which others see nothing but `symbol`."""
        with tempfile.TemporaryDirectory(prefix="nestor-") as folder:
            with open(os.path.join(folder, "unit.c"), "w", encoding="utf-8") as file:
                file.write(unit)
            self._run(folder, *self.cc, *flags, "-c", "unit.c", "-o", "unit.o")
            self._run(folder, self.objcopy, f"--keep-global-symbol={symbol}", "unit.o")
            return _contents(folder, "unit.o")

    def merged(self, parts: Sequence[bytes], hidden: Sequence[str]) -> bytes:
        """Object code of several pieces, in which others do not see the `hidden` symbols."""
        with tempfile.TemporaryDirectory(prefix="nestor-") as folder:
            names = [f"part{k}.o" for k in range(len(parts))]
            for name, part in zip(names, parts, strict=True):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(part)
            self._run(folder, *self.cc, "-r", "-nostdlib", *names, "-o", "whole.o")
            self._run(folder, self.objcopy, *[f"--localize-symbol={one}" for one in hidden], "whole.o")
            return _contents(folder, "whole.o")

    def _run(self, folder: str, *command: str) -> None:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[:8])
            raise ToolError(f"{os.path.basename(command[0])} failed: {said}")


def _contents(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def _found(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise ToolError(f"there is no '{tool}'")
    return path
