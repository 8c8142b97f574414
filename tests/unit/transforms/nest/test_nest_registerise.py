"""Elements kept in registers: the same results, exactly, or a refusal that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_nests import NESTS
from loop_programs import RandomLoops, check, loop_called, outcomes
from nestor.analysis.nest.buffers import buffers_in, find_buffer
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.nest.memory.registerise import registerise
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp


def in_registers(name: str):
    def run(module: ModuleOp) -> None:
        loop = loop_called(module, "i")
        registers = registerise(find_buffer(module, name), loop)
        assert registers and all(isinstance(register, AllocOp) for register in registers)

    return run


def random_updates(seed: int) -> str:
    """A loop that loads, stores and accumulates elements that are fixed in it, among others."""
    program = RandomLoops(seed)
    rng = program.rng
    index = program.index

    def often_fixed(ivs: list[str]) -> str:
        fixed = ["3", "0", *(["%o", "%o + 1"] if "%o" in ivs else [])]
        return rng.choice(fixed) if rng.random() < 0.6 else index(ivs)

    program.index = often_fixed

    def inside(ivs: list[str]) -> None:
        program.body(ivs, 1, (1, 3))

    if rng.random() < 0.6:
        program.loop(
            "o", program.bounds([]), [], lambda ivs: program.loop("i", program.bounds(ivs), ivs, inside)
        )
    else:
        program.loop("i", program.bounds([]), [], inside)
    return program.text()


@pytest.mark.parametrize("name", ["a", "s", "d"])
def test_random_updates(name: str):
    found = outcomes([random_updates(seed) for seed in seeds(200)], in_registers(name))
    assert found["legal"] >= 12, found
    assert name == "s" or found["another access in the loop may touch the element"] >= 1, found


BODIES = {
    "accumulated": 'nest.accumulate "a" add %p, %a[%o] : memref<?xi64>',
    "stored": 'nest.store "a" %p, %a[%o] : memref<?xi64>',
    "stored in part": 'nest.store "a" %p, %a[%o] where (%i >= 4) : memref<?xi64>',
    "masked": """
      %two = arith.constant 2 : index
      %m = arith.cmpi sgt, %i, %two : index
      nest.accumulate "a" xor %p, %a[%o] mask %m : memref<?xi64>
      %q = nest.load %a[%o] : memref<?xi64>
      nest.store "d" %q, %d[%o, %i] : memref<?x?xi64>""",
    "nested": """
      nest.for "j" %j = 0 to %i {
        nest.accumulate "a" maxsi %p, %a[%o] : memref<?xi64>
      }""",
    "two elements": """
      nest.accumulate "a" add %p, %a[%o] : memref<?xi64>
      %q = nest.load %a[%o + 1] : memref<?xi64>
      nest.accumulate "a" add %q, %a[%o] : memref<?xi64>
      nest.store "a" %p, %a[%o + 1] : memref<?xi64>""",
    "apart": """
      nest.accumulate "a" add %p, %a[%o] : memref<?xi64>
      nest.store "a" %p, %a[%i + 12] : memref<?xi64>""",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "bounds", ["0 to %n", "3 to 8 step 2", "0 to 0", "4 to 5", "%o to 6", "max(%o, 2) to min(%n, 7)"]
)
def test_updates_of_all_kinds(bounds: str, body: str):
    text = f"""
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {{
  nest.for "o" %o = 0 to 9 {{
    nest.for "i" %i = {bounds} {{
      %p = nest.load %b[%i] : memref<?xi64>
      {BODIES[body]}
    }}
  }}
  func.return
}}"""
    assert check(text, in_registers("a")) == "legal"


def test_elements_that_may_not_exist():
    """Where the loop is empty, or leaves the element out, the index may be out of the buffer."""
    text = """
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {
  nest.for "o" %o = 0 to 60 {
    nest.for "i" %i = 5 * %o to %n + 5 {
      %p = nest.load %b[%i] : memref<?xi64>
      nest.accumulate "a" add %p, %a[4 * %o] DOMAIN : memref<?xi64>
    }
  }
  func.return
}"""
    assert check(text.replace("DOMAIN", ""), in_registers("a")) == "legal"
    assert check(text.replace("DOMAIN", "where (%i mod 2 < 1)"), in_registers("a")) == "legal"


def test_a_load_that_only_a_domain_needs_is_not_certain():
    """The tail of a split reads beyond the buffer in no statement, and so may the register not."""
    text = """
func.func @f(%n: index, %a: memref<?xi64>, %b: memref<?xi64>, %d: memref<?x?xi64>, %s: memref<i64>) {
  nest.for "o" %o = 0 to 40 {
    nest.for "i" %i = 0 to %n {
      %p = nest.load %b[%i] : memref<?xi64>
      %q = nest.load %a[%o] : memref<?xi64>
      %r = arith.muli %p, %q : i64
      nest.accumulate "d" add %r, %d[%o, %i] where (%o < 20) : memref<?x?xi64>
    }
  }
  func.return
}"""
    assert check(text, in_registers("a")) == "legal"
    unwritten = text.replace("%b: memref", '%t: memref<?xi64> {nest.role = "out"}, %b: memref').replace(
        "%a[%o]", "%t[%o]"
    )
    with pytest.raises(NestorError, match="no access to the element is certain"):
        in_registers("t")(parse_module(unwritten))


@pytest.mark.parametrize("nest", NESTS)
def test_programs_as_the_tensor_level_makes_them(nest: str):
    """Every loop and every buffer, one pair at a time."""
    found = NESTS[nest]
    original = parse_module(found.text)
    count = len(buffers_in(functions(original)[0]))
    for label in [loop.label for loop in loops_in(original)]:
        for k in range(count):
            module = original.clone()
            try:
                registerise(buffers_in(functions(module)[0])[k], loop_called(module, label))
            except NestorError:
                assert str(module) == str(original)
                continue
            verify(module)
            values = found.arguments(np.random.default_rng(3))
            expected = found.expected(*values)
            compile_nest(functions(module)[0], mode="shuffled")(*values)
            for position, wanted in expected.items():
                np.testing.assert_allclose(values[position], wanted, rtol=max(found.rtol, 1e-5))
