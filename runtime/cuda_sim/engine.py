"""Target `cuda-sim`: a whole GPU program on NumPy arrays, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cuda.host_program import ErrorRecord, HostProgram
from .device import SimDevice
from .faults import Fault, SimulatorFault, unwritten_result
from .memory import GuardedMemory
from .module import SimModule
from .options import ORDERS, SimOptions, parse_options

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .report import ProfileReport


class SimEngine:
    """A module of the gpu level, or what a host program keeps of one, compiled for the CPU.

    Call it with the arguments of the host function (arrays, then scalars, in their order; outputs are
    arrays too). The result says how the program ended; turning it into an exception is up to the caller.
    In mode "checked" a kernel that does what CUDA leaves undefined raises SimulatorFault; arrays of the caller are then
    as they were. The last `outputs` arrays hold nothing that a kernel may read before it is written.
    """

    def __init__(
        self,
        program: ModuleOp | HostProgram,
        function: str | None = None,
        options: SimOptions | None = None,
        outputs: int = 0,
    ):
        self.options = parse_options(None) if options is None else options
        self.plan = program if isinstance(program, HostProgram) else _plan_of(program, function)
        self.module = SimModule(self.plan.cuda.source, **vars(self.options), places=self.plan.cuda.places)
        self.outputs = outputs

    def __call__(self, *arguments: Any) -> ErrorRecord:
        """Run the program."""
        if self.options.mode == "plain":
            return self.plan.run(SimDevice(self.module), arguments)
        memory, copied = self._guarded(arguments)
        record = self.plan.run(SimDevice(self.module, memory), copied)
        if not record.code and (unwritten := self._unwritten(memory, copied)):
            raise SimulatorFault(None, unwritten)
        memory.write_back()
        return record

    def _unwritten(self, memory: GuardedMemory, copied: Sequence[Any]) -> list[Fault]:
        """A fault for each result of which elements were not written; none where accesses are only counted."""
        if self.options.mode == "profile":
            return []
        arrays = [k for k, array in enumerate(copied) if isinstance(array, np.ndarray)]
        found = []
        for k in arrays[len(arrays) - self.outputs :] if self.outputs else []:
            lacking = memory.unwritten(copied[k])
            if lacking.size:
                index = np.unravel_index(int(lacking[0]), copied[k].shape)
                found.append(unwritten_result(self.plan.names[k], [int(n) for n in index], len(lacking)))
        return found

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
                if not record.code and (unwritten := self._unwritten(memory, copied)):
                    raise SimulatorFault(None, unwritten)
            except SimulatorFault as fault:
                faults.update({report.key: report for report in fault.reports if report.key not in faults})
        return record, list(faults.values())

    def profile(self, *arguments: Any) -> tuple[ErrorRecord, ProfileReport]:
        """Run the program on copies of its arguments; how it ended, and what its memory accesses cost."""
        from .profile import profile

        return profile(self.plan, *self._guarded(arguments))


def _plan_of(module: ModuleOp, function: str | None) -> HostProgram:
    from ..cuda.host_plan import HostPlan

    return HostPlan(module, function)
