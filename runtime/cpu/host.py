"""This processor as a description (`analysis/machine.py`), and which descriptions it can run code for.

Code for another description is made for what both have: its instructions, without those that this processor lacks. A
description whose vectors or instruction sets are not here can be compiled for, to look at; it is not run.
"""

from __future__ import annotations

import functools
import platform

from ...analysis.machine import DEFAULT_CPU, Cpu, cpu
from .processor import linux_facts, may_use_tiles


@functools.cache
def host() -> Cpu:
    """The description of this processor. Where Linux does not say what there is, passes' own default.

    Non-temporal stores are faster on Sapphire Rapids, known by its tiles of matrices, and were not on Cascade Lake
    (schedulers/cpu/streams.py); other processors are taken to be like the latter.
    """
    facts = next((line.split() for line in linux_facts().splitlines() if line.startswith(b"flags")), [])
    levels = (("x86-64-v4", b"avx512bw avx512cd avx512dq avx512f avx512vl"), ("x86-64-v3", b"avx2 bmi2 fma"))
    level = next((name for name, needs in levels if {*needs.split()} <= {*facts}), "x86-64")
    known = cpu(level if facts else DEFAULT_CPU)
    l3 = _cache_kib(3)
    return known._replace(
        l1_kib=_cache_kib(0) or known.l1_kib,
        l2_kib=_cache_kib(2) or known.l2_kib,
        l3_kib=known.l3_kib if l3 is None else min(l3, _SHARED_KIB),
        non_temporal=b"amx_tile" in facts,
        amx=may_use_tiles(),
        vnni=level == "x86-64-v4" and b"avx512_vnni" in facts,
        bf16=level == "x86-64-v4" and b"avx512_bf16" in facts,
    )


_SHARED_KIB = 32 << 10
"""Of the last-level cache a program counts on so much at most: the rest is for the other programs of a server."""


def _cache_kib(index: int) -> int | None:
    """A cache of the first core, in KiB, as Linux says; None where it does not. 0 is the first level's for data."""
    folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
    try:
        with open(f"{folder}/level") as level, open(f"{folder}/size") as size:
            text = size.read().strip()
            if (
                level.read().strip() != str(max(1, index))
                or text[-1:] not in ("K", "M")
                or not text[:-1].isdigit()
            ):
                return None
            return int(text[:-1]) << (10 if text.endswith("M") else 0)
    except OSError:
        return None


def why_not_run(machine: Cpu) -> str | None:
    """What code for a description needs that this processor has not; None where it can run."""
    here = platform.machine()
    if not machine.triple.startswith({"AMD64": "x86_64", "arm64": "aarch64"}.get(here, here)):
        return f"this is a processor of another kind, {here}"
    if machine.amx and not may_use_tiles():
        return "there is no matrix unit here (AMX), or this process may not use it"
    features = _features()
    lacking = [name for name in machine.features if not features.get(name)]
    return f"this processor lacks {', '.join(lacking)}" if lacking else None


def llvm_target(machine: Cpu) -> tuple[str, str]:
    """LLVM's name and feature string for a description, without what this processor lacks where it can run the code."""
    if why_not_run(machine) is not None:
        return machine.llvm, ""
    return machine.llvm, ",".join(f"-{name}" for name, on in sorted(_features().items()) if not on)


def _features() -> dict[str, bool]:
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_features()
