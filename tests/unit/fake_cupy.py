"""A stand-in for CuPy on machines without a GPU: memory is NumPy's, kernels run in the simulator, waits are counted.

It has what cuda/engine.py and the frontend use of CuPy, with CuPy's own habits: an array is no NumPy array, does not turn
into one unasked, and knows neither `writeable` nor `aligned`. `install` puts it where `import cupy` finds it; machine
code is then the CUDA C text itself.
"""

from __future__ import annotations

import functools
import sys
import time
import types
from typing import Any

import numpy as np
from nestor.runtime.cuda import engine as cuda
from nestor.runtime.cuda.nvrtc import Cubin
from nestor.runtime.cuda_sim.module import SimModule


class Pointer:
    """An address in the memory of `owner`, as CuPy's MemoryPointer."""

    def __init__(self, owner: np.ndarray, offset: int = 0):
        self.owner, self.offset = owner, offset
        self.ptr = owner.ctypes.data + offset

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.owner, self.offset + offset)


class Flags:
    def __init__(self, flags: Any):
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous


class Array:
    """An array of the device."""

    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.number = MODULE.device
        if memptr is None:
            self.host = np.empty(shape, dtype)
        else:
            flat = memptr.owner.reshape(-1).view(np.uint8)
            self.host = np.ndarray(shape, dtype, flat, memptr.offset, strides)

    @classmethod
    def of(cls, host: np.ndarray) -> Array:
        array = object.__new__(cls)
        array.host, array.number = host, MODULE.device
        return array

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __dlpack__(self, **_):
        raise AssertionError("nobody asks CuPy for memory of the device")

    def __dlpack_device__(self):
        return 2, self.number

    def __array_function__(self, function, _, args, kwargs):
        return Array.of(function(*map(_plain, args), **kwargs))

    device = property(lambda self: types.SimpleNamespace(id=self.number))
    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    itemsize = property(lambda self: self.host.itemsize)
    size = property(lambda self: self.host.size)
    nbytes = property(lambda self: self.host.nbytes)
    ndim = property(lambda self: self.host.ndim)
    flags = property(lambda self: Flags(self.host.flags))
    data = functools.cached_property(lambda self: Pointer(np.atleast_1d(self.host)))
    T = property(lambda self: Array.of(self.host.T))

    def transpose(self, *axes):
        return Array.of(self.host.transpose(*axes))

    def reshape(self, *shape):
        return Array.of(self.host.reshape(*shape))

    def copy(self, order="C"):
        return Array.of(self.host.copy(order))

    def astype(self, dtype, **options):
        return Array.of(self.host.astype(dtype, **options))

    def view(self, dtype):
        return Array.of(self.host.view(dtype))

    def __getitem__(self, index):
        made = Array.of(np.asarray(self.host[index]))
        made.number = self.number
        return made

    def __setitem__(self, index, value):
        assert not isinstance(value, np.ndarray), "CuPy takes no array of NumPy here"
        self.host[index] = value.host if isinstance(value, Array) else value

    def item(self):
        MODULE.wait()
        return self.host.item()

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def get(self, out=None):
        MODULE.wait()
        if out is None:
            return self.host.copy()
        assert out.flags.c_contiguous
        np.copyto(out, self.host)
        return out


