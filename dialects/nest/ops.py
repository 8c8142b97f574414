"""The nest operations: loops with names and marks, statements with domains, buffers, checked indices."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from ..affine import (
    AffineList,
    dims_of,
    parse_bound,
    parse_indices,
    parse_where,
    print_bound,
    print_indices,
    print_where,
)

INDEX = IndexType()

BIND_AXES = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")
"""What a loop can be bound to on a GPU."""

MARKS = ("serial", "parallel", "vectorized", "unrolled", *BIND_AXES)
"""What can be decided for a loop; `serial` is the default and is not printed."""

COMBINERS: dict[str, str] = {
    "add": "fi",
    "mul": "fi",
    "maximum": "f",
    "minimum": "f",
    "maxsi": "i",
    "minsi": "i",
    "maxui": "i",
    "minui": "i",
    "and": "i",
    "or": "i",
    "xor": "i",
}
"""Named combiners of `nest.accumulate` and the element kinds (`f` float, `i` integer) they take.
`maximum` and `minimum` propagate NaN."""

ORDERS = ("any", "fixed-tree", "sequential")
"""How far a reduction may be re-associated: freely, in one fixed tree, not at all."""


def _verify_affine(
    op: Operation, what: str, expressions: AffineMapAttr, operands: Sequence[SSAValue]
) -> None:
    affine_map = expressions.data
    if affine_map.num_symbols or affine_map.num_dims != len(operands):
        raise VerifyException(
            f"{op.name}: {what} has {len(operands)} operands but its map takes {affine_map.num_dims} "
            f"dimensions and {affine_map.num_symbols} symbols; expected one dimension an operand"
        )
    for expr in affine_map.results:
        _verify_pure_affine(op, what, expr)


def _verify_pure_affine(op: Operation, what: str, expr: AffineExpr) -> None:
    if not isinstance(expr, AffineBinaryOpExpr):
        return
    _verify_pure_affine(op, what, expr.lhs)
    _verify_pure_affine(op, what, expr.rhs)
    if expr.kind is AffineBinaryOpKind.Add:
        return
    if expr.kind is AffineBinaryOpKind.Mul and not (dims_of(expr.lhs) and dims_of(expr.rhs)):
        return
    if isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value > 0:
        return
    raise VerifyException(
        f"{op.name}: {what} is not affine: '{expr.kind.name.lower()}' needs a positive constant on its right"
    )


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop: `nest.for "i" %i = 0 to min(%n, 100) step 4 parallel { ... }`.

    Runs the body for iv = lower, lower + step, ... < upper, where lower is the largest of its
    expressions and upper the smallest. The name survives transforms (`i` splits into `i.o`, `i.i`).
    The mark says what was decided for the loop; `width` is the vector length of a `vectorized` loop.
    """

    name = "nest.for"

    lower_operands = var_operand_def(INDEX)
    upper_operands = var_operand_def(INDEX)
    loop_name = prop_def(StringAttr)
    lower_map = prop_def(AffineMapAttr)
    upper_map = prop_def(AffineMapAttr)
    step = prop_def(IntegerAttr)
    mark = opt_prop_def(StringAttr)
    width = opt_prop_def(IntegerAttr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        loop_name: str,
        lower: AffineList | SSAValue | int,
        upper: AffineList | SSAValue | int,
        body: Region | Block | None = None,
        *,
        step: int = 1,
        mark: str = "serial",
        width: int | None = None,
    ):
        lower, upper = _as_list(lower), _as_list(upper)
        if body is None:
            body = Block(arg_types=[INDEX])
            body.args[0].name_hint = _hint(loop_name)
        super().__init__(
            operands=[lower.operands, upper.operands],
            properties={
                "loop_name": StringAttr(loop_name),
                "lower_map": lower.map_attr,
                "upper_map": upper.map_attr,
                "step": IntegerAttr(step, INDEX),
                "mark": None if mark == "serial" else StringAttr(mark),
                "width": None if width is None else IntegerAttr(width, i64),
            },
            regions=[body if isinstance(body, Region) else Region(body)],
        )

    @property
    def iv(self) -> SSAValue:
        """The loop variable."""
        return self.body.block.args[0]

    @property
    def lower(self) -> AffineList:
        """The lower bounds; the loop starts at the largest."""
        return AffineList.from_op(self.lower_map, self.lower_operands)

    @property
    def upper(self) -> AffineList:
        """The upper bounds (exclusive); the loop ends before the smallest."""
        return AffineList.from_op(self.upper_map, self.upper_operands)

    def set_bounds(self, lower: AffineList, upper: AffineList) -> None:
        """Replace both bounds."""
        self.operands = [*lower.operands, *upper.operands]
        self.properties["operandSegmentSizes"] = _segments(len(lower.operands), len(upper.operands))
        self.properties["lower_map"] = lower.map_attr
        self.properties["upper_map"] = upper.map_attr

    @property
    def label(self) -> str:
        """The loop's name as a plain string."""
        return self.loop_name.data

    @property
    def kind(self) -> str:
        """The mark as a plain string, `serial` by default."""
        return self.mark.data if self.mark is not None else "serial"

    def set_kind(self, mark: str, width: int | None = None) -> None:
        """Set the mark (one of `MARKS`) and, for a vectorized loop, its width."""
        self.properties.pop("mark", None)
        self.properties.pop("width", None)
        if mark != "serial":
            self.properties["mark"] = StringAttr(mark)
        if width is not None:
            self.properties["width"] = IntegerAttr(width, i64)

    @property
    def step_value(self) -> int:
        return self.step.value.data

    def constant_trip_count(self) -> int | None:
        """The number of iterations when the bounds are constants, else None."""
        lower, upper = self.lower.constants(), self.upper.constants()
        if lower is None or upper is None:
            return None
        return max(0, -(-(min(upper) - max(lower)) // self.step_value))

    def verify_(self) -> None:
        _verify_affine(self, "the lower bound", self.lower_map, self.lower_operands)
        _verify_affine(self, "the upper bound", self.upper_map, self.upper_operands)
        if not self.lower_map.data.results or not self.upper_map.data.results:
            raise VerifyException(f'{self.name} "{self.label}": both bounds are required')
        if not self.label:
            raise VerifyException(f"{self.name}: a loop needs a name")
        if self.step_value < 1:
            raise VerifyException(
                f'{self.name} "{self.label}": the step is {self.step_value}, it must be positive'
            )
        if [arg.type for arg in self.body.block.args] != [INDEX]:
            raise VerifyException(
                f'{self.name} "{self.label}": the body takes exactly one argument of type index'
            )
        if self.kind not in MARKS:
            raise VerifyException(
                f"{self.name} \"{self.label}\": unknown mark '{self.kind}'; one of {', '.join(MARKS)}"
            )
        if (self.width is not None) != (self.kind == "vectorized"):
            raise VerifyException(
                f'{self.name} "{self.label}": a width goes with the mark vectorized, and only with it'
            )
        if self.width is not None and self.width.value.data < 1:
            raise VerifyException(f'{self.name} "{self.label}": the width must be positive')

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label}" ')
        printer.print_ssa_value(self.iv)
        printer.print_string(" = ")
        print_bound(printer, self.lower, "max")
        printer.print_string(" to ")
        print_bound(printer, self.upper, "min")
        if self.step_value != 1:
            printer.print_string(f" step {self.step_value}")
        if self.kind in BIND_AXES:
            printer.print_string(f' bind "{self.kind}"')
        elif self.kind == "vectorized":
            printer.print_string(f" vectorized({self.width.value.data if self.width else 0})")
        elif self.kind != "serial":
            printer.print_string(f" {self.kind}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        loop_name = parser.parse_str_literal("the loop's name")
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = parse_bound(parser, "max")
        parser.parse_keyword("to")
        upper = parse_bound(parser, "min")
        step = parser.parse_integer() if parser.parse_optional_keyword("step") else 1
        mark, width = cls._parse_mark(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region((variable.resolve(INDEX),))
        if not body.blocks:
            body.add_block(Block(arg_types=[INDEX]))
        op = cls(loop_name, lower, upper, body, step=step, mark=mark, width=width)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    @staticmethod
    def _parse_mark(parser: Parser) -> tuple[str, int | None]:
        if parser.parse_optional_keyword("bind"):
            return parser.parse_str_literal('a GPU axis such as "thread.x"'), None
        if parser.parse_optional_keyword("vectorized"):
            with parser.in_parens():
                return "vectorized", parser.parse_integer()
        for mark in ("parallel", "unrolled"):
            if parser.parse_optional_keyword(mark):
                return mark, None
        return "serial", None


class AccessOp(IRDLOperation, ABC):
    """Shared by loads and stores, whose fields `map` and `index_operands` hold the indices."""

    @property
    def indices(self) -> AffineList:
        """One affine expression a dimension of the buffer."""
        return AffineList.from_op(self.map, self.index_operands)

    def _verify_access(self, memref: SSAValue) -> None:
        _verify_affine(self, "an index", self.map, self.index_operands)
        rank = memref.type.get_num_dims() if isinstance(memref.type, MemRefType) else -1
        if len(self.map.data.results) != rank:
            raise VerifyException(
                f"{self.name}: {len(self.map.data.results)} indices for a buffer of rank {rank}"
            )


@irdl_op_definition
class LoadOp(AccessOp):
    """Read an element: `%v = nest.load %x[%i, %j + 1] : memref<?x?xf32>`."""

    name = "nest.load"

    memref = operand_def(MemRefType)
    index_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)
    result = result_def(AnyAttr())

    traits = traits_def(MemoryReadEffect())

    def __init__(self, memref: SSAValue, indices: AffineList):
        assert isinstance(memref.type, MemRefType)
        super().__init__(
            operands=[memref, indices.operands],
            properties={"map": indices.map_attr},
            result_types=[memref.type.element_type],
        )

    def set_indices(self, indices: AffineList) -> None:
        """Replace the indices."""
        self.operands = [self.memref, *indices.operands]
        self.properties["map"] = indices.map_attr

    def verify_(self) -> None:
        self._verify_access(self.memref)
        if self.result.type != self.memref.type.element_type:  # pyright: ignore
            raise VerifyException(
                f"{self.name}: the result is {self.result.type}, the buffer holds another type"
            )

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
        op = cls(parser.resolve_operand(memref, _parse_memref(parser)), indices)
        op.attributes.update(attributes)
        return op


class StatementOp(AccessOp):
    """Shared by store and accumulate: a label, and a domain (affine `where` set, optional SSA mask)."""

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

    def _verify_statement(self) -> None:
        if self.where_map is not None:
            _verify_affine(self, "the domain", self.where_map, self.where_operands)
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
        self.properties["operandSegmentSizes"] = _segments(
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
        memref_type = _parse_memref(parser)
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


@irdl_op_definition
class AccumulateOp(StatementOp):
    """Update a reduction: `nest.accumulate "s" add %v, %acc[%i] : memref<?xf32>`.

    `acc[...] = combine(acc[...], v)`. The combiner is named (`COMBINERS`), or `custom` with a region that takes
    the old elements, then the new values, and yields the combined ones. Several buffers at once
    (argmax pairs, Welford triples): `custom (%v, %k), (%best, %where)[%i]`, all at the same indices.
    `order(sequential)` forbids re-association; the default is `any`.
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
        """`any`, `fixed-tree` or `sequential`."""
        return self.order.data if self.order is not None else "any"

    def set_access(self, indices: AffineList, where: AffineList | None) -> None:
        """Replace the indices and the affine part of the domain."""
        mask = [] if self.mask is None else [self.mask]
        where_operands = where.operands if where else ()
        values, memrefs = list(self.values), list(self.memrefs)
        self.operands = [*values, *memrefs, *indices.operands, *where_operands, *mask]
        self.properties["operandSegmentSizes"] = _segments(
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

    def _verify_combiner(self) -> None:
        name = self.combiner.data
        if name == "custom":
            return self._verify_custom()
        if name not in COMBINERS:
            raise VerifyException(
                f"{self.name}: unknown combiner '{name}'; one of {', '.join(COMBINERS)}, or custom with a region"
            )
        if self.combine is not None or len(self.values) != 1:
            raise VerifyException(f"{self.name}: the named combiner '{name}' takes one value and no region")
        kind = "i" if str(self.values[0].type).startswith("i") else "f"
        if kind not in COMBINERS[name]:
            raise VerifyException(
                f"{self.name}: the combiner '{name}' does not apply to {self.values[0].type}"
            )

    def _verify_custom(self) -> None:
        if self.combine is None:
            raise VerifyException(f"{self.name}: a custom combiner needs a region")
        types = [value.type for value in self.values]
        if [arg.type for arg in self.combine.block.args] != types + types:
            raise VerifyException(f"{self.name}: the region takes the old elements, then the new values")
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
        printer.print_op_attributes(self.attributes)
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
        combiner = parser.parse_identifier("the combiner's name")
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
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_memref(parser))
        if not len(types) == len(values) == len(memrefs):
            parser.raise_error(
                f"{len(values)} values, {len(memrefs)} buffers and {len(types)} types: they must pair up"
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
        op.attributes.update(attributes)
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


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer: `%t = nest.alloc "t"(%n) : memref<?x4xf32>`; contents are undefined until written.

    Lives until the end of the block it is in; its memory space (global, shared, local) is in the type.
    """

    name = "nest.alloc"

    sizes = var_operand_def(INDEX)
    label = prop_def(StringAttr)
    memref = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())

    def __init__(self, label: str, memref_type: MemRefType, sizes: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[sizes], properties={"label": StringAttr(label)}, result_types=[memref_type]
        )
        self.memref.name_hint = _hint(label)

    def verify_(self) -> None:
        memref_type = self.memref.type
        assert isinstance(memref_type, MemRefType)
        unknown = sum(extent == DYNAMIC_INDEX for extent in memref_type.get_shape())
        if unknown != len(self.sizes):
            raise VerifyException(f"{self.name}: {len(self.sizes)} sizes given for {unknown} unknown extents")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}"')
        if self.sizes:
            with printer.in_parens():
                printer.print_list(self.sizes, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal("the buffer's name")
        sizes = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(label, _parse_memref(parser), sizes or ())
        op.attributes.update(attributes)
        return op


@irdl_op_definition
class IndexOp(IRDLOperation):
    """A checked Python index: `%k = nest.index %i - 1 of %n axis 0 of "a"`.

    The value of the expression when it is in [0, n); n plus it when it is in [-n, 0); otherwise the kernel
    stops with an IndexError that names the array, the axis, the index and the extent.
    `nest-prove-bounds` replaces the ones that cannot fail by plain affine indices.
    """

    name = "nest.index"

    map_operands = var_operand_def(INDEX)
    map = prop_def(AffineMapAttr)
    array = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    result = result_def(INDEX)

    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self, index: AffineList | SSAValue, extent: AffineList | SSAValue | int, array: str, axis: int
    ):
        both = AffineList.of(index, extent)
        super().__init__(
            operands=[both.operands],
            properties={"map": both.map_attr, "array": StringAttr(array), "axis": IntegerAttr(axis, i64)},
            result_types=[INDEX],
        )

    @property
    def index(self) -> AffineList:
        """The index as written in Python, possibly negative."""
        return AffineList.from_op(self.map, self.map_operands)[0]

    @property
    def extent(self) -> AffineList:
        """The extent of the axis it indexes."""
        return AffineList.from_op(self.map, self.map_operands)[1]

    def verify_(self) -> None:
        _verify_affine(self, "the index", self.map, self.map_operands)
        if len(self.map.data.results) != 2:
            raise VerifyException(f"{self.name}: the map gives the index and the extent, here {self.map}")

    def print(self, printer: Printer) -> None:
        both = AffineList.from_op(self.map, self.map_operands)
        printer.print_string(" ")
        print_bound(printer, AffineList(both.exprs[:1], both.operands), "")
        printer.print_string(" of ")
        print_bound(printer, AffineList(both.exprs[1:], both.operands), "")
        printer.print_string(f' axis {self.axis.value.data} of "{self.array.data}"')
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parse_bound(parser, "max")
        parser.parse_keyword("of")
        extent = parse_bound(parser, "min")
        parser.parse_keyword("axis")
        axis = parser.parse_integer()
        parser.parse_keyword("of")
        op = cls(index, extent, parser.parse_str_literal("the array's name"), axis)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


@irdl_op_definition
class IfOp(IRDLOperation):
    """A branch: `nest.if %c { ... } else { ... }`. Domains of statements are for masks; this is for real branches."""

    name = "nest.if"

    condition = operand_def(i1)
    then_region = region_def("single_block")
    else_region = opt_region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(self, condition: SSAValue, then_region: Region, else_region: Region | None = None):
        super().__init__(
            operands=[condition],
            regions=[then_region, [else_region] if else_region is not None else []],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.then_region, print_empty_block=False)
        if self.else_region is not None:
            printer.print_string(" else ")
            printer.print_region(self.else_region, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        then_region = _parse_branch(parser)
        else_region = _parse_branch(parser) if parser.parse_optional_keyword("else") else None
        op = cls(condition, then_region, else_region)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _parse_branch(parser: Parser) -> Region:
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    return region


def _parse_order(parser: Parser) -> str:
    name = parser.parse_identifier("the order of the reduction")
    if name == "fixed":
        parser.parse_punctuation("-")  # pyright: ignore
        parser.parse_keyword("tree")
        return "fixed-tree"
    return name


def _parse_memref(parser: Parser) -> MemRefType:
    pos = parser.pos
    memref_type = parser.parse_type()
    if not isinstance(memref_type, MemRefType):
        parser.raise_error(f"expected a memref type, not {memref_type}", pos)
    return memref_type


def _as_list(bound: AffineList | SSAValue | int) -> AffineList:
    return bound if isinstance(bound, AffineList) else AffineList.of(bound)


def _hint(name: str) -> str | None:
    """An SSA name for a loop or buffer name: `i.o` -> `i_o`."""
    cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return cleaned if cleaned and not cleaned[0].isdigit() else None


def _segments(*sizes: int) -> Attribute:
    from xdsl.dialects.builtin import DenseArrayBase, i32

    return DenseArrayBase.from_list(i32, list(sizes))
