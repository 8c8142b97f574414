"""nest-reverse-compute-at computes what the program computed, each iteration of the consumer once."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import loops_in
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.producers.reverse_compute_at import (
    reverse_compute_at,
    why_not_reverse_compute_at,
)
from parsed import parse_module
from producer_nests import blur, blurred, of_lengths

HEAD = """
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {
  %t = nest.alloc "t"(%n) : memref<?xi64>"""

PRODUCERS = {
    "whole": """
  nest.for "o" %o = 0 to %n {
    %a = nest.load %x[%o] : memref<?xi64>
    %b = arith.muli %a, %a : i64
    nest.store "t" %b, %t[%o] : memref<?xi64>
  }""",
    "clamped": """
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to min(4, %n - 4 * %o) {
      %a = nest.load %x[4 * %o + %i] : memref<?xi64>
      nest.store "t" %a, %t[4 * %o + %i] : memref<?xi64>
    }
  }""",
    "masked": """
  nest.for "o" %o = 0 to %n ceildiv 3 {
    nest.for "i" %i = 0 to 3 {
      %a = nest.load %x[3 * %o + %i] : memref<?xi64>
      nest.store "t" %a, %t[3 * %o + %i] where (3 * %o + %i < %n) : memref<?xi64>
    }
  }""",
    "backwards": """
  nest.for "o" %o = 1 to %n + 1 {
    %a = nest.load %x[%o - 1] : memref<?xi64>
    nest.store "t" %a, %t[%n - %o] : memref<?xi64>
  }""",
}

CONSUMERS = {
    "pointwise": """
  nest.for "j" %j = 0 to %n {
    %p = nest.load %t[%j] : memref<?xi64>
    nest.store "y" %p, %y[%n - 1 - %j] : memref<?xi64>
  }""",
    "from-the-end": """
  nest.for "j" %j = 3 to %n + 3 {
    %p = nest.load %t[%n + 2 - %j] : memref<?xi64>
    nest.store "y" %p, %y[%j - 3] : memref<?xi64>
  }""",
    "some": """
  nest.for "j" %j = 2 to %n - 1 {
    nest.for "k" %k = 0 to %j {
      %p = nest.load %t[%j] : memref<?xi64>
      nest.accumulate "y" add %p, %y[%k] : memref<?xi64>
    }
  }""",
}


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_same_results(producer: str, consumer: str):
    text = HEAD + PRODUCERS[producer] + CONSUMERS[consumer] + "\n  func.return\n}"

    def change(function):
        loops = {loop.label: loop for loop in loops_in(function)}
        moved = reverse_compute_at(loops["j"], loops["o"])
        assert moved is loops["j"] and moved.parent_op() is loops["o"] and moved.label == "j.at"

    of_lengths(text, 0, 1, 2, 7, 12).agrees(change)


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (8, 16)])
@pytest.mark.parametrize("factor", [1, 3, 4])
@pytest.mark.parametrize("symbolic", [False, True])
def test_blur_a_block_of_rows_late(shape: tuple[int, int], factor: int, symbolic: bool):
    module = parse_module(blur("n", "m") if symbolic else blur(*shape))
    function = next(iter(module.ops))
    loops = {loop.label: loop for loop in loops_in(function)}
    rows = split(loops["i"], factor, "clamp")[0]
    reverse_compute_at(loops["o"], rows)
    x = np.random.default_rng(0).random((shape[0] + 2, shape[1] + 2), dtype=np.float32)
    out = np.zeros(shape, np.float32)
    run_nest(function, [x, out], mode="shuffled")  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, blurred(x))


def test_refusals_change_nothing():
    module = parse_module(HEAD + PRODUCERS["clamped"] + CONSUMERS["some"] + "\n  func.return\n}")
    loops = {loop.label: loop for loop in loops_in(module)}
    before = str(module)
    assert why_not_reverse_compute_at(loops["j"], loops["i"]) is None
    assert why_not_reverse_compute_at(loops["k"], loops["o"]) is not None
    assert str(module) == before
