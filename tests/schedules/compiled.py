"""What the lowerings say of a schedule whose steps were all accepted, and what its machine code computes.

failure(schedule.module)                       # None, or the diagnostic with which compiling it would fail
machine_code(schedule.module).run(arrays)      # as sequences.Runner
"""

from __future__ import annotations

import ctypes

import numpy as np
from nestor.analysis.nest.kernels.loop_marks import bound_loop_in
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.jit.specialise.stages import run_pipeline
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import CpuModule, compile_llvm_ir
from xdsl.dialects.builtin import ModuleOp

CPU = ("convert-nest-to-scf", "cpu-to-llvm")
GPU = (
    "nest-insert-barriers{known-only=true}",
    "convert-nest-to-gpu{index-bits=32 explicit-barriers=true}",
    "canonicalize",
    "cse",
    "gpu-plan-memory",
)

UNFINISHED = (
    "but no loop around it is bound",
    "but here it is that of a ",
    "inside a kernel needs constant extents",
    "uses what other blocks of its kernel write",
    "would wait here",
    "cannot insert barriers",
    "every block would do it",
    "this needs a barrier of the block",
    "on the host depends on an element of a buffer of the device",
)
"""Why a schedule for a GPU cannot be compiled as it is, and which later steps change: loops that are bound from the inside
out, buffers that move. A step is not refused for these; `compile` names them."""


def failure(module: ModuleOp) -> str | None:
    """The diagnostic with which a scheduled program cannot be compiled, None where it can. The module stays as it is."""
    is_gpu = bound_loop_in(module) is not None
    try:
        lowered = run_pipeline(module.clone(), GPU if is_gpu else CPU)
        (emit_cuda if is_gpu else emit_llvm_ir)(lowered)
    except NestorError as error:
        message = error.diagnostic.message
        return None if is_gpu and any(text in message for text in UNFINISHED) else message
    return None


class MachineCode:
    """A function compiled for the processor."""

    def __init__(self, module: ModuleOp):
        function = functions(module)[0]
        self._name = function.sym_name.data
        self._packer = Packer.for_function(function)
        self._code: CpuModule = compile_llvm_ir(emit_llvm_ir(run_pipeline(module.clone(), CPU)))

    def run(self, arrays: list[np.ndarray]) -> tuple[int, list[np.ndarray]]:
        """The status (zero: no check failed), and the arrays afterwards."""
        record = ErrorRecord()
        status = self._code.entry(self._name)(self._packer(*arrays), ctypes.addressof(record))
        return status, arrays
