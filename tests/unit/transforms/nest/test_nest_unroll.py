"""Unrolling, and unroll and jam: the same results as before, exactly, or a refusal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check, loop_called
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.nest import ForOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.loops.unroll import unroll
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp


def random_nest(seed: int) -> str:
    program = RandomLoops(seed)
    program.loop("i", program.bounds([]), [], lambda ivs: program.body(ivs, 2))
    return program.text()


@pytest.mark.parametrize("factor", [None, 1, 2, 3])
def test_random_nests_compute_the_same(factor: int | None):
    def unroll_i(module: ModuleOp) -> None:
        left = unroll(loop_called(module, "i"), factor)
        assert left is None if factor is None else isinstance(left, ForOp)

    found = Counter(check(random_nest(seed), unroll_i) for seed in range(30))
    assert set(found) <= {"legal", "the number of its iterations is not known"}
    assert found["legal"] >= (10 if factor is None else 30)


@pytest.mark.parametrize("factor", [None, 2])
def test_inner_loops(factor: int | None):
    """Loops with the variables of loops around them in their bounds."""

    def unroll_all(module: ModuleOp) -> None:
        for loop in reversed(loops_in(module)):
            if factor is not None or loop.constant_trip_count() is not None:
                unroll(loop, factor)

    for seed in range(20):
        assert check(random_nest(seed), unroll_all) == "legal"


def test_a_masked_split_unrolls_to_whole_iterations():
    nest = NESTS["bias"]
    module = parse_module(nest.text)
    _, inner = split(loop_called(module, "j"), 3, "mask")
    assert unroll(inner) is None
    given, wanted = (nest.arguments(np.random.default_rng(1)) for _ in range(2))
    run_nest(functions(module)[0], given, mode="shuffled")
    np.testing.assert_array_equal(given[2], nest.expected(*wanted)[2])
