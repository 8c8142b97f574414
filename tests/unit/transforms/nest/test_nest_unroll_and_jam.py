"""Unroll and jam: the same results as before, exactly, or a refusal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check, loop_called
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import LoadOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.unroll_and_jam import unroll_and_jam
from parsed import parse_module


def random_nest(seed: int) -> str:
    """A loop with loops inside, whose bounds seldom depend on it."""
    program = RandomLoops(seed)

    def inside(ivs: list[str]) -> None:
        if program.rng.random() < 0.4:
            program.body(ivs, 0, (1, 1))
        around = [] if program.rng.random() < 0.9 else ivs
        bounds = program.bounds(around)
        program.loop("j", bounds, ivs, lambda inner: program.body(inner, 1, (1, 1)))
        if program.rng.random() < 0.3:
            program.body(ivs, 0, (1, 1))

    program.loop("i", program.bounds([]), [], inside)
    return program.text()


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_random_nests_compute_the_same(factor: int):
    found = Counter(
        check(random_nest(seed), lambda m: unroll_and_jam(loop_called(m, "i"), factor)) for seed in range(50)
    )
    assert found["legal"] >= 10
    for reason in ("flow", "anti", "output"):
        assert any(reason in text for text in found), found
    assert any("depend on the iteration" in text for text in found), found


def test_register_tile_of_a_matrix_product():
    """4 x 1 tiles: the column of the second matrix is loaded once for four rows."""
    nest = NESTS["matmul"]
    module = parse_module(nest.text)
    rows = unroll_and_jam(loop_called(module, "i"), 4)
    assert sum(isinstance(op, LoadOp) for op in rows.walk()) == 4 + 1
    given, wanted = (nest.arguments(np.random.default_rng(1)) for _ in range(2))
    run_nest(functions(module)[0], given)
    original = nest.arguments(np.random.default_rng(1))
    run_nest(functions(parse_module(nest.text))[0], original)
    np.testing.assert_array_equal(given[2], original[2])
    np.testing.assert_allclose(given[2], nest.expected(*wanted)[2], rtol=nest.rtol)


@pytest.mark.parametrize("name", ["gauss-seidel", "column-sums", "row-sums-dynamic", "transpose", "bias"])
def test_programs(name: str):
    nest = NESTS[name]
    for factor in (2, 3):
        module = parse_module(nest.text)
        outer = next(op for op in functions(module)[0].body.block.ops if op.name == "nest.for")
        if name == "gauss-seidel":
            with pytest.raises(NestorError, match="turns an anti dependence around"):
                unroll_and_jam(outer, factor)
            continue
        unroll_and_jam(outer, factor)
        given, original = (nest.arguments(np.random.default_rng(2)) for _ in range(2))
        run_nest(functions(module)[0], given)
        run_nest(functions(parse_module(nest.text))[0], original)
        for got, wanted in zip(given, original, strict=True):
            np.testing.assert_array_equal(got, wanted)
