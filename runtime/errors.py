"""What a kernel reports when it stops: the error record of the ABI (docs/levels/llvm.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..dialects.diagnostic import NestorError
from ..lowering.abi.error_codes import ERROR_CODES

NAMES: dict[int, str] = {code: name for name, code in ERROR_CODES.items()}
"""The Python exception a code stands for."""


class KernelError(NestorError):
    """A kernel stopped: `code` says how, `site` which check (see `nestor.sites`), the others on what; `numbers` are
    those of a `raise`, as 64-bit words."""

    def __init__(
        self, code: int, site: int = -1, value: int = 0, extent: int = 0, numbers: Sequence[int] = ()
    ):
        super().__init__(f"{NAMES[code]} at check {site}: value {value}, extent {extent}")
        self.code, self.site, self.value, self.extent = code, site, value, extent
        self.numbers = tuple(numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.site, self.value, self.extent, self.numbers)


class CompileError(NestorError):
    """A compiler refuses a text of CUDA C: what it `said`, and the `line` and `column` (0: unknown) of the first error."""

    def __init__(self, what: str, said: str):
        super().__init__(f"{what}:\n{said}")
        self.what, self.said = what, said
        found = _PLACE.search(said)
        self.line = int(found["line"]) if found else 0
        self.column = int(found["column"] or 0) if found else 0
        self.reason = found["reason"].strip() if found else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.said)


_PLACE = re.compile(
    r"kernels\.cu[:(](?P<line>\d+)(?:[:,](?P<column>\d+))?(?::|\):) (?:fatal )?error: (?P<reason>.*)"
)
"""How g++, NVRTC and nvcc say where they found the first error."""


class SettingError(NestorError, ValueError):
    """A setting of Nestor with a value that it cannot have.

        nt.set_num_threads(0)

    The message says which values there are.
    """


class DeviceError(NestorError, RuntimeError):
    """A GPU, or its driver, that did not do what it was asked, or is not there.

        @nt.jit(target="cuda")
        def f(x):
            return x + 1

        f(np.ones(3))

    Without a GPU, `target="cuda-sim"` runs the same CUDA C on the processor; `target="cpu"` is the default.
    """


class DeviceMemoryError(DeviceError, MemoryError):
    """A GPU without enough memory.

        @nt.jit(target="cuda")
        def f(x):
            return x[:, None] * x[None, :]

        f(np.ones(10_000_000))

    Free arrays that are not needed (`cupy.get_default_memory_pool().free_all_blocks()`), or work on blocks.
    """
