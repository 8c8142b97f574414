"""Values of two loops are computed alike where nothing that they are made of differs."""

from __future__ import annotations

import pytest
from nestor.analysis.nest.loop_structure import find_loop
from nestor.analysis.nest.sets.same_values import is_same_value
from nestor.dialects.nest import StoreOp
from parsed import parse_module

BODY = """
    %a = nest.load %x[%v, %i + 1] : memref<?x?xf32>
    %k = arith.constant 2.0 : f32
    %h = arith.divf %a, %k : f32
    %t = arith.fptosi %h : f32 to i32
    %u = arith.sitofp %t : i32 to f32
    %p = arith.cmpf olt, %u, %k : f32
    %s = arith.select %p, %u, %o : f32"""

OTHERS = {
    "the buffer": ("nest.load %x[", "nest.load %y["),
    "an index": ("%i + 1]", "%i + 2]"),
    "the order of indices": ("%x[%v, %i + 1]", "%x[%i + 1, %v]"),
    "a number": ("constant 2.0", "constant 3.0"),
    "the order of operands": ("arith.divf %a, %k", "arith.divf %k, %a"),
    "the operation": ("arith.divf", "arith.mulf"),
    "an operand": ("arith.cmpf olt, %u", "arith.cmpf olt, %h"),
    "a predicate": ("cmpf olt", "cmpf ole"),
    "a value from outside": ("%u, %o :", "%u, %q :"),
    "the type between two conversions": ("i32", "i64"),
    "the fast-math flags": ("arith.divf %a, %k :", "arith.divf %a, %k fastmath<fast> :"),
}
"""What differs in the second loop."""


def loops(second: str):
    module = parse_module(f"""
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?xf32>, %o: f32, %q: f32, %i: index, %n: index) {{
  nest.for "v" %v = 0 to %n {{{BODY}
    nest.store "z" %s, %z[%v] : memref<?xf32>
  }}
  nest.for "w" %w = 0 to %n {{{second}
    nest.store "z.1" %s, %z[%w] : memref<?xf32>
  }}
  func.return
}}""")
    return find_loop(module, "v"), find_loop(module, "w")


def is_same(second: str) -> bool:
    one, other = loops(second)
    values = [next(op for op in loop.body.walk() if isinstance(op, StoreOp)).value for loop in (one, other)]
    return is_same_value(values[0], values[1], {one.iv: other.iv}, one, other)


def test_with_another_variable_it_is_the_same():
    assert is_same(BODY.replace("%v", "%w"))


@pytest.mark.parametrize("name", OTHERS)
def test_where_one_thing_differs_it_is_not(name: str):
    old, new = OTHERS[name]
    assert old in BODY
    assert not is_same(BODY.replace(old, new).replace("%v", "%w"))
