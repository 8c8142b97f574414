"""Target `cuda-sim`: a whole GPU program on NumPy arrays, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..abi import ERROR_WORDS
from ..cuda.host_plan import ErrorRecord, HostPlan
from .faults import Fault, SimulatorFault
from .memory import GuardedMemory
from .module import SimModule
from .options import ORDERS, SimOptions, parse_options

if TYPE_CHECKING:
    from .report import ProfileReport


class SimDevice:
    """The simulator as a `Device`: fresh arrays are filled with NaNs, so that a missing write shows.

    Where accesses are seen, `memory` holds the arrays of the program that runs.
    """

    def __init__(self, module: SimModule, memory: GuardedMemory | None = None):
        self._module = module
        self._memory = memory

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array that holds nothing sensible."""
        if self._memory is not None:
            return self._memory.allocate(shape, dtype)
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        return array

    def view(self, memory: np.ndarray, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A row-major array in memory of others, which it overwrites; one of its own where accesses are seen."""
        if self._memory is not None:
            return self._memory.allocate(shape, dtype)
        array = np.ndarray(shape, dtype, memory, offset)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        return array

    def copy(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the elements of an array."""
        np.copyto(target, source)
        if self._memory is not None:
            self._memory.copied(source, target)

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any], shared: int = 0
    ) -> None:
        """Run a kernel to its end, with `shared` bytes of shared memory beside what it declares."""
        self._module.launch(kernel, grid, block, arguments, shared_bytes=shared, memory=self._memory)

    def read_element(self, source: np.ndarray, index: tuple[int, ...]) -> Any:
        """An element as a Python number."""
        return source[index].item()

    def new_error_record(self) -> np.ndarray:
        """Four int64 zeros."""
        zeros = np.zeros(ERROR_WORDS, np.int64)
        if self._memory is None:
            return zeros
        record = self._memory.allocate(zeros.shape, zeros.dtype)
        self.copy(zeros, record)
        return record

    def read_error_record(self, record: np.ndarray) -> Sequence[int]:
        """Its content."""
        return record.tolist()


class SimEngine:
    """A module of the gpu level, compiled for the CPU.

    Call it with the arguments of the host function (arrays, then scalars, in their order; outputs are
    arrays too). The result says how the program ended; turning it into an exception is up to the caller.
    In mode "checked" a kernel that does what CUDA leaves undefined raises SimulatorFault; arrays of the caller are then
    as they were. The last `outputs` arrays hold nothing that a kernel may read before it is written.
    """

    def __init__(
        self,
        module: ModuleOp,
        function: str | None = None,
        options: SimOptions | None = None,
        outputs: int = 0,
    ):
        self.options = parse_options(None) if options is None else options
        self.plan = HostPlan(module, function)
        self.module = SimModule(self.plan.cuda.source, **vars(self.options), places=self.plan.cuda.places)
        self.outputs = outputs

    def __call__(self, *arguments: Any) -> ErrorRecord:
        """Run the program."""
        if self.options.mode == "plain":
            return self.plan.run(SimDevice(self.module), arguments)
        memory, copied = self._guarded(arguments)
        record = self.plan.run(SimDevice(self.module, memory), copied)
        memory.write_back()
        return record

    def _guarded(self, arguments: Sequence[Any]) -> tuple[GuardedMemory, list[Any]]:
        """The arguments with their arrays in memory where accesses are followed."""
        memory = GuardedMemory()
        arrays = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray)]
        copies = dict(zip(arrays, memory.adopt([arguments[k] for k in arrays]), strict=True))
        for k in arrays[len(arrays) - self.outputs :] if self.outputs else []:
            memory.forget_contents(copies[k])
        return memory, [copies.get(k, argument) for k, argument in enumerate(arguments)]

    def check(self, *arguments: Any, orders: Sequence[str] = ORDERS) -> tuple[ErrorRecord, list[Fault]]:
        """Run the program on copies of its arguments, in several orders; how it ended, and the faults that were found.

        A launch with faults is the last one of its run. Faults of a later order are those that no earlier one has.
        """
        record, faults = ErrorRecord(), {}
        for order in orders:
            module = SimModule(self.plan.cuda.source, "checked", order, places=self.plan.cuda.places)
            memory, copied = self._guarded(arguments)
            try:
                record = self.plan.run(SimDevice(module, memory), copied)
            except SimulatorFault as fault:
                faults.update({report.key: report for report in fault.reports if report.key not in faults})
        return record, list(faults.values())

    def profile(self, *arguments: Any) -> tuple[ErrorRecord, ProfileReport]:
        """Run the program on copies of its arguments; how it ended, and what its memory accesses cost."""
        from .profile import profile

        return profile(self.plan, *self._guarded(arguments))
