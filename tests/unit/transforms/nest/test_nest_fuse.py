"""Fusing loops: the same results as before, exactly, or a refusal."""

from __future__ import annotations

import pytest
from loop_programs import RandomLoops, check, loop_called, outcomes
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.loops.fuse import fuse
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp


def fuse_i_j(module: ModuleOp) -> None:
    first = loop_called(module, "i")
    assert fuse(first, loop_called(module, "j")) is first


def random_pair(seed: int) -> str:
    """Two loops over the same iterations, alone or in a loop, something between them now and then."""
    program = RandomLoops(seed)

    def pair(around: list[str]) -> None:
        bounds = program.bounds(around)
        program.loop("i", bounds, around, lambda ivs: program.body(ivs, 1))
        if program.rng.random() < 0.3:
            program.lines.append("%zero = arith.constant 0 : i64")
            element = program.rng.choice(["%s[] : memref<i64>", "%a[1] : memref<?xi64>"])
            program.lines.append(f'nest.store "between" %zero, {element}')
        program.loop("j", bounds, around, lambda ivs: program.body(ivs, 1))

    if program.rng.random() < 0.3:
        program.loop("t", "0 to 3", [], pair)
    else:
        pair([])
    return program.text()


def test_random_pairs_compute_the_same():
    found = outcomes([random_pair(seed) for seed in range(80)], fuse_i_j)
    assert found["legal"] >= 20
    for reason in (
        "it turns a flow dependence around",
        "it turns an anti dependence around",
        'there is an access between them that cannot move before "i"',
    ):
        assert found[reason] >= 1, found


def two_loops(bounds: str, store: str, load: str) -> str:
    return f"""
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {{
  nest.for "i" %i = {bounds} {{
    %v = nest.load %b[%i] : memref<?xi64>
    nest.store "a" %v, %a[{store}] : memref<?xi64>
  }}
  nest.for "j" %j = {bounds} {{
    %v = nest.load %a[{load}] : memref<?xi64>
    nest.accumulate "s" add %v, %s[] : memref<i64>
  }}
  func.return
}}"""


@pytest.mark.parametrize("bounds", ["0 to %n", "1 to 8 step 3", "2 to 2", "3 to 4", "2 to %n step 2"])
@pytest.mark.parametrize(
    ("store", "load"), [("%i", "%j"), ("%i + 1", "%j"), ("2 * %i + 1", "2 * %j"), ("%i", "0")]
)
def test_a_later_reader_is_fused(bounds: str, store: str, load: str):
    assert check(two_loops(bounds, store, load), fuse_i_j) == "legal"


@pytest.mark.parametrize(
    ("store", "load", "by"), [("%i", "%j + 1", 1), ("%i + 1", "%j + 4", 3), ("%i", "%n - 1", None)]
)
def test_an_earlier_reader_is_refused(store: str, load: str, by: int | None):
    text = two_loops("0 to %n", store, load)
    assert check(text, fuse_i_j) == "it turns a flow dependence around"
    with pytest.raises(NestorError) as refusal:
        fuse_i_j(parse_module(text))
    hint = refusal.value.diagnostic.hint
    assert (hint is None) if by is None else (f"shifted by {by}:" in str(hint))
