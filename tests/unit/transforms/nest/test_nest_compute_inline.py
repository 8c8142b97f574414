"""nest-compute-inline computes what the program computed, with no buffer left."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.producers.compute_inline import compute_inline, why_not_compute_inline
from parsed import parse_module
from producer_nests import PROGRAMS, blur, blurred, buffer_of


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
