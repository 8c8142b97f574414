"""Two loops made one compute the same, for every extent; what has no such form is refused and stays as it is."""

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.flatten import flatten
from parsed import parse_module

POINTWISE = """
func.func @f(%x: memref<?x?xi64> {nest.dims = ["n", "m"]}, %y: memref<?x?x2xi64> {nest.dims = ["n", "m", 2]},
             %s: memref<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  %m = memref.dim %x, %c1 : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xi64>
      %b = nest.load %s[] : memref<i64>
      %c = arith.subi %a, %b : i64
      nest.store "y" %c, %y[%i, %j, 1] : memref<?x?x2xi64>
      nest.accumulate "s" add %a, %s[] order(sequential) : memref<i64>
    }
  }
  func.return
}"""

INNER = """
func.func @f(%x: memref<?x?xi64> {nest.dims = ["n", "m"]}, %y: memref<?x?x2xi64> {nest.dims = ["n", "m", 2]},
             %s: memref<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  %m = memref.dim %x, %c1 : memref<?x?xi64>
  nest.for "o" %o = 0 to %n {
    nest.for "i" %i = 0 to %m {
      nest.for "j" %j = 0 to 2 {
        %a = nest.load %y[%o, %i, %j] : memref<?x?x2xi64>
        nest.accumulate "s" add %a, %s[] : memref<i64>
        nest.store "y" %a, %y[0, %i, %j] : memref<?x?x2xi64>
      }
    }
  }
  func.return
}"""

COUNT = """
func.func @f(%n: index, %m: index, %one: i64, %s: memref<i64>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      nest.accumulate "s" add %one, %s[] : memref<i64>
    }
  }
  func.return
}"""


def run(module, arrays):
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arrays]
    run_nest(functions(module)[0], copies, mode="program")
    return [a for a in copies if isinstance(a, np.ndarray)]


def assert_same(text, module, arrays):
    for got, expected in zip(run(module, arrays), run(parse_module(text), arrays), strict=True):
        assert np.array_equal(got, expected)


def flattened(text):
    module = parse_module(text)
    loop = flatten(find_loop(module, "i"), find_loop(module, "j"))
    verify(module)
    assert loop.label == "i_j" and [o.label for o in loops_in(module)][-1] == "i_j"
    return module


@pytest.mark.parametrize("columns", [0, 1, 7])
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("text", [POINTWISE, INNER])
def test_the_results_stay(text, rows, columns):
    numbers = np.random.default_rng(rows + columns)
    x, y = numbers.integers(-99, 99, (rows, columns)), numbers.integers(-99, 99, (rows, columns, 2))
    assert_same(text, flattened(text), [x, y, np.array(3)])


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 4])
def test_a_bound_may_be_negative_when_the_other_is_not(n):
    for text in (COUNT.replace("to %m", "to 5"), COUNT.replace("to %n", "to 5").replace("to %m", "to %n")):
        assert_same(text, flattened(text), [n, 7, np.int64(2), np.array(0)])


@pytest.mark.parametrize("text", [COUNT, COUNT.replace("to %n", "to -2")])
def test_two_bounds_that_may_be_negative(text):
    """Their product would be positive: -2 by -3 iterations are none, not six."""
    module = parse_module(text)
    with pytest.raises(NestorError, match="neither bound is known not to be negative"):
        flatten(find_loop(module, "i"), find_loop(module, "j"))
    assert str(module) == str(parse_module(text))


def test_attributes_stay():
    text = COUNT.replace("to %m {", "to 3 attributes {nestor.note = 1 : i64} {")
    loop = find_loop(flattened(text), "i_j")
    assert "nestor.note" in loop.attributes
