"""Ctrl-C in a long kernel: Python's handlers run between pieces of long loops, and what they raise ends the kernel."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import nestor as nt
import numpy as np
import pytest

PROGRAM = """
import signal, sys, time
import numpy as np
import nestor as nt

def nested(x, n):
    s = 0.0
    for i in range(n):
        for j in range(len(x)):
            s += np.sqrt(abs(x[i % len(x)] - x[j]) + 1)
    return s

def counting(x, n):
    k = 0
    while k < n:
        k += 1 + (k % 3 == 5)
    return k

def stencil(x, n):
    y = np.sin(x)
    for k in range(n):
        y[1:-1] = (y[:-2] + y[2:]) * 0.5
    return y

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background without it
    f = nt.jit(globals()[sys.argv[1]], dynamic=True)
    x = np.arange(float(sys.argv[2]))
    small = f(x, 3)
    for _ in range(40):  # native calls
        f(x, 3)
    for _ in range(2):
        print("started", flush=True)
        try:
            f(x, 10**11)
            print("finished", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    assert np.array_equal(f(x, 3), small)
    print("works", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "length"), [("nested", 5000), ("counting", 3), ("stencil", 30000)])
def test_interrupt(tmp_path, name, length):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, str(path), name, str(length)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        late = threading.Timer(60, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            for _ in range(2):
                assert process.stdout.readline() == "started\n"
                time.sleep(0.4)
                os.kill(process.pid, signal.SIGINT)
                began = time.monotonic()
                assert process.stdout.readline() == "interrupted\n"
                assert time.monotonic() - began < 15  # a fraction of a second on a machine that has time
            assert process.stdout.readline() == "works\n"
        finally:
            late.cancel()
            process.kill()


def waiting(n):
    k = 0
    while k < n:
        k += 1
    return k


def test_handlers_that_return_and_handlers_that_raise():
    """A handler of the user's that returns changes nothing; what one raises is raised. No handler is installed."""
    f = nt.jit(waiting)
    assert f(1000) == 1000
    seen = []

    def note(number, frame):
        seen.append(number)

    def stop(number, frame):
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, note)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        while not seen:
            assert f(3 * 10**8) == 3 * 10**8
        signal.signal(signal.SIGALRM, stop)
        with pytest.raises(TimeoutError, match="enough"):
            f(10**14)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert f(7) == 7


def test_other_threads_run_on():
    """Signals are of the main thread: a kernel of another one is not stopped, and its value is right."""
    f = nt.jit(waiting)
    results = []
    thread = threading.Thread(target=lambda: results.append(f(10**8)))
    thread.start()
    thread.join()
    assert results == [10**8]


def totals(x, cut):
    """Loops of one, two and three levels, with results of each."""
    a, b = 0.0, 0.0
    for i in range(len(x)):
        a += x[i] * i
        if x[i] > cut:
            for j in range(i):
                b += x[j]
    return a, b, (x[:, None] * x).sum(), np.cumsum(x), x[::-1] * 2


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_pieces_compute_the_same(monkeypatch, pieces):
    """With pieces of a few operations, every loop is cut, and results are the same to the bit."""
    from nestor.lowering.to_llvm import cut_long_loops

    monkeypatch.setattr(cut_long_loops, "PIECE", 20 * pieces)
    monkeypatch.setattr(cut_long_loops, "PARALLEL_PIECE", 20 * pieces)
    monkeypatch.setattr(cut_long_loops, "FEWEST_ITERATIONS", pieces)
    f = nt.jit(totals, dynamic=True)
    for n in (0, 1, 2, 7, 100, 257):
        x = np.random.default_rng(n).integers(-9, 9, n).astype("f8")
        for got, want in zip(f(x, 2.0), totals(x, 2.0), strict=True):
            np.testing.assert_array_equal(got, want)
    big = np.arange(3.0 * 40000)
    np.testing.assert_array_equal(f(big[:3], 1e9)[4], big[:3][::-1] * 2)
