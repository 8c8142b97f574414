"""The nt operations that are not elementwise: constants, shapes, reductions, fusions and islands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList, parse_affine_exprs, parse_indices, print_expr, print_indices
from .reductions import REDUCTIONS
from .traits import Canonicalized
from .types import kind_of, scalar_type

INDEX = IndexType()
ORDERS = ("any", "fixed-tree", "sequential")


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Extents of a tensor value or type; `DYNAMIC_INDEX` where unknown."""
    tensor = value.type if isinstance(value, SSAValue) else value
    assert isinstance(tensor, TensorType)
    return tuple(tensor.get_shape())


def element_of(value: SSAValue | Attribute) -> Attribute:
    """Element type of a tensor value or type."""
    tensor = value.type if isinstance(value, SSAValue) else value
    assert isinstance(tensor, TensorType)
    return tensor.element_type


def _verify_element(op: IRDLOperation, tensor: Attribute) -> None:
    try:
        kind_of(element_of(tensor))
    except TypeError as error:
        raise VerifyException(f"{op.name}: {error}") from None


def _verify_same_element(op: IRDLOperation, source: SSAValue, result: SSAValue) -> None:
    if element_of(source) != element_of(result):
        raise VerifyException(
            f"{op.name}: the element type changes from {element_of(source)} to {element_of(result)}; use nt.cast"
        )


class _SizedOp(IRDLOperation):
    """Shared by operations whose result has unknown extents: `sizes` gives them, in order."""

    @property
    def sizes(self) -> AffineList:
        """One expression for each `?` of the result type."""
        return AffineList.from_op(self.size_map, self.size_operands)  # pyright: ignore

    def _verify_sizes(self, result: SSAValue) -> None:
        unknown = sum(extent == DYNAMIC_INDEX for extent in shape_of(result))
        if len(self.sizes) != unknown:
            raise VerifyException(
                f"{self.name}: {len(self.sizes)} sizes for the {unknown} unknown extents of {result.type}"
            )

    def _print_sizes(self, printer: Printer) -> None:
        if not len(self.sizes):
            return
        printer.print_string(" sizes")
        with printer.in_parens():
            printer.print_list(self.sizes.exprs, lambda e: print_expr(printer, e, self.sizes.operands))

    @staticmethod
    def _parse_sizes(parser: Parser) -> AffineList:
        if parser.parse_optional_keyword("sizes") is None:
            return AffineList(())
        return parse_affine_exprs(
            parser, lambda expr: parser.parse_comma_separated_list(parser.Delimiter.PAREN, expr)
        )


def _print_types(printer: Printer, source: SSAValue, result: SSAValue) -> None:
    printer.print_string(" : ")
    printer.print_attribute(source.type)
    printer.print_string(" -> ")
    printer.print_attribute(result.type)


def _parse_types(parser: Parser) -> tuple[Attribute, Attribute]:
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_punctuation("->")
    return source, parser.parse_type()


def _parse_int_list(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_negative=True)
    )


