"""Descriptions of processors: the facts from which the automatic schedules and code generation derive their sizes.

    cpu("skylake")                     a processor of the table
    cpu("skylake", threads=1)          the same with other fields
    gpu("rtx4090").multiprocessors

Imports nothing of ours and asks nothing of the machine that it runs on: `runtime/cpu/processor.py` describes that one, and
callers pass a description down. What belongs to the definition of the IR (lanes of a warp) is in `dialects`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

LINE_BYTES = 64
"""A cache line of every processor described here; the lowering of prefetches counts on it, too."""

STACK_LIMIT = 1 << 16
"""Bytes: a larger `memref.alloca` is taken from the heap, for threads have small stacks."""

ACCESS_BYTES = 16
"""What a thread of a GPU moves in one access at most: every architecture from sm_80 on."""

REGISTERS_OF_BLOCK = 1 << 16
"""Registers of 32 bits that the threads of a block share at most, on every GPU from sm_80 on."""

BANKS, BANK_BYTES = 32, 4
"""Of shared memory, which moves a word of each bank at one time."""

STATIC_SHARED_BYTES = 48 << 10
"""Shared memory that a kernel may declare itself, on every GPU; more must be asked for at the launch."""


class UnknownMachine(LookupError):
    """There is no description of that name. `hint` lists those that there are."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.hint = hint


# ---- CPUs -------------------------------------------------------------------------------------------

_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_VNNI = ("avx512vnni",)
_BF16 = ("avx512bf16",)
_AMX = ("amx-bf16", "amx-int8", "amx-tile")


class Cpu(NamedTuple):
    """A core, and what it shares with others."""

    name: str
    llvm: str
    """LLVM's name of the processor, which says what instructions there are and how long they take."""
    features: tuple[str, ...]
    """Instruction sets (LLVM's names) without which code made for this processor does not run."""
    vector_bits: int
    registers: int
    """Vector registers of a core."""
    l1_kib: int
    """The first-level cache of a core, for data."""
    l2_kib: int
    l3_kib: int
    """What one program may count on of the last-level cache: servers share theirs among more programs."""
    threads: int | None = None
    """Threads that programs are scheduled for; None: as many as there are."""
    non_temporal: bool = False
    """Whether non-temporal stores are faster for every result larger than the caches; by measurement."""
    amx: bool = False
    """Whether a unit multiplies matrices of bytes."""
    vnni: bool = False
    """Whether instructions add four products of bytes to each lane of a vector of 512 bits (AVX512-VNNI)."""
    bf16: bool = False
    """Whether instructions add two products of bfloat16 to each lane of a vector of 512 bits (AVX512-BF16)."""
    line: int = LINE_BYTES
    triple: str = "x86_64-unknown-linux-gnu"

    @property
    def l1_bytes(self) -> int:
        return self.l1_kib << 10

    @property
    def l2_bytes(self) -> int:
        return self.l2_kib << 10

    @property
    def non_temporal_bytes(self) -> int:
        """The size of a result from which on non-temporal stores may pay: what is read beside it has a part of the cache."""
        return self.l3_kib << 9


DEFAULT_CPU = "x86-64-v4"
"""What passes schedule for when they are not told."""

CPUS = {
    one.name: one
    for one in (
        Cpu("x86-64", "x86-64", (), 128, 16, 32, 256, 8 << 10),
        Cpu("x86-64-v3", "x86-64-v3", _V3, 256, 16, 32, 512, 8 << 10),
        Cpu("x86-64-v4", "x86-64-v4", _V4, 512, 32, 48, 1024, 32 << 10),
        Cpu("skylake", "skylake", _V3, 256, 16, 32, 256, 8 << 10),
        Cpu("skylake-avx512", "skylake-avx512", _V4, 512, 32, 32, 1024, 22 << 10),
        Cpu("icelake-server", "icelake-server", (*_V4, *_VNNI), 512, 32, 48, 1280, 32 << 10, vnni=True),
        Cpu(
            "sapphire-rapids",
            "sapphirerapids",
            (*_V4, *_VNNI, *_BF16, *_AMX),
            512,
            32,
            48,
            2048,
            32 << 10,
            non_temporal=True,
            amx=True,
            vnni=True,
            bf16=True,
        ),
        Cpu("zen3", "znver3", _V3, 256, 16, 32, 512, 32 << 10),
        Cpu("zen4", "znver4", (*_V4, *_VNNI, *_BF16), 512, 32, 32, 1024, 32 << 10, vnni=True, bf16=True),
        Cpu("zen5", "znver5", (*_V4, *_VNNI, *_BF16), 512, 32, 48, 1024, 32 << 10, vnni=True, bf16=True),
    )
}
"""In the order of the fields; from the makers' optimisation manuals. The first three are the levels of the x86-64 psABI,
with usual caches."""


