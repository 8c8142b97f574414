"""How many threads compiled functions use: OMP_NUM_THREADS, the processors of the process and its quota, nt.set_num_threads,
fork, several Python threads at once, and the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import nestor as nt
import numpy as np
import pytest
from nestor.runtime.cpu import processor_count as counts
from nestor.runtime.cpu.processor_count import quota_of_processors

PROGRAM = """
import os, sys
import numpy as np, nestor as nt

@nt.jit
def f(x):
    return np.sqrt(x) + x.sum(axis=1, keepdims=True)

@nt.jit
def total(x):
    return x.sum()

@nt.jit
def long(x):
    return np.sin(np.exp(np.cos(np.tan(x))))

x = np.arange(1.0, 400_001.0).reshape(400, 1000)

def team():
    "Threads of this process, besides those that libraries made before."
    return len(os.listdir("/proc/self/task"))
"""

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")


def run(body: str, prefix: tuple[str, ...] = (), **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | variables
    done = subprocess.run(
        [*prefix, sys.executable, "-c", PROGRAM_FILE.format(body=body)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PROGRAM_FILE = "import runpy; globals().update(runpy.run_path({path!r}))\n{{body}}\n"


@pytest.fixture(autouse=True, scope="module")
def program_file(tmp_path_factory):
    global PROGRAM_FILE
    path = tmp_path_factory.mktemp("threads") / "program.py"
    path.write_text(PROGRAM)
    before, PROGRAM_FILE = PROGRAM_FILE, PROGRAM_FILE.format(path=str(path))
    yield
    PROGRAM_FILE = before


REPORT = "before = team(); f(x); print(nt.get_num_threads(), team() - before)"


@needs_linux
@pytest.mark.parametrize("count", [1, 2, 5])
def test_omp_num_threads(count):
    assert run(REPORT, OMP_NUM_THREADS=str(count)) == f"{count} {count - 1}"


@needs_linux
def test_the_processors_of_the_process():
    assert run(REPORT, ("taskset", "-c", str(min(os.sched_getaffinity(0))))) == "1 0"
    body = f"os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}]); print(nt.get_num_threads())"
    assert run(body) == "1"


@needs_linux
@pytest.mark.parametrize(
    ("files", "groups", "wanted"),
    [
        ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
        ({"cpu.max": "max 100000\n"}, "0::/\n", None),
        ({"a/cpu.max": "max 100000\n", "cpu.max": "100000 100000\n"}, "0::/a/b\n", 1.0),
        ({"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "50000 100000\n"}, "0::/a/b\n", 0.5),
        (
            {"cpu.max": "400000 100000\n"},
            "0::/docker/0123\n",
            4.0,
        ),  # the host's name of the container's own group
        (
            {"cpu,cpuacct/g/cpu.cfs_quota_us": "100000\n", "cpu,cpuacct/g/cpu.cfs_period_us": "100000\n"},
            "3:memory:/g\n2:cpu,cpuacct:/g\n",
            1.0,
        ),
        ({"cpu/g/cpu.cfs_quota_us": "-1\n", "cpu/g/cpu.cfs_period_us": "100000\n"}, "2:cpu:/g\n", None),
        ({"cpu.max": "garbage\n"}, "0::/\n", None),
        ({}, "", None),
    ],
)
def test_the_quota_of_a_container(tmp_path, files, groups, wanted):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "groups").write_text(groups)
    assert quota_of_processors(str(tmp_path), str(tmp_path / "groups")) == wanted


@needs_linux
def test_a_quota_says_how_many_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    for quota, count in ((None, 8), (1.0, 1), (0.2, 1), (1.5, 2), (16.0, 8)):
        monkeypatch.setattr(counts, "quota_of_processors", lambda found=quota: found)
        assert counts.processor_count() == count
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert counts.processor_count() == 3


@needs_linux
def test_set_num_threads_is_for_all_python_threads():
    body = (
        "import threading\nnt.set_num_threads(3)\nbefore = team(); f(x); main = team() - before\n"
        "nt.set_num_threads(1)\nbefore = team()\nseen = []\n"
        "def other():\n    f(x); seen.append(team() - before - 1)\n"
        "t = threading.Thread(target=other); t.start(); t.join(); print(main, seen, nt.get_num_threads())"
    )
    assert run(body) == "2 [0] 1"


@needs_linux
def test_serial_by_the_environment():
    assert run(REPORT, NESTOR_SERIAL="1", OMP_NUM_THREADS="4") == "1 0"
    assert run("nt.set_num_threads(3); print(nt.get_num_threads())", NESTOR_SERIAL="1") == "1"


MANY = """
nt.set_num_threads(5000)
wanted = np.sqrt(x) + x.sum(axis=1, keepdims=True)
big = np.arange(1.0, 4_000_001.0).reshape(20_000, 200)
print(np.allclose(f(x), wanted), np.array_equal(long(big), long(big.copy())), np.isclose(total(big), big.sum()))
"""


def test_more_threads_than_a_region_counts_shares_for():
    """lowering/to_llvm/iteration_shares.py has counters for 256."""
    assert run(MANY) == "True True True"


@pytest.mark.parametrize("wrong", [0, -1, 1 << 40])
def test_counts_that_are_none(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        nt.set_num_threads(wrong)


def test_what_is_no_integer():
    with pytest.raises(TypeError, match="must be an integer, not float"):
        nt.set_num_threads(2.0)  # pyright: ignore[reportArgumentType]


FORK = """
import warnings
warnings.simplefilter("error")
y, s = f(x), total(x)
child = os.fork()
if child == 0:
    before = team()
    good = before == 1 and np.array_equal(f(x), y) and np.isclose(total(x), s) and team() == 3
    grandchild = os.fork()
    if grandchild == 0:
        os._exit(0 if np.array_equal(f(x), y) and team() == 3 else 1)
    good = good and os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0
    nt.set_num_threads(1)
    os._exit(0 if good and np.array_equal(f(x), y) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), np.array_equal(f(x), y), nt.get_num_threads())
