"""A function that writes to its arguments, and is refused: the caller's arrays are what they were. Exceptions that Python
raises, too, are no refusals: `test_late_exceptions.py`."""

from __future__ import annotations

import copy

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.interface.errors import UnsupportedError
from nestor.frontend.jit.driver import jit_function
from nestor.frontend.jit.specialise import stages
from nestor.runtime.cpu import fast_call

TARGETS = ["cpu", "interp", "cuda-sim"]


def unknown_attribute(x, y):
    x[0] = 5
    y.fill(2)
    return x.dumps()


def unknown_function(x, y):
    np.add(x, 1, out=y)
    x[1] = np.busday_count(x[0], y[0])


def refused_after_a_branch(x, y):
    if x.sum() > 0:
        x[:] = 1
    else:
        y[:] = 2
    return open("nothing")


def refused_after_a_print(x, y):
    print(x.sum())
    x += y
    return x.dumps()


def written_by_a_helper(x, y):
    put(x)
    put(y[1:])
    return y.dumps()


def put(x):
    x[0] = 7


def read_after_a_write(x, y):
    r = x
    if x[1] > 1:
        r = r * 2
    x[0] = 3
    return r + 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "function",
    [
        unknown_attribute,
        unknown_function,
        refused_after_a_branch,
        refused_after_a_print,
        written_by_a_helper,
    ],
)
def test_what_is_refused_has_changed_nothing(function, target, capsys):
    b = np.arange(1.0, 13.0)
    pairs = (np.arange(1.0, 5.0), np.ones(4)), (b[:4], b[4:8]), (b[:4], b[1:5]), (b[:4], b[:4])
    refused_and_unchanged(nt.jit(function, target=target), pairs, b)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("target", TARGETS)
def test_read_after_a_write_is_refused_for_overlapping_arguments_only(target):
    compiled = nt.jit(read_after_a_write, target=target)
    b = np.arange(1.0, 13.0)
    refused_and_unchanged(compiled, [(b[:4], b[1:5])], b)
    for x, y in ((np.arange(4.0), np.ones(4)), (np.ones(4), np.ones(4)), (b[:4], b[:4]), (b[:4], b[4:8])):
        other = x.copy()
        expected = read_after_a_write(other, y)
        np.testing.assert_array_equal(compiled(x, y), expected)
        np.testing.assert_array_equal(x, other)


def refused_and_unchanged(compiled, pairs, base):
    for x, y in pairs:
        before = x.copy(), y.copy(), base.copy()
        for _ in range(2):
            with pytest.raises(NestorError):
                compiled(x, y)
        for array, was in zip((x, y, base), before, strict=True):
            np.testing.assert_array_equal(array, was)


def changes_a_list(xs, x):
    xs[0][:] = 3
    xs.append(x)
    return x.dumps()


def changes_a_dict(d, x):
    d["b"][0] = 3
    d["a"] = x
    return x.dumps()


def test_structures_are_what_they_were():
    for function, structure in ((changes_a_list, [np.ones(4)]), (changes_a_dict, {"b": np.ones(4)})):
        before = copy.deepcopy(structure)
        with pytest.raises(NestorError):
            nt.jit(function)(structure, np.zeros(4))
        np.testing.assert_equal(structure, before)


def by_type(x, y):
    y += 1
    if x.dtype == np.float32:
        return x.dumps()
    return y.sum()


def test_one_specialisation_is_refused_and_others_run():
    compiled = nt.jit(by_type)
    for calls in range(1, 40):
        y = np.zeros(4)
        assert compiled(np.zeros(4), y) == 4 and y.tolist() == [1] * 4
        if calls % 13 == 0:
            with pytest.raises(NestorError):
                compiled(np.zeros(4, np.float32), y)
            assert y.tolist() == [1] * 4


def test_strict_refuses_before_anything_runs():
    def in_python(x, y):
        y += x
        return np.fft.fft(x).real

    x, y = np.arange(4.0), np.zeros(4)
    with pytest.raises(NestorError):
        nt.jit(in_python, strict=True)(x, y)
    assert not y.any()


class Failed(Exception):
    pass


def fail(*args, **kwargs):
    raise Failed


def add(x, y):
    y += x
    return y.sum()


@pytest.mark.parametrize("place", [(stages, "build"), (jit_function, "Invocation")])
def test_an_error_of_a_later_stage(place, monkeypatch):
    """What breaks inside of Nestor is before the call as well; the next call compiles again."""
    compiled = nt.jit(add)
    x, y = np.arange(4.0), np.zeros(4)
    with monkeypatch.context() as patch:
        patch.setenv("NESTOR_CACHE", "0")
        patch.setattr(*place, fail)
        with pytest.raises(Failed):
            compiled(x, y)
    assert not y.any()
    assert compiled(x, y) == 6 and y.tolist() == x.tolist()


def test_what_fails_after_a_call_is_not_its_failure(monkeypatch):
    """Calls become native when they have been answered: where that fails, the caller has the result all the same."""
    monkeypatch.setattr(fast_call, "is_at_hand", lambda: True)
    monkeypatch.setattr(fast_call, "available", fail)
    compiled = nt.jit(add)
    x, y = np.arange(4.0), np.zeros(4)
    for calls in range(1, 70):
        assert compiled(x, y) == 6 * calls
    assert "calls stay in Python: Failed" in compiled.explain(x, y)


def test_a_refusal_keeps_what_it_says():
    with pytest.raises(UnsupportedError, match="'dumps'"):
        nt.jit(unknown_attribute)(np.ones(4), np.ones(4))
