"""Functions that are typed at the prompt of Python, in a terminal."""

import os
import select
import sys
import time

import pytest

pytestmark = pytest.mark.slow

TYPED = r"""
import numpy as np, nestor as nt
@nt.jit
def f(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 1: s += x[i]
    return s

print("first:", f(np.arange(4.0)))
g = nt.jit(lambda x: (x +
  1))
print("second:", g(np.arange(3.0)))
def f(x):
    return x.missing

nt.jit(f)(np.ones(3))
pair = nt.jit(lambda x: x * 2), nt.jit(lambda x: x * 3)
print("third:", pair[0](np.ones(2)), pair[1](np.ones(2)))
exit()
"""


def session(text, home):
    """What a terminal shows."""
    pty = pytest.importorskip("pty", reason="a terminal is a thing of Unix")
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", HOME=home, PYTHON_BASIC_REPL="1")
        os.execv(sys.executable, [sys.executable, "-q"])
    shown = b""
    for line in ("", *text.strip().split("\n")):
        os.write(terminal, line.encode() + b"\n" if line or shown else b"")
        end, before = time.monotonic() + 60, len(shown)
        while time.monotonic() < end and not shown[before:].endswith((b">>> ", b"... ")):
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 65536)
                except OSError:  # it has ended
                    break
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n")


def test_what_is_typed_is_compiled(tmp_path):
    pytest.importorskip("readline", reason="it keeps what was typed")
    shown = session(TYPED, str(tmp_path))
    assert "\nfirst: 5.0\n" in shown
    assert "\nsecond: [1. 2. 3.]\n" in shown
    assert "\nthird: [2. 2.] [3. 3.]\n" in shown
    assert (
        ":2:12: error: 'numpy.ndarray' object has no attribute 'missing'\n    return x.missing\n           ^\n"
        in shown
    )
    assert "RuntimeWarning" not in shown
