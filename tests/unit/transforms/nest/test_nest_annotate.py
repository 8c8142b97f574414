"""An annotated loop computes what it did, run as it stands and compiled with its copies written out."""

import numpy as np
import pytest
from loop_programs import RandomLoops, check, loop_called, outcomes
from nestor.analysis.nest.loop_structure import loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.transforms.nest.mapping.annotate import annotate
from parsed import parse_module
from test_nest_lowering import run_on_cpu

TRIANGLE = """
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {
  nest.for "i" %i = 0 to %n {
    nest.for "r" %r = LOWER to min(7, %i + 1) step STEP {
      %v = nest.load %a[%i + %r] : memref<?xi64>
      nest.store "b" %v, %b[%r + 1] : memref<?xi64>
    }
  }
  func.return
}"""


@pytest.mark.parametrize(("lower", "step"), [("0", "1"), ("2", "3"), ("7", "1"), ("6", "2")])
def test_triangles_uneven_empty_and_unit(lower, step):
    text = TRIANGLE.replace("LOWER", lower).replace("STEP", step)
    assert check(text, lambda m: annotate(loop_called(m, "r"), "unrolled")) == "legal"


def random_nest(seed: int) -> str:
    program = RandomLoops(seed)
    program.loop("i", program.bounds([]), [], lambda ivs: program.body(ivs, 2))
    return program.text()


def test_random_nests():
    found = outcomes([random_nest(k) for k in range(40)], lambda m: annotate(loops_in(m)[-1], "unrolled"))
    assert found["legal"] >= 10
    assert found["it does not start at a constant and end at one"] >= 5


def test_compiled_with_its_copies():
    module = parse_module(TRIANGLE.replace("LOWER", "1").replace("STEP", "2"))
    annotate(loop_called(module, "r"), "unrolled")
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 99, 24), np.zeros(24, np.int64)
    expected = b.copy()
    for i in range(9):
        for r in range(1, min(7, i + 1), 2):
            expected[r + 1] = a[i + r]
    status, _ = run_on_cpu(str(module), [9, a, b, np.zeros((24, 24), np.int64), np.zeros((), np.int64)])
    assert status == 0
    assert np.array_equal(b, expected)


def test_attributes_have_their_values():
    module = parse_module(TRIANGLE.replace("LOWER", "0").replace("STEP", "1"))
    loop = loop_called(module, "i")
    annotate(loop, "nestor.note", text="hot")
    annotate(annotate(loop, "nestor.depth", 3), "nestor.unit")
    assert [f"{name} = {value}" for name, value in loop.attributes.items()] == [
        'nestor.note = "hot"',
        "nestor.depth = 3 : i64",
        "nestor.unit = unit",
    ]
    with pytest.raises(NestorError, match="one value"):
        annotate(loop, "nestor.note", 1, "hot")
