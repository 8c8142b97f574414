"""What gradients allocate, planned and measured, against autograd's habit of keeping all: benchmarks/peak_memory.py."""

import shutil
import sys

import nestor as nt
import numpy as np
import pytest

from benchmarks import peak_memory, yardstick
from benchmarks.peak_memory import FORMS, LOSSES, lowered, measured, planned

NORMS = ("grad-iou-100k", "grad-batch-norm", "grad-layer-norm")
"""Elementwise chains and norms."""


OPERANDS_LIVE_LONGER = "grad-deriche"
"""What is computed again there needs an operand for longer: one array more than where it is stored, as many as save-all."""


def plans(name):
    return {form: planned(*lowered(yardstick.ROWS[name], form)) for form in FORMS}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "grad-iou-10M"])
def test_a_gradient_never_needs_more_than_where_all_is_kept(name):
    found = plans(name)
    assert found["nestor"] <= found["save-all"]
    assert found["nestor"] <= found["stored"] or name == OPERANDS_LIVE_LONGER
    if name in NORMS:
        assert found["save-all"] > 0 and 2 * found["nestor"] <= found["save-all"]


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None,
    reason="counts by LD_PRELOAD, with gcc",
)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["grad-iou-100k", "grad-lstm-cell"])
def test_a_call_allocates_what_the_plan_says(name, form):
    module, function = lowered(yardstick.ROWS[name], form)
    # threads pack operands of products of their own, where they run at the same time
    plan, most = (planned(module, function, threads) for threads in (1, nt.get_num_threads()))
    # each buffer is a whole number of cache lines, and malloc has a few bytes for itself
    assert plan <= measured(name, form) <= most * 1.01 + 64 * 1024


def test_plans_count_what_is_there_at_once():
    from nestor.dialects.parse import parse_module

    module = parse_module(
        """
func.func @f(%x: memref<4xf32>) {
  %a = memref.alloc() : memref<1024xf32>
  memref.dealloc %a : memref<1024xf32>
  %b = memref.alloc() : memref<512xi8>
  func.call @g(%x) : (memref<4xf32>) -> ()
  memref.dealloc %b : memref<512xi8>
  func.return
}
func.func private @g(%x: memref<4xf32>) {
  %c = memref.alloc() : memref<1000xf64>
  %d = memref.alloc() : memref<2x3xf32>
  memref.dealloc %c : memref<1000xf64>
  memref.dealloc %d : memref<2x3xf32>
  func.return
}
""",
        "f.mlir",
    )
    assert planned(module, "f") == 512 + 8000 + 24
    assert planned(module, "g") == 8024


def test_plans_count_what_threads_hold_at_once():
    from nestor.dialects.parse import parse_module

    text = """
func.func @f(%n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %a = memref.alloc() : memref<16xf32>
  "scf.parallel"(%zero, END, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %b = memref.alloc() : memref<100xi8>
    memref.dealloc %b : memref<100xi8>
    scf.reduce
  }) : (index, index, index) -> ()
  memref.dealloc %a : memref<16xf32>
  func.return
}
"""
    three, unknown = (parse_module(text.replace("END", end), "f.mlir") for end in ("%three", "%n"))
    assert [planned(three, "f", threads) for threads in (1, 2, 8)] == [164, 264, 364]
    assert [planned(unknown, "f", threads) for threads in (1, 8)] == [164, 864]


def test_a_result_that_differs_is_an_error():
    row, ones = yardstick.ROWS["grad-softmax"], np.ones(3)
    peak_memory.require_agreement(row, [ones], [ones * (1 + 1e-6)])
    with pytest.raises(AssertionError, match="another result"):
        peak_memory.require_agreement(row, [ones], [ones * 1.01])
