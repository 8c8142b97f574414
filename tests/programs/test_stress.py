"""Many threads on one function, many processes on one cold cache, and processes that are ended while they write it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from threading import Barrier, Thread

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.slow

THREADS, CALLS = 64, 1000
PROGRAM = """
import sys
import numpy as np
import nestor as nt


@nt.jit
def scores(x, w):
    z = (x - x.mean(axis=1, keepdims=True)) * w
    return np.exp(-z * z)


@nt.jit
def steps(u, n):
    for _ in range(n):
        v = u.copy()
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u = v
    return u


rng = np.random.default_rng(int(sys.argv[1]))
for shape in ((30, 8), (50, 16), (70, 4)):
    x, w = rng.random(shape), rng.random(shape[1])
    np.testing.assert_allclose(scores(x, w), scores.__wrapped__(x, w), rtol=1e-12)
    np.testing.assert_allclose(steps(x[0], 7), steps.__wrapped__(x[0], 7), rtol=1e-12)
print("right", flush=True)
"""


def test_threads_that_call_one_function_at_once():
    @nt.jit
    def f(x, k):
        return np.sqrt(x * x + k).sum(axis=0)

    kinds = [np.ones((n, 5), dtype) for dtype in (np.float32, np.float64, np.int64) for n in (1, 3, 40)]
    wanted = [[f.__wrapped__(x, k) for k in range(3)] for x in kinds]
    wrong: list[str] = []
    start = Barrier(THREADS)

    def call(seed):
        draw = random.Random(seed)
        start.wait()
        for _ in range(CALLS):
            i, k = draw.randrange(len(kinds)), draw.randrange(3)
            got = f(kinds[i], k)
            if got.dtype != wanted[i][k].dtype or not np.allclose(got, wanted[i][k], rtol=1e-6):
                wrong.append(f"{kinds[i].shape} {kinds[i].dtype} {k}")

    threads = [Thread(target=call, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert not any(thread.is_alive() for thread in threads) and wrong == []
    assert f.cache_info()["compiled"] <= len(kinds)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path, {**os.environ, "NESTOR_CACHE_DIR": str(tmp_path / "cache")}


def _started(script, seed):
    path, env = script
    return subprocess.Popen(
        [sys.executable, path, str(seed)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _ends_right(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, "right\n"), err


def test_processes_that_fill_one_cold_cache_at_once(script):
    for process in [_started(script, seed) for seed in range(8)]:
        _ends_right(process)
    _ends_right(_started(script, 9))


def test_processes_that_are_killed_while_they_write_the_cache(script):
    """Each begins with an empty cache; what it leaves, complete or not, serves the next one or is made again."""
    draw = random.Random(7)
    for seed in range(8):
        shutil.rmtree(script[1]["NESTOR_CACHE_DIR"], ignore_errors=True)
        process = _started(script, seed)
        time.sleep(draw.uniform(0.3, 3.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        _ends_right(_started(script, 99))
