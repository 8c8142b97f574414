"""The `vector` dialect: xDSL's, plus the operations that xDSL lacks, with MLIR's names and syntax."""

from __future__ import annotations

from xdsl.dialects.builtin import I1, IndexType, MemRefType, VectorType
from xdsl.dialects.vector import Vector
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from .extended import ExtendedDialect


@irdl_op_definition
class StepOp(IRDLOperation):
    """`[0, 1, 2, ...]`: `%0 = vector.step : vector<8xindex>`."""

    name = "vector.step"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Elements `base[indices][index_vec[k]]` where the mask holds, else the pass-through.

    `%v = vector.gather %base[%i, %j] [%iv], %mask, %pass : memref<?x?xf32>, ... into vector<8xf32>`
    The index vector counts along the last axis of the memref.
    """

    name = "vector.gather"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(VectorType)
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(VectorType)
    result = result_def(VectorType)
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:`"
        " type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Store the elements of a vector to `base[indices][index_vec[k]]` where the mask holds, in order of k."""

    name = "vector.scatter"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(VectorType)
    mask = operand_def(VectorType[I1])
    value_to_store = operand_def(VectorType)
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $value_to_store attr-dict `:`"
        " type($base) `,` type($indices) `,` type($mask) `,` type($value_to_store)"
    )


VECTOR = ExtendedDialect(Vector, [StepOp, GatherOp, ScatterOp])
