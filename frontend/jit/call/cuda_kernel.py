"""Kernels of a GPU with their host function, compiled a moment ago or taken from the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .kernel_errors import kernel_error


class CudaKernel:
    """GPU kernels, called with arrays of CuPy or of NumPy."""

    can_be_kept = True
    """Whether it is data: no function of Python is called."""

    def __init__(self, versions: Any, roles: Sequence[str]):
        self.versions = versions
        self._roles = roles

    def __call__(self, arguments: Sequence[Any]) -> None:
        from ....runtime.cuda.device_arrays import Transfer
        from ....runtime.cuda.engine import load_cupy

        cupy = load_cupy()
        transfer = Transfer(cupy, arguments, self._roles)
        used, failure = self.versions.run(arguments, transfer.on_device)
        transfer.back(used.device(cupy))
        if failure is not None:
            raise failure

    def plan(self, cupy: Any, arguments: Sequence[Any], varies: Sequence[bool]) -> Callable[..., None] | None:
        """What queues the launches of calls whose arguments, arrays of the current device and numbers, are like these.

        Numbers of which `varies` says so may have other values, as large as these in the eyes of `host_program.is_small`.
        None where calls differ in more than their arguments; they differ in nothing else if shapes, strides and addresses
        modulo `runtime.cuda.device_arrays.ALIGNMENT` are these.
        """
        from ....runtime.cuda import graphs
        from ....runtime.cuda.launch_plan import VARIES, Described, plan_of

        engine, _ = self.versions.of(arguments)
        described = [
            Described("", a.shape, a.strides, a.itemsize, a.data.ptr) if isinstance(a, cupy.ndarray) else a
            for a in arguments
        ]
        described = [VARIES if any_value else a for a, any_value in zip(described, varies, strict=True)]
        planned = plan_of(engine.plan, described)
        if planned is None:
            return None
        if graphs.is_wanted() and planned.launches >= graphs.FEWEST:  # pyright: ignore[reportFunctionMemberAccess]
            return graphs.GraphedPlan(cupy, planned, engine.device(cupy))
        return partial(planned, engine.device(cupy))

    # ---- on the disk ----------------------------------------------------------------------------------

    def as_data(self) -> tuple[Any, list[dict[str, Any]], None, tuple[()]]:
        """What makes it again beside machine code: the host function and what it launches, the checks."""
        engine, sites = self.versions.first()
        arch, kernels = (engine.cubin.arch, engine.cubin.kernels) if engine.cuda else ("", ())
        return (engine.plan.as_data(), tuple(self._roles), arch, kernels), sites, None, ()

    def machine_code(self) -> bytes:
        """The machine code of its kernels for the architecture of the device that compiled them."""
        engine, _ = self.versions.first()
        return engine.cubin.image if engine.cuda else b""

    def with_long_indices(self) -> CudaKernel:
        """The same with indices of 64 bits for all calls."""
        return CudaKernel(OneVersion(*self.versions.long()), self._roles)


class OneVersion:
    """A program that is compiled once, for indices of any size."""

    def __init__(self, engine: Any, sites: list[dict[str, Any]]):
        self._version = engine, sites

    def first(self) -> tuple[Any, list[dict[str, Any]]]:
        """The engine, and its checks."""
        return self._version

    def of(self, arguments: Sequence[Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The engine for arguments, and its checks."""
        return self._version

    def run(self, arguments: Sequence[Any], on_device: Sequence[Any]) -> tuple[Any, BaseException | None]:
        """Run on arguments; the engine that did, and the failed check."""
        engine, sites = self._version
        record = engine(*on_device)
        return engine, kernel_error(sites, *record) if record[0] else None


class KeptVersions:
    """A program from the disk with indices of 32 bits; `make_other` gives the kernel with longer ones, compiled or kept."""

    def __init__(self, engine: Any, sites: list[dict[str, Any]], make_other: Callable[[], Any]):
        self.small = engine
        self._sites = sites
        self._make_other = make_other
        self._other: Any = None

    def first(self) -> tuple[Any, list[dict[str, Any]]]:
        """The one with indices of 32 bits."""
        return self.small, self._sites

    def of(self, arguments: Sequence[Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The engine for arguments, and its checks."""
        from ....runtime.cuda.host_program import is_small

        if all(map(is_small, arguments)):
            return self.first()
        if self._other is None:
            self._other = self._make_other()
        return self._other.versions.of(arguments)

    def run(self, arguments: Sequence[Any], on_device: Sequence[Any]) -> tuple[Any, BaseException | None]:
        """Run on arguments; the engine that did, and the failed check."""
        engine, sites = self.of(arguments)
        record = engine(*on_device)
        return engine, kernel_error(sites, *record) if record[0] else None


def kept_versions(engine: Any, sites: list[dict[str, Any]], make_other: Callable[[], Any] | None) -> Any:
    """The versions of a kept program. `make_other` gives the kernel with longer indices; None: these are the longest."""
    return OneVersion(engine, sites) if make_other is None else KeptVersions(engine, sites, make_other)


def load_cuda(
    forms: Any, sites: list[dict[str, Any]], code: bytes, make_other: Callable[[], Any] | None
) -> CudaKernel:
    """The kernel that `as_data` and `machine_code` describe; `make_other` gives the one with longer indices, where there are
    longer ones. Raises NestorError where no device answers."""
    from ....runtime.cuda.engine import CudaEngine, load_cupy
    from ....runtime.cuda.host_program import HostProgram
    from ....runtime.cuda.nvrtc import Cubin

    load_cupy()
    plan, roles, arch, kernels = forms
    engine = CudaEngine(HostProgram(*plan), kept=Cubin(code, arch, kernels))
    return CudaKernel(kept_versions(engine, sites, make_other), roles)


def without_elements(values: Sequence[Any]) -> list[Any]:
    """The values of a call with nothing in the place of arrays: what is compiled depends on their types only."""
    return [
        np.empty(0, v.dtype) if hasattr(v, "strides") and not isinstance(v, np.generic) else v for v in values
    ]
