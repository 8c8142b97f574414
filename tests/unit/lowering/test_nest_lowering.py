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
