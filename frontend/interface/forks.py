"""`nt.fork` and `nt.wait`: calls that run beside each other.

    left = nt.fork(layer, x[:4], w)
    right = layer(x[4:], w)
    y = np.concatenate([nt.wait(left), right])

As torch.jit.fork and wait. A call that nobody has begun is run by who waits for it, so that calls inside of calls never wait
for a thread that there is not.
"""

from __future__ import annotations

import contextvars
import os
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

from ...dialects.diagnostic import NestorError
from ...dialects.tracebacks import boundary
from ...runtime.cpu.threads import call_begins, expect_call, get_num_threads
from .errors import DTypeError

Result = TypeVar("Result")

_NEW, _RUNNING, _DONE, _FAILED = range(4)


class Forked(Generic[Result]):
    """What `nt.fork` gives: a call that is running, or will be."""

    def __init__(self, result: Any = None, call: Callable[[], Any] | None = None):
        self._result: Any = result
        self._call = call
        self._state = _DONE if call is None else _NEW
        self._changed = Condition()
        self._process = 0
        """Which one expects it, then runs it."""

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._state >= _DONE

    def wait(self) -> Result:
        """The result of the call; what it raised is raised."""
        if not self._run():
            if self._state == _RUNNING and self._process != os.getpid():
                raise NestorError(
                    "the call runs in the process that this one was forked from, which alone has its result",
                    hint="nt.wait before os.fork(), or begin it anew",
                )
            with self._changed:
                while self._state < _DONE:
                    self._changed.wait()
        if self._state == _FAILED:
            raise self._result
        return self._result

    def _run(self) -> bool:
        """Run the call here, unless a thread has begun it."""
        with self._changed:
            call, self._call = self._call, None
            if call is None:
                return False
            is_expected, self._process = self._process == os.getpid(), os.getpid()
            self._state = _RUNNING
        if is_expected:
            call_begins()
        result: Any
        try:
            result, state = call(), _DONE
        except BaseException as error:
            result, state = error, _FAILED
        with self._changed:
            self._result, self._state = result, state
            self._changed.notify_all()
        return True

    def __reduce__(self) -> Any:
        raise TypeError("a call that nt.fork began is of this process: send nt.wait(...) of it")

    def __repr__(self) -> str:
        return f"<nt.fork: {('waits', 'runs', 'done', 'failed')[self._state]}>"


class _Runners:
    """Threads that run calls, as many as compiled functions may use; they are made when there is something to do."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._calls: deque[Forked[Any]] = deque()
        self._there = Condition()
        self._threads = 0
        self._idle = 0

    def add(self, call: Forked[Any]) -> None:
        call._process = os.getpid()
        expect_call()
        with self._there:
            self._calls.append(call)
            if self._idle >= len(self._calls):
                self._there.notify()
                return
            if self._threads >= get_num_threads():
                return
            self._threads += 1
        Thread(target=self._serve, name="nestor-fork", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._there:
                self._idle += 1
                while not self._calls:
                    self._there.wait()
                self._idle -= 1
                call = self._calls.popleft()
            call._run()
            del call  # its result belongs to who waits for it


_RUNNERS = _Runners()


@boundary
def fork(function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Forked[Result]:
    """Begin `function(*args, **kwargs)` on another thread; `nt.wait` of what this gives is its result.

    Compiled functions let other threads run while they compute (those on more than 20,000 elements, or that take 0.1 ms),
    so that calls of them run beside each other, each on the threads that the others leave. Arrays that a call writes must
    not be read before it ends. Settings of a context (`nt.disable_jit()`) hold in the call.

    In a compiled function the call is made where it stands, in order: its loops use all threads, and what it raises is
    raised there. Raises DTypeError for what cannot be called.
    """
    if not callable(function):
        raise DTypeError(
            f"nt.fork of {type(function).__name__}: it takes a function and its arguments",
            hint="nt.fork(f, x), not nt.fork(f(x)): that is computed before",
        )
    context = contextvars.copy_context()
    made: Forked[Result] = Forked(call=lambda: context.run(function, *args, **kwargs))
    _RUNNERS.add(made)
    return made


@boundary
def wait(forked: Forked[Result], /) -> Result:
    """The result of a call that `nt.fork` began. What the call raised is raised, each time that it is waited for.

    Raises DTypeError for what `nt.fork` did not give.
    """
    if not isinstance(forked, Forked):
        raise DTypeError(
            f"nt.wait of {type(forked).__name__}: it takes what nt.fork gives", hint="nt.wait(nt.fork(f, x))"
        )
    return forked.wait()
