"""nest-compute-inline computes what the program computed, with no buffer left."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.producers.compute_inline import compute_inline, why_not_compute_inline
from parsed import parse_module
from producer_nests import PROGRAMS, Program, blur, blurred, buffer_of


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.can_inline])
def test_same_results(name: str):
    def change(function):
        compute_inline(buffer_of(function))
        assert not any(isinstance(op, AllocOp) for op in function.walk())

    PROGRAMS[name].agrees(change)


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if not program.can_inline])
def test_refusals_change_nothing(name: str):
    module = parse_module(PROGRAMS[name].text)
    before = str(module)
    buffer = buffer_of(module)
    assert why_not_compute_inline(buffer) is not None
    with pytest.raises(NestorError, match="cannot inline"):
        compute_inline(buffer)
    assert str(module) == before


def test_a_chain_of_stages():
    program = PROGRAMS["shifted"]
    text = program.text.replace(
        '  nest.for "o"',
        """
  %u = nest.alloc "u"(%n) : memref<?xi64>
  nest.for "k" %k = 0 to %n {
    %v = nest.load %t[%k] : memref<?xi64>
    nest.store "u" %v, %u[%n - 1 - %k] : memref<?xi64>
  }
  nest.for "o" """.rstrip(),
    ).replace("%p = nest.load %t", "%p = nest.load %u")
    chain = type(program)(text, program.calls)
    for order in (("t", "u"), ("u", "t")):

        def change(function, order=order):
            for name in order:
                compute_inline(buffer_of(function, name))
            assert sum(op.name == "nest.for" for op in function.walk()) == 2

        chain.agrees(change)


def test_arguments_are_no_buffers_of_the_function():
    module = parse_module(PROGRAMS["tiled"].text)
    function = next(iter(module.ops))
    with pytest.raises(NestorError, match='cannot inline the buffer "x": it is not made by'):
        compute_inline(function.body.block.args[1])  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (8, 16)])
def test_blur_inlined(shape: tuple[int, int]):
    for text in (blur(*shape), blur("n", "m"), blur(*shape, tile=(4, 8)), blur("n", "m", tile=(4, 8))):
        module = parse_module(text)
        function = next(iter(module.ops))
        compute_inline(buffer_of(function))
        x = np.random.default_rng(0).random((shape[0] + 2, shape[1] + 2), dtype=np.float32)
        out = np.zeros(shape, np.float32)
        run_nest(function, [x, out])  # type: ignore[arg-type]
        np.testing.assert_array_equal(out, blurred(x))


BORDERED = """
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {{
  %edge = arith.constant {edge} : i64
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "i" %i = 0 to %n {{
    nest.store "t" %edge, %t[%i] : memref<?xi64>
    %a = nest.load %x[%i - 2] : memref<?xi64>
    %b = arith.muli %a, %a : i64
    nest.store "t" %b, %t[%i] where (%i >= 2, %i < %n - 1) : memref<?xi64>
  }}
  nest.for "o" %o = 0 to %n ceildiv 4 {{
    nest.for "j" %j = 0 to 4 {{
      %e = nest.alloc "e" : memref<i64, 5>
      nest.store "e" %zero, %e[] : memref<i64, 5>
      %p = nest.load %t[4 * %o + %j] : memref<?xi64>
      nest.store "e" %p, %e[] where (4 * %o + %j < %n) : memref<i64, 5>
      %q = nest.load %e[] : memref<i64, 5>
      nest.store "y" %q, %y[4 * %o + %j] : memref<?xi64>
    }}
  }}
  func.return
}}"""


@pytest.mark.parametrize(("edge", "registers"), [(0, 1), (7, 2)])
def test_an_image_with_a_border_is_read_from_the_image(edge: int, registers: int):
    """Of n elements 2 are the border before, and 1 the one behind; the register of the reader serves where it is equal."""
    calls = tuple(((n,), ((max(n - 3, 0),), (4 * -(-n // 4),))) for n in (0, 1, 3, 4, 5, 16, 17))
    program = Program(BORDERED.format(edge=edge), calls)

    def change(function):
        compute_inline(buffer_of(function, "t"))
        assert sum(isinstance(op, AllocOp) for op in function.walk()) == registers
        assert sum(op.name == "nest.for" for op in function.walk()) == 2

    program.agrees(change)
