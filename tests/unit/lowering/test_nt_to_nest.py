"""convert-nt-to-nest: the loops compute what the tensors meant, and copy no more than they must."""

import sys

import numpy as np
import pytest
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.nt_to_nest.convert import count_copies
from nestor.runtime.interp.run import run_nest
from nestor.transforms.registry import load_pass
from parsed import parse_module
from places import UNIT
from sampling import seeds

sys.path.insert(0, str(UNIT))
from nt_programs import random_arguments, random_module, run

CONTEXT = make_context()
TO_NEST = ("canonicalize", "cse", "nt-fuse", "convert-nt-to-nest")


def apply(module, *names):
    for name in names:
        load_pass(name)().apply(CONTEXT, module)
        verify(module)
    return next(iter(module.ops))


def in_memory(array):
    return array.astype(np.int8) if array.dtype == np.bool_ else array


@pytest.mark.parametrize("passes", [("convert-nt-to-nest",), TO_NEST], ids=["alone", "pipeline"])
def test_random_programs_keep_their_results(passes):
    """Elementwise chains, views, reductions, constants: the reference interpreter agrees with NumPy."""
    for seed in seeds(80):
        module = random_module(seed)
        arguments = random_arguments(seed)
        expected = run(next(iter(module.ops)), arguments)
        function = apply(module, *passes)
        results = [np.empty(e.shape, in_memory(e).dtype) for e in expected]
        run_nest(function, [in_memory(a) for a in arguments] + results)
        for wanted, got in zip(expected, results, strict=True):
            tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(
                got.astype(wanted.dtype), wanted, rtol=tolerance, atol=tolerance, err_msg=f"seed {seed}"
            )


LARGEST = """
func.func @f(%x: tensor<3x4xf64>, %k: tensor<3x4xi64>, %b: tensor<3x4xi1>)
    -> (tensor<SIZExf64>, tensor<SIZExi64>, tensor<SIZExi1>) {
  %v, %i, %any = nt.reduce custom (%x, %k, %b) over [AXIS] identity [-1.0e+300 : f64, -1 : i64, false] {
  ^bb0(%a: f64, %ai: i64, %ab: i1, %e: f64, %ei: i64, %eb: i1):
    %more = arith.cmpf ogt, %e, %a : f64
    %best = arith.select %more, %e, %a : f64
    %where = arith.select %more, %ei, %ai : i64
    %either = arith.ori %ab, %eb : i1
    nt.yield %best, %where, %either : f64, i64, i1
  } : tensor<3x4xf64>, tensor<3x4xi64>, tensor<3x4xi1> -> tensor<SIZExf64>, tensor<SIZExi64>, tensor<SIZExi1>
  func.return %v, %i, %any : tensor<SIZExf64>, tensor<SIZExi64>, tensor<SIZExi1>
}
"""


@pytest.mark.parametrize("axis", [0, 1])
def test_custom_reductions_compute_what_their_region_says(axis):
    """Of three operands, one of them truth values, which are bytes in memory and bits in the region."""
    x, rng = np.random.default_rng(0).standard_normal((3, 4)), np.random.default_rng(1)
    k, b = rng.permutation(12).reshape(3, 4), rng.random((3, 4)) < 0.2
    best = np.expand_dims(x.argmax(axis), axis)
    expected = x.max(axis), np.take_along_axis(k, best, axis).squeeze(axis), b.any(axis)
    results = [np.empty(e.shape, in_memory(e).dtype) for e in expected]
    text = LARGEST.replace("SIZE", str(x.shape[1 - axis])).replace("AXIS", str(axis))
    run_nest(nest(text), [x, k, in_memory(b), *results])
    for wanted, got in zip(expected, results, strict=True):
        np.testing.assert_array_equal(got, wanted)


def nest(text, *passes):
    return apply(parse_module(text), *(passes or TO_NEST))


ISLAND = """
func.func @f(%a: tensor<8xf64> {nt.layout = "c"ATTRIBUTES}) -> (RESULTS) {
  BEFORE
  %a1 = nt.loops ins() outs(%a : tensor<8xf64>) {
  ^bb0(%m: memref<8xf64>):
    nest.for "i" %i = 1 to 8 {
      %v = nest.load %m[%i - 1] : memref<8xf64>
      nest.store "a" %v, %m[%i] : memref<8xf64>
    }
  }
  AFTER
}
"""


def island(attributes, results, before, after):
    text = ISLAND.replace("ATTRIBUTES", attributes).replace("RESULTS", results)
    return nest(text.replace("BEFORE", before).replace("AFTER", after))


def test_a_mutated_argument_is_worked_on_in_place():
    function = island(
        ", nt.mutated", "tensor<8xf64> {nt.writes_arg = 0 : i64}", "", "func.return %a1 : tensor<8xf64>"
    )
    assert count_copies(function) == 0
    a = np.arange(8.0)
    run_nest(function, [a])
    assert (a == 0).all()


def test_an_argument_that_is_not_the_functions_to_write_is_copied():
    function = island("", "tensor<8xf64>", "", "func.return %a1 : tensor<8xf64>")
    a, out = np.arange(8.0), np.empty(8)
    run_nest(function, [a, out])
    assert count_copies(function) == 1 and (out == 0).all() and (a == np.arange(8.0)).all()


