"""Target `cuda-sim`: a whole GPU program on NumPy arrays, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..host_plan import ErrorRecord, HostPlan
from .module import SimModule

if TYPE_CHECKING:
    from .report import ProfileReport


class SimDevice:
    """The simulator as a `Device`: fresh arrays are filled with NaNs, so that a missing write shows."""

    def __init__(self, module: SimModule):
        self._module = module

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array that holds nothing sensible."""
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        return array

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the elements of an array."""
        np.copyto(target, source)

    def launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any]) -> None:
        """Run a kernel to its end."""
        self._module.launch(kernel, grid, block, arguments)

    def new_error_record(self) -> np.ndarray:
        """Four int64 zeros."""
        return np.zeros(4, np.int64)

    def read_error_record(self, record: np.ndarray) -> Sequence[int]:
        """Its content."""
        return record.tolist()


class SimEngine:
    """A module of the gpu level, compiled for the CPU.

    Call it with the arguments of the host function (arrays, then scalars, in their order; outputs are
    arrays too). The result says how the program ended; turning it into an exception is up to the caller.
    """

    def __init__(self, module: ModuleOp, function: str | None = None):
        self.plan = HostPlan(module, function)
        self.device = SimDevice(SimModule(self.plan.cuda.source))

    def __call__(self, *arguments: Any) -> ErrorRecord:
        """Run the program."""
        return self.plan.run(self.device, arguments)

    def profile(self, *arguments: Any) -> tuple[ErrorRecord, ProfileReport]:
        """Run the program on copies of its arguments; how it ended, and what its memory accesses cost."""
        from .profile import profile

        return profile(self.plan, arguments)
