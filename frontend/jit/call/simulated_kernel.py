"""Kernels of a GPU that the simulator runs on the CPU, compiled a moment ago or as data from another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .cuda_kernel import OneVersion, kept_versions


class SimulatedKernel:
    """GPU kernels with their host function, called with arrays of NumPy."""

    can_be_kept = True
    """Whether it is data: no function of Python is called."""

    def __init__(self, versions: Any):
        self.versions = versions

    def __call__(self, arguments: Sequence[Any]) -> None:
        _, failure = self.versions.run(arguments, arguments)
        if failure is not None:
            raise failure

    def as_data(self) -> tuple[Any, list[dict[str, Any]], None, tuple[()]]:
        """What makes it again: the host function with the text of what it launches, how it is simulated, and the checks."""
        engine, sites = self.versions.first()
        return (engine.plan.as_data(), engine.options, engine.outputs), sites, None, ()

    def machine_code(self) -> bytes:
        """None is kept: the text is compiled where it runs."""
        return b""

    def with_long_indices(self) -> SimulatedKernel:
        """The same with indices of 64 bits for all calls."""
        return SimulatedKernel(OneVersion(*self.versions.long()))


def load_simulated(
    forms: Any, sites: list[dict[str, Any]], code: bytes, make_other: Callable[[], Any] | None
) -> SimulatedKernel:
    """The kernel that `as_data` describes; `make_other` gives the one with longer indices, where there are longer ones."""
    from ....runtime.cuda.host_program import HostProgram
    from ....runtime.cuda_sim.engine import SimEngine

    plan, options, outputs = forms
    engine = SimEngine(HostProgram(*plan), options=options, outputs=outputs)
    return SimulatedKernel(kept_versions(engine, sites, make_other))
