"""The `vector` dialect: xDSL's, plus the operations that xDSL lacks, with MLIR's names and syntax."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I1, ArrayAttr, IndexType, IntegerAttr, MemRefType, VectorType, i64
from xdsl.dialects.vector import Vector
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

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


@irdl_op_definition
class ExtractStridedSliceOp(IRDLOperation):
    """A part of a vector along its first axes.

    `%1 = vector.extract_strided_slice %0 {offsets = [2], sizes = [2], strides = [1]} : vector<4x2xf16> to vector<2x2xf16>`
    """

    name = "vector.extract_strided_slice"
    vector = operand_def(VectorType)
    offsets = prop_def(ArrayAttr[IntegerAttr])
    sizes = prop_def(ArrayAttr[IntegerAttr])
    strides = prop_def(ArrayAttr[IntegerAttr])
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$vector attr-dict `:` type($vector) `to` type($result)"

    @staticmethod
    def of(vector: SSAValue, offsets: Sequence[int], sizes: Sequence[int]) -> ExtractStridedSliceOp:
        """The operation that takes `sizes` elements from `offsets` on, all of the axes behind."""
        assert isinstance(vector.type, VectorType)
        shape = [*sizes, *vector.type.get_shape()[len(sizes) :]]
        numbers = {"offsets": offsets, "sizes": sizes, "strides": [1] * len(sizes)}
        return ExtractStridedSliceOp.create(
            operands=[vector],
            properties={k: ArrayAttr([IntegerAttr(n, i64) for n in found]) for k, found in numbers.items()},
            result_types=[VectorType(vector.type.element_type, shape)],
        )

    def verify_(self) -> None:
        assert isinstance(self.vector.type, VectorType) and isinstance(self.result.type, VectorType)
        extents = self.vector.type.get_shape()
        taken = [[n.value.data for n in found.data] for found in (self.offsets, self.sizes, self.strides)]
        if len({len(numbers) for numbers in taken}) > 1 or len(taken[0]) > len(extents):
            raise VerifyException("offsets, sizes and strides are those of the first axes")
        for offset, size, stride, extent in zip(*taken, extents, strict=False):
            if offset < 0 or size < 1 or stride != 1 or offset + size > extent:
                raise VerifyException(f"takes {size} of {extent} elements from {offset} on")
        if self.result.type != VectorType(
            self.vector.type.element_type, [*taken[1], *extents[len(taken[1]) :]]
        ):
            raise VerifyException("the result has the shape that sizes say")


@irdl_op_definition
class FromElementsOp(IRDLOperation):
    """A vector of scalars: `%v = vector.from_elements %a, %b : vector<2xf16>`."""

    name = "vector.from_elements"
    elements = var_operand_def()
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$elements attr-dict `:` type($elements) `to` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.result.type, VectorType)
        count = 1
        for extent in self.result.type.get_shape():
            count *= extent
        if len(self.elements) != count:
            raise VerifyException(f"{len(self.elements)} elements for {self.result.type}")
        if any(value.type != self.result.type.element_type for value in self.elements):
            raise VerifyException(f"the elements are not those of {self.result.type}")


VECTOR = ExtendedDialect(Vector, [StepOp, GatherOp, ScatterOp, ExtractStridedSliceOp, FromElementsOp])