def test_old_contents_that_are_used_later_are_kept():
    function = island(
        ", nt.mutated",
        "tensor<8xf64>, tensor<8xf64> {nt.writes_arg = 0 : i64}",
        "%t = nt.transpose %a perm [0] : tensor<8xf64> -> tensor<8xf64>",
        "%s = nt.add %t, %a1 : tensor<8xf64>\n  func.return %s, %a1 : tensor<8xf64>, tensor<8xf64>",
    )
    a, out = np.arange(8.0), np.empty(8)
    run_nest(function, [a, out])
    assert count_copies(function) == 1
    assert (out == np.arange(8.0)).all() and (a == 0).all()


def test_a_fresh_array_is_filled_and_written_in_the_result():
    """np.zeros, then a loop that writes it, then return: one buffer, the caller's."""
    function = nest("""
    func.func @f(%n: i64) -> tensor<8xf64> {
      %0 = nt.constant dense<0.0> : tensor<f64>
      %z = nt.broadcast %0 along [] : tensor<f64> -> tensor<8xf64>
      %one = arith.constant 1.0 : f64
      %z1 = nt.loops ins() outs(%z : tensor<8xf64>) {
      ^bb0(%m: memref<8xf64>):
        nest.store "z" %one, %m[3] : memref<8xf64>
      }
      func.return %z1 : tensor<8xf64>
    }""")
    out = np.empty(8)
    run_nest(function, [3, out])
    assert count_copies(function) == 0 and not [op for op in function.walk() if op.name == "nest.alloc"]
    assert out.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("late", ["place", "fill", "nothing"])
def test_what_a_window_needs_may_be_computed_after_the_value_it_is_filled_with(late):
    """The place of the window, or what the array is filled with before: then the value is computed aside."""
    value = "%v = nt.exp %x : tensor<3xf64>"
    place = "%k = arith.index_cast %n : i64 to index"
    fill = """%d = arith.addf %c, %c : f64
      %0 = nt.from_scalar %d : f64 -> tensor<f64>
      %z = nt.broadcast %0 along [] : tensor<f64> -> tensor<9xf64>"""
    orders = {"place": (fill, value, place), "fill": (place, value, fill), "nothing": (place, fill, value)}
    head = "func.func @f(%x: tensor<3xf64>, %n: i64, %c: f64) -> tensor<9xf64> {"
    island = """%o = nt.loops ins(%v : tensor<3xf64>) outs(%z : tensor<9xf64>) {
      ^bb0(%vm: memref<3xf64>, %m: memref<9xf64>):
        nest.for "i" %i = 0 to 3 {
          %a = nest.load %vm[%i] : memref<3xf64>
          nest.store "o" %a, %m[%i + %k] : memref<9xf64>
        }
      }
      func.return %o : tensor<9xf64>
    }"""
    function = nest("\n".join([head, *orders[late], island]), "convert-nt-to-nest")
    assert sum(op.name == "nest.alloc" for op in function.walk()) == (late != "nothing")
    x, out = np.arange(3.0), np.empty(9)
    run_nest(function, [x, 2, 0.5, out])
    wanted = np.ones(9)
    wanted[2:5] = np.exp(x)
    np.testing.assert_allclose(out, wanted, rtol=1e-15)


def test_an_argument_that_is_read_as_it_was_beside_its_written_copy_is_copied_once():
    """y = x.copy(); for i: y[i + 1] = y[i] + x[i + 1]"""
    function = nest("""
    func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> {
      %y = nt.loops ins(%x : tensor<8xf64>) outs(%x : tensor<8xf64>) {
      ^bb0(%m: memref<8xf64>, %o: memref<8xf64>):
        nest.for "i" %i = 0 to 7 {
          %a = nest.load %o[%i] : memref<8xf64>
          %b = nest.load %m[%i + 1] : memref<8xf64>
          %s = arith.addf %a, %b : f64
          nest.store "y" %s, %o[%i + 1] : memref<8xf64>
        }
      }
      func.return %y : tensor<8xf64>
    }""")
    x, out = np.arange(8.0), np.empty(8)
    run_nest(function, [x, out])
    assert count_copies(function) == 1
    assert out.tolist() == np.cumsum(np.arange(8.0)).tolist() and x.tolist() == np.arange(8.0).tolist()


def test_arguments_constants_and_duplicates_as_results():
    function = nest("""
    func.func @f(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<2xi32>) {
      %t = nt.transpose %a perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
      %c = nt.constant dense<[5, 7]> : tensor<2xi32>
      func.return %a, %t, %a, %c : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<2xi32>
    }""")
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    outs = [np.empty((2, 3), "f4"), np.empty((3, 2), "f4"), np.empty((2, 3), "f4"), np.empty(2, "i4")]
    run_nest(function, [a, *outs])
    for got, wanted in zip(outs, (a, a.T, a, [5, 7]), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_results_that_overwrite_each_others_sources_are_staged():
    """Swapped arguments, and a view of an argument written back to it: as if all were read before any is written."""
    function = nest("""
    func.func @f(%a: tensor<2x2xf32> {nt.mutated}, %b: tensor<2x2xf32> {nt.mutated})
        -> (tensor<2x2xf32> {nt.writes_arg = 0 : i64}, tensor<2x2xf32> {nt.writes_arg = 1 : i64}) {
      %t = nt.transpose %b perm [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
      func.return %t, %a : tensor<2x2xf32>, tensor<2x2xf32>
    }""")
    a, b = np.arange(4, dtype=np.float32).reshape(2, 2), 10 + np.arange(4, dtype=np.float32).reshape(2, 2)
    old_a, old_b = a.copy(), b.copy()
    run_nest(function, [a, b])
    np.testing.assert_array_equal(a, old_b.T)
    np.testing.assert_array_equal(b, old_a)
