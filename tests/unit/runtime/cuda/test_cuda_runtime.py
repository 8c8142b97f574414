"""The target `cuda` without a GPU: a stand-in for CuPy runs what the target would queue (tests/unit/fake_cupy.py)."""

import sys
from types import SimpleNamespace

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from gpu_programs import PROGRAMS, arguments_of, compare, expected
from nestor.dialects.diagnostic import NestorError
from nestor.runtime.errors import DeviceError, DeviceMemoryError


@pytest.fixture
def cupy(monkeypatch):
    return fake_cupy.install(monkeypatch)


def on_device(cupy, values):
    return [cupy.asarray(v) if isinstance(v, np.ndarray) else v for v in values]


def plain(result):
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    assert isinstance(result, fake_cupy.Array)
    return result.host if result.ndim else result.host[()]


SOME = ("centred columns", "whole sum", "indices that are checked")


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in SOME], ids=lambda p: p.name)
def test_programs_on_arrays_of_the_device_and_of_numpy(cupy, program):
    arguments = arguments_of(program.calls[0])
    want = expected(program, arguments)
    compiled = nt.jit(program.function, target="cuda")
    compare(program, plain(compiled(*on_device(cupy, arguments))), want)
    assert cupy.waits == (1 if program.name == "indices that are checked" else 0)
    result = compiled(*arguments)
    assert isinstance(result, tuple | np.ndarray | np.generic)
    compare(program, result, want)


# ---- arguments --------------------------------------------------------------------------------------


def scaled(x, k):
    return x * k


def shifted_sum(a, b):
    a[1:] += b[:-1]
    return np.sum(a)


def test_layouts(cupy):
    x = np.arange(60.0).reshape(6, 10)
    compiled = nt.jit(scaled, target="cuda")
    for view in (x.T, x[::-1, ::2], x[:0]):
        result = compiled(fake_cupy.Array.of(view), 2.0)
        np.testing.assert_array_equal(plain(result), view * 2)
        np.testing.assert_array_equal(compiled(view, 2.0), view * 2)


def test_bytes_apart_are_copied_first(cupy):
    record = np.zeros(5, [("tag", "i1"), ("x", "f8")])
    record["x"] = np.arange(5)
    result = nt.jit(scaled, target="cuda")(fake_cupy.Array.of(record["x"]), 3.0)
    assert plain(result).tolist() == [0, 3, 6, 9, 12]


def test_written_and_overlapping_arguments(cupy):
    compiled = nt.jit(shifted_sum, target="cuda")
    for place in (lambda a: a, fake_cupy.Array.of):
        memory = np.arange(12.0)
        wanted = memory.copy()
        total = shifted_sum(wanted[2:], wanted[:-2])
        got = compiled(place(memory[2:]), place(memory[:-2]))
        assert float(got if isinstance(got, np.floating) else got.host) == total
        np.testing.assert_array_equal(memory, wanted)
        apart, other = np.arange(5.0), np.ones(5)
        compiled(place(apart), place(other))
        assert apart.tolist() == [0, 2, 3, 4, 5]


class Tensor:
    """An array of another library, by DLPack."""

    def __init__(self, host, kind):
        self.host, self._kind = host, kind

    def __dlpack_device__(self):
        return self._kind, 0

    def __dlpack__(self, **options):
        return self.host.__dlpack__(**options)


class CudaTensor:
    """One that has only the older interface."""

    def __init__(self, host):
        self.host = host
        self.__cuda_array_interface__ = {}


def test_arrays_of_other_libraries(cupy):
    x = np.arange(5.0)
    compiled = nt.jit(scaled, target="cuda")
    for tensor in (Tensor(x, 2), CudaTensor(x)):
        assert plain(compiled(tensor, 2.0)).tolist() == [0, 2, 4, 6, 8]
    assert cupy.waits == 0
    assert compiled(Tensor(x, 1), 2.0).tolist() == [0, 2, 4, 6, 8]  # in host memory: NumPy in, NumPy out
    with pytest.raises(NestorError, match="Tensor on a device of kind 10 "):
        compiled(Tensor(x, 10), 2.0)


