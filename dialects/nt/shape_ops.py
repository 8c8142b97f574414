"""The nt operations that convert elements or rearrange them: cast, broadcast, reshape, transpose, slice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    TensorType,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_indices, print_indices
from .common import (
    INDEX,
    NO_SIZES,
    AlongOp,
    SizedOp,
    element_of,
    int_array,
    parse_int_list,
    parse_types,
    print_types,
    shape_of,
    verify_element,
    verify_same_element,
)
from .traits import Canonicalized
from .work import Role, Viewing, Working


@irdl_op_definition
class CastOp(Working):
    """Convert the element type as NumPy's astype: `nt.cast %x : tensor<4xi32> -> tensor<4xf32>`."""

    name = "nt.cast"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())
    ROLE: ClassVar[Role] = Role.COMPUTES

    @property
    def points(self) -> SSAValue:
        return self.source

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result: TensorType):
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        verify_element(self, self.source.type)
        verify_element(self, self.result.type)
        if shape_of(self.source) != shape_of(self.result):
            raise VerifyException(
                f"{self.name}: the shape changes from {self.source.type} to {self.result.type}"
            )


@irdl_op_definition
class BroadcastOp(AlongOp, Viewing):
    """Repeat along new or size-1 dimensions: `nt.broadcast %m along [0] sizes(%n) : tensor<?xf32> -> tensor<?x4xf32>`.

    `along[k]` is the result dimension that dimension k of the source becomes, increasing; a source extent of 1
    stretches; the other result dimensions are new. A source extent that is unknown is the one of the result, which may be
    a constant: then who made the operation knows that they are equal.
    """

    name = "nt.broadcast"
    KEYWORD: ClassVar[str] = "along"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    along = prop_def(DenseArrayBase)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def source_axes(self) -> tuple[int | None, ...]:
        axes: list[int | None] = [None] * len(shape_of(self.result))
        extents = shape_of(self.source)
        for k, d in enumerate(self.dims):
            if extents[k] != 1:
                axes[d] = k
        return tuple(axes)

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        source, result, along = shape_of(self.source), shape_of(self.result), self.dims
        if len(along) != len(source):
            raise VerifyException(
                f"{self.name}: along names {len(along)} dimensions of a tensor of rank {len(source)}"
            )
        if any(b <= a for a, b in pairwise(along)) or any(not 0 <= d < len(result) for d in along):
            raise VerifyException(
                f"{self.name}: along {list(along)} must increase within the {len(result)} result dimensions"
            )
        for k, d in enumerate(along):
            if source[k] not in (1, DYNAMIC_INDEX, result[d]):
                raise VerifyException(
                    f"{self.name}: dimension {k} of {self.source.type} does not stretch to dimension {d} of "
                    f"{self.result.type}"
                )


