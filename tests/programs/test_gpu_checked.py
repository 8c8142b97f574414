"""Every program of the table of GPU programs in the simulator's checked mode: no fault as emitted, one without a barrier."""

from __future__ import annotations

import re

import nestor as nt
import pytest
from gpu_programs import PROGRAMS, Unavailable, arguments_of, compare, expected
from nestor.runtime.cuda_sim.faults import SimulatorFault
from nestor.runtime.cuda_sim.module import SimModule
from nestor.runtime.cuda_sim.options import ORDERS

BARRIER = re.compile(r"__sync(?:threads|warp)\([^)]*\);")
CHECKED = "cuda-sim:checked"

SPARE_BARRIERS = {
    "batch norm": "mean and deviation: all rows of threads load the sum that only the first one replaces",
    "centred columns": "the mean: likewise",
    "mean and variance of columns": "sums of the parts of long columns: likewise",
    "normalised over leading axes": "likewise",
}
"""Programs with barriers that no result needs, and why they have them."""


def compiled_for(program, call):
    """The program compiled for the arguments of a call, and those arguments."""
    try:
        arguments = arguments_of(call)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return nt.jit(program.function, dynamic=False).lower(*arguments).compile(CHECKED), arguments


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_kernels_have_no_faults_in_any_order(program):
    for call in program.calls:
        compiled, arguments = compiled_for(program, call)
        assert compiled.check(*arguments) == [], f"{program.name}({call})"


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_results_do_not_depend_on_the_order_of_threads(program, order):
    """With extents that are not known, where a row allows for it."""
    compiled = nt.jit(program.function, target=f"{CHECKED},{order}", dynamic=program.dynamic)
    for call in program.calls[:3]:
        try:
            arguments = arguments_of(call)
        except Unavailable as reason:
            pytest.skip(str(reason))
        want = expected(program, arguments)
        compare(program, compiled(*arguments), want)


def barriers_that_nobody_misses(program):
    """The lines of barriers without which the simulator finds no fault in the first call of a row."""
    compiled, arguments = compiled_for(program, program.calls[0])
    text, missed = compiled.engine.module.source, []
    for barrier in BARRIER.finditer(text):
        compiled.engine.module = SimModule(text[: barrier.start()] + text[barrier.end() :], "checked")
        try:
            compiled(*arguments)
        except SimulatorFault:
            continue
        missed.append(text.count("\n", 0, barrier.start()) + 1)
    return missed


def test_a_transpose_needs_its_barrier():
    (program,) = [p for p in PROGRAMS if p.name == "transpose"]
    compiled, _ = compiled_for(program, program.calls[0])
    assert BARRIER.search(compiled.engine.module.source)
    assert barriers_that_nobody_misses(program) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_barrier_is_needed(program):
    """A barrier between iterations is missed only where a loop has several of them: the first call decides."""
    assert bool(barriers_that_nobody_misses(program)) == (program.name in SPARE_BARRIERS)
