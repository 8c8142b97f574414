"""Runs pytest in parts, one after the other, each in processes of its own.

    python tests/in_parts.py -n 2 --dist worksteal -m 'not slow'

What thousands of programs leave in a process, in LLVM above all, would slow garbage collection down and take gigabytes.
Whole programs are in the first part. A part that fails does not stop the others; the exit status is that of the first one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
PARTS = 5
ROOMS = ("unit", "programs", "schedules", "fuzz")
LIT_RESULTS = "NESTOR_LIT_RESULTS"


def parts() -> list[list[Path]]:
    """The files of each part: whole programs, then every fifth of the others."""
    whole = sorted((TESTS / "programs" / "whole").glob("test_*.py"))
    rest = sorted(path for room in ROOMS for path in (TESTS / room).rglob("test_*.py") if path not in whole)
    return [[*(whole if k == 0 else []), *rest[k::PARTS]] for k in range(PARTS)]


def main(arguments: list[str]) -> int:
    codes = []
    for k, files in enumerate(parts()):
        print(f"part {k + 1} of {PARTS}: {len(files)} files", flush=True)
        environment = dict(os.environ)
        if k + 1 < PARTS:  # what lit skipped is told once, at the end
            environment.pop(LIT_RESULTS, None)
        command = [sys.executable, "-m", "pytest", *arguments, *map(str, files)]
        codes.append(subprocess.run(command, cwd=TESTS.parent, env=environment).returncode)
    failed = [k + 1 for k, code in enumerate(codes) if code]
    print(
        f"failed: part {', '.join(map(str, failed))}" if failed else f"all {PARTS} parts passed", flush=True
    )
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
