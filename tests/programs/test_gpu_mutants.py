"""Emitted kernels with a fault planted in their text (a mask off by one, swapped indices of a tile): each is seen."""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest
from gpu_programs import PROGRAMS, arguments_of
from nestor.runtime.cuda_sim.faults import SimulatorFault
from nestor.runtime.cuda_sim.module import SimModule

TILE = re.compile(r"(\w+_tile)\[([a-z]\w*)\]\[([a-z]\w*)\]")
ROWS = {"transpose": (65, 47), "bias and scale": (33, 67), "row sums": (37, 301)}
"""Programs of one kernel without parameters but arrays, and the extents that their masks know."""


def edits(text, extents):
    """Every mask that compares with an extent, one more; every access to a tile, its indices swapped."""
    for mask in re.finditer(rf"(?:<|>=) ({'|'.join(map(str, extents))})\b(?=\)| \|\|)", text):
        yield mask.span(1), str(int(mask[1]) + 1)
    for access in TILE.finditer(text):
        yield access.span(), f"{access[1]}[{access[3]}][{access[2]}]"


@pytest.fixture(scope="module")
def mutants():
    """Of each program: its launch, and for each edit the kernel that it makes; all of them in one text."""
    found, texts, heads = {}, [], {}
    for row, extents in ROWS.items():
        (program,) = [p for p in PROGRAMS if p.name == row]
        arguments = arguments_of(program.calls[0])
        compiled = nt.jit(program.function, dynamic=False).lower(*arguments).compile("cuda-sim:checked")
        launches = []
        compiled.engine.module.on_launch = launches.append
        compiled(*arguments)
        (launch,) = launches
        text = compiled.engine.module.source
        head = text[: text.index('extern "C"')]
        heads[head] = None
        kernels = {}
        for k, ((start, end), new) in enumerate(edits(text, extents)):
            kernel = f"{launch.kernel}_{k}"
            edited = (text[:start] + new + text[end:]).replace(f" {launch.kernel}(", f" {kernel}(")
            kernels[kernel] = text[text.rindex("\n", 0, start) + 1 : start] + new
            texts.append(edited[len(head) :])
        found[row] = launch, [array.copy() for _, _, array in launch.arrays], kernels
    return found, SimModule("\n".join([*heads, *texts]), "checked")


@pytest.mark.parametrize(("row", "count"), [("transpose", 6), ("bias and scale", 2), ("row sums", 2)])
def test_every_planted_fault_is_seen(mutants, row, count):
    found, module = mutants
    launch, arrays, kernels = found[row]
    assert len(kernels) >= count
    for kernel, edited in kernels.items():
        with pytest.raises(SimulatorFault) as caught:
            module.launch(kernel, launch.grid, launch.block, [np.copy(a) for a in arrays])
        assert {r.kind for r in caught.value.reports} & {"out-of-bounds", "race", "uninitialised"}, edited