class OfLibrary(Tensor):
    """An array of a library of the array API standard, which is its own namespace here."""

    def __init__(self, host, kind):
        super().__init__(host, kind)
        self.dtype = host.dtype

    def __array_namespace__(self):
        return SimpleNamespace(__name__="library", asarray=lambda array, copy: OfLibrary(array.copy(), 1))


def test_results_of_arrays_in_host_memory_are_in_their_kind(cupy):
    x = np.arange(5.0)
    compiled = nt.jit(scaled, target="cuda")
    for _ in range(2):
        result = compiled(OfLibrary(x, 1), 2.0)
        assert type(result) is OfLibrary
        assert result.host.tolist() == [0, 2, 4, 6, 8]
        on_device = compiled(OfLibrary(x, 2), 2.0)
        assert plain(on_device).tolist() == [0, 2, 4, 6, 8]


def test_a_tensor_that_refuses_is_reported(cupy, monkeypatch):
    def refuse(tensor):
        raise BufferError("it requires a gradient")

    monkeypatch.setattr(cupy, "from_dlpack", refuse)
    with pytest.raises(NestorError, match="Tensor cannot be used without a copy: it requires a gradient"):
        nt.jit(scaled, target="cuda")(Tensor(np.ones(3), 2), 2.0)


def test_one_program_for_many_shapes(cupy):
    compiled = nt.jit(scaled, target="cuda", dynamic=True)
    for n in (3, 300, 1000):
        result = compiled(cupy.asarray(np.arange(float(n))), 2.0)
        np.testing.assert_array_equal(plain(result), np.arange(float(n)) * 2)
    assert compiled.cache_info()["compiled"] == 1
    assert len(cupy.loaded) == 1


def test_each_device_has_its_kernels(cupy):
    compiled = nt.jit(scaled, target="cuda")
    for cupy.device in (0, 1, 1, 0):
        compiled(cupy.asarray(np.ones(3)), 2.0)
    assert cupy.loaded == [0, 1]


# ---- results ----------------------------------------------------------------------------------------


def several(x):
    return {"view": x.T, "sum": np.sum(x), "size": x.shape[0], "flat": x.reshape(-1), "same": x}


def test_results_of_every_kind(cupy):
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    got = nt.jit(several, target="cuda")(x)
    assert got["same"] is x
    assert np.shares_memory(got["view"].host, x.host) and got["view"].shape == (3, 2)
    assert np.shares_memory(got["flat"].host, x.host)
    assert got["sum"].shape == () and float(got["sum"].host) == 15
    assert got["size"] == 2
    assert cupy.waits == 0


def test_out(cupy):
    compiled = nt.jit(scaled, target="cuda")
    x = np.arange(6.0)
    out = cupy.empty((6,))
    assert compiled(cupy.asarray(x), 2.0, out=out) is out
    np.testing.assert_array_equal(out.host, x * 2)
    strided = fake_cupy.Array.of(np.zeros(12)[::2])
    assert compiled(cupy.asarray(x), 2.0, out=strided) is strided
    np.testing.assert_array_equal(strided.host, x * 2)
    aliased = cupy.asarray(x)
    compiled(aliased, 2.0, out=fake_cupy.Array.of(aliased.host[::-1]))
    np.testing.assert_array_equal(aliased.host[::-1], x * 2)
    with pytest.raises(TypeError, match=r"out= must be an array \(.*Array\), not float"):
        compiled(cupy.asarray(x), 2.0, out=1.0)


# ---- what goes wrong --------------------------------------------------------------------------------


def pick(a, places):
    for i in range(places.shape[0]):
        a[places[i]] = 1.0