@irdl_op_definition
class ReshapeOp(SizedOp, Viewing):
    """The same elements in row-major order, another shape: `nt.reshape %x : tensor<4x5xf32> -> tensor<20xf32>`."""

    name = "nt.reshape"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def source_axes(self) -> tuple[int | None, ...]:
        """Of a reshape that only adds or drops extents of 1."""
        kept = iter([k for k, extent in enumerate(shape_of(self.source)) if extent != 1])
        return tuple([None if extent == 1 else next(kept) for extent in shape_of(self.result)])

    def __init__(self, source: SSAValue, result: TensorType, sizes: AffineList = NO_SIZES):
        super().__init__(
            operands=[source, sizes.operands], properties={"size_map": sizes.map_attr}, result_types=[result]
        )

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        source, result = shape_of(self.source), shape_of(self.result)
        if DYNAMIC_INDEX in source or DYNAMIC_INDEX in result:
            return
        if _product(source) != _product(result):
            raise VerifyException(
                f"{self.name}: {_product(source)} elements do not become {_product(result)}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


def _product(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


@irdl_op_definition
class TransposeOp(Viewing):
    """Permute dimensions: result dimension k is source dimension `perm[k]`: `nt.transpose %x perm [1, 0] : ...`."""

    name = "nt.transpose"

    source = operand_def(TensorType)
    perm = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def source_axes(self) -> tuple[int | None, ...]:
        return self.permutation

    def __init__(self, source: SSAValue, perm: Sequence[int]):
        shape = shape_of(source)
        super().__init__(
            operands=[source],
            properties={"perm": int_array(perm)},
            result_types=[TensorType(element_of(source), [shape[p] for p in perm])],
        )

    @property
    def permutation(self) -> tuple[int, ...]:
        return tuple(self.perm.get_values())  # pyright: ignore

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        shape, perm = shape_of(self.source), self.permutation
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(
                f"{self.name}: {list(perm)} is not a permutation of {len(shape)} dimensions"
            )
        if shape_of(self.result) != tuple(shape[p] for p in perm):
            raise VerifyException(
                f"{self.name}: perm {list(perm)} of {self.source.type} does not give {self.result.type}"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f" perm {list(self.permutation)}")
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("perm")
        perm = parse_int_list(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = parse_types(parser)
        op = cls.create(
            operands=[parser.resolve_operand(source, source_type)],
            properties={"perm": int_array(perm)},
            result_types=[result_type],
        )
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class SliceOp(SizedOp, Viewing):
    """A strided window: `nt.slice %x[1, %n - 1] strides [1, -1] sizes(%n) : tensor<4x?xf32> -> tensor<2x?xf32>`.

    Element (i, j) of the result is element (offset0 + i * stride0, offset1 + j * stride1) of the source. In bounds by
    construction: the frontend clips as Python does.
    """

    name = "nt.slice"

    source = operand_def(TensorType)
    offset_operands = var_operand_def(INDEX)
    size_operands = var_operand_def(INDEX)
    offset_map = prop_def(AffineMapAttr)
    strides = prop_def(DenseArrayBase)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), Canonicalized())
    SHIFTS: ClassVar[bool] = True

    def source_axes(self) -> tuple[int | None, ...]:
        return tuple(range(len(shape_of(self.source))))

    def __init__(
        self,
        source: SSAValue,
        offsets: AffineList,
        strides: Sequence[int],
        result: TensorType,
        sizes: AffineList = NO_SIZES,
    ):
        super().__init__(
            operands=[source, offsets.operands, sizes.operands],
            properties={
                "offset_map": offsets.map_attr,
                "strides": int_array(strides),
                "size_map": sizes.map_attr,
            },
            result_types=[result],
        )

    @property
    def offsets(self) -> AffineList:
        """One expression a dimension."""
        return AffineList.from_op(self.offset_map, self.offset_operands)

    @property
    def stride_values(self) -> tuple[int, ...]:
        return tuple(self.strides.get_values())  # pyright: ignore

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        rank = len(shape_of(self.source))
        if not rank == len(self.offsets) == len(self.stride_values) == len(shape_of(self.result)):
            raise VerifyException(
                f"{self.name}: {len(self.offsets)} offsets, {len(self.stride_values)} strides and a result of rank "
                f"{len(shape_of(self.result))} for a source of rank {rank}"
            )
        if 0 in self.stride_values:
            raise VerifyException(f"{self.name}: a stride is zero; use nt.broadcast to repeat an element")
        self._verify_window()

    def _verify_window(self) -> None:
        for k, (extent, size) in enumerate(zip(shape_of(self.source), shape_of(self.result), strict=True)):
            start = self.offsets[k].constants()
            if extent == DYNAMIC_INDEX or size == DYNAMIC_INDEX or start is None or size == 0:
                continue
            last = start[0] + (size - 1) * self.stride_values[k]
            if not (0 <= start[0] < extent and 0 <= last < extent):
                raise VerifyException(
                    f"{self.name}: dimension {k} reads {start[0]}..{last} of an extent of {extent}"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        print_indices(printer, self.offsets)
        printer.print_string(f" strides {list(self.stride_values)}")
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        offsets = parse_indices(parser)
        parser.parse_keyword("strides")
        strides = parse_int_list(parser)
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), offsets, strides, result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op
