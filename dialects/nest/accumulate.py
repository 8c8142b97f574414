"""Reductions: `nest.accumulate`, its combiners and orders, and the terminator of a custom combiner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    ComplexType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_indices, print_indices
from .access import StatementOp
from .common import INDEX, parse_memref, segments

COMBINERS: dict[str, str] = {
    "add": "fic",
    "mul": "fic",
    "maximum": "fc",
    "minimum": "fc",
    "maxsi": "i",
    "minsi": "i",
    "maxui": "i",
    "minui": "i",
    "and": "i",
    "or": "i",
    "xor": "i",
}
"""Named combiners of `nest.accumulate` and the element kinds (`f` float, `i` integer, `c` complex) they take.
`maximum` and `minimum` propagate NaN; complex numbers are ordered by their real parts, then by their imaginary ones."""

_KINDS: dict[str, type[Attribute]] = {"i": IntegerType, "f": AnyFloat, "c": ComplexType}

ORDERS = ("any", "fixed-tree", "sequential", "atomic")
"""How far a reduction may be re-associated: freely, in one fixed tree, not at all; freely, and each update is one step."""

ATOMIC_COMBINERS = ("add", "maxsi", "minsi", "maxui", "minui", "and", "or", "xor")
"""Combiners that processors apply to an integer in memory in one step."""

ATOMIC_BITS = (32, 64)
"""Widths of the integers to which they do."""


@irdl_op_definition
class AccumulateOp(StatementOp):
    """Update a reduction: `nest.accumulate "s" add %v, %acc[%i] : memref<?xf32>`.

    `acc[...] = combine(acc[...], v)`. The combiner is named (`COMBINERS`), or `custom` with a region
    that takes the old elements, then the new values, and yields the combined ones. Several buffers at once
    (argmax pairs, Welford triples): `custom (%v, %k), (%best, %where)[%i]`, all at the same indices.
    `order(sequential)` forbids re-association; the default is `any`. With `order(atomic)` nothing comes between the
    reading and the writing of an update, so that iterations which run at the same time may update one element: of integers
    of 32 and 64 bits, whose combiners give the same in any order.
    """

    name = "nest.accumulate"

    values = var_operand_def(AnyAttr())
    memrefs = var_operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    where_operands = var_operand_def(INDEX)
    mask = opt_operand_def(i1)
    label = opt_prop_def(StringAttr)
    combiner = prop_def(StringAttr)
    order = opt_prop_def(StringAttr)
    identity = opt_prop_def(ArrayAttr)
    map = prop_def(AffineMapAttr)
    where_map = opt_prop_def(AffineMapAttr)
    combine = opt_region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        combiner: str,
        values: Sequence[SSAValue],
        memrefs: Sequence[SSAValue],
        indices: AffineList,
        *,
        label: str = "",
        order: str = "any",
        where: AffineList | None = None,
        mask: SSAValue | None = None,
        identity: ArrayAttr | None = None,
        combine: Region | None = None,
    ):
        super().__init__(
            operands=[values, memrefs, indices.operands, where.operands if where else (), mask],
            properties={
                "label": StringAttr(label) if label else None,
                "combiner": StringAttr(combiner),
                "order": None if order == "any" else StringAttr(order),
                "identity": identity,
                "map": indices.map_attr,
                "where_map": where.map_attr if where else None,
            },
            regions=[[combine] if combine is not None else []],
        )

    @property
    def order_name(self) -> str:
        """`any`, `fixed-tree`, `sequential` or `atomic`."""
        return self.order.data if self.order is not None else "any"

    def set_order(self, order: str) -> None:
        """Replace the order: one of `ORDERS`."""
        self.properties.pop("order", None)
        if order != "any":
            self.properties["order"] = StringAttr(order)

    def set_access(self, indices: AffineList, where: AffineList | None) -> None:
        """Replace the indices and the affine part of the domain."""
        mask = [] if self.mask is None else [self.mask]
        where_operands = where.operands if where else ()
        values, memrefs = list(self.values), list(self.memrefs)
        self.operands = [*values, *memrefs, *indices.operands, *where_operands, *mask]
        self.properties["operandSegmentSizes"] = segments(
            len(values), len(memrefs), len(indices.operands), len(where_operands), len(mask)
        )
        self.properties["map"] = indices.map_attr
        self.properties.pop("where_map", None)
        if where is not None:
            self.properties["where_map"] = where.map_attr

    def verify_(self) -> None:
        for memref in self.memrefs:
            self._verify_access(memref)
        self._verify_statement()
        if not self.values or len(self.values) != len(self.memrefs):
            raise VerifyException(f"{self.name}: {len(self.values)} values for {len(self.memrefs)} buffers")
        for value, memref in zip(self.values, self.memrefs, strict=True):
            if value.type != memref.type.element_type:  # pyright: ignore
                raise VerifyException(f"{self.name}: accumulates {value.type} into {memref.type}")
        if self.order_name not in ORDERS:
            raise VerifyException(
                f"{self.name}: unknown order '{self.order_name}'; one of {', '.join(ORDERS)}"
            )
        self._verify_combiner()
        if self.order_name == "atomic" and not is_atomic(self.combiner.data, self.values[0].type):
            raise VerifyException(
                f"{self.name}: no atomic update '{self.combiner.data}' of {self.values[0].type}; "
                f"{', '.join(ATOMIC_COMBINERS)} of {' and '.join(f'i{bits}' for bits in ATOMIC_BITS)}"
            )

    def _verify_combiner(self) -> None:
        name = self.combiner.data
        if name == "custom":
            return self._verify_custom()
        if name not in COMBINERS:
            raise VerifyException(
                f"{self.name}: unknown combiner '{name}'; one of {', '.join(COMBINERS)}, "
                "or custom with a region"
            )
        if self.combine is not None or len(self.values) != 1:
            raise VerifyException(f"{self.name}: the named combiner '{name}' takes one value and no region")
        type = self.values[0].type
        kind = next((kind for kind, known in _KINDS.items() if isinstance(type, known)), None)
        if kind is None or kind not in COMBINERS[name]:
            raise VerifyException(
                f"{self.name}: the combiner '{name}' does not apply to {self.values[0].type}"
            )

    def _verify_custom(self) -> None:
        if self.combine is None:
            raise VerifyException(f"{self.name}: a custom combiner needs a region")
        types = [value.type for value in self.values]
        if [arg.type for arg in self.combine.block.args] != types + types:
            raise VerifyException(f"{self.name}: the region takes the old elements, then the new values")
        given = [_type_of(one) for one in self.identity or ()]
        if self.identity is not None and given != types:
            raise VerifyException(
                f"{self.name}: identity {self.identity} for elements of {', '.join(map(str, types))}"
            )
        last = self.combine.block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != types:
            raise VerifyException(f"{self.name}: the region ends with a nest.yield of the combined elements")

    def print(self, printer: Printer) -> None:
        if self.label is not None:
            printer.print_string(f' "{self.statement}"')
        printer.print_string(f" {self.combiner.data} ")
        self._print_group(printer, self.values)
        printer.print_string(", ")
        self._print_group(printer, self.memrefs)
        print_indices(printer, self.indices)
        self._print_domain(printer)
        if self.order_name != "any":
            printer.print_string(f" order({self.order_name})")
        if self.identity is not None:
            printer.print_string(" identity ")
            printer.print_attribute(self.identity)
        if self.combine is not None:
            printer.print_string(" ")
            printer.print_region(self.combine)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_list((m.type for m in self.memrefs), printer.print_attribute)

    @staticmethod
    def _print_group(printer: Printer, values: Sequence[SSAValue]) -> None:
        if len(values) == 1:
            return printer.print_operand(values[0])
        with printer.in_parens():
            printer.print_list(values, printer.print_operand)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_optional_str_literal() or ""
        combiner = parser.parse_identifier(context_msg="the combiner's name")
        values = cls._parse_group(parser)
        parser.parse_punctuation(",")
        memrefs = cls._parse_group(parser)
        indices = parse_indices(parser)
        where, mask = cls._parse_domain(parser)
        order = "any"
        if parser.parse_optional_keyword("order"):
            with parser.in_parens():
                order = _parse_order(parser)
        identity = parser.parse_attribute() if parser.parse_optional_keyword("identity") else None
        combine = parser.parse_optional_region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        pos = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_memref(parser))
        if not len(types) == len(values) == len(memrefs):
            parser.raise_error(
                f"{len(values)} values, {len(memrefs)} buffers and {len(types)} types: they must pair up",
                pos,
            )
        op = cls(
            combiner,
            [parser.resolve_operand(v, t.element_type) for v, t in zip(values, types, strict=True)],
            [parser.resolve_operand(m, t) for m, t in zip(memrefs, types, strict=True)],
            indices,
            label=label,
            order=order,
            where=where,
            mask=mask,
            identity=identity,  # pyright: ignore
            combine=combine,
        )
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    @staticmethod
    def _parse_group(parser: Parser) -> list[UnresolvedOperand]:
        many = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        return [parser.parse_unresolved_operand()] if many is None else many


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the combiner region of `nest.accumulate`."""

    name = "nest.yield"

    values = var_operand_def(AnyAttr())

    traits = traits_def(Pure(), IsTerminator())
    assembly_format = "$values `:` type($values) attr-dict"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


def _type_of(number: Attribute) -> Attribute | None:
    """The type of a number; a complex one is given as its parts, as `complex.constant` has it."""
    if isinstance(number, ArrayAttr) and len(number) == 2 and isinstance(number.data[0], FloatAttr):
        return ComplexType(number.data[0].type)
    return number.type if isinstance(number, FloatAttr | IntegerAttr) else None


def is_atomic(combiner: str, element: Attribute) -> bool:
    """Whether a combiner can be applied to an element in memory in one step."""
    return (
        combiner in ATOMIC_COMBINERS
        and isinstance(element, IntegerType)
        and element.width.data in ATOMIC_BITS
    )


def _parse_order(parser: Parser) -> str:
    name = parser.parse_identifier(context_msg="the order of the reduction")
    if name == "fixed":
        parser.parse_punctuation("-")  # pyright: ignore
        parser.parse_keyword("tree")
        return "fixed-tree"
    return name
