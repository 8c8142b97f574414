"""Pieces of a parallel loop: every iteration is done once, and those that a busy thread has not begun by others."""

from __future__ import annotations

import time
from contextlib import contextmanager

import nestor as nt
import numpy as np
import pytest
from cpu_kernels import Kernel

ONCE = """
func.func @once(%times: memref<?xi64>, %work: memref<?xi64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {step} : index
  %one = arith.constant 1 : i64
  %n = memref.dim %times, %c0 : memref<?xi64>
  "scf.parallel"(%c0, %n, %step) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%i: index):
    %rounds = memref.load %work[%i] : memref<?xi64>
    %end = arith.index_cast %rounds : i64 to index
    scf.for %k = %c0 to %end step %c1 {{
      memref.store %rounds, %work[%i] : memref<?xi64>
    }}
    %before = memref.load %times[%i] : memref<?xi64>
    %after = arith.addi %before, %one : i64
    memref.store %after, %times[%i] : memref<?xi64>
    scf.reduce
  }}) {{{attributes}}} : (index, index, index) -> ()
  func.return
}}
"""
"""Counts in `times` how often an iteration is done; `work` says how long it takes."""

WAITING = """
func.func @waiting(%done: memref<?xi64>, %met: memref<?xi64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %most = arith.constant {most} : i64
  %n = memref.dim %done, %c0 : memref<?xi64>
  %half = arith.divui %n, %c2 : index
  %last = arith.subi %half, %c1 : index
{before}  "scf.parallel"(%c0, %n, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%i: index):
    %is_first = arith.cmpi eq, %i, %c0 : index
    scf.if %is_first {{
      %rounds = scf.while (%k = %zero) : (i64) -> i64 {{
        memref.store %k, %met[%c0] : memref<?xi64>
        %there = memref.load %done[%last] : memref<?xi64>
        %waits = arith.cmpi eq, %there, %zero : i64
        %may = arith.cmpi slt, %k, %most : i64
        %again = arith.andi %waits, %may : i1
        scf.condition(%again) %k : i64
      }} do {{
      ^bb1(%k: i64):
        %next = arith.addi %k, %one : i64
        scf.yield %next : i64
      }}
      %seen = memref.load %done[%last] : memref<?xi64>
      memref.store %seen, %met[%c0] : memref<?xi64>
      scf.yield
    }}
    memref.store %one, %done[%i] : memref<?xi64>
    scf.reduce
  }}) {{nestor.grain = 1 : i64}} : (index, index, index) -> ()
  func.return
}}
"""
"""The first iteration waits until the last one of the first thread's half is done, which only another thread can do: for at
most as many looks as `most` says. What is `before` it is put in front of the loop."""

SHORT = """
  "scf.parallel"(%c0, %c2, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %zero, %done[%i] : memref<?xi64>
    scf.reduce
  }) {nestor.grain = 1 : i64} : (index, index, index) -> ()
"""
"""A parallel loop that is over before a thread that was woken for it is up."""

INSIDE = """
func.func @inside(%rows: memref<8x?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %rows, %c1 : memref<8x?xi64>
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %row = memref.subview %rows[%i, 0] [1, %n] [1, 1] : memref<8x?xi64> to memref<?xi64, strided<[1], offset: ?>>
    func.call @inner(%row) : (memref<?xi64, strided<[1], offset: ?>>) -> ()
    scf.reduce
  }) {nestor.grain = 1 : i64} : (index, index, index) -> ()
  func.return
}
func.func @inner(%row: memref<?xi64, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %n = memref.dim %row, %c0 : memref<?xi64, strided<[1], offset: ?>>
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %before = memref.load %row[%i] : memref<?xi64, strided<[1], offset: ?>>
    %after = arith.addi %before, %one : i64
    memref.store %after, %row[%i] : memref<?xi64, strided<[1], offset: ?>>
    scf.reduce
  }) {nestor.grain = 1 : i64} : (index, index, index) -> ()
  func.return
}
"""
"""A parallel loop in each iteration of a parallel loop."""

needs_threads = pytest.mark.skipif(nt.get_num_threads() == 1, reason="one processor")


@contextmanager
def threads(count: int):
    before = nt.get_num_threads()
    nt.set_num_threads(count)
    try:
        yield
    finally:
        nt.set_num_threads(before)


@pytest.mark.parametrize(
    "attributes", ["nestor.grain = 1 : i64", "nestor.grain = 1 : i64, nestor.descending = 4 : i64"]
)
@pytest.mark.parametrize("step", [1, 3])
def test_every_iteration_is_done_once(step, attributes):
    once = Kernel(ONCE.format(step=step, attributes=attributes))
    rng = np.random.default_rng(step)
    for count in (1, 2, 3, 7):
        with threads(count):
            for n in (0, 1, 2, 3, 5, 31, 32, 33, 64, 95, 97, 1000, 4099):
                times = np.zeros(n, np.int64)
                assert once(times, rng.integers(0, 3000, n) * (rng.random(n) < 0.1))[0] == 0
                wanted = np.zeros(n, np.int64)
                wanted[::step] = 1
                np.testing.assert_array_equal(times, wanted, err_msg=f"{n} iterations, {count} threads")


@needs_threads
def test_others_do_what_a_busy_thread_has_not_begun():
    """Where other processes leave it a processor: five times, for they may not."""
    waiting = Kernel(WAITING.format(before="", most=800_000_000))
    once = Kernel(ONCE.format(step=1, attributes="nestor.grain = 1 : i64"))
    met = np.zeros((5, 1), np.int64)
    with threads(2):
        for one in met:
            done = np.zeros(64, np.int64)
            work_off(once)
            assert waiting(done, one)[0] == 0
            assert done.all()
            if one[0] == 1:
                break
    assert (met == 1).any()


def work_off(once: Kernel) -> None:
    """Run what has to be run before a thread is woken again."""
    once(np.zeros(1_000_000, np.int64), np.zeros(1_000_000, np.int64))


@needs_threads
def test_a_thread_woken_for_a_short_loop_takes_part_in_the_next_one():
    pair = Kernel(WAITING.format(before=SHORT, most=100_000_000))
    once = Kernel(ONCE.format(step=1, attributes="nestor.grain = 1 : i64"))
    met = np.zeros((10, 1), np.int64)
    with threads(2):
        for one in met:
            work_off(once)
            time.sleep(0.01)  # until the thread sleeps
            assert pair(np.zeros(64, np.int64), one)[0] == 0
    assert (met == 1).sum() >= 5, met


def test_a_parallel_loop_inside_of_another():
    inside = Kernel(INSIDE)
    for count in (1, 2, 5):
        with threads(count):
            for n in (0, 1, 37, 2000):
                rows = np.zeros((8, n), np.int64)
                assert inside(rows)[0] == 0
                assert (rows == 1).all()
