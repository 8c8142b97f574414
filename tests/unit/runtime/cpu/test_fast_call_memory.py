"""Native calls keep what they use alive, lose no reference, and stand threads and forks."""

import contextlib
import gc
import os
import signal
import sys
import threading
import weakref

import nestor as nt
import numpy as np
import pytest
from fast_calls import (
    add,
    both,
    native,
    numbers,
    picked,
    run_script,
    turned,
    warmed,
)
from nestor.runtime.cpu import fast_call

pytestmark = [
    pytest.mark.skipif(not fast_call.available(), reason="no native calls on this interpreter"),
    pytest.mark.usefixtures("collected_quickly"),
]

X = np.arange(6.0)
BASE = np.arange(24.0).reshape(4, 6)

LEAKS = {
    "result": (add, (X, X + 1), (X, X + 1), {}, 100_000),
    "out": (add, (X, X + 1), (X, X + 1), {"out": np.empty(6)}, 100_000),
    "structure": (both, ((X, X + 1), 3), ((X, X + 1), 3), {}, 100_000),
    "scalar": (numbers, (X,), (X,), {}, 100_000),
    "integer": (turned, (np.array(2.5), 3), (np.array(2.5), 3), {}, 100_000),
    "error": (picked, (BASE, 2), (BASE, 99), {}, 2000),
    "wrong type": (add, (X, X + 1), (X, "no"), {}, 60),
    "wrong count": (add, (X, X + 1), (X,), {}, 300),
}


@pytest.mark.parametrize("case", LEAKS)
def test_no_reference_is_lost(case):
    function, good, args, kwargs, count = LEAKS[case]
    jitted = warmed(function, *good, **kwargs)
    things = [
        *args,
        *kwargs.values(),
        None,
        X.dtype,
        tuple,
        jitted,
        float,
        int,
        True,
        *jitted._entries.values(),
    ]

    def calls(number):
        for _ in range(number):
            with contextlib.suppress(TypeError, IndexError, nt.NestorError):
                jitted(*args, **kwargs)

    calls(50)
    gc.collect()
    before, blocks = [sys.getrefcount(thing) for thing in things], sys.getallocatedblocks()
    calls(count)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in things]
    assert [abs(a - b) < 20 for a, b in zip(after, before, strict=True)] == [True] * len(things)
    assert sys.getallocatedblocks() - blocks < max(
        200, count
    )  # those that are refused fill caches of the compiler


def test_a_dead_function_frees_its_machine_code():
    jitted = warmed(add, X, X + 1)
    kernel = next(iter(jitted._invocations.values())).kernel
    engine = weakref.ref(kernel.engine)
    entry = weakref.ref(next(iter(jitted._entries.values())))
    del jitted, kernel
    gc.collect()
    assert engine() is None and entry() is None


def test_a_function_that_dies_after_the_modules_leaves_native_calls(monkeypatch):
    """At the end of the interpreter the modules may be gone before a function is."""
    jitted = warmed(add, X, X + 1)
    assert native(jitted, X, X + 1)
    monkeypatch.setattr("nestor.frontend.jit.specialise.specialiser.fast_call", None)
    jitted.__del__()
    assert not native(jitted, X, X + 1)


def test_entries_that_leave_are_freed():
    jitted = nt.jit(add)
    seen = []
    for kind in (np.float64, np.float32, np.int64, np.int32, np.int16, np.int8):
        warmed(jitted, X.astype(kind), X.astype(kind))
        seen.append(weakref.ref(next(reversed(jitted._entries.values()))))
    gc.collect()
    assert sum(ref() is not None for ref in seen) == 4


def test_threads():
    jitted = nt.jit(add)
    small = [X.astype(t) for t in (np.float64, np.float32, np.int64, np.int32, np.int16)]
    large = np.ones(200_000)
    errors = []

    def work(number):
        try:
            for k in range(2000):
                x = small[(k + number) % len(small)]
                assert np.array_equal(jitted(x, x), x + x)
                if k % 100 == number:
                    assert jitted(large, large)[-1] == 2
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


# ---- what goes away while it is used ----------------------------------------------------------------


def test_a_function_dies_in_its_last_call():
    """The call holds the only reference; another thread collects garbage while the kernel runs."""
    x = np.ones(100_000)
    expected = repeated(x)
    for _ in range(3):
        jitted = nt.jit(repeated)
        for _ in range(4):
            jitted(x)
        assert native(jitted, x)
        gone, started = weakref.ref(jitted), threading.Event()
        last, results = [jitted], []
        del jitted

        def call(last=last, started=started, results=results):
            started.set()
            results.append(last.pop()(x))

        thread = threading.Thread(target=call)
        thread.start()
        started.wait()
        while thread.is_alive():
            gc.collect()
        thread.join()
        np.testing.assert_array_equal(results[0], expected)
        gc.collect()
        assert gone() is None


def test_entries_leave_while_they_are_used():
    jitted, x, done, errors = nt.jit(repeated), np.ones(100_000), threading.Event(), []
    for _ in range(4):
        expected = jitted(x)

    def call():
        try:
            for _ in range(3):
                np.testing.assert_array_equal(jitted(x), expected)
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not done.is_set():
        jitted._leave_native()
        gc.collect()
    thread.join()
    assert not errors


def test_the_python_function_of_an_entry_lives_as_long_as_it():
    jitted = nt.jit(add)
    for _ in range(3):
        jitted(X, X)
    (entry,) = jitted._entries.values()
    assert any(kept is type(jitted).__call__ for kept in entry.kept)


def repeated(x):
    for k in range(50):
        x = x * 0.5 + k
    return x


# ---- processes --------------------------------------------------------------------------------------

AT_ONCE = """
import threading
from nestor.runtime.cpu import fast_call
barrier, found = threading.Barrier(8), []
def ask():
    barrier.wait()
    found.append(fast_call.wrapper_address())
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(found)), found[0] == fast_call.wrapper_address() != 0)
"""


def test_threads_that_need_the_wrapper_at_once_get_the_same():
    """Each compiled its own before, and all but one were freed."""
    result = run_script(AT_ONCE)
    assert result.stdout.split() == ["8", "1", "True"], result.stderr


def test_calls_are_native_where_freed_memory_is_overwritten():
    """`-X dev` does that: the probes must not look at objects that are gone."""
    result = run_script("from nestor.runtime.cpu import fast_call; print(fast_call.available())", "-X", "dev")
    assert result.stdout.split() == ["True"], result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_has_the_locks_anew():
    """A thread that does not exist in the child held them. (For that of compilations a fork waits: `test_fork.py`.)"""
    from nestor.runtime.pool import POOL

    held, release = threading.Event(), threading.Event()

    def hold():
        with POOL._lock, fast_call._LOCK:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with POOL._lock, fast_call._LOCK:
            os._exit(0)
    release.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
