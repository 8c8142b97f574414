"""Products of tensors: `nt.dot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .common import element_of, int_array, parse_int_list, shape_of, verify_element, verify_same_element
from .traits import Canonicalized
from .work import Role, Working

HALVES = (f16, bf16)
BYTES = (IntegerType(8), IntegerType(8, Signedness.UNSIGNED))


@irdl_op_definition
class DotOp(Working):
    """Sums of products: `nt.dot %a, %b contract [1] x [0] : tensor<?x5xf32>, tensor<5x?xf32> -> tensor<?x?xf32>`.

    Axis `contract[k]` of the left operand is summed over with that of the right one. `batch [0] x [0]` names axes that
    go side by side: they are the first of the result, then come the other axes of the left operand, then those of
    the right one. The order of the sums is any. Halves are summed in f32, which is the result's element type;
    on bool the product is `and` and the sum `or`. Bytes, i8 or ui8 each, may be summed in i32, modulo 2^32:
    `nt.dot %q, %p contract [1] x [0] : tensor<?x5xui8>, tensor<5x?xi8> -> tensor<?x?xi32>`.
    """

    name = "nt.dot"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    lhs_batch = prop_def(DenseArrayBase)
    rhs_batch = prop_def(DenseArrayBase)
    lhs_contract = prop_def(DenseArrayBase)
    rhs_contract = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    traits = traits_def(Pure(), Canonicalized())
    ROLE: ClassVar[Role] = Role.APART

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        contract: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
        total: Attribute | None = None,
    ):
        element = _sum_type(element_of(lhs)) if total is None else total
        result = TensorType(element, _result_shape(lhs, rhs, contract, batch))
        super().__init__(
            operands=[lhs, rhs],
            properties={
                "lhs_batch": int_array(batch[0]),
                "rhs_batch": int_array(batch[1]),
                "lhs_contract": int_array(contract[0]),
                "rhs_contract": int_array(contract[1]),
            },
            result_types=[result],
        )

    @property
    def batch(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes of both operands that go side by side, in pairs."""
        return _axes(self.lhs_batch), _axes(self.rhs_batch)

    @property
    def contract(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes of both operands that are summed over, in pairs."""
        return _axes(self.lhs_contract), _axes(self.rhs_contract)

    @property
    def free(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The other axes of both operands."""
        return tuple(  # pyright: ignore
            [
                tuple([d for d in range(len(shape_of(v))) if d not in (*batch, *contract)])
                for v, batch, contract in zip((self.lhs, self.rhs), self.batch, self.contract, strict=True)
            ]
        )

    def verify_(self) -> None:
        verify_element(self, self.lhs.type)
        is_of_bytes = self._is_of_bytes()
        if not is_of_bytes:
            verify_same_element(self, self.lhs, self.rhs)
        for what, pair in (("batch", self.batch), ("contract", self.contract)):
            self._verify_pairs(what, pair)
        for side, value, axes in zip(("left", "right"), (self.lhs, self.rhs), self._named(), strict=True):
            if len(set(axes)) != len(axes):
                raise VerifyException(
                    f"{self.name}: an axis of the {side} operand {value.type} is named twice"
                )
        element = i32 if is_of_bytes else _sum_type(element_of(self.lhs))
        if element_of(self.result) != element:
            raise VerifyException(
                f"{self.name}: sums of {element_of(self.lhs)} are {element}, not {element_of(self.result)}"
            )
        shape = _result_shape(self.lhs, self.rhs, self.contract, self.batch)
        if list(shape_of(self.result)) != shape:
            raise VerifyException(
                f"{self.name}: the result is {TensorType(element, shape)}, not {self.result.type}"
            )

    def _is_of_bytes(self) -> bool:
        return element_of(self.result) == i32 and all(element_of(v) in BYTES for v in self.operands)

    def _named(self) -> list[tuple[int, ...]]:
        return [b + c for b, c in zip(self.batch, self.contract, strict=True)]

    def _verify_pairs(self, what: str, pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        if len(pair[0]) != len(pair[1]):
            raise VerifyException(f"{self.name}: {what} {list(pair[0])} x {list(pair[1])} does not pair up")
        for value, axes in zip((self.lhs, self.rhs), pair, strict=True):
            if any(not 0 <= d < len(shape_of(value)) for d in axes):
                raise VerifyException(f"{self.name}: {what} {list(axes)} is not within {value.type}")
        for a, b in zip(*pair, strict=True):
            extents = (shape_of(self.lhs)[a], shape_of(self.rhs)[b])
            if DYNAMIC_INDEX not in extents and extents[0] != extents[1]:
                raise VerifyException(
                    f"{self.name}: axis {a} of {self.lhs.type} and axis {b} of {self.rhs.type} differ in extent"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.lhs)
        printer.print_string(", ")
        printer.print_operand(self.rhs)
        if any(self.batch):
            printer.print_string(f" batch {list(self.batch[0])} x {list(self.batch[1])}")
        printer.print_string(f" contract {list(self.contract[0])} x {list(self.contract[1])}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.lhs.type, self.rhs.type), printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        batch: tuple[list[int], list[int]] = ([], [])
        if parser.parse_optional_keyword("batch"):
            batch = _parse_pairs(parser)
        parser.parse_keyword("contract")
        contract = _parse_pairs(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = [parser.parse_type()]
        parser.parse_punctuation(",")
        types.append(parser.parse_type())
        parser.parse_punctuation("->")
        result = parser.parse_type()
        op = cls.create(
            operands=[parser.resolve_operand(v, t) for v, t in zip((lhs, rhs), types, strict=True)],
            properties={
                "lhs_batch": int_array(batch[0]),
                "rhs_batch": int_array(batch[1]),
                "lhs_contract": int_array(contract[0]),
                "rhs_contract": int_array(contract[1]),
            },
            result_types=[result],
        )
        op.attributes.update(attributes)
        return op


def _parse_pairs(parser: Parser) -> tuple[list[int], list[int]]:
    left = parse_int_list(parser)
    parser.parse_keyword("x")
    return left, parse_int_list(parser)


def _axes(array: DenseArrayBase) -> tuple[int, ...]:
    return tuple(array.get_values())  # pyright: ignore


def _sum_type(element: Attribute) -> Attribute:
    """Halves are summed in f32."""
    return f32 if element in HALVES else element


def _result_shape(
    lhs: SSAValue,
    rhs: SSAValue,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
) -> list[int]:
    left, right = shape_of(lhs), shape_of(rhs)
    both = zip(batch[0], batch[1], strict=True)
    shape = [right[b] if left[a] == DYNAMIC_INDEX else left[a] for a, b in both]
    for extents, one, other in zip((left, right), batch, contract, strict=True):
        shape += [e for d, e in enumerate(extents) if d not in one and d not in other]
    return shape
