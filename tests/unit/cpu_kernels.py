"""Kernels at the scf/vector level (kernels/*.mlir), compiled and run on NumPy arrays through the packed ABI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nestor.dialects.registry import make_context
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.lowering.math.expand_math import expand_math
from nestor.lowering.to_llvm.convert import convert_to_llvm
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import CpuModule, compile_llvm_ir
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.parser import Parser

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.mlir"))

_DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}


def parse(text: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def entry_function(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.body.blocks)


def lower(module: ModuleOp) -> ModuleOp:
    """To the llvm dialect, in place."""
    expand_math(module)
    module.verify()
    convert_to_llvm(module)
    module.verify()
    return module


class Kernel:
    """A compiled function of a module: calling it gives `(status, (code, site, value, extent))`."""

    def __init__(
        self, text: str, opt_level: int | None = None, back_end: Callable[[ModuleOp], str] = emit_llvm_ir
    ):
        module = parse(text)
        function = entry_function(module)
        self.name = function.sym_name.data
        self.types: Sequence[Any] = function.function_type.inputs.data
        self.pack = Packer.for_types(self.types)
        self.llvm_ir = back_end(lower(module))
        self.module: CpuModule = compile_llvm_ir(self.llvm_ir, opt_level=opt_level)

    def __call__(self, *arguments: Any) -> tuple[int, tuple[int, ...]]:
        error = ErrorRecord()
        status = self.module.entry(self.name)(self.pack(*arguments), error)
        return status, tuple(error)


def sample_arguments(types: Sequence[Any], extent: int = 101) -> list[Any]:
    """Deterministic arguments of the given types; every `?` is `extent`. Floats include zeros and ones."""
    rng = np.random.default_rng(0)
    return [_sample(rng, type, extent) for type in types]


def _sample(rng: np.random.Generator, type: Any, extent: int) -> Any:
    if not isinstance(type, MemRefType):
        return 1.5 if str(type).startswith("f") else 100
    shape = [extent if n == DYNAMIC_INDEX else n for n in type.get_shape()]
    dtype = np.dtype(_DTYPES[str(type.element_type)])
    if dtype.kind == "f":
        values = rng.normal(scale=3.0, size=shape).astype(dtype)
        values.flat[::7] = 0
        return values
    return rng.integers(0, 200, size=shape).astype(dtype)
