"""Instruction sets that compiled code may use: which a program needs, and whether the processor that is here has them.

    needed(None, tiles=False)     of code for this processor: LLVM's names, ("avx", "avx2", ...)
    lacking(names)                those of them that this processor has not, as Linux says it; imports no LLVM

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID; AMD64 Architecture Programmer's
Manual, volume 3, appendix E.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from .processor import linux_facts

if TYPE_CHECKING:
    from ...analysis.machine import Cpu


class InstructionSet(NamedTuple):
    """Where a processor of x86-64 says that it has an instruction set, and what the system must save for it."""

    flag: str
    """Its name among the flags of Linux."""
    leaf: int
    subleaf: int
    register: int
    """Of EAX, EBX, ECX, EDX: 0 to 3."""
    bit: int
    state: int = 0
    """The parts of a thread's state (XCR0) that the system must save."""


_EXTENDED, _AVX, _AVX512, _TILES = 0x80000001, 0x6, 0xE6, 0x60000

SETS: dict[str, InstructionSet] = {
    "sse3": InstructionSet("pni", 1, 0, 2, 0),
    "ssse3": InstructionSet("ssse3", 1, 0, 2, 9),
    "fma": InstructionSet("fma", 1, 0, 2, 12, _AVX),
    "cx16": InstructionSet("cx16", 1, 0, 2, 13),
    "sse4.1": InstructionSet("sse4_1", 1, 0, 2, 19),
    "sse4.2": InstructionSet("sse4_2", 1, 0, 2, 20),
    "movbe": InstructionSet("movbe", 1, 0, 2, 22),
    "popcnt": InstructionSet("popcnt", 1, 0, 2, 23),
    "avx": InstructionSet("avx", 1, 0, 2, 28, _AVX),
    "f16c": InstructionSet("f16c", 1, 0, 2, 29, _AVX),
    "bmi": InstructionSet("bmi1", 7, 0, 1, 3),
    "avx2": InstructionSet("avx2", 7, 0, 1, 5, _AVX),
    "bmi2": InstructionSet("bmi2", 7, 0, 1, 8),
    "avx512f": InstructionSet("avx512f", 7, 0, 1, 16, _AVX512),
    "avx512dq": InstructionSet("avx512dq", 7, 0, 1, 17, _AVX512),
    "avx512ifma": InstructionSet("avx512ifma", 7, 0, 1, 21, _AVX512),
    "avx512cd": InstructionSet("avx512cd", 7, 0, 1, 28, _AVX512),
    "avx512bw": InstructionSet("avx512bw", 7, 0, 1, 30, _AVX512),
    "avx512vl": InstructionSet("avx512vl", 7, 0, 1, 31, _AVX512),
    "avx512vbmi": InstructionSet("avx512vbmi", 7, 0, 2, 1, _AVX512),
    "avx512vbmi2": InstructionSet("avx512_vbmi2", 7, 0, 2, 6, _AVX512),
    "gfni": InstructionSet("gfni", 7, 0, 2, 8),
    "avx512vnni": InstructionSet("avx512_vnni", 7, 0, 2, 11, _AVX512),
    "avx512bitalg": InstructionSet("avx512_bitalg", 7, 0, 2, 12, _AVX512),
    "avx512vpopcntdq": InstructionSet("avx512_vpopcntdq", 7, 0, 2, 14, _AVX512),
    "avx512vp2intersect": InstructionSet("avx512_vp2intersect", 7, 0, 3, 8, _AVX512),
    "amx-bf16": InstructionSet("amx_bf16", 7, 0, 3, 22, _TILES),
    "avx512fp16": InstructionSet("avx512_fp16", 7, 0, 3, 23, _AVX512),
    "amx-tile": InstructionSet("amx_tile", 7, 0, 3, 24, _TILES),
    "amx-int8": InstructionSet("amx_int8", 7, 0, 3, 25, _TILES),
    "avxvnni": InstructionSet("avx_vnni", 7, 1, 0, 4, _AVX),
    "avx512bf16": InstructionSet("avx512_bf16", 7, 1, 0, 5, _AVX512),
    "amx-fp16": InstructionSet("amx_fp16", 7, 1, 0, 21, _TILES),
    "avxifma": InstructionSet("avx_ifma", 7, 1, 0, 23, _AVX),
    "avxvnniint8": InstructionSet("avx_vnni_int8", 7, 1, 3, 4, _AVX),
    "avxneconvert": InstructionSet("avx_ne_convert", 7, 1, 3, 5, _AVX),
    "lzcnt": InstructionSet("abm", _EXTENDED, 0, 2, 5),
    "sse4a": InstructionSet("sse4a", _EXTENDED, 0, 2, 6),
    "prfchw": InstructionSet("3dnowprefetch", _EXTENDED, 0, 2, 8),
    "xop": InstructionSet("xop", _EXTENDED, 0, 2, 11, _AVX),
    "fma4": InstructionSet("fma4", _EXTENDED, 0, 2, 16, _AVX),
    "tbm": InstructionSet("tbm", _EXTENDED, 0, 2, 21),
}
"""By LLVM's name: what LLVM may choose by itself. x86-64 without any of them has SSE2."""

_LEVEL_2 = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_LEVEL_3 = (*_LEVEL_2, "avx")


def needed(machine: Cpu | None, *, tiles: bool) -> tuple[str, ...]:
    """The instruction sets that code for a machine may use, of which none is this one; nothing on other processors than
    x86-64.

    Of a processor that LLVM knows by name, all that this one has and vectors of its width can use: LLVM does not say which
    it takes for granted. The matrix unit counts where the code uses `tiles`: LLVM does not choose it.
    """
    from .llvm_machine import host

    _, text = host()
    here = {name[1:] for name in text.split(",") if name.startswith("+")} & SETS.keys()
    if not tiles:
        here = {name for name in here if not name.startswith("amx")}
    if machine is None:
        return tuple(sorted(here))
    if not machine.triple.startswith("x86_64"):
        return ()
    if machine.llvm.startswith("x86-64"):
        level = _LEVEL_3 if machine.vector_bits > 128 else ()
        return tuple(sorted({*machine.features, *level}))
    return tuple(sorted(name for name in here if machine.vector_bits >= 512 or not name.startswith("avx512")))


def kind_of_processor() -> str:
    """`x86_64`, `aarch64`, ..."""
    here = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(here, here)


def lacking(names: Iterable[str]) -> list[str]:
    """Those of the instruction sets that this processor has not, or the system does not let programs use."""
    facts = next((line for line in linux_facts().splitlines() if line.startswith(b"flags")), None)
    if facts is not None:
        flags = {*facts.decode("ascii", "replace").split()}
        return [name for name in names if name not in SETS or SETS[name].flag not in flags]
    wanted = list(names)
    if not wanted:
        return []
    from .llvm_machine import host

    here = {*host()[1].split(",")}
    return [name for name in wanted if f"+{name}" not in here]


def uses_tiles(llvm_ir: str) -> bool:
    """Whether code uses the matrix unit, for which a process must ask."""
    return "@llvm.x86.t" in llvm_ir