def _ints(values: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(values))


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor known at compile time: `nt.constant dense<1.0e-05> : tensor<f32>`."""

    name = "nt.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike(), Canonicalized())

    def __init__(self, value: DenseIntOrFPElementsAttr):
        super().__init__(properties={"value": value}, result_types=[value.type])

    @property
    def splat(self) -> int | float | None:
        """The one value of every element, or None when they differ or there is none."""
        if self.value.is_splat():
            return self.value.get_values()[0]
        return None

    def verify_(self) -> None:
        _verify_element(self, self.result.type)
        if self.value.type != self.result.type:
            raise VerifyException(
                f"{self.name}: the value is {self.value.type}, the result {self.result.type}"
            )
        if DYNAMIC_INDEX in shape_of(self.result):
            raise VerifyException(f"{self.name}: a constant has static extents; broadcast it instead")

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(value.type, TensorType):
            parser.raise_error("expected dense<...> : tensor<...>", position)
        op = cls(value)
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class FromScalarOp(IRDLOperation):
    """A Python scalar as a rank-0 tensor: `nt.from_scalar %s : f64 -> tensor<f64>`."""

    name = "nt.from_scalar"

    scalar = operand_def(AnyAttr())
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())
    assembly_format = "$scalar attr-dict `:` type($scalar) `->` type($result)"

    def __init__(self, scalar: SSAValue, result: TensorType):
        super().__init__(operands=[scalar], result_types=[result])

    def verify_(self) -> None:
        _verify_element(self, self.result.type)
        if shape_of(self.result) or scalar_type(element_of(self.result)) != self.scalar.type:
            raise VerifyException(f"{self.name}: {self.scalar.type} does not become {self.result.type}")


@irdl_op_definition
class ToScalarOp(IRDLOperation):
    """The element of a rank-0 tensor as a scalar: `nt.to_scalar %t : tensor<i64> -> i64`."""

    name = "nt.to_scalar"

    tensor = operand_def(TensorType)
    result = result_def(AnyAttr())

    traits = traits_def(Pure(), Canonicalized())
    assembly_format = "$tensor attr-dict `:` type($tensor) `->` type($result)"

    def __init__(self, tensor: SSAValue):
        super().__init__(operands=[tensor], result_types=[scalar_type(element_of(tensor))])

    def verify_(self) -> None:
        if shape_of(self.tensor) or scalar_type(element_of(self.tensor)) != self.result.type:
            raise VerifyException(f"{self.name}: {self.tensor.type} does not become {self.result.type}")


@irdl_op_definition
class DimOp(IRDLOperation):
    """An extent: `%n = nt.dim %x[0] : tensor<?x4xf32>`."""

    name = "nt.dim"

    tensor = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(INDEX)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(self, tensor: SSAValue, axis: int):
        super().__init__(operands=[tensor], properties={"axis": IntegerAttr(axis, i64)}, result_types=[INDEX])

    def verify_(self) -> None:
        rank = len(shape_of(self.tensor))
        if not 0 <= self.axis.value.data < rank:
            raise VerifyException(f"{self.name}: axis {self.axis.value.data} of a tensor of rank {rank}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.tensor)
        printer.print_string(f"[{self.axis.value.data}]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tensor.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tensor = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            axis = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(tensor, parser.parse_type()), axis)
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class CastOp(IRDLOperation):
    """Convert the element type as NumPy's astype: `nt.cast %x : tensor<4xi32> -> tensor<4xf32>`."""

    name = "nt.cast"

    source = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result: TensorType):
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        _verify_element(self, self.source.type)
        _verify_element(self, self.result.type)
        if shape_of(self.source) != shape_of(self.result):
            raise VerifyException(
                f"{self.name}: the shape changes from {self.source.type} to {self.result.type}"
            )


@irdl_op_definition
class BroadcastOp(_SizedOp):
    """Repeat along new or size-1 dimensions: `nt.broadcast %m along [0] sizes(%n) : tensor<?xf32> -> tensor<?x4xf32>`.

    `along[k]` is the result dimension that dimension k of the source becomes, increasing; a source extent of 1
    stretches; the other result dimensions are new.
    """

    name = "nt.broadcast"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    along = prop_def(DenseArrayBase)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(
        self, source: SSAValue, along: Sequence[int], result: TensorType, sizes: AffineList = AffineList(())
    ):
        super().__init__(
            operands=[source, sizes.operands],
            properties={"along": _ints(along), "size_map": sizes.map_attr},
            result_types=[result],
        )

    @property
    def along_dims(self) -> tuple[int, ...]:
        return tuple(self.along.get_values())  # pyright: ignore

    def verify_(self) -> None:
        _verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        source, result, along = shape_of(self.source), shape_of(self.result), self.along_dims
        if len(along) != len(source):
            raise VerifyException(
                f"{self.name}: along names {len(along)} dimensions of a tensor of rank {len(source)}"
            )
        if any(b <= a for a, b in zip(along, along[1:], strict=False)) or any(
            not 0 <= d < len(result) for d in along
        ):
            raise VerifyException(
                f"{self.name}: along {list(along)} must increase within the {len(result)} result dimensions"
            )
        for k, d in enumerate(along):
            if source[k] != 1 and source[k] != result[d]:
                raise VerifyException(
                    f"{self.name}: dimension {k} of {self.source.type} does not stretch to dimension {d} of {self.result.type}"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f" along {list(self.along_dims)}")
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        _print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("along")
        along = _parse_int_list(parser)
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = _parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), along, result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class ReshapeOp(_SizedOp):
    """The same elements in row-major order, another shape: `nt.reshape %x : tensor<4x5xf32> -> tensor<20xf32>`."""

    name = "nt.reshape"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(self, source: SSAValue, result: TensorType, sizes: AffineList = AffineList(())):
        super().__init__(
            operands=[source, sizes.operands], properties={"size_map": sizes.map_attr}, result_types=[result]
        )

    def verify_(self) -> None:
        _verify_same_element(self, self.source, self.result)
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
        _print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = _parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


