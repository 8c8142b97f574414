"""Small results are kept for later calls, and handed out again only where nobody can tell."""

import gc
import weakref

import nestor as nt
import numpy as np
import pytest
from fast_calls import add, described, native, run_script, warmed
from nestor.runtime.cpu import fast_call
from nestor.runtime.cpu.call_layout import KEPT_ARRAYS, KEPT_BYTES

pytestmark = pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter")

X = np.arange(6.0)
FEW = KEPT_BYTES // 8


def address(array):
    return array.__array_interface__["data"][0]


def is_kept(jitted, *args):
    """Whether results that are let go come back: after enough calls, all of a few arrays are among those before."""
    seen = {address(jitted(*args)) for _ in range(2 * KEPT_ARRAYS)}
    return {address(jitted(*args)) for _ in range(4)} <= seen


def test_what_nobody_refers_to_is_used_again():
    jitted = warmed(add, X, X)
    first = jitted(X, X)
    where = address(first)
    second = jitted(X, X)
    assert address(second) != where
    del first
    third = jitted(X, X)
    assert address(third) == where and native(jitted, X, X)
    np.testing.assert_array_equal(third, X + X)


def test_what_a_caller_can_see_of_it():
    jitted = warmed(add, X, X)
    result = jitted(X, X)
    with pytest.raises(ValueError, match="resize"):
        result.resize(3)
    result.resize(3, refcheck=False)
    np.testing.assert_array_equal(result, (X + X)[:3])


def test_results_that_are_held_are_different_arrays():
    jitted = warmed(add, X, X)
    results = [jitted(X + k, k * X) for k in range(9)]
    assert len({address(r) for r in results}) == len(results)
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result, X + k + k * X)


@pytest.mark.parametrize("hold", [lambda r: r[1:], memoryview, np.from_dlpack, lambda r: r.reshape(2, 3).T])
def test_what_shares_memory_with_a_result_keeps_its_values(hold):
    jitted = warmed(add, X, X)
    held = hold(jitted(X, X))
    before = np.array(held)
    for k in range(4):
        jitted(X, X + k + 1)
    np.testing.assert_array_equal(np.array(held), before)


def shape(r):
    r.shape = (2, 3)


def dtype(r):
    r.dtype = np.int64


def flags(r):
    r.flags.writeable = False


def shorter(r):
    r.resize((2,), refcheck=False)


def longer(r):
    r.resize((2, 30), refcheck=False)


def other_memory(r):
    r.resize((999,), refcheck=False)
    r.resize((6,), refcheck=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", [shape, dtype, flags, shorter, longer, other_memory])
def test_results_that_were_changed(change):
    jitted = warmed(add, X, X)
    for _ in range(3):
        result = jitted(X, X)
        change(result)
        del result
        fresh = jitted(X, X + 1)
        assert described(fresh) == described(X + (X + 1)) and fresh.flags.num == (X + X).flags.num


def test_a_weak_reference_never_sees_a_later_result():
    jitted = warmed(add, X, X)
    dead = []
    for k in range(6):
        result = jitted(X, X + k)
        weakref.finalize(result, dead.append, k)
        seen = weakref.ref(result)
        del result
        later = jitted(X, X - k)
        assert seen() is not later
    gc.collect()
    assert len(dead) >= 6 - KEPT_ARRAYS


@pytest.mark.parametrize("count, kept", [(0, True), (1, True), (FEW, True), (16 * FEW, False)])
def test_sizes(count, kept):
    jitted, x = warmed(add, np.zeros(count), 1.0), np.zeros(count)
    results = [jitted(x, 1.0) for _ in range(3)]
    assert [r.strides for r in results] == [(x + 1).strides] * 3
    numbers = [id(r) for r in results]
    del results
    again = [jitted(x, 1.0) for _ in range(2)]
    assert sorted(set(map(id, again)) & set(numbers)) == sorted(map(id, again)) or not kept
    entry = next(iter(jitted._entries.values()))
    tuples = [t for t in entry.kept if type(t) is tuple and len(t) == KEPT_ARRAYS]
    assert len(tuples) == 1 and all((item.nbytes == 8 * count) == kept for item in tuples[0])


def test_unknown_extents():
    jitted = nt.jit(add, dynamic=True)
    for n in (4, 5, 5, 5, 9, 9, 4, 9, 5):
        x = np.arange(float(n))
        np.testing.assert_array_equal(jitted(x, x + 1), 2 * x + 1)
    assert is_kept(jitted, X, X)


SWITCH = """
import numpy as np
import nestor as nt
from fast_calls import add, native
x = np.arange(6.0)
f = nt.jit(add)
for _ in range(40):
    f(x, x)
assert native(f, x, x)
held = [f(x, x)]
held[0].resize((2, 3))
print(any(type(t) is tuple for e in f._entries.values() for t in e.kept))
"""


def test_without_the_pool_none_are_kept():
    result = run_script(SWITCH, NESTOR_POOL="0")
    assert result.stdout.strip() == "False", result.stderr
