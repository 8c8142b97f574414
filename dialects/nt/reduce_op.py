"""Reductions: `nt.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    StringAttr,
    TensorType,
)
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .common import (
    ORDERS,
    element_of,
    int_array,
    parse_int_list,
    shape_of,
    verify_element,
    verify_same_element,
)
from .reductions import REDUCTIONS
from .region_ops import YieldOp
from .traits import Canonicalized
from .types import kind_of, scalar_type
from .work import Role, Working


@irdl_op_definition
class ReduceOp(Working):
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
    ROLE: ClassVar[Role] = Role.COMPUTES

    @property
    def points(self) -> SSAValue:
        return self.inputs[0]

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
                "dims": int_array(dims),
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

    def identity_of(self, k: int) -> complex:
        """The number that the reduction of operand `k` starts from."""
        if self.identity is None:
            return REDUCTIONS[self.combiner.data].identity(element_of(self.inputs[k]))
        one = self.identity.data[k]
        if isinstance(one, ArrayAttr):  # the parts of a complex number
            return complex(*[part.value.data for part in one.data])  # pyright: ignore
        return one.value.data  # pyright: ignore

    def verify_(self) -> None:
        if not self.inputs or len(self.inputs) != len(self.results_):
            raise VerifyException(
                f"{self.name}: {len(self.inputs)} operands and {len(self.results_)} results"
            )
        shape = shape_of(self.inputs[0])
        dims = self.reduced
        if any(b <= a for a, b in pairwise(dims)) or any(not 0 <= d < len(shape) for d in dims):
            raise VerifyException(f"{self.name}: over {list(dims)} must increase within rank {len(shape)}")
        kept = tuple(e for d, e in enumerate(shape) if d not in dims)
        for source, result in zip(self.inputs, self.results_, strict=True):
            verify_element(self, source.type)
            verify_same_element(self, source, result)
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
        combiner = parser.parse_identifier(context_msg="the combiner's name")
        inputs = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        if inputs is None:
            inputs = [parser.parse_unresolved_operand()]
        parser.parse_keyword("over")
        dims = parse_int_list(parser)
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
                "dims": int_array(dims),
                "order": None if order == "any" else StringAttr(order),
                "identity": identity,
            },
            regions=[[combine] if combine is not None else []],
            result_types=[results],
        )
        op.attributes.update(attributes)
        return op
