"""The `x86vector` dialect, which xDSL lacks: products of pairs of bfloat16, two of which are added to each 32-bit sum.

    %d = x86vector.avx512.dot %c, %a, %b : vector<32xbf16> -> vector<16xf32>

adds a[2 * l + 1] * b[2 * l + 1] to c[l], rounds to the nearest, then adds a[2 * l] * b[2 * l] and rounds again (vdpbf16ps,
AVX512-BF16). A product of two bfloat16 is exact; operands and sums below 2^-126 count as zero. Name, syntax and
meaning are MLIR's, for vectors of 512 bits.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float32Type, VectorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

LANES, TOGETHER = 16, 2
"""The sums of an instruction, and the products that are added to each."""

FACTORS, SUMS = VectorType(BFloat16Type(), [LANES * TOGETHER]), VectorType(Float32Type(), [LANES])


@irdl_op_definition
class DotOp(IRDLOperation):
    """Sums of two products of bfloat16, added to 32-bit sums."""

    name = "x86vector.avx512.dot"

    src = operand_def(SUMS)
    a = operand_def(FACTORS)
    b = operand_def(FACTORS)
    dst = result_def(SUMS)
    traits = traits_def(Pure())
    assembly_format = "$src `,` $a `,` $b attr-dict `:` type($a) `->` type($src)"


X86VECTOR = Dialect("x86vector", [DotOp], [])
