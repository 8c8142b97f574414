"""nt.window: every window of a tensor, as numpy.lib.stride_tricks.sliding_window_view gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from .common import (
    INDEX,
    NO_SIZES,
    SizedOp,
    int_array,
    parse_int_list,
    parse_types,
    print_types,
    shape_of,
    verify_same_element,
)


@irdl_op_definition
class WindowOp(SizedOp):
    """Windows along some dimensions: `nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>`.

    The result has the dimensions of the source, those of `over` shorter by the extent of the window less one, then the
    windows' own: element (i, j, k) above is element (i, j + k) of the source. The extents of a window are constants.
    """

    name = "nt.window"

    source = operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    over = prop_def(DenseArrayBase)
    size_map = prop_def(AffineMapAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, over: Sequence[int], result: TensorType, sizes: AffineList = NO_SIZES
    ):
        super().__init__(
            operands=[source, sizes.operands],
            properties={"over": int_array(over), "size_map": sizes.map_attr},
            result_types=[result],
        )

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimension that each window dimension runs along."""
        return tuple(self.over.get_values())  # pyright: ignore

    def verify_(self) -> None:
        verify_same_element(self, self.source, self.result)
        self._verify_sizes(self.result)
        source, result, dims = shape_of(self.source), shape_of(self.result), self.dims
        if any(not 0 <= d < len(source) for d in dims) or len(result) != len(source) + len(dims):
            raise VerifyException(
                f"{self.name}: windows over {list(dims)} of {self.source.type} do not give {self.result.type}"
            )
        expected = list(source)
        for d, extent in zip(dims, result[len(source) :], strict=True):
            if extent == DYNAMIC_INDEX or extent < 1:
                raise VerifyException(f"{self.name}: the extents of a window are positive constants")
            expected[d] = DYNAMIC_INDEX if expected[d] == DYNAMIC_INDEX else expected[d] - extent + 1
        for k, (extent, is_) in enumerate(zip(expected, result, strict=False)):
            if DYNAMIC_INDEX not in (extent, is_) and (extent != is_ or extent < 0):
                raise VerifyException(
                    f"{self.name}: dimension {k} of {self.result.type} has {is_} windows in place of {max(extent, 0)}"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f" over {list(self.dims)}")
        self._print_sizes(printer)
        printer.print_op_attributes(self.attributes)
        print_types(printer, self.source, self.result)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("over")
        over = parse_int_list(parser)
        sizes = cls._parse_sizes(parser)
        attributes = parser.parse_optional_attr_dict()
        source_type, result_type = parse_types(parser)
        op = cls(parser.resolve_operand(source, source_type), over, result_type, sizes)  # pyright: ignore
        op.attributes.update(attributes)
        return op
