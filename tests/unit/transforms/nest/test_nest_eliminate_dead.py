"""Without what no one reads, programs compute what they did; and stop where they did."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.nest import AllocOp, IndexOp, LoadOp, StoreOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.cleanup.eliminate_dead import eliminate_dead
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def eliminate(module: ModuleOp) -> None:
    for function in functions(module):
        eliminate_dead(function)


def random_nest(seed: int) -> str:
    """Nests with buffers that are written, updated by themselves, and now and then read for what is seen."""
    program = RandomLoops(seed)
    rng, plain = program.rng, program.element

    def element(around: list[str]) -> tuple[str, str]:
        if rng.random() < 0.5:
            return f"%local{rng.randint(1, 3)}[{program.index(around)}]", "memref<24xi64>"
        return plain(around)

    for k in (1, 2, 3):
        program.lines.append(f'%local{k} = nest.alloc "local{k}" : memref<24xi64>')
        program.loop(
            f"z{k}",
            "0 to 24",
            [],
            lambda ivs, k=k: program.lines.append(
                f"%z{k}v = arith.index_cast {ivs[0]} : index to i64\n"
                f'nest.store "z" %z{k}v, %local{k}[{ivs[0]}] : memref<24xi64>'
            ),
        )
    program.element = element
    program.loop("i", program.bounds([]), [], lambda ivs: program.body(ivs, 2))
    return program.text()


def count(module: ModuleOp, kind: type) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


def test_random_nests():
    fewer = {StoreOp: 0, LoadOp: 0, AllocOp: 0}
    for seed in seeds(60):
        text = random_nest(seed)
        assert check(text, eliminate) == "legal"
        before, module = parse_module(text), parse_module(text)
        eliminate(module)
        for kind in fewer:
            fewer[kind] += count(before, kind) - count(module, kind)
        once = str(module)
        eliminate(module)
        assert str(module) == once
    assert min(fewer.values()) >= 20, fewer


@pytest.mark.parametrize("name", NESTS)
def test_real_nests_need_what_they_do(name: str):
    nest = NESTS[name]
    module = parse_module(nest.text)
    checks = count(module, IndexOp)
    eliminate(module)
    verify(module)
    assert count(module, IndexOp) == checks
    for mode in ("program", "shuffled"):
        arguments = nest.arguments(np.random.default_rng(3))
        run_nest(functions(module)[0], arguments, mode=mode, seed=1)
        for position, expected in nest.expected(*nest.arguments(np.random.default_rng(3))).items():
            np.testing.assert_allclose(arguments[position], expected, rtol=max(nest.rtol, 1e-5), atol=0)


def test_nothing_is_left_of_a_program_without_effect():
    module = parse_module("""
func.func @f(%n: index, %x: memref<?xf32>) {
  %t = nest.alloc "t" : memref<4xf32>
  %u = nest.alloc "u" : memref<4xf32>
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to %i {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = nest.load %u[%j] : memref<4xf32>
      %c = arith.addf %a, %b : f32
      nest.store "t" %c, %t[%i] : memref<4xf32>
      %d = nest.load %t[%j] : memref<4xf32>
      nest.accumulate "u" add %d, %u[%i] : memref<4xf32>
    }
  }
  func.return
}""")
    eliminate(module)
    assert [op.name for op in functions(module)[0].body.block.ops] == ["func.return"]
