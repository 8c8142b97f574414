"""`nt.fork` and `nt.wait`: results and exceptions of calls beside each other, in Python and in compiled functions."""

from __future__ import annotations

import ctypes
import os
import pickle
import threading
import time

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.interface import forks
from nestor.runtime.cpu import thread_pool

X = np.linspace(-1, 1, 60 * 500).reshape(60, 500)


@nt.jit
def layer(x, by):
    return np.tanh(x) * by + x.sum(axis=1, keepdims=True)


def halves(x, by):
    left = nt.fork(layer, x[:20], by)
    right = layer(x[20:], by=by)
    return np.concatenate([nt.wait(left), right])


def keywords(x):
    return nt.wait(nt.fork(layer, x, by=3.0))


def later(x):
    calls = [nt.fork(layer, x, float(k)) for k in range(3)]
    total = nt.wait(calls[0])
    for call in calls[1:]:
        total = total + nt.wait(call)
    return total


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(halves, (X, 2.0)), (keywords, (X,)), (later, (X,))],
    ids=lambda v: str(v)[:20],
)
def test_in_python_and_compiled(function, arguments):
    plain = {halves: lambda: layer(X, 2.0), keywords: lambda: layer(X, 3.0), later: lambda: layer(X, 3.0)}
    wanted = plain[function]() if function is not later else sum(layer(X, float(k)) for k in range(3))
    np.testing.assert_allclose(function(*arguments), wanted, rtol=1e-13)
    np.testing.assert_allclose(nt.jit(function)(*arguments), wanted, rtol=1e-13)


def test_gradients_go_through():
    got = nt.jit(nt.grad(lambda x: halves(x, 2.0).sum()))(X)
    np.testing.assert_allclose(got, nt.grad(lambda x: layer(x, 2.0).sum())(X), rtol=1e-12)


def failing(message):
    raise KeyError(message)


def test_exceptions_arrive_at_wait_each_time():
    call = nt.fork(failing, "gone")
    for _ in range(2):
        with pytest.raises(KeyError, match="gone"):
            nt.wait(call)
    assert call.done()


def fibonacci(n):
    if n < 2:
        return n
    one = nt.fork(fibonacci, n - 1)
    return fibonacci(n - 2) + nt.wait(one)


def test_calls_in_calls_do_not_wait_for_threads_that_there_are_not():
    before = nt.get_num_threads()
    nt.set_num_threads(1)
    try:
        assert fibonacci(12) == 144
    finally:
        nt.set_num_threads(before)


def test_they_run_beside_the_caller():
    begun, go_on = threading.Event(), threading.Event()

    def waiting():
        begun.set()
        return go_on.wait(30)

    call = nt.fork(waiting)
    assert begun.wait(30) and not call.done()
    go_on.set()
    assert nt.wait(call) is True


def test_settings_of_the_context_hold_in_the_call():
    seen = []

    @nt.jit
    def told(x):
        seen.append(type(x))
        return x

    with nt.disable_jit():
        call = nt.fork(told, X)
    nt.wait(call)
    assert seen == [np.ndarray]


def test_wrong_arguments():
    with pytest.raises(TypeError, match="it takes a function and its arguments"):
        nt.fork(layer(X, 1.0))  # pyright: ignore
    with pytest.raises(TypeError, match=r"it takes what nt\.fork gives"):
        nt.wait(X)  # pyright: ignore
    with pytest.raises(TypeError, match=r"it takes what nt\.fork gives"):
        nt.jit(lambda x: nt.wait(x))(X)
    with pytest.raises(TypeError, match="of this process"):
        pickle.dumps(nt.fork(layer, X, 1.0))


def test_many_callers_at_once():
    wanted = [layer(X, float(k)) for k in range(4)]
    calls = [nt.fork(layer, X, float(k % 4)) for k in range(200)]
    for k, call in enumerate(calls):
        np.testing.assert_array_equal(nt.wait(call), wanted[k % 4])


def calls_that_run() -> int:
    return ctypes.c_int64.from_address(thread_pool.numbers()[thread_pool.CALLS]).value


def test_threads_know_how_many_calls_run():
    """Those that wait for a runner and those that run without Python's lock; not those that run Python."""
    before, go_on = nt.get_num_threads(), threading.Event()
    nt.set_num_threads(2)
    try:
        runners = max(2, forks._RUNNERS._threads)
        calls = [nt.fork(go_on.wait, 60) for _ in range(runners + 3)]
        until(lambda: calls_that_run() == 3)
        go_on.set()
        assert [nt.wait(call) for call in calls] == [True] * len(calls)
    finally:
        nt.set_num_threads(before)
    assert calls_that_run() == 0
    sums(X)
    long = nt.fork(sums, np.ones((2000, 2000)))
    until(lambda: calls_that_run() == 1 or long.done())
    assert not long.done(), "it took no time"
    nt.wait(long)
    with pytest.raises(ZeroDivisionError):
        nt.wait(nt.fork(lambda: 1 / 0))
    assert calls_that_run() == 0


@nt.jit
def sums(x):
    total = 0.0
    for k in range(100):
        total = total + np.sin(x + k * total).mean()
    return total


def until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never was so"
        time.sleep(0.001)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork()")
def test_a_child_of_fork_has_runners_of_its_own():
    begun, go_on = threading.Event(), threading.Event()
    running = nt.fork(lambda: (begun.set(), go_on.wait(60))[1])
    assert begun.wait(30)
    wanted = nt.wait(nt.fork(layer, X, 2.0))
    child = os.fork()
    if child == 0:
        good = np.array_equal(nt.wait(nt.fork(layer, X, 2.0)), wanted)
        try:
            nt.wait(running)
        except NestorError:
            os._exit(0 if good else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    assert nt.wait(running) is True
