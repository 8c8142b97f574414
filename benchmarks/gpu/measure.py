"""Timing on the GPU of this machine: the forms of a row take turns, CUDA events stand around batches of calls, medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .rows import Row

ROUNDS = 11
BATCH_SECONDS = 4e-3
"""How long the calls between two events take together, about."""
LARGEST_BATCH = 200
COMPILE_SECONDS = 60.0
"""How long torch.compile may take for a row before its later rows are left out."""


class Failed(Exception):
    """A form that cannot be timed; the text says why."""


class Machine:
    """The device, and the peers that are installed here."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
        self.device = properties["name"].decode()
        self.capability = cupy.cuda.Device().compute_capability
        self.torch: Any = None
        self.missing: list[str] = []
        self.can_compile = True
        try:
            import torch

            if torch.cuda.is_available():
                self.torch = torch
            else:
                self.missing.append("torch (it is installed without CUDA)")
        except ImportError:
            self.missing.append("torch")

    def versions(self) -> dict[str, str]:
        """What the figures depend on."""
        found = {"cupy": self.cupy.__version__, "driver": str(self.cupy.cuda.runtime.driverGetVersion())}
        if self.torch is not None:
            found["torch"] = self.torch.__version__
        return found

    # ---- forms ----

    def forms(self, row: Row, arguments: list[np.ndarray]) -> dict[str, Callable[[], Any] | Failed]:
        """Everything that is timed for a row, by name, each ready to be called; or why it cannot be."""
        import nestor as nt

        on_device = [self.cupy.asarray(a) for a in arguments]
        function = nt.jit(row.program, target="cuda", dynamic=False)
        forms: dict[str, Callable[[], Any] | Failed] = {"nestor": lambda: function(*on_device)}
        if row.by_hand:
            forms["by hand"] = self._tried(lambda: self._by_hand(row, on_device))
        if self.torch is not None:
            forms["torch"] = self._tried(lambda: self._torch(row, on_device, compiled=False))
            forms["torch.compile"] = self._tried(lambda: self._torch(row, on_device, compiled=True))
        return forms

    def _tried(self, make: Callable[[], Callable[[], Any]]) -> Callable[[], Any] | Failed:
        try:
            return make()
        except Exception as error:
            return Failed(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")

    def _by_hand(self, row: Row, arrays: list[Any]) -> Callable[[], Any]:
        from nestor.runtime.cuda import nvrtc

        source = Path(__file__).with_name(row.by_hand).read_text()
        driver = self.cupy.cuda.runtime.driverGetVersion()
        arch = nvrtc.image_for_device(int(self.capability), (driver // 1000, driver % 1000 // 10))
        module = self.cupy.cuda.function.Module()
        module.load(nvrtc.compile_cubin(source, arch, contract=True).image)
        kernel = module.get_function("iou_by_hand")
        size = arrays[0].size

        def call() -> Any:
            out = self.cupy.empty_like(arrays[0])
            kernel((-(-size // 1024),), (256,), (*arrays, out, np.int32(size)))
            return out

        return call

    def _torch(self, row: Row, arrays: list[Any], compiled: bool) -> Callable[[], Any]:
        torch = self.torch
        tensors = [torch.from_dlpack(a) for a in arrays]
        program = row.torch(torch, torch.nn.functional)
        if not compiled:
            return lambda: program(*tensors)
        if not self.can_compile:
            raise Failed("left out: compiling an earlier row took too long")
        faster = torch.compile(program, dynamic=False)
        began = time.monotonic()
        faster(*tensors)
        torch.cuda.synchronize()
        self.can_compile = time.monotonic() - began < COMPILE_SECONDS
        return lambda: faster(*tensors)

    def copy(self, size: int) -> Callable[[], Any]:
        """A copy on the device that moves so many bytes, half of them read and half written."""
        source = self.cupy.zeros(max(size // 2, 1), np.uint8)
        target = self.cupy.empty_like(source)
        runtime = self.cupy.cuda.runtime
        stream = self.cupy.cuda.get_current_stream().ptr
        return lambda: runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, source.nbytes, runtime.memcpyDeviceToDevice, stream
        )

    def plain(self, results: Any) -> list[np.ndarray]:
        """Results as NumPy arrays of float64."""
        several = results if isinstance(results, tuple | list) else (results,)
        return [np.asarray(self._fetched(r)).astype(np.float64) for r in several]

    def _fetched(self, result: Any) -> Any:
        if self.torch is not None and isinstance(result, self.torch.Tensor):
            return result.float().cpu().numpy()
        return result.get()

    # ---- time ----

    def seconds(self, forms: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
        """The median time of a call of each form, calls queued one after the other."""
        counts = {name: self._count(call) for name, call in forms.items()}
        times: dict[str, list[float]] = {name: [] for name in forms}
        for _ in range(rounds):
            for name, call in forms.items():
                times[name].append(self._batch(call, counts[name]))
        return {name: statistics.median(values) for name, values in times.items()}

    def _count(self, call: Callable[[], Any]) -> int:
        for _ in range(3):
            call()
        once = max(self._batch(call, 1), 1e-7)
        return max(1, min(LARGEST_BATCH, int(BATCH_SECONDS / once)))

    def _batch(self, call: Callable[[], Any], count: int) -> float:
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) * 1e-3 / count

    def host_seconds(self, call: Callable[[], Any], count: int = 1000) -> float:
        """How long the host is busy with a call."""
        self.cupy.cuda.Device().synchronize()
        rounds = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(count):
                call()
            rounds.append((time.perf_counter() - began) / count)
            self.cupy.cuda.Device().synchronize()
        return min(rounds)


def measure(machine: Machine, row: Row) -> dict[str, Any]:
    """One row: checked, timed, and set against a copy of as many bytes."""
    arguments = row.arguments(small=False)
    expected = row.expected(arguments)
    record: dict[str, Any] = {
        "name": row.name,
        "title": row.title,
        "seconds": {},
        "host_seconds": {},
        "failed": {},
    }
    right: dict[str, Callable[[], Any]] = {}
    result_bytes = 0
    for name, form in machine.forms(row, arguments).items():
        if isinstance(form, Failed):
            record["failed"][name] = str(form)
            continue
        try:
            results = form()
            several = results if isinstance(results, tuple) else (results,)
            error = error_of(machine.plain(_picked(row, results)), expected)
            result_bytes = result_bytes or sum(r.nbytes for r in several)
        except Exception as problem:
            record["failed"][name] = f"{type(problem).__name__}: {str(problem)[:300]}"
            continue
        if error > row.tolerance:
            record["failed"][name] = f"wrong by {error:.1e}"
            continue
        right[name] = form
    record["bytes"] = sum(a.nbytes for a in arguments) + result_bytes
    if row.operations is not None:
        record["operations"] = row.operations(row.shapes)
    timed = {**right, "copy": machine.copy(record["bytes"])}
    record["seconds"] = machine.seconds(timed)
    if row.name == "launch":
        record["host_seconds"] = {name: machine.host_seconds(call) for name, call in right.items()}
    return record


def _picked(row: Row, results: Any) -> Any:
    return tuple(map(row.pick, results)) if isinstance(results, tuple) else row.pick(results)


def error_of(results: list[np.ndarray], expected: Any) -> float:
    """The largest difference as a part of the largest element; infinite where shapes differ or a NaN is on one side."""
    wanted = list(expected) if isinstance(expected, tuple | list) else [expected]
    if len(results) != len(wanted):
        return float("inf")
    worst = 0.0
    for result, reference in zip(results, wanted, strict=True):
        reference = np.asarray(reference)
        if result.shape != reference.shape:
            return float("inf")
        if reference.size:
            largest = float(np.max(np.abs(reference))) or 1.0
            difference = float(np.max(np.abs(result - reference)))
            worst = max(worst, float("inf") if np.isnan(difference) else difference / largest)
    return worst
