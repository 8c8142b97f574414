"""The reference interpreter of the nest level: against NumPy, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest
from nest_programs import PROGRAMS, arguments_of, check
from nestor.analysis.nest.loop_structure import functions
from nestor.runtime.errors import KernelError
from nestor.runtime.interp.run import TrapError, run_nest
from parsed import parse_module


def function(text: str):
    return next(iter(parse_module(text).ops))


@pytest.mark.parametrize("mode", ["program", "shuffled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, mode: str):
    arguments = arguments_of(PROGRAMS[name])
    run_nest(function(PROGRAMS[name].text), arguments, mode=mode, seed=3)
    check(PROGRAMS[name], arguments)


def test_failed_check_raises_with_its_record():
    text = """
    func.func @f(%x: memref<?xf32>, %k: index) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %one = arith.constant 1.0 : f32
      %a = nest.index 0 of %n axis 0 of "x"
      %i = nest.index %k of %n axis 0 of "x"
      nest.store %one, %x[%i] : memref<?xf32>
      func.return
    }"""
    x = np.zeros(4, np.float32)
    run_nest(function(text), [x, -1])
    assert x[3] == 1
    for bad in (4, -5):
        with pytest.raises(KernelError) as failure:
            run_nest(function(text), [x, bad])
        error = failure.value
        assert (error.code, error.site, error.value, error.extent) == (1, 1, bad, 4)


def test_access_out_of_bounds_traps_instead_of_wrapping():
    text = """
    func.func @f(%x: memref<4xf32>) {
      nest.for "i" %i = 0 to 4 {
        %a = nest.load %x[%i - 1] : memref<4xf32>
        nest.store %a, %x[%i] : memref<4xf32>
      }
      func.return
    }"""
    with pytest.raises(TrapError, match="out of bounds"):
        run_nest(function(text), [np.zeros(4, np.float32)])


SORTED = """
builtin.module {
  func.func @f(%x: memref<3xf32>, %z: memref<3xf32> {nest.role = "out"}) {
    %y = nest.alloc "y" : memref<3xf32>
    nest.for "i" %i = 0 to COUNT {
      %v = nest.load %x[%i] : memref<3xf32>
      nest.store "y" %v, %y[%i] : memref<3xf32>
    }
    func.call @sort(%y, %z) {nestor.kind = "CallError"} : (memref<3xf32>, memref<3xf32>) -> ()
    nest.for "i" %i = 0 to 3 {
      %v = nest.load %z[%i] : memref<3xf32>
      %w = arith.addf %v, %v : f32
      nest.store "z" %w, %z[%i] : memref<3xf32>
    }
    func.return
  }
  func.func private @sort(memref<3xf32>, memref<3xf32>) -> () attributes {nestor.custom_call = {
    target = "numpy.sort", arguments = {axis = 0 : i64}, elements = [f32, f32], inputs = 1 : i64}}
}"""


def test_a_call_of_python_reads_what_is_written_and_writes_the_rest():
    x, z = np.array([3, 1, 2], np.float32), np.empty(3, np.float32)
    run_nest(function(SORTED.replace("COUNT", "3")), [x, z], mode="shuffled")
    assert list(z) == [2, 4, 6]
    with pytest.raises(TrapError, match="never written"):
        run_nest(function(SORTED.replace("COUNT", "2")), [x, z], mode="shuffled")


SHIFT = """
func.func @f(%x: memref<8xf32>) {{
  nest.for "i" %i = 0 to 7 {mark} {{
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store %a, %x[%i + 1] : memref<8xf32>
  }}
  func.return
}}"""


@pytest.mark.parametrize("mark", ["parallel", "vectorized(7)", 'bind "thread.x"'])
def test_shuffled_mode_sees_a_wrong_mark(mark: str):
    serial, shuffled = np.arange(8, dtype=np.float32), np.arange(8, dtype=np.float32)
    run_nest(function(SHIFT.format(mark="")), [serial])
    run_nest(function(SHIFT.format(mark=mark)), [shuffled], mode="shuffled")
    assert (serial == 0).all()
    assert (shuffled != serial).any()


def test_shuffled_mode_traps_on_a_read_before_the_write():
    text = """
    func.func @f(%out: memref<f32> {nest.role = "out"}) {
      %t = nest.alloc "t" : memref<2xf32>
      %one = arith.constant 1.0 : f32
      nest.store %one, %t[0] : memref<2xf32>
      %a = nest.load %t[1] : memref<2xf32>
      nest.store %a, %out[] : memref<f32>
      func.return
    }"""
    out = np.zeros((), np.float32)
    run_nest(function(text), [out])
    assert np.isnan(out)
    with pytest.raises(TrapError, match="never written"):
        run_nest(function(text), [out], mode="shuffled")


def test_scalars_wrap_and_round_to_their_own_type():
    text = """
    func.func @f(%i: memref<3xi8>, %h: memref<2xf16>, %b: memref<1xi16>) {
      %a = arith.constant 127 : i8
      %one = arith.constant 1 : i8
      %s = arith.addi %a, %one : i8
      nest.store %s, %i[0] : memref<3xi8>
      %m = arith.constant -1 : i8
      %q = arith.divui %m, %a : i8
      nest.store %q, %i[1] : memref<3xi8>
      %d = arith.divsi %s, %m : i8
      nest.store %d, %i[2] : memref<3xi8>
      %x = nest.load %h[0] : memref<2xf16>
      %y = arith.mulf %x, %x : f16
      nest.store %y, %h[1] : memref<2xf16>
      func.return
    }"""
    integers, halves = np.zeros(3, np.int8), np.array([0.1, 0], np.float16)
    run_nest(function(text), [integers, halves, np.zeros(1, np.int16)])
    assert integers.tolist() == [-128, 2, -128]
    assert halves[1] == halves[0] * halves[0]


def test_a_true_bool_is_minus_one_where_integers_are_signed():
    text = """
    func.func @f(%x: memref<2xi1>, %i: memref<2xi64>, %b: memref<2xi1>) {
      %true = nest.load %x[0] : memref<2xi1>
      %false = nest.load %x[1] : memref<2xi1>
      %k = arith.index_cast %true : i1 to index
      %n = arith.index_cast %k : index to i64
      nest.store %n, %i[0] : memref<2xi64>
      %w = arith.extsi %true : i1 to i64
      nest.store %w, %i[1] : memref<2xi64>
      %least = arith.minsi %true, %false : i1
      nest.store %least, %b[0] : memref<2xi1>
      %most = arith.maxsi %true, %false : i1
      nest.store %most, %b[1] : memref<2xi1>
      func.return
    }"""
    integers, bools = np.zeros(2, np.int64), np.array([False, True])
    run_nest(function(text), [np.array([True, False]), integers, bools])
    assert integers.tolist() == [-1, -1]
    assert bools.tolist() == [True, False]


def test_bfloat16_rounds_after_every_operation():
    text = """
    func.func @f(%x: memref<3xbf16>) {
      %a = nest.load %x[0] : memref<3xbf16>
      %b = nest.load %x[1] : memref<3xbf16>
      %c = arith.addf %a, %b : bf16
      nest.store %c, %x[2] : memref<3xbf16>
      func.return
    }"""
    bits = (np.array([256, 1.0078125, 0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    run_nest(function(text), [bits])
    assert (bits.astype(np.uint32) << 16).view(np.float32)[2] == 258.0


@pytest.mark.parametrize("before", range(4))
def test_many_loops(before: int):
    """The 64th variable of the Python source, a loop's, is not called like the type i64."""
    loads = "".join(f"%v{k} = nest.load %y[{k}] : memref<9xi64>\n" for k in range(before))
    loop = """nest.for "i" %i = 0 to 9 {
      %k = arith.index_cast %i : index to i64
      nest.accumulate "y" add %k, %y[%i] : memref<9xi64>
    }
    """
    text = f"func.func @f(%y: memref<9xi64>) {{\n{loads}{loop * 30}func.return\n}}"
    y = np.zeros(9, np.int64)
    run_nest(functions(parse_module(text))[0], [y])
    np.testing.assert_array_equal(y, 30 * np.arange(9))
