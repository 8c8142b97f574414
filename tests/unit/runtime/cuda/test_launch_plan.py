"""Calls like an earlier one follow its plan: results are allocated and kernels queued, and nothing else is asked."""

from dataclasses import dataclass
from typing import NamedTuple

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from test_cuda_runtime import pick, plain, scaled, several


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
    """Globals that change, checks that wait for the device, decisions of the host by a number, NumPy's arrays."""
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
    assert len(general) == before + 2


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


# ---- out ----------------------------------------------------------------------------------------------


def both(x, scale):
    return x * scale, x.sum(axis=0)


def turned(x, scale):
    return x.T * scale


def test_results_in_arrays_of_the_caller_have_plans(cupy, general):
    one, two = nt.jit(scaled, target="cuda"), nt.jit(both, target="cuda")
    for k in (2.0, 3.0, 0.5):
        x = np.arange(12.0).reshape(3, 4) + k
        target = cupy.empty((3, 4))
        assert one(cupy.asarray(x), k, out=target) is target
        np.testing.assert_array_equal(target.host, x * k)
        targets = cupy.empty((3, 4)), cupy.empty((4,))
        got = two(cupy.asarray(x), scale=k, out=targets)
        assert got[0] is targets[0] and got[1] is targets[1]
        np.testing.assert_array_equal(targets[0].host, x * k)
        np.testing.assert_array_equal(targets[1].host, x.sum(axis=0))
    assert len(general) == 2 and cupy.waits == 0
    for k in (2.0, 3.0):  # without, it is another plan
        x = np.arange(12.0).reshape(3, 4) + k
        np.testing.assert_array_equal(plain(one(cupy.asarray(x), k)), x * k)
    assert len(general) == 3


OUTS = {
    "strided": lambda cupy: fake_cupy.Array.of(np.empty((3, 8))[:, ::2]),
    "transposed": lambda cupy: fake_cupy.Array.of(np.empty((4, 3)).T),
    "of NumPy": lambda cupy: np.empty((3, 4)),
}


@pytest.mark.parametrize("name", OUTS)
def test_out_that_elements_are_copied_to_has_no_plan(cupy, general, name):
    compiled = nt.jit(scaled, target="cuda")
    for k in range(1, 4):
        x, target = np.arange(12.0).reshape(3, 4) + k, OUTS[name](cupy)
        assert compiled(cupy.asarray(x), float(k), out=target) is target
        np.testing.assert_array_equal(in_host_memory(target), x * k)
        assert len(general) == k


def test_out_in_the_memory_of_an_argument_or_of_another_result(cupy, general):
    """What overlaps has no plan, and does not follow that of arrays that are apart."""
    compiled = nt.jit(shifted_copy, target="cuda")
    for shift in (20, 0, 1, 20, 1):
        memory = np.arange(60.0)
        x, target = memory[:10], memory[shift : shift + 10]
        wanted = shifted_copy(x)
        compiled(fake_cupy.Array.of(x), out=fake_cupy.Array.of(target))
        np.testing.assert_array_equal(target, wanted)
    assert len(general) >= 4
    two = nt.jit(both, target="cuda")
    x = np.arange(16.0).reshape(4, 4)
    for _ in range(2):
        target = cupy.empty((4, 4))
        two(cupy.asarray(x), 2.0, out=(target, cupy.empty((4,))))
        np.testing.assert_array_equal(target.host, x * 2)


def shifted_copy(x):
    return x[::-1] + x


def test_out_that_does_not_fit_is_refused_after_a_plan(cupy, general):
    compiled = nt.jit(scaled, target="cuda")
    x = cupy.asarray(np.ones((3, 4)))
    for _ in range(2):
        compiled(x, 2.0, out=cupy.empty((3, 4)))
    for wrong in (cupy.empty((4, 3)), cupy.empty((3, 4), "f4"), (cupy.empty((3, 4)),) * 2, 3.0):
        with pytest.raises(nt.NestorError, match="out"):
            compiled(x, 2.0, out=wrong)


def named_out(x, out):
    out[:] = x * 2


def test_a_parameter_that_is_called_out_is_one(cupy, general):
    compiled = nt.jit(named_out, target="cuda")
    for k in range(3):
        x, target = np.arange(5.0) + k, cupy.empty((5,))
        compiled(cupy.asarray(x), out=target)
        np.testing.assert_array_equal(target.host, x * 2)
    assert len(general) == 1


# ---- structures ---------------------------------------------------------------------------------------


class Params(NamedTuple):
    w: object
    b: object


@dataclass
class Layer:
    w: object
    scale: float


def of_a_tuple(p, k):
    return p[0] * k + p[1]


def of_params(p, k=2.0):
    return {"y": p.w * k, "sums": [p.b.sum(), p.w.shape[0]]}


def of_a_dict(p, k):
    return (p["w"] - p["b"]) * k + p["n"]


