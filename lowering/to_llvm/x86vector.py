"""`x86vector` to llvm: the intrinsic of the instruction.

%d = x86vector.avx512.dot %c, %a, %b : vector<32xbf16> -> vector<16xf32>
->
%d = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%c, %a, %b) : (...) -> vector<16xf32>
"""

from __future__ import annotations

from ...dialects.ext.x86vector import DotOp
from .amx import call_intrinsic
from .builder import FunctionBuilder, Handler
from .types import lower_type


def _dot(b: FunctionBuilder, op: DotOp) -> None:
    operands = [b.value(v) for v in op.operands]
    name = "llvm.x86.avx512bf16.dpbf16ps.512"
    b.bind(op.dst, call_intrinsic(b, name, operands, lower_type(op, op.dst.type)))


X86VECTOR: dict[str, Handler] = {"x86vector.avx512.dot": _dot}
