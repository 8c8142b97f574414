"""The engine: object code that outlives its text, threads, fork, and life without libgomp."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cpu_kernels import Kernel
from nestor.runtime.abi import ErrorRecord
from nestor.runtime.cpu.machine_code import load_object
from nestor.runtime.cpu.threads import get_num_threads, set_num_threads
from places import UNIT

IOU = (UNIT / "kernels" / "iou_vector.mlir").read_text()


@pytest.fixture(scope="module")
def iou():
    return Kernel(IOU)


def boxes(n):
    rng = np.random.default_rng(0)
    return [*(rng.random(n, dtype=np.float32) for _ in range(8)), np.empty(n, np.float32)]


def test_object_code_loads_without_its_text(iou):
    again = load_object(iou.module.object_code)
    arguments = boxes(100)
    assert iou(*arguments)[0] == 0
    expected = arguments[-1].copy()
    arguments[-1][:] = 0
    assert again.entry("iou")(iou.pack(*arguments), ErrorRecord()) == 0
    np.testing.assert_array_equal(arguments[-1], expected)


def test_an_unknown_entry_is_a_key_error(iou):
    with pytest.raises(KeyError, match="nothing"):
        iou.module.entry("nothing")


def test_thread_count_does_not_change_results(iou):
    before = get_num_threads()
    results = []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        arguments = boxes(100_000)
        assert iou(*arguments)[0] == 0
        results.append(arguments[-1].tobytes())
    set_num_threads(before)
    assert results[0] == results[1] == results[2]
    with pytest.raises(ValueError, match="at least 1"):
        set_num_threads(0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 assembly")
def test_a_maximum_is_a_machine_instruction(iou):
    """vmaxps and a repair for NaN: no library call is left in the loop."""
    assembly = iou.module.assembly
    assert "maxps" in assembly
    assert "fmaximum" not in assembly


_FORK = """
import os, sys
import numpy as np
sys.path[:0] = {helpers!r}
from test_cpu_runtime import IOU, Kernel, boxes
from nestor.runtime.cpu.threads import get_num_threads, set_num_threads
kernel = Kernel(IOU)
set_num_threads(2)
arguments = boxes(100_000)
kernel(*arguments)
expected = arguments[-1].copy()
child = os.fork()
if child == 0:
    arguments[-1][:] = 0
    status = kernel(*arguments)[0]
    os._exit(0 if status == 0 and np.array_equal(arguments[-1], expected) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), get_num_threads())
"""


def _run(**environment):
    script = _FORK.format(helpers=[str(UNIT), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork()")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    assert _run() == ["0", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork()")
def test_serial_kernels_in_a_forked_child():
    assert _run(NESTOR_SERIAL="1") == ["0", "1"]
