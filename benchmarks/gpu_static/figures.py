"""The figures of a kernel, and the table of them: written, and read back by the test that holds them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import nestor as nt
from nestor.runtime.cuda import nvrtc

from . import sass
from .rows import Row

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@dataclass(frozen=True)
class Kernel:
    """A kernel of a program. Figures of machine code are one for each architecture."""

    name: str
    blocks: int
    threads: int
    wide: float
    """Share of the accesses to global memory that are of 16 bytes."""
    unit: str
    """What its work is counted in."""
    instructions: tuple[float, ...]
    """Instructions for each unit, in the loop that has most of them, or in all of the kernel."""
    passes: float | None
    """Passes over shared memory of `ldmatrix` for each unit, where it is used."""
    registers: tuple[int, ...]
    spills: tuple[int, ...]
    shared: int

    def line(self, row: str) -> str:
        """Its row of the table."""
        passes = "" if self.passes is None else f"{self.passes:.2f}"
        cells = (
            row,
            self.name,
            str(self.blocks),
            str(self.threads),
            f"{self.wide:.2f}",
            f"{_joined(f'{n:.2f}' for n in self.instructions)} a {self.unit}",
            passes,
            _joined(self.registers),
            _joined(self.spills),
            str(self.shared),
        )
        return f"| {' | '.join(cells)} |"


def _joined(numbers: object) -> str:
    return " / ".join(map(str, numbers))  # pyright: ignore[reportArgumentType]


# ---- compiling --------------------------------------------------------------------------------------

_LAUNCH = re.compile(
    r"// [^\n]*: (.*?) blocks? of (.*?) threads?\n(?:// [^\n]*\n)*extern \"C\" __global__ [^(]*\([^(]*\) (\w+)\("
)
_ALIGNED = re.compile(r"\bbool (aligned(?:_\d+)?)(,[^{]*|)\) \{")


def cuda_of(row: Row) -> str:
    """The CUDA C of a row."""
    jitted = nt.jit(row.program, target="cuda-sim", dynamic=False, fastmath=row.fastmath or False)
    return jitted.lower(*row.specs()).as_text("cuda")


def kernels_of(row: Row, architectures: Sequence[str] = ARCHITECTURES) -> list[Kernel]:
    """The kernels of a row, in the order of the text."""
    text = cuda_of(row)
    launches = {name: (_number(blocks), _number(threads)) for blocks, threads, name in _LAUNCH.findall(text)}
    made = [nvrtc.compile_cubin(text, arch) for arch in architectures]
    codes = [sass.read(nvrtc.compile_cubin(for_aligned(text), arch).image) for arch in architectures]
    found = []
    for place, first in enumerate(made[0].kernels):
        blocks, threads = launches[first.name]
        own = [code[first.name] for code in codes]
        unit, kinds = _unit(own[0])
        loops = [code.busiest_loop(kinds) for code in own]
        counts = [sass.count(loop, kinds) for loop in loops]
        passes = sass.passes_of_fragments(loops[0])
        accesses = [one for one in own[0].instructions if one.kind in sass.GLOBAL]
        found.append(
            Kernel(
                first.name,
                blocks,
                threads,
                sum(one.bytes == 16 for one in accesses) / max(1, len(accesses)),
                unit,
                tuple(len(loop) / max(1, n) for loop, n in zip(loops, counts, strict=True)),
                passes / counts[0] if passes and counts[0] else None,
                tuple(one.kernels[place].registers for one in made),
                tuple(one.kernels[place].spills for one in made),
                first.shared,
            )
        )
    return found


def for_aligned(text: str) -> str:
    """The kernels for arrays that begin at multiples of 16 bytes, as what libraries allocate does: one way through them."""
    return _ALIGNED.sub(r"bool \1_{}\2) {{\n  const bool \1 = true;".format("given"), text)


def _unit(code: sass.Code) -> tuple[str, tuple[str, ...]]:
    """What the work of a kernel is counted in: products of tensor cores, multiply-adds, extrema, else accesses to memory."""
    if kinds := tuple(kind for kind in sass.PRODUCTS if sass.count(code.instructions, [kind])):
        return kinds[0], kinds
    loop = code.busiest_loop(sass.MULTIPLY_ADDS)
    if sass.count(loop, sass.MULTIPLY_ADDS) * _LEAST > len(loop):
        kind = next(kind for kind in sass.MULTIPLY_ADDS if sass.count(loop, [kind]))
        return kind, sass.MULTIPLY_ADDS
    loop = code.busiest_loop(sass.EXTREMA)
    if sass.count(loop, sass.EXTREMA) > _FOR_AN_ACCESS * sass.count(loop, sass.GLOBAL):
        return sass.EXTREMA[0], sass.EXTREMA
    return "access", sass.GLOBAL


_LEAST = 3
"""One of so many instructions is a multiply-add in a loop of a product; those of exponentials are fewer."""


_FOR_AN_ACCESS = 32
"""More extrema than these for an access to memory are the work of a kernel: what is read has 4 elements."""


def _number(text: str) -> int:
    return prod(int(part) for part in text.replace("one", "1").split(" x "))


# ---- the table --------------------------------------------------------------------------------------

_HEAD = """\
# Kernels as machine code

Made by `make bench-gpu-static` (`python -m benchmarks.gpu_static`), without a GPU: NVRTC compiles, `nvdisasm` reads.
A row is a kernel; three figures are those of sm_80, sm_90 and sm_100. **16 B**: share of the accesses to global
memory that are of 16 bytes. **Instructions**: for each HMMA (a product of a tensor core), FFMA (multiply-add), FMNMX
(the larger one of two) or access to global memory, in the loop that has most of these, or in all of the kernel, for
arrays that begin at multiples of 16 bytes; a loop inside of that one, which the compiler has not unrolled, is counted
once. **LDSM**: passes over shared memory of `ldmatrix` for each HMMA. Spills and shared memory are bytes; what the
launch gives is not counted.
tests/unit/repository/test_gpu_static.py holds the figures as upper bounds (blocks and threads exactly).

| program | kernel | blocks | threads | 16 B | instructions | LDSM | registers | spills | shared |
|---|---|---:|---:|---:|---|---:|---|---|---:|
"""


def table(kernels: dict[str, list[Kernel]]) -> str:
    """The page."""
    lines = [kernel.line(name) for name, own in kernels.items() for kernel in own]
    return _HEAD + "\n".join(lines) + "\n"


def parse(text: str) -> dict[str, list[Kernel]]:
    """The kernels of a page by row."""
    found: dict[str, list[Kernel]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 10 or not cells[2].isdigit():
            continue
        row, name, blocks, threads, wide, work, passes, registers, spills, shared = cells
        instructions, _, unit = work.partition(" a ")
        found.setdefault(row, []).append(
            Kernel(
                name,
                int(blocks),
                int(threads),
                float(wide),
                unit,
                tuple(map(float, instructions.split(" / "))),
                float(passes) if passes else None,
                tuple(map(int, registers.split(" / "))),
                tuple(map(int, spills.split(" / "))),
                int(shared),
            )
        )
    return found
