"""Children of `fork`, made while other threads compile: they compile as well, and none waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

HEAD = """
import itertools, os, signal, sys, threading, time
import numpy as np
import nestor as nt
from nestor.frontend.jit.specialise.specialiser import COMPILING
from nestor.runtime.fork_lock import QuietLock
nt.jit

def child(work):
    "Runs it in a child; its exit status, negative where it hangs."
    started = time.time()
    pid = os.fork()
    waited = time.time() - started
    if pid == 0:
        signal.alarm(30)
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(2)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), waited

x = np.arange(10.0)
"""


def run(folder: Path, body: str, **variables: str) -> list[str]:
    path = folder / "script.py"
    path.write_text(HEAD + body)
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, "NESTOR_CACHE": "0", **variables},
    )
    assert done.returncode == 0, done.stderr
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


MANY = "".join(f"def f{k}(x):\n    return x * {k} + np.sin(x)\n\n" for k in range(40))

WHILE_A_THREAD_COMPILES = """
functions = [value for name, value in list(globals().items()) if name[0] == "f" and name[1:].isdigit()]
def compile_on_and_on():
    for length in itertools.count(10):
        nt.jit(functions[1 + length % (len(functions) - 1)])(np.arange(float(length)))
compiling = threading.Thread(target=compile_on_and_on, daemon=True)
compiling.start()

def work():
    got = nt.jit(functions[0])(x)
    assert np.array_equal(got, functions[0](x)) or np.allclose(got, functions[0](x), rtol=1e-14)

statuses = []
time.sleep(FIRST)
for _ in range(4):
    statuses.append(child(work)[0])
    time.sleep(0.03)
assert compiling.is_alive()
print(statuses)
os._exit(0) if sys.stdout.flush() is None else None
"""


@pytest.mark.parametrize("first", [0.0, 0.2, 0.6])
def test_children_made_while_a_thread_compiles(first, tmp_path):
    """In a fresh process, where compiling imports the compiler and loads LLVM."""
    assert run(tmp_path, MANY + WHILE_A_THREAD_COMPILES.replace("FIRST", str(first)))[0] == "[0, 0, 0, 0]"


def test_children_made_while_a_thread_stores_programs(tmp_path):
    body = MANY + WHILE_A_THREAD_COMPILES.replace("FIRST", "0.5")
    folder = {"NESTOR_CACHE": "1", "NESTOR_CACHE_DIR": str(tmp_path / "cache")}
    assert run(tmp_path, body, **folder)[0] == "[0, 0, 0, 0]"
    left = [path.name for path in (tmp_path / "cache" / "kernels").iterdir()]
    assert len([name for name in left if name.startswith(".")]) <= 1  # of the process that was ended


def test_a_fork_in_the_middle_of_a_compilation_by_the_same_thread(tmp_path):
    body = """
@nt.jit
def f(x):
    return x + 1

with COMPILING:
    status, _ = child(lambda: f(x))
print(status, f(x)[0], child(lambda: f(x[1:]))[0])
"""
    assert run(tmp_path, body)[0] == "0 1.0 0"


def test_a_thread_that_does_not_come_to_an_end(tmp_path):
    """The fork does not wait for ever; in the child what is compiled runs, and compiling is refused."""
    body = """
QuietLock.PATIENCE = 0.3

@nt.jit
def f(x):
    return x + 1

@nt.jit
def g(x):
    x[0] = 7
    return x + 2

f(x)
held, free = threading.Event(), threading.Event()
def hold():
    with COMPILING:
        held.set()
        free.wait()
thread = threading.Thread(target=hold, daemon=True)
thread.start()
held.wait()

def work():
    assert f(x)[1] == 2
    try:
        g(x)
    except nt.NestorError as error:
        assert "when this process was forked" in str(error) and x[0] == 0
    else:
        os._exit(3)
    assert child(lambda: f(x))[0] == 0
    assert child(lambda: g(x))[0] == 2

status, waited = child(work)
assert 0.2 < waited < 20, waited
free.set()
thread.join()
print(status, child(lambda: g(x))[0], g(x)[1])
"""
    assert run(tmp_path, body)[0] == "0 0 3.0"


def test_threads_that_fork_at_once(tmp_path):
    body = """
@nt.jit
def f(x):
    return x + 1

statuses = []
def fork():
    statuses.append(child(lambda: f(x))[0])
threads = [threading.Thread(target=fork) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(statuses, f(x)[0], child(lambda: f(x))[0])
"""
    assert run(tmp_path, body) == ["[0, 0, 0, 0] 1.0 0"]


def test_a_fork_costs_nothing_where_nothing_is_compiled(tmp_path):
    body = "times = [child(lambda: None) for _ in range(3)]\nprint(max(waited for _, waited in times))\n"
    start = time.time()
    assert float(run(tmp_path, body)[0]) < 1.0 and time.time() - start < 100
