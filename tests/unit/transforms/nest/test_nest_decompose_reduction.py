"""Reductions whose first values are set ahead: the same results, exactly, or a refusal that changes nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from loop_programs import RandomLoops, check, loop_called
from nestor.analysis.nest.loop_structure import loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.reductions.decompose_reduction import decompose_reduction
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def decompose(module: ModuleOp) -> None:
    init, update = decompose_reduction(loop_called(module, "i"))
    assert init.next_op is update and update.label == "i" and init.label.startswith("i.init")


def random_reduction(seed: int) -> str:
    """Loops that set an element, or several, and then do what they like with it."""
    program = RandomLoops(seed)
    rng = program.rng

    def inside(ivs: list[str]) -> None:
        if rng.random() < 0.4 and len(ivs) < 3:
            program.loop(program.fresh("j"), program.bounds(ivs), ivs, inside)
            return
        element, kind = rng.choice(
            [
                (f"%a[{program.index(ivs)}]", "memref<?xi64>"),
                (f"%d[{ivs[-1]}, {ivs[0]}]", "memref<?x?xi64>"),
                (f"%d[{ivs[0]}, {ivs[-1]}]", "memref<?x?xi64>"),
            ]
        )
        program.lines.append(f'nest.store "p" {program.value(ivs)}, {element} : {kind}')

        def update(inner: list[str]) -> None:
            program.lines.append(f'nest.accumulate "p" add {program.value(inner)}, {element} : {kind}')

        program.loop(program.fresh("k"), program.bounds(ivs), ivs, update)
        if rng.random() < 0.4:
            program.body(ivs, 1)

    program.loop("i", program.bounds([]), [], inside)
    return program.text()


def test_random_reductions():
    found = Counter(check(random_reduction(seed), decompose) for seed in seeds(150))
    assert found["legal"] >= 7, found
    assert sum(count for reason, count in found.items() if "dependence around" in reason) >= 7, found


@pytest.mark.parametrize("bounds", ["0 to %n", "3 to 8 step 2", "0 to 0", "4 to 5"])
def test_products_of_matrices(bounds: str):
    text = f"""
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {{
  %one = arith.constant 1 : i64
  nest.for "i" %i = {bounds} {{
    nest.for "j" %j = 0 to %i + 1 {{
      nest.store "d" %one, %d[%i, %j] where (%j < 5) : memref<?x?xi64>
      nest.for "k" %k = 0 to %n {{
        %p = nest.load %a[%i + %k] : memref<?xi64>
        %q = nest.load %b[%k + %j] : memref<?xi64>
        %r = arith.muli %p, %q : i64
        nest.accumulate "d" add %r, %d[%i, %j] : memref<?x?xi64>
      }}
    }}
  }}
  func.return
}}"""

    def decomposed_and_reordered(module: ModuleOp) -> None:
        _, update = decompose_reduction(loop_called(module, "i"))
        _, j, k = loops_in(update)
        reorder([k, j])

    assert check(text, decompose) == "legal"
    assert check(text, decomposed_and_reordered) == "legal"


def test_it_is_a_reduction_that_is_decomposed():
    module = parse_module(random_reduction(1).replace("nest.accumulate", "nest.store").replace(" add ", " "))
    with pytest.raises(NestorError, match="does not start by setting it"):
        decompose(module)