def of_layers(layers, k):
    y = layers[0].w
    for one in layers[1:]:
        y = y * one.scale + one.w
    return y * k


def structures(cupy, number):
    w, b = (cupy.asarray(np.arange(6.0) + number + one) for one in (0, 10))
    return {
        of_a_tuple: ((w, b), number + 0.5),
        of_params: (Params(w, b),),
        of_a_dict: ({"w": w, "b": b, "n": number}, 2.0),
        of_layers: ([Layer(w, 2.0), Layer(b, number + 1.5), Layer(w, 3.0)], 0.5),
    }


@pytest.mark.parametrize("function", [of_a_tuple, of_params, of_a_dict, of_layers])
def test_structures_of_arrays_have_plans(cupy, general, function):
    compiled = nt.jit(function, target="cuda")
    for number in range(4):
        given = structures(cupy, number)[function]
        agree(compiled(*given), function(*in_host_memory(given)))
    assert len(general) == 1 and cupy.waits == 0


def in_host_memory(value):
    if isinstance(value, fake_cupy.Array):
        return value.host
    if isinstance(value, Params):
        return Params(*map(in_host_memory, value))
    if isinstance(value, Layer):
        return Layer(in_host_memory(value.w), value.scale)
    if isinstance(value, dict):
        return {name: in_host_memory(one) for name, one in value.items()}
    return type(value)(map(in_host_memory, value)) if isinstance(value, tuple | list) else value


def agree(got, want):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        got, want = list(got.values()), list(want.values())
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            agree(one, other)
        return
    np.testing.assert_allclose(in_host_memory(got), want, rtol=1e-12)


def by_keys(p):
    return sum(p[key] * n for n, key in enumerate(sorted(p, key=str)))


def kind_of(p):
    return p[0] - p[1] if isinstance(p, tuple) else p[0] + p[1]


def test_structures_that_are_not_alike_have_other_plans(cupy, general):
    x, y = cupy.asarray(np.arange(5.0)), cupy.asarray(np.arange(5.0) * 3)
    compiled = nt.jit(kind_of, target="cuda")
    for _ in range(3):
        for p in ((x, y), [x, y], (y, x), [x, y, x]):
            agree(compiled(p), kind_of(in_host_memory(p)))
    assert len(general) == 3
    keys = nt.jit(by_keys, target="cuda")
    for _ in range(2):
        for p in ({"a": x, "b": y}, {"b": x, "a": y}, {"a": x, "c": y}, {1: x, 2: y}):
            agree(keys(p), by_keys(in_host_memory(p)))


def changes(p, k):
    p["y"] = p["x"] * k


def appended(items, x):
    items.append(x * 2)
    return items[0]


def test_what_changes_or_returns_an_object_of_the_caller_is_answered_as_before(cupy, general):
    one, two = nt.jit(changes, target="cuda"), nt.jit(appended, target="cuda")
    for k in (2.0, 3.0, 4.0):
        p = {"x": cupy.asarray(np.arange(4.0) + k)}
        one(p, k)
        np.testing.assert_array_equal(p["y"].host, (np.arange(4.0) + k) * k)
        items = [cupy.asarray(np.ones(3))]
        assert two(items, cupy.asarray(np.full(3, k))) is items[0] and len(items) == 2
        np.testing.assert_array_equal(items[1].host, np.full(3, 2 * k))
    assert len(general) == 6


def adds_in_place(p, k):
    p[0][:] += p[1] * k


def test_arrays_in_structures_that_are_written_have_plans_by_how_they_overlap(cupy, general):
    compiled = nt.jit(adds_in_place, target="cuda")
    for round in range(3):
        for start in (0, 1, 30):
            ours, theirs = np.arange(60.0) + round, np.arange(60.0) + round
            compiled((fake_cupy.Array.of(ours[:20]), fake_cupy.Array.of(ours[start : start + 20])), 2.0)
            adds_in_place((theirs[:20], theirs[start : start + 20]), 2.0)
            np.testing.assert_array_equal(ours, theirs)


def test_the_same_object_twice_and_constants_in_tuples(cupy, general):
    compiled = nt.jit(of_two, target="cuda")
    for k in range(3):
        p = [cupy.asarray(np.arange(3.0) + k)]
        agree(compiled(p, p, (2, 3)), p[0].host * 5 + 1)
        agree(compiled(p, [p[0]], (2, 4)), p[0].host * 6)


def of_two(p, q, shape):
    return p[0] * shape[0] + q[0] * shape[1] + (p is q)


def test_structures_and_out_together(cupy, general):
    compiled = nt.jit(of_a_tuple, target="cuda")
    for k in (1.0, 2.0, 3.0):
        pair, target = (cupy.asarray(np.ones(5) * k), cupy.asarray(np.arange(5.0))), cupy.empty((5,))
        assert compiled(pair, k=k, out=target) is target
        np.testing.assert_array_equal(target.host, k * k + np.arange(5.0))
    assert len(general) == 1


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
