"""What kernels take of a multiprocessor: registers, shared memory and spills as ptxas says; and how many warps then fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...analysis.machine import ARCHITECTURES
from ...lowering.abi.kernel_signature import KernelSignature

WARP = 32


@dataclass(frozen=True)
class KernelResources:
    """One kernel; sizes in bytes, registers per thread, `threads` per block (None where the text does not bound them)."""

    name: str
    registers: int
    shared: int = 0
    """Shared memory that the kernel declares."""
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    barriers: int = 0
    threads: int | None = None
    launch_shared: int = 0
    """Shared memory that the launch adds."""

    @property
    def spills(self) -> int:
        """Bytes that registers could not hold, written and read."""
        return self.spill_stores + self.spill_loads

    def occupancy(self, arch: str) -> float | None:
        """Which part of the warps of a multiprocessor can be resident at once; None where it is not known."""
        limits = ARCHITECTURES.get(arch.rstrip("af"))
        if limits is None or not self.threads:
            return None
        warps = -(-self.threads // WARP)
        shared = self.shared + self.launch_shared
        per_block = -(-(shared + limits.reserved) // _SHARED_UNIT) * _SHARED_UNIT
        blocks = min(
            limits.blocks,
            limits.threads // (warps * WARP),
            _warps_by_registers(self.registers) // warps,
            limits.shared // per_block if per_block else limits.blocks,
        )
        return blocks * warps * WARP / limits.threads


_SHARED_UNIT = 128
_REGISTERS_OF_A_QUARTER = 16384
_REGISTER_UNIT = 256


def _warps_by_registers(registers: int) -> int:
    """How many warps the register files hold: four of them, each for a quarter of the warps."""
    of_a_warp = -(-max(registers, 1) * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    return 4 * (_REGISTERS_OF_A_QUARTER // of_a_warp)


# ---- reading what ptxas says ------------------------------------------------------------------------

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_BOUND = re.compile(r"__launch_bounds__\((\d+)[^)]*\)\s*(\w+)\s*\(")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
}


def with_launches(
    kernels: Sequence[KernelResources], signatures: Iterable[KernelSignature]
) -> tuple[KernelResources, ...]:
    """The kernels with the shared memory that their launches add."""
    added = {signature.name: signature.shared_bytes for signature in signatures}
    return tuple(replace(kernel, launch_shared=added.get(kernel.name, 0)) for kernel in kernels)


def resources_of(log: str, source: str) -> tuple[KernelResources, ...]:
    """The kernels that `ptxas -v` reports on in a log, in the order of the source text."""
    bounds = {name: int(threads) for threads, name in _BOUND.findall(source)}
    found = []
    parts = _ENTRY.split(log)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        numbers = {key: int(hit[1]) for key, wanted in _NUMBERS.items() if (hit := wanted.search(text))}
        if "registers" in numbers:
            found.append(KernelResources(name, threads=bounds.get(name), **numbers))
    return tuple(sorted(found, key=lambda kernel: source.find(f"{kernel.name}(")))


# ---- the report -------------------------------------------------------------------------------------

_HEADINGS = ("threads", "registers", "shared", "spills", "stack", "occupancy")


def table(kernels: Sequence[KernelResources], arch: str) -> str:
    """The kernels as a table of text, with sizes in bytes.

    >>> print(table([KernelResources("f_kernel", 32, threads=256)], "sm_90"))
    sm_90     threads  registers  shared  spills  stack  occupancy
    f_kernel      256         32       0       0      0       100%
    """
    rows: list[tuple[str, ...]] = [(arch, *_HEADINGS)]
    for kernel in kernels:
        share = kernel.occupancy(arch)
        rows.append(
            (
                kernel.name,
                str(kernel.threads or "any"),
                str(kernel.registers),
                str(kernel.shared + kernel.launch_shared),
                str(kernel.spills),
                str(kernel.stack),
                "unknown" if share is None else f"{share:.0%}",
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *cells in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append(f"{name.ljust(widths[0])}  {numbers}")
    return "\n".join(lines)
