"""Two programs on columns for a GPU, with another nest at every place among theirs: right, and all in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.nest import ForOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.registry import load_pass
from parsed import parse_module

PROGRAM = (
    """
  nest.for "j" %j = 0 to 77 {
    nest.store "s" %zero, %s[%j] : memref<77xf64>
  }""",
    """
  nest.for "i" %i = 0 to 300 {
    nest.for "j.1" %j = 0 to 77 {
      %v = nest.load %x[%i, %j] : memref<300x77xf64>
      nest.accumulate "s" add %v, %s[%j] : memref<77xf64>
    }
  }""",
    """
  nest.for "j.2" %j = 0 to 77 {
    %v = nest.load %s[%j] : memref<77xf64>
    %r = arith.addf %v, %one : f64
    nest.store "s" %r, %s[%j] : memref<77xf64>
  }""",
    """
  nest.for "k" %k = 0 to 300 {
    nest.for "l" %l = 0 to 77 {
      %v = nest.load %x[%k, %l] : memref<300x77xf64>
      %w = nest.load %s[%l] : memref<77xf64>
      %q = arith.addf %v, %w : f64
      nest.store "y" %q, %y[%k, %l] : memref<300x77xf64>
    }
  }""",
)
"""The sums of columns, one added to them, and this to each element."""

OTHERS = {
    "on its own": ("%z[%a] : memref<50xf64>", "%z[%a] : memref<50xf64>"),
    "reads the sums": ("%s[%a] : memref<77xf64>", "%z[%a] : memref<50xf64>"),
    "writes some sums": ("%z[%a] : memref<50xf64>", "%s[%a] : memref<77xf64>"),
    "reads the result": ("%y[%a, 3] : memref<300x77xf64>", "%z[%a] : memref<50xf64>"),
    "writes what is summed": ("%z[%a] : memref<50xf64>", "%x[%a, 5] : memref<300x77xf64>"),
}
"""Another nest: what it loads, and where it stores twice that."""

SHAPES = ((300, 77), (300, 77), (50,), (77,))


def program(other: str, place: int) -> str:
    source, target = OTHERS[other]
    nest = f"""
  nest.for "a" %a = 0 to 50 {{
    %v = nest.load {source}
    %q = arith.addf %v, %v : f64
    nest.store "z" %q, {target}
  }}"""
    nests = [*PROGRAM[:place], nest, *PROGRAM[place:]]
    again = [text.replace('for "', f'for "{k}.') for k in range(2) for text in nests]
    return f"""
func.func @f(%x: memref<300x77xf64>, %y: memref<300x77xf64>, %z: memref<50xf64>, %s: memref<77xf64>) {{
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64{"".join(again)}
  func.return
}}"""


def loops_on_the_host(module) -> list[str]:
    return [
        op.label.data
        for op in functions(module)[0].body.block.ops
        if isinstance(op, ForOp) and op.kind == "serial"
    ]


@pytest.mark.parametrize("place", range(len(PROGRAM) + 1))
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.one_of(2)
def test_another_nest_beside_a_program_on_columns(other: str, place: int):
    module = parse_module(program(other, place))
    scheduled = module.clone()
    for name in ("nest-schedule-cuda", "nest-insert-barriers"):
        load_pass(name)().apply(make_context(), scheduled)
    verify(scheduled)
    assert loops_on_the_host(scheduled) == []
    rng = np.random.default_rng(place)
    wanted = [rng.integers(-5, 5, shape).astype(np.float64) for shape in SHAPES]
    got = [array.copy() for array in wanted]
    compile_nest(functions(module)[0])(*wanted)
    compile_nest(functions(scheduled)[0])(*got)
    for mine, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)
