"""A specialised nest computes what it did, whether the condition holds or not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from loop_programs import RandomLoops, check, loop_called
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.errors import KernelError
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.specialise import specialise, why_not_specialise
from nestor.transforms.nest.loops.split import split
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp

CONDITIONS = (
    "n == 4",
    "n % 2 == 0",
    "n % 3 == 1 and n > 3",
    "n < 6",
    "n != 5",
    "upper(i) == 5",
    "2 * n + 1 == 7",
    "n >= 2 and n <= 7",
    "(n + 1) % 4 == 0",
    "lower(i) + 3 == n",
)


def random_nest(seed: int) -> str:
    program = RandomLoops(seed)
    program.loop("i", program.bounds([]), [], lambda ivs: program.body(ivs, 2))
    return program.text()


def checked(text: str, name: str, when: str) -> str:
    """What `check` finds; a bound of several expressions, or one that is computed later, makes no condition."""
    refusal = why_not_specialise(loop_called(parse_module(text), name), when)
    if refusal is not None and refusal.diagnostic.message.startswith("bad condition"):
        return "unreadable"
    return check(text, lambda module: specialise(loop_called(module, name), when), seeds=9)


def test_random_nests():
    legal = 0
    for seed in seeds(100):
        when = CONDITIONS[seed % len(CONDITIONS)]
        outcome = checked(random_nest(seed), "i", when)
        assert outcome in (
            "legal",
            "unreadable",
            "the condition always holds there",
            "the condition never holds there",
        )
        legal += outcome == "legal"
    assert legal >= 25


def test_inner_loops_by_the_variables_around():
    legal = 0
    for seed in range(60):
        program = RandomLoops(seed)

        def inside(ivs: list[str], program: RandomLoops = program) -> None:
            program.loop("j", program.bounds(ivs), ivs, lambda ivs: program.body(ivs, 1))

        program.loop("i", program.bounds([]), [], inside)
        when = random.Random(seed).choice(["i == 2", "i < n", "i % 2 == 1", "upper(j) == 3", "i + 2 == n"])
        legal += checked(program.text(), "j", when) == "legal"
    assert legal >= 25


COPY = """
func.func @f(%a: memref<?x?xi64> {nest.dims = ["n", "m"]}, %y: memref<?x?xi64> {nest.dims = ["n", "m"]}, %s: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xi64>
  %w = memref.dim %y, %c1 : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %w {
      %v = nest.load %a[%i, %j] : memref<?x?xi64>
      nest.store "y" %v, %y[%i, %j] : memref<?x?xi64>
    }
  }
  func.return
}"""


def scheduled(when: str, factor: int) -> ModuleOp:
    module = parse_module(COPY)
    special, _ = specialise(loop_called(module, "i"), when)
    split(special, factor, "perfect")
    verify(module)
    return module


@pytest.mark.parametrize(
    ("when", "factor"),
    [("n == 8", 4), ("n % 6 == 0", 3), ("n == 2 * m and m == 4", 8), ("n - m == 0 and m == 5", 5)],
)
def test_perfect_splits_where_the_condition_makes_them_so(when: str, factor: int):
    module = scheduled(when, factor)
    for shape in [(8, 4), (6, 7), (12, 3), (5, 5), (7, 2)]:
        a, y = np.arange(np.prod(shape)).reshape(shape), np.zeros(shape, np.int64)
        run_nest(functions(module)[0], [a, y, 0])
        assert np.array_equal(a, y)


def test_a_split_that_the_condition_does_not_allow():
    with pytest.raises(NestorError, match="perfectly"):
        scheduled("n % 6 == 0", 4)


def test_scalars_and_extents_without_a_value_of_their_own():
    module = parse_module(COPY)
    before = str(module)
    loop = loop_called(module, "i")
    assert why_not_specialise(loop, "s == 3 and m < 9") is None
    assert why_not_specialise(loop, "s ==") is not None
    assert str(module) == before
    specialise(loop, "s == 3 and m < 9")
    verify(module)
    for scalar in (3, 4):
        a, y = np.ones((4, 6), np.int64), np.zeros((4, 6), np.int64)
        run_nest(functions(module)[0], [a, y, scalar])
        assert np.array_equal(a, y)


def test_errors_stay():
    text = COPY.replace(
        "%v = nest.load %a[%i, %j]", '%k = nest.index %j of 3 axis 1 of "a"\n%v = nest.load %a[%i, %k]'
    )
    modules = [parse_module(text), parse_module(text)]
    specialise(loop_called(modules[0], "i"), "n == 4")
    for shape in [(4, 5), (3, 5), (4, 3)]:
        found = []
        for module in modules:
            a, y = np.arange(np.prod(shape)).reshape(shape), np.zeros(shape, np.int64)
            try:
                run_nest(functions(module)[0], [a, y, 0])
                found.append((None, y.tolist()))
            except KernelError as error:
                found.append((error.args[0], y.tolist()))
        assert found[0][1] == found[1][1] and (found[0][0] is None) == (found[1][0] is None)