def _product(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """Permute dimensions: result dimension k is source dimension `perm[k]`: `nt.transpose %x perm [1, 0] : ...`."""

    name = "nt.transpose"

    source = operand_def(TensorType)
    perm = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(self, source: SSAValue, perm: Sequence[int]):
        shape = shape_of(source)
        super().__init__(
            operands=[source],
            properties={"perm": _ints(perm)},
            result_types=[TensorType(element_of(source), [shape[p] for p in perm])],
        )

    @property
    def permutation(self) -> tuple[int, ...]:
        return tuple(self.perm.get_values())  # pyright: ignore

    def verify_(self) -> None:
        _verify_same_element(self, self.source, self.result)
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
        _print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("perm")
        perm = _parse_int_list(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = _parse_types(parser)
        op = cls.create(
            operands=[parser.resolve_operand(source, source_type)],
            properties={"perm": _ints(perm)},
            result_types=[result_type],
        )
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class SliceOp(_SizedOp):
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

    def __init__(
        self,
        source: SSAValue,
        offsets: AffineList,
        strides: Sequence[int],
        result: TensorType,
        sizes: AffineList = AffineList(()),
    ):
        super().__init__(
            operands=[source, offsets.operands, sizes.operands],
            properties={
                "offset_map": offsets.map_attr,
                "strides": _ints(strides),
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
        _verify_same_element(self, self.source, self.result)
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
        _print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        offsets = parse_indices(parser)
        parser.parse_keyword("strides")
        strides = _parse_int_list(parser)
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = _parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), offsets, strides, result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Combine along dimensions: `nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>`.

    The combiner is named (`dialects/nt/reductions.py`), or `custom` with one identity an operand and a region that takes the
    accumulators, then the elements (scalars), and yields the new accumulators; several operands of one shape
    reduce at once: `nt.reduce custom (%v, %k) over [1] identity [-1.0 : f32, 0 : i64] {...} : ..., ... -> ..., ...`.
    `order(sequential)` forbids re-association; the default is `any`: any fixed tree.
    """

    name = "nt.reduce"

    inputs = var_operand_def(TensorType)
    combiner = prop_def(StringAttr)
    dims = prop_def(DenseArrayBase)
    order = opt_prop_def(StringAttr)
    identity = opt_prop_def(ArrayAttr)
    combine = opt_region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())

    def __init__(
        self,
        combiner: str,
        inputs: Sequence[SSAValue],
        dims: Sequence[int],
        *,
        order: str = "any",
        identity: ArrayAttr | None = None,
        combine: Region | None = None,
    ):
        kept = [e for d, e in enumerate(shape_of(inputs[0])) if d not in dims]
        super().__init__(
            operands=[inputs],
            properties={
                "combiner": StringAttr(combiner),
                "dims": _ints(dims),
                "order": None if order == "any" else StringAttr(order),
                "identity": identity,
            },
            regions=[[combine] if combine is not None else []],
            result_types=[[TensorType(element_of(v), kept) for v in inputs]],
        )

    @property
    def reduced(self) -> tuple[int, ...]:
        """The dimensions that disappear, increasing."""
        return tuple(self.dims.get_values())  # pyright: ignore

    @property
    def order_name(self) -> str:
        return self.order.data if self.order is not None else "any"

    def verify_(self) -> None:
        if not self.inputs or len(self.inputs) != len(self.results_):
            raise VerifyException(
                f"{self.name}: {len(self.inputs)} operands and {len(self.results_)} results"
            )
        shape = shape_of(self.inputs[0])
        dims = self.reduced
        if any(b <= a for a, b in zip(dims, dims[1:], strict=False)) or any(
            not 0 <= d < len(shape) for d in dims
        ):
            raise VerifyException(f"{self.name}: over {list(dims)} must increase within rank {len(shape)}")
        kept = tuple(e for d, e in enumerate(shape) if d not in dims)
        for source, result in zip(self.inputs, self.results_, strict=True):
            _verify_same_element(self, source, result)
            if shape_of(source) != shape:
                raise VerifyException(f"{self.name}: operands of different shapes reduce together")
            if shape_of(result) != kept:
                raise VerifyException(
                    f"{self.name}: over {list(dims)} of {source.type} does not give {result.type}"
                )
        if self.order_name not in ORDERS:
            raise VerifyException(
                f"{self.name}: unknown order '{self.order_name}'; one of {', '.join(ORDERS)}"
            )
        self._verify_combiner()

    def _verify_combiner(self) -> None:
        name = self.combiner.data
        if name == "custom":
            return self._verify_custom()
        if name not in REDUCTIONS:
            raise VerifyException(
                f"{self.name}: unknown combiner '{name}'; one of {', '.join(REDUCTIONS)}, or custom"
            )
        if len(self.inputs) != 1 or self.combine is not None or self.identity is not None:
            raise VerifyException(
                f"{self.name}: the named combiner '{name}' takes one operand and nothing else"
            )
        element = element_of(self.inputs[0])
        if kind_of(element) not in REDUCTIONS[name].combiners:
            raise VerifyException(f"{self.name}: the combiner '{name}' does not apply to {element}")

    def _verify_custom(self) -> None:
        scalars = [scalar_type(element_of(v)) for v in self.inputs]
        if self.combine is None or self.identity is None or len(self.identity) != len(scalars):
            raise VerifyException(
                f"{self.name}: a custom combiner needs a region and one identity an operand"
            )
        if [arg.type for arg in self.combine.block.args] != scalars + scalars:
            raise VerifyException(
                f"{self.name}: the region takes the accumulators, then the elements, as scalars"
            )
        last = self.combine.block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != scalars:
            raise VerifyException(f"{self.name}: the region ends with a nt.yield of the new accumulators")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.combiner.data} ")
        if len(self.inputs) == 1:
            printer.print_operand(self.inputs[0])
        else:
            with printer.in_parens():
                printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(f" over {list(self.reduced)}")
        if self.order_name != "any":
            printer.print_string(f' order "{self.order_name}"')
        if self.identity is not None:
            printer.print_string(" identity ")
            printer.print_attribute(self.identity)
        if self.combine is not None:
            printer.print_string(" ")
            printer.print_region(self.combine)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((v.type for v in self.inputs), printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_list((v.type for v in self.results_), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        combiner = parser.parse_identifier("the combiner's name")
        inputs = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        if inputs is None:
            inputs = [parser.parse_unresolved_operand()]
        parser.parse_keyword("over")
        dims = _parse_int_list(parser)
        order = parser.parse_str_literal("the order") if parser.parse_optional_keyword("order") else "any"
        identity = parser.parse_attribute() if parser.parse_optional_keyword("identity") else None
        combine = parser.parse_optional_region()
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        parser.parse_punctuation(":")
        sources = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(sources) != len(inputs):
            parser.raise_error(f"{len(inputs)} operands but {len(sources)} types", position)
        op = cls.build(
            operands=[[parser.resolve_operand(v, t) for v, t in zip(inputs, sources, strict=True)]],
            properties={
                "combiner": StringAttr(combiner),
                "dims": _ints(dims),
                "order": None if order == "any" else StringAttr(order),
                "identity": identity,
            },
            regions=[[combine] if combine is not None else []],
            result_types=[results],
        )
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region of nt.reduce or nt.fusion: `nt.yield %v : tensor<4xf32>`."""

    name = "nt.yield"

    values = var_operand_def(AnyAttr())

    traits = traits_def(Pure(), IsTerminator())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


@irdl_op_definition
class FusionOp(IRDLOperation):
    """Pure nt operations that become one loop nest: `%r = nt.fusion "iou" { ...; nt.yield %v : T } : T`.

    The region uses values from outside directly; everything inside it is pure.
    """

    name = "nt.fusion"

    label = prop_def(StringAttr)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(Pure(), RecursiveMemoryEffect())

    def __init__(self, label: str, body: Region, result_types: Sequence[Attribute]):
        super().__init__(
            properties={"label": StringAttr(label)}, regions=[body], result_types=[list(result_types)]
        )

    def verify_(self) -> None:
        last = self.body.block.last_op
        if self.body.block.args:
            raise VerifyException(
                f"{self.name}: the region takes no arguments; it uses outer values directly"
            )
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results_]:
            raise VerifyException(f"{self.name}: the region ends with a nt.yield of the results' types")
        for op in self.body.block.ops:
            if op is not last and not op.has_trait(Pure):
                raise VerifyException(f"{self.name}: '{op.name}' has effects and cannot be fused")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}"')
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_list((r.type for r in self.results_), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal("the fusion's label")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        parser.parse_punctuation(":")
        op = cls(label, body, parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


@irdl_op_definition
class LoopsOp(IRDLOperation):
    """An island of loops that mutate, in destination-passing style.

        %a1 = nt.loops ins(%b : tensor<?xf64>) outs(%a : tensor<?x?xf64>) {
        ^bb0(%bm: memref<?xf64>, %am: memref<?x?xf64>):
          nest.for "i" %i = 1 to %n { ... }
        }

    The region's arguments are the operands in memory, ins then outs; its body is nest operations. The results are
    the final contents of `outs`. Scalars and index values from outside are used directly.
    """

    name = "nt.loops"

    inputs = var_operand_def(TensorType)
    outputs = var_operand_def(TensorType)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], body: Region):
        super().__init__(operands=[inputs, outputs], regions=[body], result_types=[[v.type for v in outputs]])

    def verify_(self) -> None:
        operands = [*self.inputs, *self.outputs]
        args = self.body.block.args
        if len(args) != len(operands):
            raise VerifyException(
                f"{self.name}: the region takes {len(args)} buffers for {len(operands)} operands"
            )
        for value, arg in zip(operands, args, strict=True):
            if not isinstance(arg.type, MemRefType) or tuple(arg.type.get_shape()) != shape_of(value):
                raise VerifyException(
                    f"{self.name}: {value.type} enters the region as {arg.type}, of another shape"
                )
            if arg.type.element_type != _storage(value):
                raise VerifyException(
                    f"{self.name}: {value.type} enters the region as {arg.type}, of another element type"
                )
        if [r.type for r in self.results_] != [v.type for v in self.outputs]:
            raise VerifyException(f"{self.name}: one result of the same type for each of outs")

    def print(self, printer: Printer) -> None:
        for keyword, group in (("ins", self.inputs), ("outs", self.outputs)):
            printer.print_string(f" {keyword}(")
            printer.print_list(group, printer.print_operand)
            if group:
                printer.print_string(" : ")
                printer.print_list((v.type for v in group), printer.print_attribute)
            printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs, outputs = _parse_group(parser, "ins"), _parse_group(parser, "outs")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(inputs, outputs, body)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _storage(value: SSAValue) -> Attribute:
    from .types import storage_type

    return storage_type(element_of(value))


def _parse_group(parser: Parser, keyword: str) -> list[SSAValue]:
    parser.parse_keyword(keyword)
    parser.parse_punctuation("(")
    if parser.parse_optional_punctuation(")"):
        return []
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    if len(names) != len(types):
        parser.raise_error(f"{keyword} has {len(names)} operands but {len(types)} types")
    return [parser.resolve_operand(n, t) for n, t in zip(names, types, strict=True)]