def test_a_failed_check_is_the_exception_of_its_line(cupy):
    a, places = np.zeros(5), np.array([1, 7])
    compiled = nt.jit(pick, target="cuda")
    for values in ((a, places), on_device(cupy, [a, places])):
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5") as caught:
            compiled(*values)
        assert "test_cuda_runtime.py" in str(caught.value)
    assert a.tolist() == [0, 1, 0, 0, 0]  # what came before the check is done


def test_a_launch_that_fails_names_its_kernel_and_line(cupy):
    cupy.failing = "scaled_kernel"
    with pytest.raises(
        DeviceError, match="does not run kernel 'scaled_kernel': CUDA_ERROR_INVALID"
    ) as caught:
        nt.jit(scaled, target="cuda")(cupy.asarray(np.ones(3)), 2.0)
    assert "test_cuda_runtime.py" in str(caught.value) and "return x * k" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_a_fault_that_shows_later_names_the_last_kernel(cupy):
    cupy.broken = "cudaErrorIllegalAddress: an illegal memory access was encountered"
    with pytest.raises(DeviceError, match="after kernel 'scaled_kernel' was queued: cudaErrorIllegalAddress"):
        nt.jit(scaled, target="cuda")(np.ones(3), 2.0)
    with pytest.raises(DeviceError, match="after kernel 'pick_kernel' was queued: cudaErrorIllegalAddress"):
        nt.jit(pick, target="cuda")(*on_device(cupy, [np.zeros(5), np.array([1])]))


def test_a_device_without_memory(cupy):
    cupy.room = 100
    program = next(p for p in PROGRAMS if p.name == "centred columns")
    with pytest.raises(DeviceMemoryError, match="the GPU has no memory"):
        nt.jit(program.function, target="cuda")(*on_device(cupy, arguments_of(program.calls[0])))
    with pytest.raises(MemoryError):
        nt.jit(scaled, target="cuda")(cupy.asarray(np.ones(300)), 2.0)


def test_machine_code_for_another_device_is_not_loaded(cupy):
    compiled = nt.jit(scaled).lower(np.ones(3), 2.0).compile("cuda", arch="sm_80")
    x = cupy.asarray(np.ones(3))
    with pytest.raises(
        NestorError, match=r"compiled for sm_80, and the device is of compute capability 9\.0"
    ):
        compiled(x, 2.0)
    cupy.capability = "86"
    assert plain(compiled(x, 2.0)).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="not of the types it was compiled for"):
        compiled(cupy.asarray(np.ones(4)), 2.0)


@pytest.mark.parametrize("reason", ["no CuPy", "no driver", "no device"])
def test_without_a_gpu_every_way_in_says_so(monkeypatch, reason):
    if reason == "no CuPy":
        monkeypatch.setitem(sys.modules, "cupy", None)
    else:
        cupy = fake_cupy.install(monkeypatch)
        cupy.devices = 0
        if reason == "no driver":

            def insufficient():
                raise fake_cupy.CUDARuntimeError("cudaErrorInsufficientDriver")

            cupy.cuda.runtime.getDeviceCount = insufficient
    lowered = nt.jit(scaled).lower(np.ones(3), 2.0)
    ways = (
        lambda: nt.jit(scaled, target="cuda")(np.ones(3), 2.0),
        lambda: nt.jit(scaled, target="cuda")(SimpleNamespace(), 2.0),
        lambda: lowered.compile("cuda"),
    )
    for way in ways:
        with pytest.raises(NestorError, match="no CUDA device") as caught:
            way()
        assert 'target="cuda-sim"' in str(caught.value) and 'arch="sm_90"' in str(caught.value)
    jitted = nt.jit(scaled, target="cuda")
    assert "func.func @scaled" in jitted.lower(np.ones(3), 2.0).as_text("gpu")
    assert "scaled on cuda" in jitted.explain(np.ones(3), 2.0)
