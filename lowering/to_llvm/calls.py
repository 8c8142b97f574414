"""Calls of functions that the runtime answers: what a buffer is goes into slots on the stack, one table per call.

func.call @numpy.sort.5e1c92b0(%x, %y) : (memref<?xf32>, memref<4xf32>) -> ()
->
%slots = llvm.alloca i64[6]               // a buffer: pointer, extents, strides in elements
llvm.store %x, %slots[0]; llvm.store %n, %slots[1]; llvm.store 1, %slots[2]; ...
%status = llvm.call @numpy.sort.5e1c92b0(%slots) : (!llvm.ptr) -> i32     // not 0: it raised, and the kernel stops
"""

from __future__ import annotations

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i32, i64
from xdsl.ir import SSAValue

from ...dialects.attributes import SITE
from ...dialects.diagnostic import LoweringError, fail
from ..abi.error_codes import CALL_ERROR
from .builder import FunctionBuilder
from .types import PTR, ModuleState


def declare_answered(state: ModuleState, op: func.FuncOp) -> None:
    """Note a declared function that the runtime answers."""
    name = op.sym_name.data
    state.answered[name] = op
    state.declare(name, [PTR], i32)


def call_runtime(b: FunctionBuilder, op: func.CallOp, callee: func.FuncOp) -> None:
    """Call such a function; where it fails, the kernel does."""
    if b.parent is not None:
        raise fail(
            op,
            "a call of Python inside scf.parallel has no translation",
            hint="make the loop serial",
            error=LoweringError,
        )
    words: list[SSAValue] = []
    for value in op.arguments:
        if not isinstance(value.type, MemRefType):
            raise fail(
                op, f"{value.type} is not a buffer, and calls of Python take buffers", error=LoweringError
            )
        ref = b.memref(value)
        b.read.add(ref.base)
        b.written.add(ref.base)
        words.append(b.gep(ref.base, ref.offset, ref.element))
        words += [b.size(size) for size in (*ref.sizes, *ref.strides)]
    slots = b.alloca(llvm.LLVMArrayType(max(1, len(words)), i64), 8, "slots")
    for k, word in enumerate(words):
        b.store(word, b.gep(slots, k, i64))
    status = b.call(callee.sym_name.data, [slots], i32)
    site = op.attributes.get(SITE)
    number = site.value.data if isinstance(site, IntegerAttr) else -1
    b.fail_unless(b.compare("eq", status, b.integer(0, i32)), CALL_ERROR, number)