# ---- GPUs -------------------------------------------------------------------------------------------


class Architecture(NamedTuple):
    """Of a multiprocessor: resident threads and blocks, shared memory, and what each block takes of that unasked."""

    threads: int
    blocks: int
    shared: int
    reserved: int = 1 << 10

    @property
    def shared_of_block(self) -> int:
        """Shared memory of one block at most."""
        return self.shared - self.reserved


ARCHITECTURES = {
    "sm_75": Architecture(1024, 16, 64 << 10, 0),
    "sm_80": Architecture(2048, 32, 164 << 10),
    "sm_86": Architecture(1536, 16, 100 << 10),
    "sm_87": Architecture(1536, 16, 164 << 10),
    "sm_89": Architecture(1536, 24, 100 << 10),
    "sm_90": Architecture(2048, 32, 228 << 10),
    "sm_100": Architecture(2048, 32, 228 << 10),
    "sm_103": Architecture(2048, 32, 228 << 10),
    "sm_120": Architecture(1536, 24, 100 << 10),
    "sm_121": Architecture(1536, 24, 100 << 10),
}
"""By compute capability, from the table in NVIDIA's CUDA C++ programming guide."""


class Gpu(NamedTuple):
    """A GPU: its compute capability says most of it."""

    name: str
    arch: str
    multiprocessors: int

    @property
    def limits(self) -> Architecture:
        """What a multiprocessor has."""
        return ARCHITECTURES[self.arch]

    @property
    def wave(self) -> int:
        """Blocks of which each multiprocessor has one: the power of two below, so that parts of an axis come out even."""
        return 1 << self.multiprocessors.bit_length() - 1


DEFAULT_GPU = "h100"
"""What kernels are scheduled for when nobody says otherwise."""

GPUS = {
    one.name: one
    for one in (
        Gpu("a100", "sm_80", 108),
        Gpu("rtx3090", "sm_86", 82),
        Gpu("rtx4090", "sm_89", 128),
        Gpu("l4", "sm_89", 58),
        Gpu("l40s", "sm_89", 142),
        Gpu("h100", "sm_90", 132),
        Gpu("h200", "sm_90", 132),
        Gpu("b200", "sm_100", 148),
        Gpu("rtx5090", "sm_120", 170),
    )
}
"""From NVIDIA's data sheets; kernels use instructions that there are from sm_80 on."""


# ---- by name ----------------------------------------------------------------------------------------


def cpu(name: str = DEFAULT_CPU, **fields: Any) -> Cpu:
    """The CPU of that name; fields that are not None take the place of its own. Raises UnknownMachine."""
    return _described(name, CPUS, "CPU", fields)


def gpu(name: str = DEFAULT_GPU, **fields: Any) -> Gpu:
    """The GPU of that name; fields that are not None take the place of its own. Raises UnknownMachine."""
    return _described(name, GPUS, "GPU", fields)


def _described(name: str, table: dict[str, Any], kind: str, own: dict[str, Any]) -> Any:
    found = table.get(name)
    if found is None:
        raise unknown(name, kind)
    return found._replace(**{field: value for field, value in own.items() if value is not None})


def options_of(machine: Cpu | Gpu) -> dict[str, Any]:
    """The options that describe a machine to a pass: its name, and the fields in which it is not that of the table."""
    known = (CPUS if isinstance(machine, Cpu) else GPUS)[machine.name]
    return {"machine": machine.name} | {k: v for k, v in machine._asdict().items() if v != getattr(known, k)}


def pass_options(pass_class: type, machine: Cpu | Gpu) -> dict[str, Any]:
    """The options that tell a pass of a machine: none to a pass that asks for none, or for one of the other kind.

    A pass that asks has an option `machine`, whose default says which kind is wanted.
    """
    table = CPUS if isinstance(machine, Cpu) else GPUS
    if getattr(pass_class, "machine", None) not in table:
        return {}
    return {name: value for name, value in options_of(machine).items() if hasattr(pass_class, name)}


def unknown(name: str, kind: str = "machine") -> UnknownMachine:
    """The error for a name that no table has, or that of the other kind."""
    tables = {"CPU": CPUS, "GPU": GPUS}
    wanted = tables if kind not in tables else {kind: tables[kind]}
    listing = "; ".join(f"{key}s: {', '.join(table)}" for key, table in wanted.items())
    other = next((key for key, table in tables.items() if key not in wanted and name in table), None)
    if other is not None:
        return UnknownMachine(f"the machine '{name}' is a {other}, and a {kind} is wanted", listing)
    from difflib import get_close_matches

    close = get_close_matches(name, [n for table in wanted.values() for n in table], 1)
    return UnknownMachine(
        f"there is no {kind} '{name}'", (f"did you mean '{close[0]}'? " if close else "") + listing
    )
