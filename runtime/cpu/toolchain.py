"""The C compiler of the machine: object files, static and shared libraries. For what is exported; nothing else needs one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
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

    def _run(self, folder: str, *command: str) -> None:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[:8])
            raise ToolError(f"{os.path.basename(command[0])} failed: {said}")


def _found(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise ToolError(f"there is no '{tool}'")
    return path
