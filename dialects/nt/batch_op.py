"""A function applied to each slice of its operands: `nt.batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FlatSymbolRefAttr,
    FunctionType,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .common import element_of, int_array, parse_group, parse_int_list, print_group, shape_of
from .derivative_ops import CalleeIsFunction, OfFunction, parse_results, print_results

WHOLE = -1
"""Of an operand in `along`: every slice of the others gets all of it."""


@irdl_op_definition
class BatchOp(OfFunction):
    """A function of the module applied to each slice of its operands, its results stacked along a new first axis.

        %r = nt.batch @f(%x, %w : tensor<8x4xf32>, tensor<4xf32>) along [0, -1] -> (tensor<8xf32>)

    `along[k]` is the axis along which operand k is sliced, -1 for one that each slice gets whole (scalars always are).
    The sliced axes have one extent, the number of slices; it may be unknown. `whole [1]` names results that are no
    stacks: they must not depend on what is sliced, and are given once, as they are. `nt-batch` puts code in its place.
    """

    name = "nt.batch"

    arguments = var_operand_def(AnyAttr())
    callee = prop_def(FlatSymbolRefAttr)
    along = prop_def(DenseArrayBase)
    whole = opt_prop_def(DenseArrayBase)
    results_ = var_result_def(AnyAttr())

    traits = traits_def(CalleeIsFunction())

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue],
        along: Sequence[int],
        result_types: Sequence[Attribute],
        whole: Sequence[int] = (),
    ):
        """`result_types` are those of the function."""
        slices = slice_count([v.type for v in arguments], along)
        super().__init__(
            operands=[list(arguments)],
            properties={
                "callee": SymbolRefAttr(callee),
                "along": int_array(along),
                "whole": int_array(whole) if whole else None,
            },
            result_types=[[t if k in whole else stacked_type(t, slices) for k, t in enumerate(result_types)]],
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """Of each operand: the axis along which it is sliced, or `WHOLE`."""
        return tuple(self.along.get_values())  # pyright: ignore

    @property
    def whole_results(self) -> tuple[int, ...]:
        """The results that are given as they are, increasing."""
        return () if self.whole is None else tuple(self.whole.get_values())  # pyright: ignore

    @property
    def slices(self) -> int:
        """The number of slices; `DYNAMIC_INDEX` where unknown."""
        return slice_count([v.type for v in self.arguments], self.axes)

    def given_types(self) -> Sequence[Attribute]:
        self._verify_axes()
        types = [v.type for v in self.arguments]
        return [
            t if axis == WHOLE else sliced_type(t, axis) for t, axis in zip(types, self.axes, strict=True)
        ]

    def _verify_axes(self) -> None:
        if len(self.axes) != len(self.arguments):
            raise VerifyException(
                f"{self.name}: along {list(self.axes)} names an axis for each of the {len(self.arguments)} operands"
            )
        if all(axis == WHOLE for axis in self.axes):
            raise VerifyException(f"{self.name}: along {list(self.axes)} slices no operand")
        known: dict[int, int] = {}
        for k, (value, axis) in enumerate(zip(self.arguments, self.axes, strict=True)):
            if axis == WHOLE:
                continue
            if not isinstance(value.type, TensorType):
                raise VerifyException(f"{self.name}: operand {k} is {value.type}, which has no slices")
            if not 0 <= axis < len(shape_of(value)):
                raise VerifyException(f"{self.name}: operand {k} is {value.type}, which has no axis {axis}")
            if (extent := shape_of(value)[axis]) != DYNAMIC_INDEX:
                known.setdefault(extent, k)
        if len(known) > 1:
            (one, first), (other, second), *_ = known.items()
            raise VerifyException(
                f"{self.name}: operand {first} has {one} slices and operand {second} has {other}"
            )

    def verify_function(self, kind: FunctionType) -> None:
        expected = [
            t if k in self.whole_results else stacked_type(t, self.slices) for k, t in enumerate(kind.outputs)
        ]
        if any(not isinstance(t, TensorType) for t in kind.outputs):
            raise VerifyException(f"{self.name}: {self.callee} gives what is no tensor, and has no stacks")
        if any(not 0 <= k < len(expected) for k in self.whole_results):
            raise VerifyException(
                f"{self.name}: whole {list(self.whole_results)} is not within the {len(expected)} results"
            )
        if [r.type for r in self.results_] != expected:
            raise VerifyException(f"{self.name}: its results are ({', '.join(map(str, expected))})")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        print_group(printer, self.arguments)
        printer.print_string(f" along {list(self.axes)}")
        if self.whole_results:
            printer.print_string(f" whole {list(self.whole_results)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        print_results(printer, self.results_)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_symbol_name()
        arguments = parse_group(parser, "the function has")
        parser.parse_keyword("along")
        along = parse_int_list(parser)
        whole = parse_int_list(parser) if parser.parse_optional_keyword("whole") else []
        attributes = parser.parse_optional_attr_dict_with_keyword()
        results = parse_results(parser)
        op = cls.build(
            operands=[arguments],
            properties={
                "callee": SymbolRefAttr(callee),
                "along": int_array(along),
                "whole": int_array(whole) if whole else None,
            },
            result_types=[results],
        )
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def slice_count(types: Sequence[Attribute], along: Sequence[int]) -> int:
    """The number of slices: the first known extent of a sliced axis, else `DYNAMIC_INDEX`."""
    extents = [shape_of(t)[axis] for t, axis in zip(types, along, strict=True) if axis != WHOLE]
    return next((extent for extent in extents if extent != DYNAMIC_INDEX), DYNAMIC_INDEX)


def stacked_type(kind: Attribute, slices: int) -> Attribute:
    """The type of `slices` tensors of one type, stacked along a new first axis; of what is no tensor, its own."""
    return TensorType(element_of(kind), [slices, *shape_of(kind)]) if isinstance(kind, TensorType) else kind


def sliced_type(kind: Attribute, axis: int) -> Attribute:
    """The type of one slice."""
    shape = shape_of(kind)
    return TensorType(element_of(kind), [*shape[:axis], *shape[axis + 1 :]])
