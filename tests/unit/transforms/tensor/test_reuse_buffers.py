"""Functions compute the same before and after nest-reuse-buffers, whatever was merged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from nestor.dialects.nest import AllocOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.memory import reuse_buffers as module
from nestor.transforms.nest.memory.reuse_buffers import Order, reuse_buffers
from parsed import parse_module

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


ONE_LOOP = """
func.func @f(%x: memref<?xi32> {{nest.dims = ["n"]}}, %out: memref<?xi32> {{nest.role = "out", nest.dims = ["n"]}}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  %a = nest.alloc "a"(%n) : memref<?xi32>
  nest.for "z" %z = 0 to %n {{
    %v = nest.load %x[%z] : memref<?xi32>
    nest.store "a" %v, %a[%z] : memref<?xi32>
  }}
  nest.for "i" %i = {bounds} {{
    nest.for "j" %j = 0 to %i {{
      %v = nest.load %a[{read}] : memref<?xi32>
      %w = arith.addi %v, %v : i32
      nest.store "y" %w, %out[{write}] where ({where}) : memref<?xi32>
    }}
  }}
  func.return
}}
"""


@pytest.mark.parametrize("where", ("%n >= 0", "%i < 3", "%j >= 1", "%j + 2 > %i"))
@pytest.mark.parametrize("write", ("%i", "%j", "2 * %j + 1"))
@pytest.mark.parametrize("read", ("%i", "%j", "2 * %j"))
@pytest.mark.parametrize("bounds", ("1 to %n", "2 to 3", "3 to 0", "0 to min(%n, 5) step 2"))
@pytest.mark.parametrize("order", ("kept", "free"))
def test_what_shares_memory_in_a_nest(order: Order, bounds: str, read: str, write: str, where: str):
    """Elements of the result that are written; every index is inside of 12 elements."""
    text = ONE_LOOP.format(bounds=bounds.replace("%n", "6"), read=read, write=write, where=where)
    function = next(iter(parse_module(text).body.block.ops))
    x = np.arange(12, dtype=np.int32) ** 2 + 1
    before, again, after = np.full(12, -7, np.int32), np.full(12, -8, np.int32), np.full(12, -7, np.int32)
    run_nest(function, [x, before])
    run_nest(function, [x, again])
    reuse_buffers(function, order)
    run_nest(function, [x, after])
    written = before == again
    np.testing.assert_array_equal(after[written], before[written])
    if bounds == "3 to 0" or (bounds == "2 to 3" and (read, write) == ("2 * %j", "2 * %j + 1")):
        assert not any(isinstance(op, AllocOp) for op in function.walk())


def test_scalars_that_are_used_twice_each_are_followed_once(monkeypatch):
    squares = "".join(f"  %s{k + 1} = arith.mulf %s{k}, %s{k} : f32\n" for k in range(40))
    text = f"""
func.func @f(%out: memref<5xf32> {{nest.role = "out"}}) {{
  %zero = arith.constant 0 : index
  %a = nest.alloc "a" : memref<5xf32>
  nest.for "i" %i = 0 to 5 {{
    %v = arith.constant 1.5 : f32
    nest.store "a" %v, %a[%i] : memref<5xf32>
  }}
  %s0 = nest.load %a[%zero] : memref<5xf32>
{squares}
  nest.for "k" %k = 0 to 5 {{
    nest.store "y" %s40, %out[%k] : memref<5xf32>
  }}
  func.return
}}
"""
    function = next(iter(parse_module(text).body.block.ops))
    lookups = [0]

    class Counted(dict):
        def __getitem__(self, op):
            lookups[0] += 1
            return super().__getitem__(op)

    class Places(module._Places):
        def __init__(self, function):
            super().__init__(function)
            self.outermost = Counted(self.outermost)

    monkeypatch.setattr(module, "_Places", Places)
    assert reuse_buffers(function, "free") == 0  # the element may be read as late as in the loop that writes
    assert lookups[0] < 200


def in_a_loop(buffers: int) -> str:
    """Each iteration fills so many buffers, one from the other."""
    names = [f"%b{k}" for k in range(buffers)]
    lines = [f'  {name} = nest.alloc "b{k}" : memref<6xf32>' for k, name in enumerate(names)]
    lines.append('  nest.for "t" %t = 0 to %n {')
    for k, (source, target) in enumerate(itertools.pairwise(["%x", *names, "%out"])):
        lines += [
            f'    nest.for "i{k}" %i{k} = 0 to 6 {{',
            f"      %v{k} = nest.load {source}[%i{k}] : memref<6xf32>",
            f'      nest.store "b{k}" %v{k}, {target}[%i{k}] : memref<6xf32>',
            "    }",
        ]
    arguments = '%n: index, %x: memref<6xf32>, %out: memref<6xf32> {nest.role = "inout"}'
    return "\n".join([f"func.func @f({arguments}) {{", *lines, "  }", "  func.return", "}"])


@pytest.mark.parametrize("order", ["kept", "free"])
def test_buffers_that_each_iteration_fills_are_told_apart_without_questions(order: Order, monkeypatch):
    asked = [0]
    may_meet = module._may_meet

    def counting(*arguments):
        asked[0] += 1
        return may_meet(*arguments)

    monkeypatch.setattr(module, "_may_meet", counting)
    function = next(iter(parse_module(in_a_loop(20), "long").body.block.ops))
    assert reuse_buffers(function, order) == 0
    assert asked[0] == 0
