"""What the parameters of an emitted CUDA kernel are, in terms of the operands of its `gpu.launch_func`.

Plain data without xDSL: a cached kernel is launched from it without loading the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LARGEST_SMALL = (1 << 31) - (1 << 16)
"""Maximum number of elements that 32-bit indices reach, those of idle threads in a last block included."""


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a kernel, and the launch operand it comes from."""

    name: str
    c_type: str
    """`float`, `int`, ...: of the elements for a pointer, of the value for all others."""
    kind: Literal["pointer", "extent", "stride", "scalar", "error"]
    operand: int = -1
    """Position among the operands of the launch; -1 for the error record."""
    axis: int = -1
    """Which axis an extent (elements) or a stride (elements) belongs to."""


@dataclass(frozen=True)
class KernelSignature:
    """The parameters of a kernel in order."""

    name: str
    parameters: tuple[KernelParameter, ...]
    shared_bytes: int = 0
    """Shared memory that the launch gives, beside what the kernel declares."""
    is_own: bool = False
    """Whether its text is the user's."""

    @property
    def can_fail(self) -> bool:
        """Whether the kernel takes an error record."""
        return any(p.kind == "error" for p in self.parameters)


@dataclass(frozen=True)
class OwnText:
    """Lines of a text that are the user's (`nt.custom_op` with `cuda=`)."""

    name: str
    source: str
    first: int
    """The number of the first of them."""
    call: tuple[str, int] | None = None
    """The Python file and line of a call."""


@dataclass(frozen=True)
class CudaModule:
    """The CUDA C text of a module, and how its kernels are called."""

    source: str
    signatures: dict[str, KernelSignature]
    places: tuple[tuple[str, int] | None, ...] = ()
    """Of each line of the text: the Python file and line that it comes from, where it comes from one."""
    own: tuple[OwnText, ...] = ()
    """The parts of it that are the user's."""
