"""nest-sink-checks: one program, and what keeps its check where it is: each reason where it holds, and only there."""

from __future__ import annotations

import pytest
from nestor.dialects.nest import LookupOp
from nestor.dialects.remarks import listening
from nestor.dialects.verifier import verify
from nestor.transforms.nest.cleanup.sink_checks import sink_checks
from parsed import parse_module
from xdsl.dialects.func import FuncOp

PROGRAM = """
func.func private @g(memref<96xi64>)
func.func private @h(memref<96x256xf32>)
func.func @f(%x: memref<{rows}x256xf32>, %idx: memref<96xi64>, %other: memref<96xi64>,
             %out: memref<96x256xf32> {{nest.role = "{role}"}}) {{
  %n = arith.constant {rows} : i64
  %low = arith.constant -{rows} : i64
  %z = arith.constant 0 : i64
  %false = arith.constant false
  {head}
  %or = nest.alloc "or" : memref<i8>
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {{
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }}
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {{
    nest.for "i.1" %i = 0 to 96 {{
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of {rows} axis 0 of "x"
    }}
  }}
  {before}
  nest.for "i.2" %i = 0 to {looked} {{
    nest.for "j" %j = 0 to 256 {{
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<{rows}x256xf32>
      nest.store %a, %out[%i, %j] : memref<96x256xf32>
    }}
  }}
  {after}
  {tail}
  func.return
}}
"""

PLAIN = {"rows": 64, "role": "out", "head": "", "before": "", "looked": 96, "after": "", "tail": ""}

CHANGED = "the indices are changed later"
BETWEEN = "something that can fail or has an effect is before the nest that uses them"

SUNK = {
    "plain": {},
    "other indices are changed": {"after": "nest.store %z, %other[3] : memref<96xi64>"},
    "a call is given other indices": {"after": "func.call @g(%other) : (memref<96xi64>) -> ()"},
    "a call is given the results": {"after": "func.call @h(%out) : (memref<96x256xf32>) -> ()"},
    "other indices are changed before": {"before": "nest.store %z, %other[3] : memref<96xi64>"},
}

INDEX = "%r1 = arith.constant 7 : index"

KEPT = {
    "a store": ({"after": "nest.store %z, %idx[3] : memref<96xi64>"}, CHANGED),
    "a store between": ({"before": "nest.store %z, %idx[3] : memref<96xi64>"}, CHANGED),
    "a store in a loop": (
        {"after": 'nest.for "k" %k = 0 to 96 {\n nest.store %z, %idx[%k] : memref<96xi64>\n}'},
        CHANGED,
    ),
    "a sum": ({"after": "nest.accumulate add %n, %idx[3] : memref<96xi64>"}, CHANGED),
    "a call": ({"after": "func.call @g(%idx) : (memref<96xi64>) -> ()"}, CHANGED),
    "a call between": ({"before": "func.call @g(%idx) : (memref<96xi64>) -> ()"}, CHANGED),
    "another call between": ({"before": "func.call @g(%other) : (memref<96xi64>) -> ()"}, BETWEEN),
    "a check between": ({"before": '%bad = nest.index %r1 of 5 axis 0 of "y"', "head": INDEX}, BETWEEN),
    "an empty axis": ({"rows": 0}, "the axis is empty"),
    "a loop": ({"head": 'nest.for "t" %t = 0 to 2 {', "tail": "}"}, "it is in a loop or branch"),
    "a branch": ({"head": "nest.if %false {", "tail": "}"}, "it is in a loop or branch"),
    "an argument": (
        {"role": "inout"},
        "the function changes an argument, which must stay as it was when an index is outside",
    ),
    "half of them": ({"looked": 48}, "they are used in another way as well"),
}  # fmt: skip


def sunk(options: dict) -> tuple[bool, list[str]]:
    """Whether the nest that uses the indices checks them afterwards, and what was remarked."""
    module = parse_module(PROGRAM.format(**(PLAIN | options)))
    heard = []
    with listening(heard.append):
        for function in [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]:
            sink_checks(function)
    verify(module)
    return any(isinstance(op, LookupOp) for op in module.walk()), [said.message for said in heard]


@pytest.mark.parametrize("case", SUNK)
def test_the_nest_that_uses_indices_checks_them(case):
    assert sunk(SUNK[case]) == (True, [])


@pytest.mark.parametrize("case", KEPT)
def test_a_check_stays_for_this_reason(case):
    options, reason = KEPT[case]
    is_sunk, heard = sunk(options)
    assert not is_sunk
    assert heard == [f'the indices into "x" are checked by a kernel of their own: {reason}']
