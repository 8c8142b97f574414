"""Calls of functions of Python on whole tensors: `nt.custom_call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DictionaryAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from ..affine import AffineList
from .common import INDEX, NO_SIZES, SizedOp, shape_of, verify_element

LANGUAGES = ("c", "llvm")
"""What code is written in."""


class _CallEffects(MemoryEffect):
    """None, unless the call is `ordered`."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        ordered = isinstance(op, CustomCallOp) and op.is_ordered
        return {EffectInstance(MemoryEffectKind.WRITE)} if ordered else set()


@irdl_op_definition
class CustomCallOp(SizedOp):
    """A call of a function that the runtime knows by name, on whole tensors; or of one whose text it has.

        %y = nt.custom_call "numpy.sort"(%x) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
        %i = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
        %s, %v = nt.custom_call "numpy.frexp"(%x) sizes(%n, %n) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi32>)

    `sizes` are the unknown extents of the results, in order; `arguments` (in braces) what the function is given beside
    the tensors. An `ordered` call may raise an exception or have an effect: it stays where it is, used or not. Any other one
    depends on nothing but its operands.

    Arguments `language`, `entry` and `source` say that the CPU runs the function `entry` of a text in "c" or "llvm", which
    becomes a part of the program, instead of `target`, which computes the same: it is never ordered. `kinds` says of each
    operand whether that function gets an array or a number. An argument `cuda = {entry, source, grid, block}` says that GPUs
    run the kernel `entry` of a text in CUDA C; others run the code above, or else `target`.
    """

    name = "nt.custom_call"

    inputs = var_operand_def(TensorType)
    size_operands = var_operand_def(INDEX)
    target = prop_def(StringAttr)
    arguments = prop_def(DictionaryAttr)
    ordered = opt_prop_def(UnitAttr)
    size_map = prop_def(AffineMapAttr)
    results_ = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_CallEffects())

    def __init__(
        self,
        target: str,
        inputs: Sequence[SSAValue],
        results: Sequence[Attribute],
        arguments: Mapping[str, Attribute] | None = None,
        sizes: AffineList = NO_SIZES,
        ordered: bool = False,
    ):
        super().__init__(
            operands=[inputs, sizes.operands],
            properties={
                "target": StringAttr(target),
                "arguments": DictionaryAttr(dict(arguments or {})),
                "size_map": sizes.map_attr,
                "ordered": UnitAttr() if ordered else None,
            },
            result_types=[list(results)],
        )

    @property
    def is_ordered(self) -> bool:
        """Whether it stays in its place, used or not."""
        return self.ordered is not None

    def sizes_of(self, index: int) -> AffineList:
        """The sizes of one result: one expression for each of its unknown extents."""
        counts = [sum(extent < 0 for extent in shape_of(r)) for r in self.results_]
        start = sum(counts[:index])
        own = [self.sizes[k] for k in range(start, start + counts[index])]
        return AffineList.of(*own)

    def verify_(self) -> None:
        if not self.target.data:
            raise VerifyException(f"{self.name}: the name of the function is empty")
        for value in (*self.inputs, *self.results_):
            verify_element(self, value.type)
        unknown = sum(extent < 0 for r in self.results_ for extent in shape_of(r))
        if len(self.sizes) != unknown:
            raise VerifyException(
                f"{self.name}: {len(self.sizes)} sizes for the {unknown} unknown extents of its results"
            )
        if not self.results_ and not self.is_ordered:
            raise VerifyException(f"{self.name}: a call without results has a purpose only if it is ordered")
        if "cuda" in self.arguments.data:
            self._verify_cuda()
        if "language" in self.arguments.data:
            self._verify_code()

    def _verify_texts(self, data: Mapping[str, Attribute], names: Sequence[str], what: str) -> None:
        """That the texts are there, and how each operand is given to what they define."""
        texts = {name: data.get(name) for name in names}
        missing = [name for name, text in texts.items() if not isinstance(text, StringAttr) or not text.data]
        if missing:
            raise VerifyException(f"{self.name}: {what}; no {missing[0]} is given")
        kinds = self.arguments.data.get("kinds")
        if not isinstance(kinds, ArrayAttr) or len(kinds) != len(self.inputs):
            raise VerifyException(f"{self.name}: `kinds` of code says how each operand is given to it")

    def _verify_cuda(self) -> None:
        cuda = self.arguments.data["cuda"]
        if not isinstance(cuda, DictionaryAttr):
            raise VerifyException(f"{self.name}: `cuda` is a dictionary")
        self._verify_texts(cuda.data, ("entry", "source"), "a kernel has an entry and a source")
        grid, block = cuda.data.get("grid"), cuda.data.get("block")
        if not isinstance(grid, ArrayAttr) or not isinstance(block, ArrayAttr):
            raise VerifyException(f"{self.name}: a kernel has a `grid` and a `block`")
        if len(grid) > 3 or not 1 <= len(block) <= 3:
            raise VerifyException(f"{self.name}: a grid and a block have at most three axes")

    def _verify_code(self) -> None:
        data = self.arguments.data
        self._verify_texts(
            data, ("language", "entry", "source"), "code has a language, an entry and a source"
        )
        if data["language"] not in map(StringAttr, LANGUAGES):
            raise VerifyException(
                f"{self.name}: no code is in {data['language']}; languages: {', '.join(LANGUAGES)}"
            )
        if self.is_ordered:
            raise VerifyException(
                f"{self.name}: code fills its results and has no other effect: it is not ordered"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ordered " if self.is_ordered else " ")
        printer.print_string_literal(self.target.data)
        with printer.in_parens():
            printer.print_list(self.inputs, printer.print_operand)
        self._print_sizes(printer)
        if self.arguments.data:
            printer.print_string(" ")
            printer.print_attribute(self.arguments)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list([v.type for v in self.inputs], printer.print_attribute)
        printer.print_string(" -> ")
        if len(self.results_) == 1:
            return printer.print_attribute(self.results_[0].type)
        with printer.in_parens():
            printer.print_list([r.type for r in self.results_], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ordered = parser.parse_optional_keyword("ordered") is not None
        target = parser.parse_str_literal("the name of the function")
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        sizes = cls._parse_sizes(parser)
        arguments = parser.parse_optional_attr_dict()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if len(types) != len(names):
            parser.raise_error(f"{len(names)} operands but {len(types)} types")
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if results is None:
            results = [parser.parse_type()]
        inputs = [parser.resolve_operand(n, t) for n, t in zip(names, types, strict=True)]
        op = cls(target, inputs, results, arguments, sizes, ordered)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op
