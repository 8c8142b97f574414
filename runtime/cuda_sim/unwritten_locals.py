"""Local variables that a kernel uses before anything has been written to them.

They are in registers, where no access is seen. When g++ compiles the kernels it names those that are unwritten whenever a
line is reached: a fault. Of those that only may be (a branch was not taken) the proof are more runs, in which all
such variables hold something else (`FILLS`): a fault where a result depends on it. It does not see all of these: so the
first run has NaN in them, which is in what is computed of it, also in the larger one of two numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from .faults import Fault, Launch, Party

_WARNING = re.compile(
    r"^kernels\.cu:(\d+):\d+: warning: (?:'(.*?)' )?(is|may be) used uninitialized \[-W", re.MULTILINE
)
_DECLARATION = re.compile(
    r"^( +(?:(?:unsigned|long|short) )*\w+(?:<[\w, ]+>)? (\w+)(?:\[\d+\])*;)(?=\s|$)", re.MULTILINE
)
_NO_TYPE = ("return", "goto", "else", "typedef", "using")
_STRUCTURE = re.compile(r"(^struct\b.*?^};)", re.MULTILINE | re.DOTALL)

FILLS = ("nan", "pattern", "zero")
"""What local variables hold that nothing has written: all bits (NaN, -1), which the first run has; what no kernel computes;
zeros."""

FLAGS = ("-Wuninitialized", "-Wmaybe-uninitialized")


@dataclass(frozen=True)
class UnwrittenLocal:
    """One use: its line in the kernels' text, the variable, whether it is unwritten whenever the line is reached."""

    line: int
    name: str
    certain: bool


def filled_with_nan(source: str) -> str:
    """A text in which local variables that are declared without a value have all bits set; lines keep their numbers.

    >>> print(filled_with_nan("  float sums[4][2];  // ..."))
      float sums[4][2]; __builtin_memset(&sums, 255, sizeof sums);  // ...
    """

    def filled(found: re.Match[str]) -> str:
        if found[1].split()[0] in _NO_TYPE:
            return found[0]
        return f"{found[1]} __builtin_memset(&{found[2]}, 255, sizeof {found[2]});"

    parts = _STRUCTURE.split(source)  # whose members are no variables
    return "".join(part if place % 2 else _DECLARATION.sub(filled, part) for place, part in enumerate(parts))


def keep(messages: str, library: Path) -> None:
    """Write down beside a library what the compiler said of its kernels."""
    found = {UnwrittenLocal(int(line), name, sure == "is") for line, name, sure in _WARNING.findall(messages)}
    ordered = sorted(map(astuple, found))
    _file(library).write_text(json.dumps(ordered))


def kept(library: Path) -> list[UnwrittenLocal]:
    """What `keep` wrote."""
    return [UnwrittenLocal(*entry) for entry in json.loads(_file(library).read_text())]


def _file(library: Path) -> Path:
    return library.with_suffix(".locals")


def fault(found: UnwrittenLocal, launch: Launch, place: str = "") -> Fault:
    """A use as a fault; `place` is the element that shows it where it was not certain."""
    name = f"the local variable '{found.name}'" if found.name.isidentifier() else "a local variable"
    message = f"use of {name}, which nothing has written" + (f": {place} depends on it" if place else "")
    text = launch.text
    party = Party(None, None, "", found.line, text.at(found.line), text.python_line(found.line))
    return Fault("uninitialised", launch.kernel, message, place, party, None, 1)


def first_difference(
    launch: Launch, arrays: Sequence[np.ndarray], others: Sequence[np.ndarray]
) -> str | None:
    """The first element of the arrays of a launch whose bytes differ between two runs."""
    for array, other in zip(arrays, others, strict=True):
        differs = _bytes(array) != _bytes(other)
        if differs.any():
            name = next(name for _, name, known in launch.arrays if known is array)
            index = np.unravel_index(int(differs.any(axis=-1).argmax()), array.shape)
            return f"{name}[{', '.join(map(str, map(int, index)))}]"
    return None


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of each element in row-major order."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.itemsize)
