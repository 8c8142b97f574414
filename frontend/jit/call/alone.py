"""Which programs can run without the function that they were compiled from: in a file, in a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cpu_kernel import CpuKernel

if TYPE_CHECKING:
    from ...interface.program_parts import Program


def why_not_alone(
    program: Program, kernel: Any, has_inputs: bool = False, *, has_numpy: bool = False
) -> tuple[str, str] | None:
    """Why a program cannot run without its function, and what to do; None where it can. One that reads arrays from outside
    can where it is given them (`has_inputs`), one that calls functions of NumPy where these are (`has_numpy`)."""
    if not isinstance(kernel, CpuKernel):
        return "its target is not 'cpu'", 'compile(target="cpu")'
    if not (kernel.can_be_kept if has_numpy else kernel.native):
        return "it prints or calls Python", "print around the call, and leave functions of Python out of it"
    if program.inputs and not has_inputs:
        names = ", ".join(f"'{name}'" for name in program.inputs.names)
        return f"it reads arrays from outside ({names}), whose elements may change", "pass them as arguments"
    if program.may_change:
        return "it changes lists, dicts or objects of its arguments", "return what is to be changed"
    return None
