"""What a reader of emitted CUDA C would clean up: `complaints(text)` of the kernels of a program."""

from __future__ import annotations

import itertools
import re

LONGEST = 100

_DECLARED = re.compile(
    r"^\s*(?!return)(?:__shared__ )?(?:__align__\(\d+\) )?(?:const )?\w[\w<>, ]* (\w+)(?:\[[^=;]*\])?(?: =.*)?;$"
)
_CASTS = re.compile(r"\((int|unsigned|float|double|(?:unsigned )?long long)\)\(\1\)")
_GUARD = re.compile(r"^\s*if \((.*)\) (?:\{|return;)$")
_NOTHING_TO_DO = re.compile(r" [-+] -?0(?:LL|u|ull)?[;\])]| \* 1(?:LL|u|ull)?[;\])]|\b(\w+) = \1;|\+ -\d")


def complaints(text: str) -> list[str]:
    """One line for each fault, with the line of the text."""
    lines = text.splitlines()
    found = [
        f"longer than {LONGEST}: {line}"
        for line in lines
        if len(line) > LONGEST and "asm volatile" not in line and not line.startswith("static __device__")
    ]
    for line in lines:
        code = line.partition("//")[0]
        if _CASTS.search(code):
            found.append(f"a cast to what it is: {line}")
        if _NOTHING_TO_DO.search(code):
            found.append(f"arithmetic that does nothing: {line}")
        if _encloses(code):
            found.append(f"parentheses around all: {line}")
    for kernel in text.split('extern "C" __global__')[1:]:
        found += _unused(kernel) + _repeated_guards(kernel.splitlines()) + _idle_starts(kernel.splitlines())
    return found


def _encloses(code: str) -> bool:
    """Whether the value of an assignment, or a condition, is in parentheses of its own."""
    match = re.fullmatch(r"\s*(?:.* = |return |if \()\((.*)\)\)?(?:;| \{)", code)
    if match is None or code.lstrip().startswith("for"):
        return False
    depth = 0
    for character in match[1]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def _unused(kernel: str) -> list[str]:
    found = []
    for line in kernel.splitlines():
        match = _DECLARED.match(line)
        if match and len(re.findall(rf"\b{match[1]}\b", kernel)) == 1:
            found.append(f"never used: {line}")
    return found


def _repeated_guards(lines: list[str]) -> list[str]:
    """Branches on one condition that follow each other, and conditions that a loop or branch right around asks, too."""
    found = []
    for one, two in itertools.pairwise(lines):
        guard = _GUARD.match(one)
        if guard and (again := _GUARD.match(two)) and guard[1] == again[1]:
            found.append(f"asked twice: {two}")
    open_guards: list[tuple[int, str]] = []
    last: tuple[int, str, int] | None = None
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if line.strip() == "}" and open_guards and open_guards[-1][0] == depth:
            last = (*open_guards.pop(), number)
            continue
        guard = _GUARD.match(line)
        if guard is None:
            continue
        if last is not None and last[2] == number - 1 and last[:2] == (depth, guard[1]):
            found.append(f"the same branch again: {line}")
        if line.endswith("{"):
            open_guards.append((depth, guard[1]))
    return found


def _idle_starts(lines: list[str]) -> list[str]:
    """Variables that start from an infinity, and whose next use updates them once, outside of any loop or branch."""
    found = []
    for number, line in enumerate(lines):
        match = re.match(r"(\s*)float (\w+) = __int_as_float\(0x[7f]f800000\);", line)
        if match is None:
            continue
        uses = (later for later in lines[number + 1 :] if re.search(rf"\b{match[2]}\b", later))
        following = next(uses, "")
        if following.startswith(f"{match[1]}{match[2]} = nt_m"):
            found.append(f"set for nothing: {line}")
    return found
