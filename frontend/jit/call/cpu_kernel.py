"""Kernels of the CPU: machine code and how it is called, compiled a moment ago or long before."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frozen import Frozen


def load_cpu(
    code: bytes,
    name: str,
    forms: Sequence[Any],
    sites: list[dict[str, Any]],
    frozen: FrozenDescription | None = None,
    calls: Sequence[Any] = (),
) -> CpuKernel:
    """The kernel of object code that was compiled before, in this process or another; `calls` are those of NumPy."""
    from ....runtime.abi import Packer
    from ....runtime.cpu.machine_code import load_object

    if calls:
        from ....runtime.custom_calls import provide

        provide(calls)
    return CpuKernel(load_object(code), name, Packer(forms), sites, False, frozen, calls)


FrozenDescription = tuple[str, tuple[Any, ...], tuple[int, ...]]
"""The name of the function that fills buffers once, the forms of its arguments, and which of a call's it takes."""


def _frozen(engine: Any, name: str, forms: Sequence[Any], arguments: Sequence[int]) -> Frozen:
    from ....runtime.abi import Packer
    from .frozen import Frozen

    return Frozen(CpuKernel(engine, name, Packer(forms), [], False), arguments)


class CpuKernel:
    """Machine code, called through its packed entry point."""

    def __init__(
        self,
        engine: Any,
        name: str,
        packer: Any,
        sites: list[dict[str, Any]],
        prints: bool,
        frozen: FrozenDescription | None = None,
        calls: Sequence[Any] = (),
    ):
        from ....runtime.abi import ErrorRecord

        self.engine = engine
        self.packer = packer
        self.address: int = engine.address(name)
        self.native = None if prints or calls else self
        """This kernel, if the native call wrapper may call it: Python does not run in the middle of it, and lets no other
        threads in."""
        self.calls_of_python = calls
        """The functions of Python that it calls (`runtime/custom_calls.py`)."""
        self.calls = 0
        self.seconds = 0.0
        """What the last call from Python took."""
        self._entry = engine.entry(name)
        self._record = ErrorRecord
        self.sites = sites
        self._prints = prints
        self.described = frozen
        self.frozen = None if frozen is None else _frozen(engine, *frozen)

    @property
    def can_be_kept(self) -> bool:
        """Whether it is data: no function of Python is called, but NumPy's."""
        if not self.calls_of_python or self._prints:
            return not self._prints
        from ....runtime.custom_calls import are_numpy

        return are_numpy(self.calls_of_python)

    def as_data(self) -> tuple[Any, list[dict[str, Any]], FrozenDescription | None, Sequence[Any]]:
        """What makes it again beside machine code: the forms of its arguments, the checks, what is computed once, and which
        functions of NumPy it calls."""
        return self.packer.forms, self.sites, self.described, self.calls_of_python

    def machine_code(self) -> bytes:
        """Its object code."""
        return self.engine.object_code

    def __call__(self, arguments: Sequence[Any]) -> None:
        record = self._record()
        slots = self.packer(*arguments)
        began = perf_counter()
        failed = self._entry(slots, record)
        self.seconds = perf_counter() - began
        if self._prints:
            from ....runtime.printing import raise_error

            raise_error()
        if failed:
            self.fail(tuple(record))

    def fail(self, record: Sequence[int]) -> None:
        """Raise the exception of the check that failed."""
        from ....lowering.abi.error_codes import FACTS
        from .kernel_errors import kernel_error

        raise kernel_error(self.sites, *record[:FACTS], numbers=record[FACTS:])
