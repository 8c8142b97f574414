"""Calls like an earlier one follow its plan: results are allocated and kernels queued, and nothing else is asked."""

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.driver.jit_function import JitFunction
from test_cuda_runtime import pick, plain, scaled, several


@pytest.fixture
def cupy(monkeypatch):
    return fake_cupy.install(monkeypatch)


@pytest.fixture
def general(monkeypatch):
    """The calls that no plan answered."""
    found = []
    call = JitFunction.__call__

    def count(self, *args, **kwargs):
        found.append(args)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(JitFunction, "__call__", count)
    return found


def above_the_smallest(x, scale=2.0):
    above = x - np.min(x)
    return above * scale, np.max(above)


def test_plans_give_what_the_first_call_gives(cupy, general):
    """Floats are parameters, defaults are filled in, temporaries are in an arena; a layout of its own is one."""
    compiled = nt.jit(above_the_smallest, target="cuda")
    x = np.random.default_rng(0).standard_normal((30, 8))
    for layout in (x, x.T):
        for array in (layout, layout * 3):
            for numbers in ((), (0.5,), (3.0,)):
                result = plain(compiled(fake_cupy.Array.of(array), *numbers))
                for got, want in zip(result, above_the_smallest(array, *numbers), strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
                    assert got.dtype == want.dtype and got.strides == want.strides
    assert len(general) == 2 * 2 and cupy.waits == 0  # each layout, with a number and without
    assert compiled.cache_info()["hits"] >= 8


def test_addresses_that_are_aligned_otherwise_have_a_plan_of_their_own(cupy, general):
    """A kernel that moves 16 bytes at a time has another version for other addresses, chosen by the plan."""
    memory = np.arange(400003, dtype="f4")
    compiled = nt.jit(scaled, target="cuda")
    for start in (0, 1, 0, 1, 2):
        aligned = memory[start : start + 400000]
        np.testing.assert_array_equal(plain(compiled(fake_cupy.Array.of(aligned), 2.0)), aligned * 2)
    phases = {memory[start:].ctypes.data % 16 for start in (0, 1, 2)}
    assert len(general) == len(phases) == 3


def test_results_of_every_kind(cupy, general):
    compiled = nt.jit(several, target="cuda")
    for start in (0.0, 5.0):
        x = cupy.asarray(np.arange(start, start + 6).reshape(2, 3))
        got = compiled(x)
        assert got["same"] is x and got["size"] == 2 and np.shares_memory(got["view"].host, x.host)
        assert float(got["sum"].host) == x.host.sum()
    assert len(general) == 1


FACTOR = 2.0


def by_a_global(x):
    return x * FACTOR


def clipped(x, limit):
    return np.minimum(x, limit) if limit > 0 else x + limit


def test_what_has_no_plan_is_answered_as_before(cupy, general, monkeypatch):
    """Globals that change, checks that wait for the device, decisions of the host by a number, NumPy's arrays, `out`."""
    x = np.arange(5.0)
    one = nt.jit(by_a_global, target="cuda")
    for FACTOR in (2.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "FACTOR", FACTOR)
        np.testing.assert_array_equal(plain(one(cupy.asarray(x))), x * FACTOR)
    assert len(general) == 2
    two = nt.jit(pick, target="cuda")
    for _ in range(2):
        a = cupy.asarray(x)
        two(a, cupy.asarray(np.array([1, 3])))
        assert a.host.tolist() == [0, 1, 2, 1, 4]
        with pytest.raises(IndexError):
            two(cupy.asarray(x), cupy.asarray(np.array([1, 7])))
    three = nt.jit(clipped, target="cuda")
    for limit in (2.0, 3.0, -1.0, 2.0):
        np.testing.assert_array_equal(plain(three(cupy.asarray(x), limit)), clipped(x, limit))
    four = nt.jit(scaled, target="cuda")
    before = len(general)
    for _ in range(2):
        np.testing.assert_array_equal(four(x, 2.0), x * 2)
        np.testing.assert_array_equal(plain(four(cupy.asarray(x), 2.0, out=cupy.empty((5,)))), x * 2)
        np.testing.assert_array_equal(plain(four(cupy.asarray(x), 2)), x * 2)
    assert len(general) == before + 6


def test_another_device_has_plans_of_its_own(cupy, general):
    compiled = nt.jit(scaled, target="cuda")
    for cupy.device in (0, 1, 1, 0):
        compiled(cupy.asarray(np.ones(3)), 2.0)
    assert cupy.loaded == [0, 1] and len(general) == 2


def test_kernels_are_queued_on_the_stream_that_is_current_when_they_are_called(cupy):
    """CuPy's, in the call that compiles and in those that follow its plan; nothing waits in between."""
    compiled = nt.jit(above_the_smallest, target="cuda")
    x = cupy.asarray(np.ones((64, 8)))
    counts = []
    for cupy.stream in (7, 7, 9, 0):
        before = len(cupy.streams)
        compiled(x)
        counts.append((len(cupy.streams) - before, set(cupy.streams[before:])))
    launches = counts[0][0]
    assert launches > 1 and counts == [(launches, {stream}) for stream in (7, 7, 9, 0)]
    assert cupy.waits == 0


def test_a_failing_launch_of_a_plan_names_its_kernel(cupy):
    from nestor.runtime.errors import DeviceError

    compiled = nt.jit(scaled, target="cuda")
    x = cupy.asarray(np.ones(3))
    compiled(x, 2.0)
    cupy.failing = "scaled_kernel"
    with pytest.raises(DeviceError, match="does not run kernel 'scaled_kernel'"):
        compiled(x, 2.0)
