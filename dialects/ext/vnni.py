"""The `vnni` dialect: products of bytes in lanes of a vector, four of which are added to each 32-bit sum.

    %d = vnni.dot %a, %b, %c                // of vector<64xi8>, vector<64xi8> and vector<16xi32>

adds a[4 * l + v] * b[4 * l + v], for v from 0 to 3, to c[l], modulo 2^32. The bytes of the left operand have no sign,
those of the right one have. x86-64 has it as vpdpbusd (AVX512-VNNI). MLIR has the forms of newer processors only.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, VectorType, i32
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

LANES, TOGETHER = 16, 4
"""The sums of an instruction, and the products that are added to each."""

BYTES, SUMS = VectorType(IntegerType(8), [LANES * TOGETHER]), VectorType(i32, [LANES])


@irdl_op_definition
class DotOp(IRDLOperation):
    """Sums of four products of bytes, one without and one with a sign, added to 32-bit sums."""

    name = "vnni.dot"

    lhs = operand_def(BYTES)
    rhs = operand_def(BYTES)
    acc = operand_def(SUMS)
    res = result_def(SUMS)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict"


VNNI = Dialect("vnni", [DotOp], [])
