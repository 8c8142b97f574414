"""Calls that the native wrapper answers are what Python would answer, for every kind of argument; nothing leaks."""

import pickle
import subprocess
import sys
from pathlib import Path

import fast_calls
import nestor as nt
import numpy as np
import pytest
from fast_calls import (
    Pair,
    add,
    both,
    either,
    first_two,
    grow,
    in_python,
    native,
    numbers,
    outcome,
    paired,
    picked,
    run_script,
    scaled,
    shifted,
    turned,
    warmed,
)
from nestor.runtime.cpu import fast_call

pytestmark = [
    pytest.mark.one_of(2),
    pytest.mark.one_of(2),
    pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter"),
]

X = np.arange(6.0)
BASE = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    ("seed", "calls"), [(1, 150), *(pytest.param(n, 400, marks=pytest.mark.slow) for n in (1, 2))]
)
def test_random_calls_in_a_process_of_their_own(seed, calls):
    """The slow ones are more calls, and those of a second seed."""
    script = Path(fast_calls.__file__)
    command = [sys.executable, str(script), str(seed), str(calls)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    count, done = result.stdout.split("\n")[:2]
    assert done == "done" and int(count.split()[1]) > calls // 8  # many were native


CALLS = [
    (add, (X, X + 1), {}),
    (add, (BASE[::2], BASE[::2]), {}),
    (add, (BASE.T, BASE.T), {}),
    (add, (np.array(2.5), np.array(1, np.int8)), {}),
    (add, (X, 2.0), {}),
    (add, (X, 3), {}),
    (add, (X, True), {}),
    (add, (X.astype(np.float32), np.float32(1.5)), {}),
    (add, (X, np.int8(-3)), {}),
    (add, (np.zeros((0, 3)), 1.0), {}),
    (shifted, (BASE,), {}),
    (shifted, (BASE, 2.0), {"axis": 0}),
    (shifted, (), {"axis": 1, "x": BASE}),
    (grow, (X.copy(), X), {}),
    (both, ((X, X + 1), 3), {}),
    (both, (Pair(X, X + 1), 3), {}),
    (picked, (BASE, 2), {}),
    (turned, (np.array(2.5), 3), {}),
    (scaled, (X,), {}),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_calls_that_are_native(case):
    function, args, kwargs = CALLS[case]
    jitted = warmed(function, *args, **kwargs)
    expected = outcome(in_python(jitted), args, kwargs)
    assert outcome(jitted, args, kwargs) == expected
    assert native(jitted, *fast_calls._copied(args), **kwargs), (args, kwargs)


@pytest.mark.parametrize("argument", range(len(fast_calls.arrays())))
def test_hostile_arrays(argument):
    jitted = warmed(add, X, X + 1)
    other = fast_calls.arrays()[argument]
    for args in ((other, X), (X, other), (other, other)):
        assert outcome(jitted, args, {}) == outcome(in_python(jitted), args, {})


def of_five(a, b, c, d, e):
    return a + b + c[:6] + d * e


@pytest.mark.parametrize("place", range(5))
def test_one_of_several_arrays_that_are_alike_is_another(place):
    """Arrays in a row that are alike are checked together (a, b; d, e): each of them, and each for everything."""
    fine = [X, X + 1, np.arange(9.0), X + 2, X + 3]
    jitted = warmed(of_five, *fine)
    assert native(jitted, *fine)
    for other in fast_calls.arrays():
        args = tuple([*fine[:place], other, *fine[place + 1 :]])
        assert outcome(jitted, args, {}) == outcome(in_python(jitted), args, {})


def test_arrays_that_are_alike_among_those_of_unknown_extents():
    jitted = nt.jit(of_five)
    for n in (6, 9, 8, 7, 11):
        args = (X, X + 1, np.arange(float(n)), X + 2, X + 3)
        for _ in range(3):
            assert outcome(jitted, args, {}) == outcome(in_python(jitted), args, {})
        assert native(jitted, *args)


@pytest.mark.parametrize(
    "kwargs", [{"y": X}, {"x": X}, {"z": 1}, {"out": X.copy()}, {"out": None}, {"out": 3}]
)
@pytest.mark.parametrize("args", [(), (X,), (X, X), (X, X, X)])
def test_counts_and_keywords(args, kwargs):
    jitted = warmed(add, X, X + 1)
    assert outcome(jitted, args, kwargs) == outcome(in_python(jitted), args, kwargs)


def test_too_many_arguments_are_a_type_error():
    jitted = warmed(add, X, X + 1)
    for args in ((), (X,), (X, X, X)):
        with pytest.raises(TypeError):
            jitted(*args)


# ---- out= -------------------------------------------------------------------------------------------


def test_out_is_filled_and_returned():
    jitted = nt.jit(add)
    out = np.empty(6)
    for _ in range(3):
        assert jitted(X, X, out=out) is out
    assert native(jitted, X, X, out=out)
    np.testing.assert_array_equal(out, X + X)


@pytest.mark.parametrize(
    "out",
    [
        np.empty(5),
        np.empty(6, np.float32),
        np.empty((1, 6)),
        np.empty(12)[::2],
        np.broadcast_to(np.float64(1), (6,)),
        [0.0] * 6,
        np.empty(6, ">f8"),
        (np.empty(6),),
        (np.empty(6), np.empty(6)),
    ],
    ids=["shape", "dtype", "rank", "strided", "read-only", "list", "byte order", "tuple", "too many"],
)
def test_other_outs(out):
    jitted = warmed(add, X, X + 1, out=np.empty(6))
    assert native(jitted, X, X, out=np.empty(6))
    assert outcome(jitted, (X, X), {"out": out}) == outcome(in_python(jitted), (X, X), {"out": out})


def test_out_that_overlaps_an_argument():
    jitted = warmed(add, X, X + 1, out=np.empty(6))
    memory = np.arange(8.0)
    assert not native(jitted, memory[:6], memory[2:], out=memory[1:7])
    memory = np.arange(8.0)
    jitted(memory[:6], memory[2:], out=memory[1:7])
    np.testing.assert_array_equal(memory, [0, 2, 4, 6, 8, 10, 12, 7])


# ---- arguments that are written ---------------------------------------------------------------------


def test_overlapping_arguments_of_a_function_that_writes():
    jitted = warmed(grow, X.copy(), X)
    memory, expected = np.arange(8.0), np.arange(8.0)
    assert not native(jitted, memory[1:7], memory[:6])
    grow(expected[1:7], expected[:6])
    np.testing.assert_array_equal(memory, expected)
    a = np.arange(6.0)
    jitted(a, a)
    np.testing.assert_array_equal(a, 2 * X)


def test_read_only_arguments_of_a_function_that_writes():
    jitted = warmed(grow, X.copy(), X)
    locked = X.copy()
    locked.flags.writeable = False
    assert outcome(jitted, (locked, X), {}) == outcome(in_python(jitted), (locked, X), {})
    np.testing.assert_array_equal(locked, X)
    a = X.copy()
    assert outcome(jitted, (a, locked), {}) == outcome(in_python(jitted), (a, locked), {})


# ---- numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [0, -1, (1 << 63) - 1, -(1 << 63), 1 << 63, -(1 << 63) - 1, True, 2.0, np.int64(3)]
)
def test_integers(value):
    jitted = warmed(add, X.astype(np.int64), 3)
    x = X.astype(np.int64)
    assert outcome(jitted, (x, value), {}) == outcome(in_python(jitted), (x, value), {})


SCALAR_TYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SCALAR_TYPES += [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("kind", SCALAR_TYPES)
def test_numpy_scalars(kind):
    x = np.ones(3, kind)
    jitted = warmed(either if kind is np.bool_ else add, x, kind(1))
    assert native(jitted, x, kind(1))
    for value in (0, 1, 100, -1 if np.dtype(kind).kind in "if" else 255):
        args = (x, np.array(value).astype(kind)[()])
        assert outcome(jitted, args, {}) == outcome(in_python(jitted), args, {})


def test_numbers_that_are_results():
    jitted = warmed(numbers, X)
    result = jitted(X)
    assert native(jitted, X)
    assert [type(r) for r in result] == [np.float64, float, int, bool, int, np.ndarray] and result[5] is X
    assert result[:5] == (15.0, 15.0, 15, True, 6)


# ---- specialisations --------------------------------------------------------------------------------


def test_several_specialisations_are_native_at_once():
    jitted = nt.jit(add)
    kinds = [X.astype(t) for t in (np.float64, np.float32, np.int64, np.int32)]
    for x in kinds:
        warmed(jitted, x, x)
    for _ in range(3):
        for x in kinds:
            assert native(jitted, x, x)
            np.testing.assert_array_equal(jitted(x, x), x + x)
    more = [X.astype(t) for t in (np.int8, np.uint8)]
    for x in more:
        warmed(jitted, x, x)
        assert native(jitted, x, x)
    for x in [*kinds, *more] * 40:
        np.testing.assert_array_equal(jitted(x, x), x + x)
    assert len(jitted._entries) <= 4


def test_unknown_extents():
    jitted = nt.jit(paired, dynamic=True)
    for n in (2, 3, 4):
        jitted(np.ones(n), np.ones(n))
    for n in (5, 17, 1000, 200_000):
        x = np.arange(float(n))
        assert native(jitted, x, x)
        np.testing.assert_array_equal(jitted(x, x + 1), np.stack([x, x + 1], axis=1) * 2)
    for n, m in ((0, 0), (1, 1), (4, 5), (1, 4)):
        args = (np.ones(n), np.ones(m))
        assert outcome(jitted, args, {}) == outcome(in_python(jitted), args, {})


def test_a_program_for_known_extents_goes_on_running():
    """The first shape has a program of its own: the native entry for unknown extents leaves it alone."""
    jitted = nt.jit(add)
    jitted(X, X)
    for n in (7, 8, 9, 10, 11):
        jitted(np.ones(n), np.ones(n))
    assert jitted.cache_info()["compiled"] == 2
    assert native(jitted, np.ones(30), np.ones(30))
    assert not native(jitted, X, X)  # the second call of its program: from now on
    assert native(jitted, X, X) and native(jitted, np.ones(31), np.ones(31))


def test_results_in_other_memory_orders():
    x = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    for shape in (x, x[:, ::2], x[:0], x.transpose(1, 0, 2)):
        jitted = warmed(add, shape, 1.0)
        assert native(jitted, shape, 1.0)
        assert outcome(jitted, (shape, 1.0), {}) == outcome(in_python(jitted), (shape, 1.0), {})


def test_large_results_come_from_the_pool():
    x = np.asfortranarray(np.ones((300, 1000)))
    jitted = warmed(add, x, 1.0)
    for value in (x, x):
        assert native(jitted, value, 1.0)
        result = jitted(value, 1.0)
        np.testing.assert_array_equal(result, x + 1)
        assert result.strides == (x + 1).strides and result.base is not None


# ---- what was compiled in ---------------------------------------------------------------------------


def test_globals_are_looked_at():
    space = {"np": np}
    source = "def f(x):\n    return x * SCALE\n"
    import linecache

    linecache.cache["<fast call>"] = (len(source), None, source.splitlines(keepends=True), "<fast call>")
    space["SCALE"] = 2.0
    exec(compile(source, "<fast call>", "exec"), space)
    jitted = warmed(space["f"], X)
    assert native(jitted, X)
    for k in range(50):
        space["unrelated"] = k
        assert native(jitted, X)
    space["SCALE"] = 4.0
    np.testing.assert_array_equal(jitted(X), X * 4)
    space["SCALE"] = 2.0
    np.testing.assert_array_equal(jitted(X), X * 2)
    del space["SCALE"]
    with pytest.raises(NameError):
        jitted(X)


def test_globals_that_change_during_a_call():
    """The entry is written after the call: what it expects is what was compiled in, not what is there by then."""
    from nestor.frontend.interface.captured import Captured, Step
    from nestor.frontend.interface.source import FunctionSource, source_of
    from nestor.frontend.jit.native_call.guards import guards
    from nestor.frontend.jit.native_call.leaves import Declined

    jitted = warmed(scaled, X)
    (invocation,) = jitted._invocations.values()
    captured = invocation.program.captured
    assert any(isinstance(read.owner, FunctionSource) and read.name == "SCALE" for read in captured)
    assert len(guards(captured, id)) == 2  # the words of the function, its globals
    source = source_of(scaled)
    for name, value in (("SCALE", fast_calls.SCALE + 1), ("NOWHERE", 1.0)):
        other = Captured()
        other.note(source, Step.NAME, name, value)
        with pytest.raises(Declined):
            guards(other, id)


def test_closures_are_looked_at():
    factor = 2.0

    def times(x):
        return x * factor

    jitted = warmed(times, X)
    assert native(jitted, X)
    factor = 3.0
    np.testing.assert_array_equal(jitted(X), X * 3)


# ---- errors -----------------------------------------------------------------------------------------


def test_errors_of_kernels():
    jitted = warmed(picked, BASE, 2)
    for index in (4, -5, 1 << 40):
        with pytest.raises(IndexError, match=r"fast_calls.py:\d+:\d+: error: index .* is out of bounds"):
            jitted(BASE, index)
    assert native(jitted, BASE, 3)


def test_a_write_before_an_error_is_not_done_twice():
    def bump(x, i):
        x += 1
        return x[i] * 2.0

    jitted = warmed(bump, X.copy(), 2)
    x = X.copy()
    with pytest.raises(IndexError):
        jitted(x, 77)
    np.testing.assert_array_equal(x, X + 1)


# ---- other arrays ---------------------------------------------------------------------------------


def test_memory_maps_of_several_shapes(tmp_path):
    jitted = nt.jit(add)
    for n in (6, 8, 6, 8, 6, 8):
        mapped = np.memmap(tmp_path / f"{n}", np.float64, "w+", shape=(n,))
        mapped[:] = np.arange(n)
        np.testing.assert_array_equal(jitted(mapped, mapped), np.arange(n) * 2.0)


def test_dtypes_that_were_unpickled():
    x = pickle.loads(pickle.dumps(X))
    jitted = warmed(add, X, X + 1)
    assert native(jitted, x, x)


# ---- turned off -------------------------------------------------------------------------------------

SCRIPT = """
import nestor as nt, numpy as np
from nestor.runtime.cpu import fast_call
from fast_calls import add
f = nt.jit(add)
x = np.ones(3)
print([f(x, x).tolist() for _ in range(40)][-1], fast_call.available(), len(f._entries), f.cache_info()["hits"])
"""


@pytest.mark.parametrize("off", ["0", "1"])
def test_the_switch(off):
    result = run_script(SCRIPT, NESTOR_FAST_CALL=off)
    expected = "[2.0, 2.0, 2.0] False 0 39" if off == "0" else "[2.0, 2.0, 2.0] True 1 39"
    assert result.stdout.strip() == expected, result.stderr


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("array_data", 24),
        ("array_flags", 72),
        ("array_base", 72),
        ("array_references", 48),
        ("tuple_items", 32),
        ("float_value", 8),
        ("descr_word", 16),
    ],
)
def test_a_wrong_offset_is_found(name, wrong):
    off = fast_call.Offsets(**{name: wrong})
    tests = (fast_call._arrays_fit, fast_call._numbers_fit, fast_call._containers_fit)
    assert all(test(fast_call.Offsets()) for test in tests)
    assert not all(test(off) for test in tests)


def test_lists_of_arrays_stay_in_python():
    """Another thread may change a list while the kernel runs."""
    jitted = nt.jit(first_two)
    for _ in range(4):
        np.testing.assert_array_equal(jitted([X, X]), X + X)
    assert not native(jitted, [X, X])
