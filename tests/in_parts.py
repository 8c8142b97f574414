"""Runs pytest in parts, one after the other, each in processes of its own.

    python tests/in_parts.py -n 2 --dist worksteal -m 'not slow'
    python tests/in_parts.py -n 2 -m slow --slow-turn 7 --slow-minutes 45 --without tests/fuzz

What thousands of programs leave in a process, in LLVM above all, would slow garbage collection down and take gigabytes.
Whole programs are in the first part. With `--slow-turn` they are a part of their own, and each part has the tests whose turn
it is (`unit/slow_parts.py`); each turn begins with another part, lest time is over at the same tests again and again. The
minutes are those of all parts together. `--without` leaves a folder out: CI has run whole programs by then.
A part that fails does not stop the others; the exit status is that of the first one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent
PARTS = 4
ROOMS = ("unit", "programs", "schedules", "fuzz")
LIT_RESULTS = "NESTOR_LIT_RESULTS"
UNTIL = "NESTOR_SLOW_UNTIL"
NO_TESTS = 5
"""The exit status of pytest where a part has no test of the kind that was asked for."""


def parts(turn: int | None = None) -> list[list[Path]]:
    """The files of each part: whole programs, and every so many-th of the others; in each turn from another of these on."""
    whole = sorted((TESTS / "programs" / "whole").glob("test_*.py"))
    rest = sorted(path for room in ROOMS for path in (TESTS / room).rglob("test_*.py") if path not in whole)
    shares = [rest[k::PARTS] for k in range(PARTS)]
    if turn is None:
        return [[*whole, *shares[0]], *shares[1:]]
    start = turn % PARTS
    return [whole, *shares[start:], *shares[:start]]


def left_out(chosen: list[list[Path]], without: str) -> list[list[Path]]:
    """The parts without the files in a folder, which must have some."""
    folder = (TESTS.parent / without).resolve()
    kept = [[path for path in part if not path.is_relative_to(folder)] for part in chosen]
    if kept == chosen:
        raise SystemExit(f"--without {without}: there are no tests in {folder}")
    return [part for part in kept if part]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--without")
    parser.add_argument("--slow-turn", type=int)
    parser.add_argument("--slow-minutes", type=float)
    ours, given = parser.parse_known_args(arguments)
    if ours.slow_turn is not None:
        given += ["--slow-turn", str(ours.slow_turn)]
        print(f"a third of the slow tests; again by `make test-slow TURN={ours.slow_turn}`", flush=True)
    if ours.slow_minutes is not None:
        os.environ[UNTIL] = str(time.time() + 60 * ours.slow_minutes)
    codes, chosen = [], parts(ours.slow_turn)
    if ours.without:
        chosen = left_out(chosen, ours.without)
    for k, files in enumerate(chosen):
        print(f"part {k + 1} of {len(chosen)}: {len(files)} files", flush=True)
        environment = dict(os.environ)
        if k + 1 < len(chosen):  # what lit skipped is told once, at the end
            environment.pop(LIT_RESULTS, None)
        command = [sys.executable, "-m", "pytest", *given, *map(str, files)]
        codes.append(subprocess.run(command, cwd=TESTS.parent, env=environment).returncode)
    if any(code != NO_TESTS for code in codes):
        codes = [0 if code == NO_TESTS else code for code in codes]
    failed = [k + 1 for k, code in enumerate(codes) if code]
    print(
        f"failed: part {', '.join(map(str, failed))}" if failed else f"all {len(chosen)} parts passed",
        flush=True,
    )
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
