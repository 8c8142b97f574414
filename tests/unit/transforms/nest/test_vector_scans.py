"""Running results in vectors of every width: as the interpreter computes them, and as machine code does."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from nestor.dialects.nest import ForOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.interp.run import run_nest
from nestor.transforms.registry import load_pass
from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass
from parsed import parse_module

LOWERING = ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm")

ROWS = """
func.func @f(%x: memref<5x{n}x{t}>, %y: memref<5x{n}x{t}> {{nest.role = "out"}}) {{
  %start = arith.constant {start} : {t}
  nest.for "i" %i = 0 to 5 {{
    %s = nest.alloc "s" : memref<{t}>
    nest.store "s" %start, %s[] : memref<{t}>
    nest.for "j" %j = 0 to {n} {{
      %a = nest.load %x[%i, %j] : memref<5x{n}x{t}>
      nest.accumulate "s" {combiner} %a, %s[] : memref<{t}>
      %b = nest.load %s[] : memref<{t}>
      nest.store "y" %b, %y[%i, %j] : memref<5x{n}x{t}>
    }}
  }}
  func.return
}}
"""

CASES = [
    ("add", "f32", "0.0", np.add),
    ("add", "f64", "0.0", np.add),
    ("maximum", "f32", "-1.0", np.maximum),
    ("minsi", "i32", "9", np.minimum),
    ("xor", "i64", "0", np.bitwise_xor),
]


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize(("combiner", "element", "start", "ufunc"), CASES)
def test_rows(combiner, element, start, ufunc, bits):
    dtype = np.dtype(element.replace("f", "float").replace("i", "int"))
    rng = np.random.default_rng(2)
    for n in (31, 32, 33, 67):
        x = rng.integers(-9, 9, (5, n)).astype(dtype)
        first = np.full((5, 1), float(start), dtype)
        expected = ufunc.accumulate(np.concatenate([first, x], axis=1), axis=1)[:, 1:]
        text = ROWS.format(n=n, t=element, start=start, combiner=combiner)
        module = parse_module(text)
        NestScheduleCpuPass(vector_bits=bits).apply(make_context(), module)
        verify(module)
        lanes = bits // (8 * dtype.itemsize)
        marked = [op for op in module.walk() if isinstance(op, ForOp) and "nestor.scan" in op.attributes]
        assert bool(marked) == (lanes >= 4 and n >= 2 * lanes)
        interpreted, compiled = np.zeros_like(x), np.zeros_like(x)
        run_nest(next(iter(module.ops)), [x, interpreted])
        np.testing.assert_array_equal(interpreted, expected)
        packer = Packer.for_function(next(iter(module.ops)))
        for name in LOWERING:
            load_pass(name)().apply(make_context(), module)
        code = compile_llvm_ir(emit_llvm_ir(module))
        assert code.entry("f")(packer(x, compiled), ctypes.addressof(ErrorRecord())) == 0
        np.testing.assert_array_equal(compiled, expected)
