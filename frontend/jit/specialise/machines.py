"""Which machine a program is compiled for: the option `machine` of `nt.jit`, else `NESTOR_MACHINE`, else this one.

A name of `analysis/machine.py` describes a processor or a GPU; of the other kind programs are scheduled for what they
would be without it. `host` is this machine, whatever the environment says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...interface.errors import UnsupportedError

if TYPE_CHECKING:
    from ....analysis.machine import Cpu, Gpu

HOST = "host"


def name_of(machine: str | None) -> str:
    """The machine that is meant."""
    return machine or os.environ.get("NESTOR_MACHINE") or HOST


def cpu_of(machine: str | None) -> Cpu:
    """The processor that programs are scheduled for."""
    if (named := masked(machine)) is not None:
        return named
    from ....runtime.cpu.host import host
    from ....runtime.cpu.threads import threads_for_schedules

    return host()._replace(threads=threads_for_schedules())


def gpu_of(machine: str | None) -> Gpu:
    """The GPU that programs are scheduled for."""
    from ....analysis.machine import GPUS, gpu

    name = name_of(machine)
    return gpu(name) if name in GPUS else gpu()


def masked(machine: str | None) -> Cpu | None:
    """The processor whose instructions a program is to have; None for this one's."""
    from ....analysis.machine import CPUS

    return CPUS.get(name_of(machine))


def check_runs(machine: Cpu) -> None:
    """Raises UnsupportedError where code for a processor does not run here."""
    from ....runtime.cpu.host import why_not_run

    if (reason := why_not_run(machine)) is not None:
        raise UnsupportedError(
            f"code for the machine '{machine.name}' does not run here: {reason}",
            hint="f.lower(...).as_text('llvm-ir') or 'asm' shows it; without `machine` (and NESTOR_MACHINE) it is compiled "
            "for this processor",
        )
