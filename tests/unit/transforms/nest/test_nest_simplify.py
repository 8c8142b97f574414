"""Simplifying changes nothing that a program computes, and is done when nothing more can be left out."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.cleanup.simplify import simplify
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.loops.tile import tile
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def simplify_all(module: ModuleOp) -> None:
    for function in functions(module):
        simplify(function)


def random_nest(seed: int) -> str:
    """Nests with bounds of several expressions, divisions in indices, and domains."""
    program = RandomLoops(seed)
    rng = program.rng
    bounds, index, statement = program.bounds, program.index, program.statement

    def more_bounds(around: list[str]) -> str:
        lower, _, rest = bounds(around).partition(" to ")
        upper, step, count = rest.partition(" step ")
        lower = f"max({lower}, {rng.choice(['0', '1', '%n - 3', *around])})"
        return f"{lower} to min({upper}, {rng.choice(['9', '6', '%n', *around])}){step}{count}"

    def more_indices(around: list[str]) -> str:
        plain = index(around)
        if rng.random() < 0.5:
            return plain
        return f"({plain}) {rng.choice(['mod', 'floordiv', 'ceildiv'])} {rng.choice([2, 4, 9, 20])}"

    def more_domains(around: list[str]) -> None:
        statement(around)
        if not {"where", "mask"} & set(program.lines[-1].split()):
            bound = rng.choice(["%n", "3", "9", f"{rng.choice(around)} + 1"])
            relation = rng.choice(["<", ">="])
            head, _, kind = program.lines[-1].rpartition(" : ")
            order = " order(sequential)"
            tail = order if head.endswith(order) else ""
            head = head.removesuffix(order)
            mask = tail
            if rng.random() < 0.4:
                limit, holds = program.fresh("%k"), program.fresh("%q")
                compared = f"arith.cmpi {rng.choice(['slt', 'sge'])}, {rng.choice(around)}, {limit} : index"
                program.lines[-1:] = [
                    f"{limit} = arith.constant {rng.choice([0, 2, 9, 20])} : index",
                    f"{holds} = {compared}",
                    "",
                ]
                mask = f" mask {holds}{tail}"
            program.lines[-1] = f"{head} where ({rng.choice(around)} {relation} {bound}){mask} : {kind}"

    program.bounds, program.index, program.statement = more_bounds, more_indices, more_domains
    program.loop("i", program.bounds([]), [], lambda ivs: program.body(ivs, 2))
    return program.text()


def test_random_nests_compute_the_same():
    shorter = 0
    for seed in seeds(120):
        text = random_nest(seed)
        assert check(text, simplify_all) == "legal"
        module = parse_module(text)
        before = str(module)
        simplify_all(module)
        shorter += len(str(module)) < len(before)
        once = str(module)
        simplify_all(module)
        assert str(module) == once
    assert shorter >= 30


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("tail", ["mask", "clamp", "remainder"])
def test_what_splitting_leaves(name: str, tail: str):
    nest = NESTS[name]
    module = parse_module(nest.text)
    for loop in loops_in(module):
        if len(loop.lower) == len(loop.upper) == 1:
            try:
                split(loop, 4, tail)  # pyright: ignore[reportArgumentType]
            except Exception as refusal:
                assert "cannot split" in str(refusal)
    simplify_all(module)
    verify(module)
    arguments = nest.arguments(np.random.default_rng(3))
    run_nest(functions(module)[0], arguments, mode="shuffled", seed=1)
    for position, expected in nest.expected(*nest.arguments(np.random.default_rng(3))).items():
        np.testing.assert_allclose(arguments[position], expected, rtol=max(nest.rtol, 1e-5), atol=0)


def test_uneven_tiles_of_constant_extents():
    """Which tiles are whole is no question where all are."""
    text = """
func.func @f(%x: memref<24x24xi64>) {
  %one = arith.constant 1 : i64
  nest.for "i" %i = 0 to 24 {
    nest.for "j" %j = 0 to EXTENT {
      nest.accumulate "x" add %one, %x[%i, %j] : memref<24x24xi64>
    }
  }
  func.return
}"""
    for extent, whole in (("24", True), ("22", False)):
        module = parse_module(text.replace("EXTENT", extent))
        tile(loops_in(module), [8, 4], "clamp")
        simplify_all(module)
        assert ("min(" not in str(module)) == whole
