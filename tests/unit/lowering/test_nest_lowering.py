"""convert-nest-to-scf against the interpreter: the same function through both, the same results."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from mlir_judge import mlir_opt, needs_mlir_opt
from nest_programs import PROGRAMS, arguments_of, check
from nestor.dialects.registry import make_context
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.lowering.nest_to_scf.convert import ConvertNestToScfPass
from nestor.lowering.to_llvm.convert import ConvertToLlvmPass
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.interp.run import run_nest
from parsed import parse_module


def lowered(text: str):
    module = parse_module(text)
    ConvertNestToScfPass().apply(make_context(), module)
    module.verify()
    return module


def run_on_cpu(text: str, arguments: list) -> tuple[int, list[int]]:
    """Run `@f` on the CPU; the status and the error record."""
    module = lowered(text)
    packer = Packer.for_function(next(iter(module.ops)))
    ConvertToLlvmPass().apply(make_context(), module)
    code = compile_llvm_ir(emit_llvm_ir(module))
    record = ErrorRecord()
    status = code.entry("f")(packer(*arguments), ctypes.addressof(record))
    return status, list(record)


@pytest.mark.parametrize("name", PROGRAMS)
def test_cpu_agrees_with_numpy_and_the_interpreter(name: str):
    program = PROGRAMS[name]
    arguments, oracle = arguments_of(program), arguments_of(program)
    status, _ = run_on_cpu(program.text, arguments)
    assert status == 0
    check(program, arguments)
    run_nest(next(iter(parse_module(program.text).ops)), oracle)
    if program.rtol == 0:
        np.testing.assert_array_equal(arguments[-1], oracle[-1])


@needs_mlir_opt
def test_mlir_opt_accepts_every_program():
    """One module of all programs, each under its own name."""
    texts = [
        str(lowered(p.text.replace("@f(", f"@{name.replace('-', '_')}("))) for name, p in PROGRAMS.items()
    ]
    mlir_opt("\n".join(texts))


INTERLEAVED = """
func.func @f(%x: memref<4x4xi32>, %y: memref<16xi32>) {{
  %zero = arith.constant 0 : i32
  %t = nest.alloc "t" : memref<16xi32>
  nest.for "z" %z = 0 to 16 {{
    nest.store "t" %zero, %t[%z] : memref<16xi32>
  }}
  nest.for "j" %j = 0 to 4 vectorized(4) {{
    nest.for "v" %v = 0 to {copies} unrolled {{
      %a = nest.load %x[%v, %j] : memref<4x4xi32>
      {body}
    }}
  }}
  nest.for "i" %i = 0 to 16 {{
    %r = nest.load %t[%i] : memref<16xi32>
    nest.store "y" %r, %y[%i] : memref<16xi32>
  }}
  func.return
}}"""

STORE = 'nest.store "t" %a, %t[4 * %j + %v] : memref<16xi32>'
LOADED = """%b = nest.load %t[{index}] : memref<16xi32>
      %c = arith.addi %a, %b : i32
      nest.store "t" %c, %t[4 * %j + %v] : memref<16xi32>"""

COPIES = {
    "four": (4, STORE, True),
    "two of a pair": (2, 'nest.store "t" %a, %t[2 * %j + %v] : memref<16xi32>', True),
    "three": (3, 'nest.store "t" %a, %t[3 * %j + %v] : memref<16xi32>', False),
    "two of four": (2, STORE, False),
    "backwards": (4, 'nest.store "t" %a, %t[4 * %j - %v + 3] : memref<16xi32>', False),
    "what the first copy stored": (4, LOADED.format(index="4 * %j"), False),
    "what the copy before stored": (4, LOADED.format(index="4 * %j + %v floordiv 2"), False),
    "what is stored over": (4, LOADED.format(index="4 * %j + %v"), False),
    "some": (4, 'nest.store "t" %a, %t[4 * %j + %v] where (%j + %v >= 2) : memref<16xi32>', False),
    "twice": (4, f"{STORE}\n{STORE}", False),
    "sums": (4, 'nest.accumulate "t" add %a, %t[4 * %j + %v] : memref<16xi32>', False),
    "a sum behind": (4, f'{STORE}\nnest.accumulate "t" add %a, %t[4 * %j] : memref<16xi32>', False),
    "another store": (4, f'{STORE}\nnest.store "t" %zero, %t[4 * %j] : memref<16xi32>', False),
}
"""How many copies there are, what each does, and whether their stores are one of all lanes."""


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_stored_together_where_none_sees_it(name):
    copies, body, together = COPIES[name]
    text = INTERLEAVED.format(copies=copies, body=body)
    x = np.arange(3, 19, dtype=np.int32).reshape(4, 4)
    ours, expected = np.zeros(16, np.int32), np.zeros(16, np.int32)
    assert run_on_cpu(text, [x, ours])[0] == 0
    run_nest(next(iter(parse_module(text).ops)), [x, expected])
    np.testing.assert_array_equal(ours, expected)
    assert ("vector.store" in str(lowered(text))) == together
