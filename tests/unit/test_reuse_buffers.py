"""Functions compute the same before and after nest-reuse-buffers, whatever was merged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from nestor.dialects.nest import AllocOp
from nestor.dialects.parse import parse_module
from nestor.runtime.interp import run_nest
from nestor.transforms.nest.nest_reuse_buffers import reuse_buffers

CHAIN = """
func.func @f(%x: memref<5xf32>, %out: memref<5xf32> {{nest.role = "out"}}) {{
  %a = nest.alloc "a" : memref<5xf32>
  %b = nest.alloc "b" : memref<5xf32>
  nest.for "i" %i = 0 to 5 {{
    %v = nest.load %x[%i] : memref<5xf32>
    nest.store "a" %v, %a[%i] : memref<5xf32>
  }}
  nest.for "j" %j = 0 to 5 {{
    %v = nest.load %a[{first}] : memref<5xf32>
    %w = arith.addf %v, %v : f32
    nest.store "b" %w, %b[%j] : memref<5xf32>
  }}
  nest.for "k" %k = 0 to 5 {{
    %v = nest.load %b[{second}] : memref<5xf32>
    %u = nest.load %{third}[%k] : memref<5xf32>
    %w = arith.addf %v, %u : f32
    nest.store "y" %w, %out[%k] : memref<5xf32>
  }}
  func.return
}}
"""
"""Three nests in a row; where they read decides which buffers may be one."""

ALLOCATIONS_LEFT = {
    ("%j", "%k", "x"): 0,
    ("%j", "%k", "a"): 1,
    ("4 - %j", "%k", "x"): 1,
    ("%j", "4 - %k", "x"): 1,
    ("4 - %j", "4 - %k", "x"): 1,
    ("4 - %j", "%k", "a"): 1,
    ("%j", "4 - %k", "a"): 1,
    ("4 - %j", "4 - %k", "a"): 1,
    ("%j", "%k", "b"): 0,
}


@pytest.mark.parametrize(
    "reads", list(itertools.product(("%j", "4 - %j"), ("%k", "4 - %k"), ("x", "a", "b")))
)
def test_same_results(reads):
    first, second, third = reads
    text = CHAIN.format(first=first, second=second, third=third)
    x = np.arange(5, dtype=np.float32) ** 2
    before, after = (np.zeros(5, np.float32) for _ in range(2))
    function = next(iter(parse_module(text, "before").body.block.ops))
    run_nest(function, [x, before])
    reuse_buffers(function)
    run_nest(function, [x, after])
    np.testing.assert_array_equal(after, before)
    if reads in ALLOCATIONS_LEFT:
        assert sum(isinstance(op, AllocOp) for op in function.walk()) == ALLOCATIONS_LEFT[reads]
