"""Machine code of a kernel as `nvdisasm` prints it: its instructions, its loops, and what these do.

`pip install nvidia-cuda-nvdisasm` has the tool (it needs no GPU); one on PATH does as well. A later version than that of
the compiler reads its code.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PRODUCTS = ("HMMA", "IMMA", "DMMA")
"""Instructions of tensor cores."""
MULTIPLY_ADDS = ("FFMA", "DFMA", "HFMA2")
EXTREMA = ("FMNMX",)
"""Larger and smaller ones of two numbers."""
GLOBAL = ("LDG", "STG", "LDGSTS", "RED", "ATOMG")
"""Accesses to global memory."""


@dataclass(frozen=True)
class Instruction:
    """`name` with its suffixes ("LDG.E.128.CONSTANT"); `target` is the label that a branch goes to."""

    name: str
    target: str | None = None

    @property
    def kind(self) -> str:
        return self.name.partition(".")[0]

    @property
    def bytes(self) -> int:
        """What a thread moves by an access."""
        found = re.search(r"\.(128|64|U?16|[SU]8)\b", self.name)
        return 4 if found is None else int(re.sub(r"\D", "", found[1])) // 8


@dataclass(frozen=True)
class Code:
    """The instructions of a kernel, and before which of them the labels are."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    def loops(self) -> list[tuple[Instruction, ...]]:
        """The instructions from a label to a branch back to it, of all loops."""
        found = []
        for place, one in enumerate(self.instructions):
            start = self.labels.get(one.target or "", place + 1)
            if one.kind == "BRA" and start < place:
                found.append(self.instructions[start : place + 1])
        return found

    def busiest_loop(self, kinds: Sequence[str]) -> tuple[Instruction, ...]:
        """The loop with most instructions of these kinds, the shortest of several; the whole code where none has one."""
        loops = [loop for loop in self.loops() if count(loop, kinds)]
        return max(loops, key=lambda loop: (count(loop, kinds), -len(loop)), default=self.instructions)


def count(code: Sequence[Instruction], kinds: Sequence[str]) -> int:
    """How many instructions are of one of the kinds."""
    return sum(one.kind in kinds for one in code)


def passes_of_fragments(code: Sequence[Instruction]) -> int:
    """Passes over shared memory that `ldmatrix` takes at least: one for 8 rows of 16 bytes."""
    return sum(int(one.name.rpartition(".")[2]) for one in code if one.kind == "LDSM")


@cache
def tool() -> str | None:
    """The path of `nvdisasm`, None where there is none."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    found = [path for root in roots for path in sorted(Path(root).glob("cu*/bin/nvdisasm"))]
    return str(found[-1]) if found else shutil.which("nvdisasm")


def read(image: bytes) -> dict[str, Code]:
    """The kernels of a cubin by name. Raises FileNotFoundError where there is no `nvdisasm`."""
    program = tool()
    if program is None:
        raise FileNotFoundError("nvdisasm is missing: pip install nvidia-cuda-nvdisasm, or put it on PATH")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        done = subprocess.run([program, "-c", file.name], capture_output=True, text=True, check=True)
    return codes_in(done.stdout)


_KERNEL = re.compile(r"^\.text\.(\w+):", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<label>\.L_\w+):|^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][\w.]*)(?P<rest>[^;]*);",
    re.MULTILINE,
)
_TARGET = re.compile(r"\(?(\.L_\w+)")


def codes_in(text: str) -> dict[str, Code]:
    """The kernels in what `nvdisasm -c` prints."""
    found = {}
    parts = _KERNEL.split(text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        instructions: list[Instruction] = []
        labels: dict[str, int] = {}
        for line in _LINE.finditer(body):
            if line["label"] is not None:
                labels[line["label"]] = len(instructions)
            elif line["name"] != "NOP":
                target = _TARGET.search(line["rest"])
                instructions.append(Instruction(line["name"], None if target is None else target[1]))
        found[name] = Code(tuple(instructions), labels)
    return found