def _plain(value: Any) -> Any:
    """An argument of a function of NumPy, which may be a list of arrays."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value.host if isinstance(value, Array) else value


class Device:
    """A device, which is the current one inside of `with`."""

    def __init__(self, number: int | None = None):
        self.id = MODULE.device if number is None else number
        self._outside: list[int] = []

    compute_capability = property(lambda self: MODULE.capability)

    def synchronize(self) -> None:
        MODULE.wait()

    def __enter__(self):
        self._outside.append(MODULE.device)
        MODULE.device = self.id
        return self

    def __exit__(self, *_):
        MODULE.device = self._outside.pop()


class CUDARuntimeError(RuntimeError):
    pass


class CUDADriverError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


class Module:
    """Kernels: the machine code is the text of their CUDA C."""

    def load(self, image: bytes) -> None:
        MODULE.loaded.append(MODULE.device)
        self._simulator = SimModule(image.decode())

    def get_function(self, name: str) -> Function:
        return Function(self._simulator, name)


class Function:
    ptr = 0

    def __init__(self, simulator: SimModule, name: str):
        self._simulator, self._name = simulator, name

    def __call__(self, grid, block, args, shared_mem=0, stream=None):
        if MODULE.failing == self._name:
            raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        assert all(isinstance(a, Array | np.generic) for a in args)
        MODULE.launches.append(self._name)
        MODULE.streams.append(MODULE.stream if stream is None else stream.ptr)
        plain = [a.host if isinstance(a, Array) else a for a in args]
        run = functools.partial(self._simulator.launch, self._name, grid, block, plain)
        if MODULE.captured is None:
            run()
        else:
            MODULE.captured.append(run)


class Stream:
    """A stream whose launches can be captured: then none of them runs."""

    def __init__(self, null: bool = False, non_blocking: bool = False):
        self.ptr = 0 if null else 77
        self._outside: list[int] = []

    def __enter__(self):
        self._outside.append(MODULE.stream)
        MODULE.stream = self.ptr
        return self

    def __exit__(self, *_):
        MODULE.stream = self._outside.pop()

    def is_capturing(self) -> bool:
        return MODULE.captured is not None

    def begin_capture(self, mode=None) -> None:
        if MODULE.refuses_capture or self.ptr == 0:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted")
        MODULE.captured = []

    def end_capture(self) -> Graph:
        if MODULE.captured is None:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: nothing is captured")
        captured, MODULE.captured = MODULE.captured, None
        return Graph(captured)


class Graph:
    """Launches that were captured."""

    def __init__(self, launches: list[Any]):
        self._launches = launches

    def launch(self, stream=None) -> None:
        MODULE.graphs.append(len(self._launches))
        for run in self._launches:
            run()


class Event:
    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass


class Fake(types.ModuleType):
    """The module, and what a test may ask of it and set."""

    ndarray = Array

    def __init__(self):
        super().__init__("cupy")
        self.device, self.devices, self.capability = 0, 1, "90"
        self.waits, self.failing, self.broken, self.room = 0, None, None, 1 << 30
        self.launches: list[str] = []
        self.stream, self.streams = 0, []
        self.captured: list[Any] | None = None
        self.graphs: list[int] = []
        self.refuses_capture, self.allocates = False, False
        self.loaded: list[int] = []
        self.cuda = types.SimpleNamespace(
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                getDeviceCount=lambda: self.devices,
                getDevice=lambda: self.device,
                driverGetVersion=lambda: 13000,
            ),
            driver=types.SimpleNamespace(CUDADriverError=CUDADriverError),
            memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            function=types.SimpleNamespace(Module=Module),
            Device=Device,
            Event=Event,
            get_elapsed_time=lambda start, end: (end.time - start.time) * 1e3,
            get_current_stream=self._current_stream,
            Stream=Stream,
            Graph=Graph,
        )
        self.__version__ = "0"
        self.cuda.runtime.getDeviceProperties = lambda number: {"name": b"Stand-in 1 (tests)"}
        self.cuda.runtime.memcpyDeviceToDevice = 3
        self.cuda.runtime.memcpyAsync = lambda target, source, size, kind, stream: None

    def _current_stream(self) -> Stream:
        found = Stream()
        found.ptr = self.stream
        return found

    def wait(self) -> None:
        """The host waits for the device; faults show then."""
        assert self.captured is None, "nothing may wait while launches are captured"
        self.waits += 1
        if self.broken is not None:
            raise CUDARuntimeError(self.broken)

    def empty(self, shape, dtype=float):
        assert self.captured is None or self.allocates, "nothing is allocated while launches are captured"
        fresh = np.empty(shape, dtype)
        if fresh.nbytes > self.room:
            raise OutOfMemoryError(f"Out of memory allocating {fresh.nbytes} bytes")
        fresh.reshape(-1).view(np.uint8)[:] = 0xFF
        return Array.of(fresh)

    def empty_like(self, array):
        return self.empty(array.shape, array.dtype)

    def get_default_memory_pool(self):
        return types.SimpleNamespace(free_all_blocks=lambda: None)

    def zeros(self, shape, dtype=float):
        return Array.of(np.zeros(shape, dtype))

    def asarray(self, value):
        if isinstance(value, Array):
            return value
        if hasattr(value, "__cuda_array_interface__"):
            return Array.of(value.host)
        return Array.of(np.array(value, order="K"))

    def asnumpy(self, value):
        return value.get()

    def from_dlpack(self, value):
        return Array.of(value.host)

    def copyto(self, target, source):
        np.copyto(target.host, source.host)


MODULE = Fake()


def install(monkeypatch: Any) -> Fake:
    """Let the target `cuda` run on this module; what it counts starts anew."""
    MODULE.__init__()
    monkeypatch.setitem(sys.modules, "cupy", MODULE)
    monkeypatch.setattr(cuda, "compile_for_device", lambda text, *_: Cubin(text.encode(), "sm_90", ()))
    monkeypatch.setattr(cuda, "compile_cubin", lambda text, arch: Cubin(text.encode(), arch, ()))
    return MODULE
