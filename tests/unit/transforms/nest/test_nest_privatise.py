"""Accumulators for parts of a loop, and trees of them: the same results, exactly, or a refusal that changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import nestor as nt
import numpy as np
import pytest
from cpu_nests import NESTS, Nest
from loop_programs import RandomLoops, arguments, check, loop_called, outcomes
from nestor.analysis.nest.loop_structure import functions, loops_in, trip_count
from nestor.analysis.nest.sets.dependence import analyse
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AccumulateOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.reductions.privatise import privatise
from nestor.transforms.nest.reductions.tree_reduce import tree_reduce
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp

Primitive = Callable[[ModuleOp], object]


def in_parts(parts: int, share: str) -> Primitive:
    def run(module: ModuleOp) -> None:
        loop = loop_called(module, "i")
        outer, combine = privatise(loop, parts, share)  # pyright: ignore[reportArgumentType]
        assert loop.parent_op() is outer and outer.next_op is combine
        assert outer.constant_trip_count() == combine.constant_trip_count() == parts

    return run


def by_tree(module: ModuleOp) -> None:
    loop = loop_called(module, "i")
    steps = tree_reduce(loop)
    dependences = analyse(loop)
    assert all(dependences.first_carried(step) is None for step in steps)
    trips = trip_count(loop)
    numbers = None if trips is None else trips.constants()
    assert numbers is not None and len(steps) == (min(numbers) - 1).bit_length()


PRIMITIVES = {
    "chunks": in_parts(4, "chunks"),
    "cyclic": in_parts(3, "cyclic"),
    "one-part": in_parts(1, "chunks"),
    "tree": by_tree,
}


def random_reduction(seed: int) -> str:
    """A loop that accumulates into elements of all kinds, in loops and branches, and now and then does something else."""
    program = RandomLoops(seed)
    rng = program.rng

    def update(ivs: list[str]) -> None:
        loaded, value = program.fresh("%v"), program.fresh("%w")
        program.lines.append(f"{loaded} = nest.load %b[{program.index(ivs)}] : memref<?xi64>")
        program.lines.append(f"{value} = arith.index_cast {rng.choice(ivs)} : index to i64")
        total = program.fresh("%u")
        program.lines.append(f"{total} = arith.xori {loaded}, {value} : i64")
        element, kind = program.element(ivs)
        while element.startswith("%b"):
            element, kind = program.element(ivs)
        domain = f" where ({rng.choice(ivs)} < 4)" if rng.random() < 0.3 else ""
        combiner = rng.choice(["add", "add", "add", "maxsi"])
        program.lines.append(
            f'nest.accumulate "{program.fresh("p")}" {combiner} {total}, {element}{domain} : {kind}'
        )

    def inside(ivs: list[str]) -> None:
        chance = rng.random()
        if chance < 0.4 and len(ivs) < 3:
            program.loop(program.fresh("j"), program.bounds(ivs), ivs, inside)
        elif chance < 0.5:
            limit, holds = program.fresh("%k"), program.fresh("%q")
            program.lines.append(f"{limit} = arith.constant 3 : index")
            program.lines.append(f"{holds} = arith.cmpi slt, {rng.choice(ivs)}, {limit} : index")
            program.lines.append(f"nest.if {holds} {{")
            update(ivs)
            program.lines.append("}")
        else:
            update(ivs)
        if rng.random() < 0.25:
            update(ivs)
        if rng.random() < 0.1:
            program.statement(ivs)

    if rng.random() < 0.5:
        program.loop(
            "o", program.bounds([]), [], lambda ivs: program.loop("i", program.bounds(ivs), ivs, inside)
        )
    else:
        program.loop("i", program.bounds([]), [], inside)
    return program.text()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_random_reductions(name: str):
    texts = [random_reduction(seed) for seed in seeds(150)]
    if name == "tree":
        texts = [text.replace("to %n", "to 6") for text in texts]
    found = outcomes(texts, PRIMITIVES[name])
    assert found["legal"] >= 10, found
    assert sum(found.values()) - found["legal"] >= 10, found


BOUNDS = [
    "0 to %n",
    "3 to 8 step 2",
    "%n to %n + 6",
    "0 to 7",
    "5 to %n step 3",
    "0 to 0",
    "4 to 5",
    "8 to 2",
]
ONCE_AT_MOST = BOUNDS[-3:]


@pytest.mark.parametrize("name", PRIMITIVES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_elements_of_all_kinds(bounds: str, name: str):
    """A scalar, columns, a triangle, a histogram, and an element that is fixed, all in one loop."""
    text = f"""
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {{
  %t = nest.alloc "t" : memref<4xi64>
  %zero = arith.constant 0 : i64
  %four = arith.constant 4 : index
  nest.for "z" %z = 0 to 4 {{
    nest.store "t" %zero, %t[%z] : memref<4xi64>
  }}
  nest.for "o" %o = 0 to 3 {{
    nest.for "i" %i = {bounds} {{
      %p = nest.load %b[%i] : memref<?xi64>
      nest.accumulate "s" maxsi %p, %s[] : memref<i64>
      nest.accumulate "d" add %p, %d[%o, 2] where (%i + %o < 5) : memref<?x?xi64>
      nest.for "j" %j = 0 to %i + 1 {{
        nest.accumulate "a" xor %p, %a[%j] : memref<?xi64>
      }}
      %k = arith.remsi %i, %four : index
      nest.accumulate "t" add %p, %t[%k] : memref<4xi64>
    }}
  }}
  nest.for "w" %w = 0 to 4 {{
    %q = nest.load %t[%w] : memref<4xi64>
    nest.store "d" %q, %d[5, %w] : memref<?x?xi64>
  }}
  func.return
}}"""
    outcome = check(text, PRIMITIVES[name])
    if name == "tree" and bounds in ("0 to %n", "5 to %n step 3"):
        assert outcome == "its number of iterations is not constant"
    elif bounds in ONCE_AT_MOST:
        assert outcome in ("it carries no reduction whose order is any", "it has no iterations")
    else:
        assert outcome == "legal"


@pytest.mark.parametrize("share", ["chunks", "cyclic"])
@pytest.mark.parametrize("bounds", BOUNDS[:-3])
def test_parts_run_in_any_order(bounds: str, share: str):
    """The loop over the parts is parallel, and the adversarial interpreter finds nothing wrong with it."""
    text = f"""
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {{
  nest.for "i" %i = {bounds} {{
    %p = nest.load %b[%i] : memref<?xi64>
    nest.accumulate "s" add %p, %s[] : memref<i64>
    nest.for "j" %j = 0 to %n {{
      %q = nest.load %d[%i, %j] : memref<?x?xi64>
      nest.accumulate "a" add %q, %a[%j] : memref<?xi64>
    }}
  }}
  func.return
}}"""
    module = parse_module(text)
    plain = compile_nest(functions(module.clone())[0])
    outer, _ = privatise(loop_called(module, "i"), 3, share)  # pyright: ignore[reportArgumentType]
    parallelize(outer)
    verify(module)
    shuffled = compile_nest(functions(module)[0], mode="shuffled")
    for seed in range(5):
        got, wanted = arguments(seed), arguments(seed)
        shuffled(*got, seed=seed)
        plain(*wanted)
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


@pytest.mark.parametrize("name", PRIMITIVES)
@pytest.mark.parametrize("nest", NESTS)
def test_programs_as_the_tensor_level_makes_them(nest: str, name: str):
    """Every loop with a reduction, one at a time; sums of floats in another order differ by roundings only."""
    found: Nest = NESTS[nest]
    original = parse_module(found.text)
    labels = [
        loop.label for loop in loops_in(original) if any(isinstance(op, AccumulateOp) for op in loop.walk())
    ]
    for label in labels:
        module = original.clone()
        loop = loop_called(module, label)
        loop.set_label("i")
        try:
            PRIMITIVES[name](module)
        except NestorError:
            continue
        verify(module)
        values = found.arguments(np.random.default_rng(3))
        expected = found.expected(*values)
        compile_nest(functions(module)[0], mode="shuffled")(*values)
        for position, wanted in expected.items():
            np.testing.assert_allclose(values[position], wanted, rtol=max(found.rtol, 1e-4), atol=1e-5)


@nt.jit
def column_sums(x):
    return x.sum(axis=0)


@nt.jit
def row_sums(x):
    return x.sum(axis=1)


X = (np.arange(37 * 64) % 11).reshape(37, 64).astype(np.float32)
"""Small integers: sums are exact in any order."""


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("share", ["chunks", "cyclic"])
@pytest.mark.parametrize("rows", [37, 8, 3, 2])
def test_schedules_run_in_parallel_and_replay(target: str, share: str, rows: int):
    lowered = column_sums.lower(X)
    s = nt.schedule(lowered)
    parts, _ = s.privatise(s.loop("i"), 4, share=share)
    s.parallel(parts)
    x = X[:rows]
    compiled = column_sums.lower(x).compile(target, schedule=s)
    np.testing.assert_array_equal(compiled(x), x.sum(axis=0))


@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_tree_over_the_threads_of_a_block(space: str):
    s = nt.schedule(row_sums.lower(X))
    steps = s.tree_reduce(s.loop("j"))
    s.bind(s.loop("i"), "block.x")
    s.bind(s.loop("j"), "thread.x")
    s.bind(steps, "thread.x")
    if space == "shared":
        s.set_memory(s.buffer("result_tree"), "shared")
    assert s.nest.count('bind "thread.x"') == 7
    compiled = row_sums.lower(X).compile("cuda-sim", schedule=s)
    np.testing.assert_array_equal(compiled(X), X.sum(axis=1))
