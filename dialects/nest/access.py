"""Loads, and statements: what a store and an accumulate share (label, domain), and the store."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from xdsl.dialects.builtin import AffineMapAttr, IntegerType, MemRefType, Signedness, StringAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    Operand,
    OptOperand,
    VarOperand,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_indices, parse_where, print_indices, print_where
from .common import INDEX, parse_memref, segments, verify_affine


class AccessOp(IRDLOperation, ABC):
    """Shared by loads and stores, whose fields `map` and `index_operands` hold the indices."""

    if TYPE_CHECKING:  # xDSL takes any other annotation for a field definition
        map: AffineMapAttr
        index_operands: VarOperand

    @property
    def indices(self) -> AffineList:
        """One affine expression a dimension of the buffer."""
        return AffineList.from_op(self.map, self.index_operands)

    def _verify_access(self, memref: SSAValue) -> None:
        verify_affine(self, "an index", self.map, self.index_operands)
        rank = memref.type.get_num_dims() if isinstance(memref.type, MemRefType) else -1
        element = memref.type.element_type if isinstance(memref.type, MemRefType) else None
        if isinstance(element, IntegerType) and element.signedness.data is not Signedness.SIGNLESS:
            raise VerifyException(
                f"{self.name}: integers in memory have no sign: i{element.width.data}, not {element}"
            )
        if len(self.map.data.results) != rank:
            raise VerifyException(
                f"{self.name}: {len(self.map.data.results)} indices for a buffer of rank {rank}"
            )


class ElementOp(AccessOp):
    """Shared by what names one element and no more: `%x[%i, %j + 1] : memref<?x?xf32>`."""

    if TYPE_CHECKING:
        memref: Operand

    def __init__(self, memref: SSAValue, indices: AffineList, result_types: Sequence[Attribute] = ()):
        super().__init__(
            operands=[memref, indices.operands],
            properties={"map": indices.map_attr},
            result_types=list(result_types),
        )

    def set_indices(self, indices: AffineList) -> None:
        """Replace the indices."""
        self.operands = [self.memref, *indices.operands]
        self.properties["map"] = indices.map_attr

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.memref)
        print_indices(printer, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        memref = parser.parse_unresolved_operand()
        indices = parse_indices(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(memref, parse_memref(parser)), indices)
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class LoadOp(ElementOp):
    """Read an element: `%v = nest.load %x[%i, %j + 1] : memref<?x?xf32>`."""

    name = "nest.load"

    memref = operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)
    result = result_def(AnyAttr())

    traits = traits_def(MemoryReadEffect())

    def __init__(self, memref: SSAValue, indices: AffineList):
        assert isinstance(memref.type, MemRefType)
        super().__init__(memref, indices, [memref.type.element_type])

    def verify_(self) -> None:
        self._verify_access(self.memref)
        if self.result.type != self.memref.type.element_type:  # pyright: ignore
            raise VerifyException(
                f"{self.name}: the result is {self.result.type}, the buffer holds another type"
            )


class StatementOp(AccessOp):
    """Shared by store and accumulate: a label, and a domain (affine `where` set, optional SSA mask)."""

    if TYPE_CHECKING:
        label: StringAttr | None
        where_map: AffineMapAttr | None
        where_operands: VarOperand
        mask: OptOperand

    @property
    def statement(self) -> str:
        """The label (the Python variable it computes), empty when it has none."""
        return self.label.data if self.label is not None else ""

    @property
    def where(self) -> AffineList | None:
        """The affine part of the domain: the statement runs where every expression is >= 0."""
        if self.where_map is None:
            return None
        return AffineList.from_op(self.where_map, self.where_operands)

    def set_access(self, indices: AffineList, where: AffineList | None) -> None:
        """Replace the indices and the affine part of the domain."""
        raise NotImplementedError

    def set_indices(self, indices: AffineList) -> None:
        """Replace the indices."""
        self.set_access(indices, self.where)

    def _verify_statement(self) -> None:
        if self.where_map is not None:
            verify_affine(self, "the domain", self.where_map, self.where_operands)
        elif self.where_operands:
            raise VerifyException(f"{self.name}: domain operands without a domain")

    def _print_domain(self, printer: Printer) -> None:
        if self.where is not None:
            print_where(printer, self.where)
        if self.mask is not None:
            printer.print_string(" mask ")
            printer.print_operand(self.mask)

    @staticmethod
    def _parse_domain(parser: Parser) -> tuple[AffineList | None, SSAValue | None]:
        where = parse_where(parser) if parser.parse_optional_keyword("where") else None
        mask = None
        if parser.parse_optional_keyword("mask"):
            mask = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        return where, mask


@irdl_op_definition
class StoreOp(StatementOp):
    """Write an element: `nest.store "iou" %r, %out[%i, %j] where (%i < %n) mask %m : memref<?x?xf32>`.

    Runs only where the domain holds: every `where` constraint, and the mask when there is one.
    """

    name = "nest.store"

    value = operand_def(AnyAttr())
    memref = operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    where_operands = var_operand_def(INDEX)
    mask = opt_operand_def(i1)
    label = opt_prop_def(StringAttr)
    map = prop_def(AffineMapAttr)
    where_map = opt_prop_def(AffineMapAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        indices: AffineList,
        *,
        label: str = "",
        where: AffineList | None = None,
        mask: SSAValue | None = None,
    ):
        super().__init__(
            operands=[value, memref, indices.operands, where.operands if where else (), mask],
            properties={
                "label": StringAttr(label) if label else None,
                "map": indices.map_attr,
                "where_map": where.map_attr if where else None,
            },
        )

    def set_access(self, indices: AffineList, where: AffineList | None) -> None:
        """Replace the indices and the affine part of the domain."""
        mask = [] if self.mask is None else [self.mask]
        where_operands = where.operands if where else ()
        self.operands = [self.value, self.memref, *indices.operands, *where_operands, *mask]
        self.properties["operandSegmentSizes"] = segments(
            1, 1, len(indices.operands), len(where_operands), len(mask)
        )
        self.properties["map"] = indices.map_attr
        self.properties.pop("where_map", None)
        if where is not None:
            self.properties["where_map"] = where.map_attr

    def verify_(self) -> None:
        self._verify_access(self.memref)
        self._verify_statement()
        if self.value.type != self.memref.type.element_type:  # pyright: ignore
            raise VerifyException(f"{self.name}: stores {self.value.type} to {self.memref.type}")

    def print(self, printer: Printer) -> None:
        if self.label is not None:
            printer.print_string(f' "{self.statement}"')
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        printer.print_operand(self.memref)
        print_indices(printer, self.indices)
        self._print_domain(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_optional_str_literal() or ""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        indices = parse_indices(parser)
        where, mask = cls._parse_domain(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        memref_type = parse_memref(parser)
        op = cls(
            parser.resolve_operand(value, memref_type.element_type),
            parser.resolve_operand(memref, memref_type),
            indices,
            label=label,
            where=where,
            mask=mask,
        )
        op.attributes.update(attributes)
        return op
