"""`make demo` says of the memory accesses what `explain` says, one kernel or several."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.frontend.jit.driver.jit import jit
from nestor.tools.demo import fused, load_program, random_boxes


def two_nests(x):
    return x / np.sum(x)


def said_by_explain(function, arguments) -> list[str]:
    """What stands after the names of the loops in the lines under `nests`."""
    lines = function.explain(*arguments).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("nests ("))
    below = lines[start + 1 :]
    nests = [line for line in below[: below.index("history:")] if " load" in line]
    return [line.partition(": ")[2].partition("   (")[0] for line in nests]


@pytest.mark.parametrize(
    ("program", "arguments", "kernels"),
    [(load_program(), random_boxes(32), "one kernel"), (two_nests, random_boxes(32)[:1], "2 kernels")],
    ids=["iou", "two nests"],
)
def test_the_accesses_are_those_of_explain(program, arguments, kernels):
    function = jit(program)
    accesses = said_by_explain(function, arguments)
    assert fused(function.lower(*arguments)) == f"{kernels}: {'; '.join(accesses)} an element"


def test_iou_reads_each_box_once():
    boxes = random_boxes(32)
    assert fused(jit(load_program()).lower(*boxes)) == "one kernel: 8 loads, 1 store an element"
