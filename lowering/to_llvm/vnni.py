"""`vnni` to llvm: the intrinsic of the instruction.

%d = vnni.dot %a, %b, %c
->
%d = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%c, %a, %b) : (...) -> vector<16xi32>
"""

from __future__ import annotations

from ...dialects.ext.vnni import DotOp
from .amx import call_intrinsic
from .builder import FunctionBuilder, Handler
from .types import lower_type


def _dot(b: FunctionBuilder, op: DotOp) -> None:
    operands = [b.value(v) for v in (op.acc, op.lhs, op.rhs)]
    b.bind(op.res, call_intrinsic(b, "llvm.x86.avx512.vpdpbusd.512", operands, lower_type(op, op.res.type)))


VNNI: dict[str, Handler] = {"vnni.dot": _dot}
