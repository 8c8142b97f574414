"""The savings of a first call change no result and leave nothing behind."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from nestor.frontend.cold_start import collector_paused, formats_on_demand
from xdsl.irdl.declarative_assembly_format import FormatProgram

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
boxes = [np.ones((10, 100), np.float32)] * 8
iou = nt.jit(ratio_iou)
if {called_first}:
    iou(*boxes)
print(iou.lower(*boxes).as_text("{level}"))
"""


@pytest.mark.parametrize("level", ["scf", "llvm"])
def test_formats_compiled_on_demand_print_the_same(level):
    commands = [
        [sys.executable, "-c", SCRIPT.format(called_first=first, level=level)] for first in (True, False)
    ]
    on_demand, eager = [
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        for command in commands
    ]
    assert on_demand == eager and "func @" in eager


def test_formats_are_eager_again_afterwards():
    eager = FormatProgram.from_str
    with formats_on_demand():
        with formats_on_demand():
            assert FormatProgram.from_str is not eager
        assert FormatProgram.from_str is not eager
    assert FormatProgram.from_str is eager


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
    gc.freeze()
    try:
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
