"""What is moved out of loops is what it was inside: the same results, exactly, and no load out of bounds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check, loop_called
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import LoadOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.hoist import hoist
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def random_nest(seed: int) -> str:
    """Loops in which some loads have indices of the loops around only."""
    program = RandomLoops(seed)
    plain = program.index

    def outer_index(around: list[str]) -> str:
        return plain(around[:-1] or around) if program.rng.random() < 0.7 else plain(around)

    def inside(ivs: list[str]) -> None:
        program.loop("k", program.bounds(ivs), ivs, lambda ivs: program.body(ivs, 1, (2, 3)))

    program.index = outer_index
    program.loop("i", program.bounds([]), [], inside)
    return program.text()


def test_random_nests():
    loads = 0

    def hoisted(module: ModuleOp) -> None:
        nonlocal loads
        loads += sum(isinstance(op, LoadOp) for op in hoist(loop_called(module, "k")))

    found = Counter(check(random_nest(seed), hoisted) for seed in seeds(150))
    assert found["legal"] >= 10 and loads >= 10, (found, loads)
    assert found["nothing directly in it can be moved"] >= 10, found


@pytest.mark.parametrize("name", NESTS)
def test_every_loop_of_real_nests(name: str):
    nest = NESTS[name]
    module = parse_module(nest.text)
    for loop in reversed(loops_in(module)):
        try:
            hoist(loop)
        except NestorError as refusal:
            assert refusal.diagnostic.message.startswith("cannot hoist from")
    verify(module)
    for mode in ("program", "shuffled"):
        arguments = nest.arguments(np.random.default_rng(3))
        run_nest(functions(module)[0], arguments, mode=mode, seed=1)
        for position, expected in nest.expected(*nest.arguments(np.random.default_rng(3))).items():
            np.testing.assert_allclose(arguments[position], expected, rtol=max(nest.rtol, 1e-5), atol=0)


GUARDED = """
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {
  nest.for "i" %i = 0 to 9 {
    nest.for "k" %k = LOWER to UPPER {
      %v = nest.load %a[20 + %i] : memref<?xi64>
      nest.store "d" %v, %d[%i, %k] where (%i < DOMAIN) : memref<?x?xi64>
    }
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("lower", "upper", "domain", "legal"),
    [
        ("0", "1", "4", True),
        ("0", "%n", "4", False),
        ("0", "5", "4 - %k", False),
        ("%i", "%i + 2", "4", True),
        ("%i", "4", "4", False),
    ],
)
def test_loads_that_a_domain_keeps_in_bounds(lower: str, upper: str, domain: str, legal: bool):
    """a has 24 elements: only i < 4 may load."""
    text = GUARDED.replace("LOWER", lower).replace("UPPER", upper).replace("DOMAIN", domain)
    outcome = check(text, lambda module: hoist(loop_called(module, "k")))
    assert (outcome == "legal") == legal, outcome