"""


@needs_linux
def test_a_child_of_fork_has_threads_of_its_own():
    assert run(FORK, OMP_NUM_THREADS="3") == "0 True 3"


AT_ONCE = """
import threading
y = f(x)
stop = False

def call():
    while not stop:
        assert np.array_equal(f(x), y)

callers = [threading.Thread(target=call) for _ in range(2)]
for one in callers:
    one.start()
good = 0
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(f(x), y) else 1)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop = True
for one in callers:
    one.join()
print(good)
"""


@needs_linux
def test_a_fork_while_other_threads_call():
    assert run(AT_ONCE, OMP_NUM_THREADS="3") == "20"


@needs_linux
def test_a_process_that_ends_at_once():
    """Threads that look for work are stopped with the process, in code that must still be there."""
    for _ in range(5):
        assert run("y = f(x); z = f(x); print('done')", OMP_NUM_THREADS="4") == "done"


def test_python_threads_that_call_at_once():
    """The same function, and others; each first call compiles once, and no result is another's."""

    @nt.jit
    def scaled(x, k):
        return np.exp(x * k) + x

    @nt.jit
    def summed(x):
        return x.sum(axis=0)

    before = nt.get_num_threads()
    nt.set_num_threads(2)
    inputs = [np.random.default_rng(k).random((300, 400)) for k in range(4)]
    wanted = [(np.exp(x * (k + 0.5)) + x, x.sum(axis=0)) for k, x in enumerate(inputs)]
    wrong: list[str] = []
    gate = threading.Barrier(4)

    def work(k: int) -> None:
        gate.wait()
        for _ in range(40):
            if not np.allclose(scaled(inputs[k], k + 0.5), wanted[k][0]) or not np.allclose(
                summed(inputs[k]), wanted[k][1]
            ):
                wrong.append(f"thread {k}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    nt.set_num_threads(before)
    assert not wrong and not any(thread.is_alive() for thread in threads)
    assert scaled.cache_info()["compiled"] == summed.cache_info()["compiled"] == 1


@pytest.mark.slow
def test_the_same_count_gives_the_same_bits():
    @nt.jit
    def norm(x):
        return np.sqrt((x * x).sum()), x.sum(axis=0), np.cumsum(x)

    x = np.random.default_rng(3).standard_normal((500, 700)).astype(np.float32)
    before = nt.get_num_threads()
    for count in (1, 2, 3):
        nt.set_num_threads(count)
        runs = {tuple(np.asarray(part).tobytes() for part in norm(x)) for _ in range(30)}
        assert len(runs) == 1
    nt.set_num_threads(before)


LOCK = """
import threading, time

big, longest, stop = np.ones((4000, 4000)), 0.0, False
long(big)

def watch():
    global longest
    last = time.perf_counter()
    while not stop:
        now = time.perf_counter()
        longest, last = max(longest, now - last), now

watcher = threading.Thread(target=watch)
watcher.start()
time.sleep(0.05)
longest, began = 0.0, time.perf_counter()
long(big)
spent = time.perf_counter() - began
stop = True
watcher.join()
print(longest < spent / 2, longest, spent)
"""


@needs_linux
def test_other_python_threads_run_during_a_long_call():
    assert run(LOCK, OMP_NUM_THREADS="1").startswith("True")
