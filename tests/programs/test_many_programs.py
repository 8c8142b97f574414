"""Programs for many values of an integer: no more are kept than NESTOR_PROGRAMS says, those called longest ago go first."""

import gc
import weakref

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("collected_quickly")


def differences(x, n):
    return np.diff(x, n)


@pytest.fixture(autouse=True)
def five(monkeypatch):
    monkeypatch.setenv("NESTOR_PROGRAMS", "5")
    monkeypatch.setenv("NESTOR_CACHE", "0")


def test_programs_are_bounded_and_compiled_again():
    f, x = nt.jit(differences, target="interp"), np.arange(20.0) ** 3
    for n in (*range(12), 0, 11, 3):
        np.testing.assert_array_equal(f(x, n), differences(x, n))
        assert f.cache_info()["compiled"] <= 5
    assert "forgotten: " in f.explain(x, 3)


def test_what_is_called_again_stays():
    f, x = nt.jit(differences, target="interp"), np.arange(20.0) ** 3
    for n in range(12):
        f(x, 0)
        f(x, n)
    before = f.explain(x, 0).count("compiled for")
    np.testing.assert_array_equal(f(x, 0), differences(x, 0))
    assert f.explain(x, 0).count("compiled for") == before


def test_what_is_forgotten_is_freed():
    f, x = nt.jit(differences), np.arange(20.0) ** 3
    f(x, 0)
    ((program, kernel),) = next(iter(f._compiled.values()))
    freed = [weakref.ref(one) for one in (program, kernel)]
    del program, kernel
    for n in range(1, 7):
        np.testing.assert_array_equal(f(x, n), differences(x, n))
    gc.collect()
    assert [one() for one in freed] == [None, None]
    np.testing.assert_array_equal(f(x, 0), differences(x, 0))


def test_native_calls_go_on():
    f, x = nt.jit(differences), np.arange(20.0) ** 3
    for _ in range(64):
        f(x, 1)
    native = len(f._entries)
    for n in range(2, 9):
        f(x, n)
    assert len(f._entries) == native
    np.testing.assert_array_equal(f(x, 1), differences(x, 1))


def test_a_bound_that_is_none_is_not_taken(monkeypatch):
    from nestor.frontend.jit.specialise.specialiser import MOST_PROGRAMS, most_programs

    for text in ("", "0", "-3", "many"):
        monkeypatch.setenv("NESTOR_PROGRAMS", text)
        assert most_programs() == MOST_PROGRAMS
