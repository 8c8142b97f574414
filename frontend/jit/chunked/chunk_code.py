"""The code of a chunk's program as data that other processes load: object code, or a GPU's kernels and host function.

    code = code_of(name, kernel, engine, target, is_large=False)      # where the graph is made
    kernel = code.load("smoothed")              # where a task runs; raises where it cannot run there

Kernels of a GPU are machine code for the architecture that compiled them. A device of another one compiles their text again,
by NVRTC (`runtime/cuda/engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .... import __version__
from ...interface.errors import SavedProgramError, UnsupportedError
from ..call.cpu_kernel import load_cpu
from ..disk.conditions import check_conditions, conditions_of


@dataclass(frozen=True)
class HostCode:
    """Object code of a CPU."""

    code: bytes
    forms: tuple[Any, ...]
    sites: list[dict[str, Any]]
    conditions: bytes
    calls: tuple[Any, ...] = ()
    """The functions of NumPy that it calls."""

    def load(self, name: str) -> Callable[[Sequence[Any]], None]:
        """The kernel. Raises UnsupportedError and SavedProgramError where it cannot run."""
        check_conditions(f"the program of '{name}'", self.conditions)
        return load_cpu(self.code, name, self.forms, self.sites, calls=self.calls)

    @property
    def token(self) -> Any:
        """What tells it from other code."""
        return self.code, self.forms, repr(self.sites), repr(self.calls)

    @property
    def size(self) -> int:
        """Bytes of machine code, with the tables of its object file."""
        return len(self.code)


@dataclass(frozen=True)
class KernelCode:
    """Kernels of a GPU and their host function, for the device or the simulator: with indices of 32 bits, and of 64 for
    arrays that may need them."""

    target: str
    versions: tuple[tuple[Any, list[dict[str, Any]], bytes], ...]
    """Of each: what describes it, its checks, and its machine code."""
    nestor: str

    def load(self, name: str) -> Callable[[Sequence[Any]], None]:
        """The kernel. Raises SavedProgramError for that of another version, DeviceError where no device answers."""
        if self.nestor != __version__:
            raise SavedProgramError(
                f"the program of '{name}' was made by Nestor {self.nestor}, this is {__version__}",
                hint="workers need the version of Nestor that makes the graph",
            )
        return self._loaded(self.versions[0], lambda: self._long(name))

    def _long(self, name: str) -> Any:
        if len(self.versions) == 1:
            raise UnsupportedError(
                f"a chunk of '{name}' has 2 ** 31 elements or more, and its arrays have fewer",
                hint="smaller chunks: x.rechunk()",
            )
        return self._loaded(self.versions[1], None)

    def _loaded(self, version: tuple[Any, list[dict[str, Any]], bytes], make_other: Any) -> Any:
        from ..call.cuda_kernel import load_cuda
        from ..call.simulated_kernel import load_simulated

        load = load_cuda if self.target == "cuda" else load_simulated
        return load(*version, make_other)

    @property
    def token(self) -> Any:
        """What tells it from other code."""
        return self.target, repr(self.versions)

    @property
    def size(self) -> int:
        """Bytes of machine code."""
        return sum(len(code) for _, _, code in self.versions)


Code = HostCode | KernelCode


def code_of(name: str, kernel: Any, engine: Any, target: str, *, is_large: bool) -> Code:
    """The code of a kernel that was compiled for a target. Raises UnsupportedError where it calls functions
    of Python, NumPy's aside.

    `is_large` says whether arrays have so many elements that indices may need 64 bits."""
    if not getattr(kernel, "can_be_kept", False) or kernel.as_data()[2] is not None:
        raise UnsupportedError(
            f"'{name}' calls functions of Python, or has constants=, and other processes cannot compute it",
            hint="take what it prints or calls back out of it, and pass arrays as arguments",
        )
    if target == "cpu":
        forms, sites, _, calls = kernel.as_data()
        return HostCode(engine.object_code, forms, sites, conditions_of(engine), tuple(calls))
    versions = [kernel, kernel.with_long_indices()] if is_large else [kernel]
    data = [(*one.as_data()[:2], one.machine_code()) for one in versions]
    return KernelCode(target.partition(":")[0], tuple(data), __version__)
