"""What a first call imports, and that it leaves the process as it was."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest
from nestor.runtime.collector import collector_paused
from places import ROOT

SCRIPT = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
boxes = [np.ones((10, 100), np.float32)] * 8
iou = nt.jit(ratio_iou)
if {called_first}:
    iou(*boxes)
"""


def test_a_plain_program_imports_nothing_of_loops_views_and_products():
    after = "print(*(name for name in sys.modules if name.startswith('nestor.')))"
    command = [sys.executable, "-c", SCRIPT.format(called_first=True) + after]
    environment = {**os.environ, "NESTOR_CACHE": "0"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment)
    loaded = done.stdout.split()
    idle = [
        "frontend.control.loops",
        "frontend.indexing.masks",
        "frontend.indexing.views",
        "frontend.values.products",
        "frontend.script.python_calls",
    ]
    idle += [
        "lowering.nest_to_scf.transposed_loads",
        "transforms.schedulers.cpu.convolutions",
        "analysis.nest.values.value_ranges",
    ]
    assert "nestor.frontend.script.calls" in loaded
    assert not {f"nestor.{name}" for name in idle} & {*loaded}


def test_collector_is_as_it_was():
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_frozen_objects_stay_frozen():
    gc.freeze()  # and stay so: the session froze the modules and tests itself
    for _ in range(2):
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0


FAMILIES = """
import importlib, pkgutil
import nestor as nt
nt.jit
from nestor.frontend import numpy_api
from nestor.frontend.script import calls
from nestor.frontend.numpy_api.registry import FUNCTIONS, METHODS
listed = {*map(id, FUNCTIONS)}, {*METHODS}
for module in pkgutil.walk_packages(numpy_api.__path__, f"{numpy_api.__name__}."):
    importlib.import_module(module.name)
missing = [f for f in FUNCTIONS if id(f) not in listed[0]] + [m for m in METHODS if m not in listed[1]]
print(len(listed[0]) > 300, missing)
"""


def test_every_family_of_numpy_functions_is_found_by_a_lookup():
    done = subprocess.run([sys.executable, "-c", FAMILIES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "[]"]


LOADING = """
import sys, time
from pathlib import Path
from nestor.runtime.cpu.llvm_loading import load_llvm_meanwhile
load_llvm_meanwhile()
maps, end = Path("/proc/self/maps"), time.monotonic() + 30
while "libllvmlite" not in maps.read_text() and time.monotonic() < end:
    time.sleep(0.01)
print("libllvmlite" in maps.read_text())
import llvmlite.binding
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/maps tells what is loaded")
def test_llvm_is_loaded_by_a_thread():
    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


PAUSES = """
import gc, weakref
from nestor.runtime import collector
class Node: pass
alive, most = weakref.WeakSet(), 0
for _ in range(12):
    with collector.collector_paused():
        for _ in range(collector.PENDING_OBJECTS // 4):
            node = Node()
            node.itself = node
        alive.add(node)
    most = max(most, len(alive))
print(most)
"""


def test_what_many_pauses_leave_is_collected():
    """Of cycles in a program that allocates nothing between its compilations."""
    command = [sys.executable, "-c", PAUSES]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert int(done.stdout) < 8
