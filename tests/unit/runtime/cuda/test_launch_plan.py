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
    assert len(general) == before + 4


def raised(x, scale, power=2, centred=False):
    y = (x - x.mean() if centred else x) * scale
    return y**power


def times(x, k):
    return x * k


def head(x, n):
    return x[:n] + n


def repeated(x, n):
    for _ in range(n):
        x = x - x.mean(axis=0) + 1
    return x


def test_keywords_and_integers_have_plans(cupy, general):
    x = np.linspace(0, 1, 60)
    compiled = nt.jit(raised, target="cuda")
    calls = (
        lambda x, s: raised(x, s),
        lambda x, s: raised(x, scale=s),
        lambda x, s: raised(scale=s, x=x),
        lambda x, s: raised(x, s, centred=True),
        lambda x, s: raised(x, s, power=3),
        lambda x, s: raised(x, s, centred=False, power=3),
    )
    for number, call in enumerate(calls):
        for scale in (2.0, 0.5, -3.0):
            array = x + scale
            wanted = call(array, scale)
            given = [fake_cupy.Array.of(array), scale]
            got = eval_call(compiled, number, *given)
            np.testing.assert_allclose(plain(got), wanted, rtol=1e-12)
    assert len(general) == 4  # the default, centred, the power, both said: a keyword is as a position
    assert cupy.waits == 0


def eval_call(f, number, x, s):
    return (
        lambda: f(x, s),
        lambda: f(x, scale=s),
        lambda: f(scale=s, x=x),
        lambda: f(x, s, centred=True),
        lambda: f(x, s, power=3),
        lambda: f(x, s, centred=False, power=3),
    )[number]()


def test_integers_that_decide_nothing_are_parameters_of_a_plan(cupy, general):
    x = np.arange(50.0)
    compiled = nt.jit(times, target="cuda")
    for k in (2, 3, -5, 0, 2**30, np.int64(7), np.int64(8), np.int32(3), np.float32(1.5), np.float64(0.1)):
        for array in (x, x.astype("f4"), x.astype(int)):
            want = times(array, k)
            got = plain(compiled(cupy.asarray(array), k))
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype
    assert len(general) == 5 * 3  # int, int64, int32, float32, float64, for each dtype
    before = len(general)
    for k in (2**40, 2**41, -(2**50)):  # kernels with 64-bit indices
        np.testing.assert_array_equal(plain(compiled(cupy.asarray(x), k)), x * k)
    assert len(general) == before + 1


@pytest.mark.parametrize("function", [head, repeated])
def test_integers_that_decide_something_have_plans_for_their_values(cupy, general, monkeypatch, function):
    from nestor.frontend.jit.driver import cuda_call

    x = np.arange(40.0) if function is head else np.arange(6000.0).reshape(30, 200) / 64
    compiled = nt.jit(function, target="cuda")
    for n in (3, 5, 3, 5, 7, 7, 3):
        got = plain(compiled(cupy.asarray(x), n))
        np.testing.assert_allclose(got, function(x, n), rtol=1e-12, atol=1e-12)
        assert got.shape == function(x, n).shape
    assert len(general) == 3
    monkeypatch.setattr(cuda_call, "MOST_VALUES", 4)
    for n in (8, 9, 9, 8, 9, 3):
        got = plain(compiled(cupy.asarray(x), n))
        np.testing.assert_allclose(got, function(x, n), rtol=1e-12, atol=1e-12)
    if function is repeated:
        assert len(general) == 3 + 1 + 3  # of 9 there is no plan


def added(a, b):
    a += b
    return a.sum()


def shifted(a, b):
    a[1:] += b[:-1]


@pytest.mark.parametrize("function", [added, shifted])
def test_arguments_that_are_written_have_plans_by_how_they_overlap(cupy, general, function):
    compiled = nt.jit(function, target="cuda")
    pairs = {
        "apart": lambda m: (m[:20], m[30:50]),
        "the same": lambda m: (m[:20], m[:20]),
        "one later": lambda m: (m[1:21], m[:20]),
        "one earlier": lambda m: (m[:20], m[1:21]),
        "every other": lambda m: (m[:40:2], m[1:41:2]),
    }
    for round in range(3):
        before = len(general)
        for name, pick_two in pairs.items():
            ours, theirs = np.arange(60.0) + round, np.arange(60.0) + round
            got = compiled(*map(fake_cupy.Array.of, pick_two(ours)))
            want = function(*pick_two(theirs))
            np.testing.assert_array_equal(ours, theirs, name)
            assert want is None or float(got.host) == want
        assert round == 0 or len(general) == before  # numpy's large arrays are aligned alike


def test_arrays_of_another_device_are_refused(cupy, general):
    compiled = nt.jit(times, target="cuda")
    here, there = cupy.asarray(np.ones(3)), cupy.asarray(np.ones(3))
    there.number = 1
    compiled(here, 2.0)
    program = nt.jit(times).lower(np.ones(3), 2.0).compile("cuda", arch="sm_90")
    for call in (compiled, program):
        for _ in range(2):
            with pytest.raises(
                nt.NestorError, match="argument 'x' is on GPU 1, and the current device"
            ) as refused:
                call(there, 2.0)
            assert "cupy.cuda.Device(1)" in str(refused.value)
    two = nt.jit(added, target="cuda")
    with pytest.raises(nt.NestorError, match="argument 'b' is on GPU 1"):
        two(here, there)
    cupy.device = 1
    np.testing.assert_array_equal(plain(compiled(there, 2.0)), [2, 2, 2])
    with pytest.raises(nt.NestorError, match="argument 'x' is on GPU 0"):
        compiled(here, 2.0)


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
