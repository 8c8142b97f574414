"""Loops and branches: `nest.for` with its name, bounds and mark; `nest.if`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from ..affine_text import parse_bound, print_bound
from ..gpu_limits import MAX_THREADS as MAX_THREADS
from ..limits import MAX_LANES, MAX_NUMBER
from .common import INDEX, as_list, name_hint_of, segments, verify_affine

BLOCK_AXES = ("block.x", "block.y", "block.z")
THREAD_AXES = ("thread.x", "thread.y", "thread.z", "lane", "lane.y", "lane.x")
BIND_AXES = BLOCK_AXES + THREAD_AXES
"""What a loop can be bound to on a GPU. Where lanes of a warp are bound, thread.x counts warps."""

LANES = 32
"""Threads per warp; they run together and can exchange values."""

LANES_ALONG = {"lane": LANES, "lane.y": 8, "lane.x": 4}
"""How many lanes are along an axis: a warp is one row of them, or 8 by 4, where lane 4 * y + x has the rows y and the
columns 2 * x and 2 * x + 1 of what a tensor core adds up."""


def told_apart(axes: Iterable[str]) -> list[str]:
    """The axes along which the threads of a block are told apart, where loops are bound to `axes`: lanes by one number."""
    used = {"lane" if axis in LANES_ALONG else axis for axis in axes}
    return [axis for axis in THREAD_AXES if axis in used]


def with_lanes(axes: Iterable[str]) -> set[str]:
    """What loops over `axes` around are loops over: lane.y and lane.x together are the lanes, and the other way round."""
    found = set(axes)
    if found.issuperset(("lane.y", "lane.x")):
        found.add("lane")
    return found | set(LANES_ALONG) if "lane" in found else found


MARKS = ("serial", "parallel", "vectorized", "unrolled", *BIND_AXES)
"""What can be decided for a loop; `serial` is the default and is not printed."""


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
        lower, upper = as_list(lower), as_list(upper)
        if body is None:
            body = Block(arg_types=[INDEX])
            body.args[0].name_hint = name_hint_of(loop_name)
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
        return self.regions[0].block.args[0]

    @property
    def lower(self) -> AffineList:
        """The lower bounds; the loop starts at the largest."""
        lower = self.lower_map
        return AffineList.from_op(lower, self.operands[: lower.data.num_dims])

    @property
    def upper(self) -> AffineList:
        """The upper bounds (exclusive); the loop ends before the smallest."""
        return AffineList.from_op(self.upper_map, self.operands[self.lower_map.data.num_dims :])

    def set_bounds(self, lower: AffineList, upper: AffineList) -> None:
        """Replace both bounds."""
        self.operands = [*lower.operands, *upper.operands]
        self.properties["operandSegmentSizes"] = segments(len(lower.operands), len(upper.operands))
        self.properties["lower_map"] = lower.map_attr
        self.properties["upper_map"] = upper.map_attr

    @property
    def label(self) -> str:
        """The loop's name as a plain string."""
        return self.loop_name.data

    def set_label(self, name: str) -> None:
        """Rename the loop."""
        self.properties["loop_name"] = StringAttr(name)

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
        verify_affine(self, "the lower bound", self.lower_map, self.lower_operands)
        verify_affine(self, "the upper bound", self.upper_map, self.upper_operands)
        if not self.lower_map.data.results or not self.upper_map.data.results:
            raise VerifyException(f'{self.name} "{self.label}": both bounds are required')
        if not self.label:
            raise VerifyException(f"{self.name}: a loop needs a name")
        if self.step_value > MAX_NUMBER:
            raise VerifyException(
                f'{self.name} "{self.label}": the step is {self.step_value}, beyond all buffers'
            )
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
        if self.width is not None and self.width.value.data > MAX_LANES:
            raise VerifyException(
                f'{self.name} "{self.label}": a vector has at most {MAX_LANES} lanes, not {self.width.value.data}'
            )

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


@irdl_op_definition
class IfOp(IRDLOperation):
    """A branch: `nest.if %c { ... } else { ... }`.

    For real branches; what only masks a statement belongs into its domain.
    """

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
