"""Derivatives: `nt.vjp` and `nt.jvp` beside a function of the module, and `nt.stop_gradient`.

`nt-differentiate` puts code in their place, innermost first: the function of a `nt.jvp` may hold a `nt.vjp` (a product
with a Hessian). They are what `enzyme.autodiff` and `enzyme.fwddiff` of Enzyme are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttr,
    FunctionType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ..attributes import NT_JVP_RULE, NT_VJP_RULE
from .common import int_array, parse_group, parse_int_list, print_group
from .types import TO_NAME, kind_of


def is_differentiable(kind: Attribute) -> bool:
    """Whether a value of this type has derivatives: tensors of floats and of complex numbers have, of types that nt has."""
    return (
        isinstance(kind, TensorType) and kind.element_type in TO_NAME and kind_of(kind.element_type) in "fc"
    )


class CalleeIsFunction(SymbolUserOpInterface):
    """The function is in the module, and takes the operands."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, OfFunction)
        function = SymbolTable.lookup_symbol(op, op.callee)
        if function is None:
            raise VerifyException(f"{op.name}: there is no function {op.callee}")
        if not isinstance(function, FuncOp) or not function.body.blocks:
            raise VerifyException(f"{op.name}: {op.callee} is not a function with a body")
        given = tuple(op.given_types())
        taken = tuple(function.function_type.inputs)
        if given != taken:
            raise VerifyException(
                f"{op.name}: {op.callee} takes ({', '.join(map(str, taken))}), not ({', '.join(map(str, given))})"
            )
        op.verify_function(function.function_type)


class OfFunction(IRDLOperation):
    """Shared: an operation beside a function of the module, and what that function is given."""

    if TYPE_CHECKING:
        callee: FlatSymbolRefAttr
        arguments: Sequence[SSAValue]

    def given_types(self) -> Sequence[Attribute]:
        """The types of what the function is given: those of the operands."""
        return [v.type for v in self.arguments]

    def verify_function(self, kind: FunctionType) -> None:
        """Raise VerifyException where the operation does not fit a function of this type."""
        raise NotImplementedError

    def _verify_indices(
        self, word: str, indices: Sequence[int], types: Sequence[Attribute], what: str
    ) -> None:
        if any(b <= a for a, b in pairwise(indices)) or any(not 0 <= k < len(types) for k in indices):
            raise VerifyException(
                f"{self.name}: {word} {list(indices)} must increase within the {len(types)} {what}s"
            )
        for k in indices:
            if not is_differentiable(types[k]):
                raise VerifyException(
                    f"{self.name}: {what} {k} is {types[k]}: only tensors of floats and complex numbers have derivatives"
                )


def functions_named_by(op: Operation) -> list[str]:
    """The functions that an operation calls, is beside, or has its derivatives from."""
    names = [op.callee.string_value()] if isinstance(op, OfFunction | CallOp) else []
    rules = [op.attributes.get(name) for name in (NT_VJP_RULE, NT_JVP_RULE)]
    return names + [rule.string_value() for rule in rules if isinstance(rule, SymbolRefAttr)]


class _Derivative(OfFunction):
    """Shared by `nt.vjp` and `nt.jvp`."""

    KEYWORD: ClassVar[str]

    arguments = var_operand_def(AnyAttr())
    directions = var_operand_def(TensorType)
    callee = prop_def(FlatSymbolRefAttr)
    wrt = prop_def(DenseArrayBase)
    of = prop_def(DenseArrayBase)
    replay = opt_prop_def(UnitAttr)
    results_ = var_result_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(CalleeIsFunction())

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue],
        directions: Sequence[SSAValue],
        wrt: Sequence[int],
        of: Sequence[int],
        primal_types: Sequence[Attribute],
        *,
        replay: bool = False,
    ):
        kept = [] if replay else list(primal_types)
        super().__init__(
            operands=[list(arguments), list(directions)],
            properties={
                "callee": SymbolRefAttr(callee),
                "wrt": int_array(wrt),
                "of": int_array(of),
                "replay": UnitAttr() if replay else None,
            },
            result_types=[
                [*kept, *self.derivative_types([v.type for v in arguments], primal_types, wrt, of)]
            ],
        )

    @staticmethod
    def derivative_types(
        arguments: Sequence[Attribute], results: Sequence[Attribute], wrt: Sequence[int], of: Sequence[int]
    ) -> list[Attribute]:
        """The types of the results that are derivatives."""
        raise NotImplementedError

    @property
    def wrt_indices(self) -> tuple[int, ...]:
        """The arguments with respect to which the function is differentiated, increasing."""
        return tuple(self.wrt.get_values())  # pyright: ignore

    @property
    def of_indices(self) -> tuple[int, ...]:
        """The results of the function that are differentiated, increasing."""
        return tuple(self.of.get_values())  # pyright: ignore

    @property
    def is_replay(self) -> bool:
        """Only derivatives are results; effects of the function (prints, checks, calls) have happened and do not again."""
        return self.replay is not None

    @property
    def primals(self) -> tuple[SSAValue, ...]:
        """The results that are those of the function."""
        return tuple(self.results_[: len(self.results_) - self._derivative_count])

    @property
    def derivatives(self) -> tuple[SSAValue, ...]:
        """The results that are derivatives."""
        return tuple(self.results_[len(self.results_) - self._derivative_count :])

    @property
    def _derivative_count(self) -> int:
        raise NotImplementedError

    def _expected_directions(self, kind: FunctionType) -> list[Attribute]:
        raise NotImplementedError

    def verify_function(self, kind: FunctionType) -> None:
        arguments, results = list(kind.inputs), list(kind.outputs)
        self._verify_indices("wrt", self.wrt_indices, arguments, "argument")
        self._verify_indices("of", self.of_indices, results, "result")
        given, expected = [v.type for v in self.directions], self._expected_directions(kind)
        if given != expected:
            raise VerifyException(
                f"{self.name}: {self.KEYWORD} are ({', '.join(map(str, given))}) instead of "
                f"({', '.join(map(str, expected))})"
            )
        types = [] if self.is_replay else results
        types = [*types, *self.derivative_types(arguments, results, self.wrt_indices, self.of_indices)]
        if [r.type for r in self.results_] != types:
            raise VerifyException(f"{self.name}: its results are ({', '.join(map(str, types))})")

    def print(self, printer: Printer) -> None:
        printer.print_string(" replay " if self.is_replay else " ")
        printer.print_attribute(self.callee)
        print_group(printer, self.arguments)
        printer.print_string(f" {self.KEYWORD}")
        print_group(printer, self.directions)
        printer.print_string(f" wrt {list(self.wrt_indices)} of {list(self.of_indices)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        print_results(printer, self.results_)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        replay = parser.parse_optional_keyword("replay") is not None
        callee = parser.parse_symbol_name()
        arguments = parse_group(parser, "the function has")
        parser.parse_keyword(cls.KEYWORD)
        directions = parse_group(parser, f"{cls.KEYWORD} has")
        parser.parse_keyword("wrt")
        wrt = parse_int_list(parser)
        parser.parse_keyword("of")
        of = parse_int_list(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        results = parse_results(parser)
        op = cls.build(
            operands=[arguments, directions],
            properties={
                "callee": SymbolRefAttr(callee),
                "wrt": int_array(wrt),
                "of": int_array(of),
                "replay": UnitAttr() if replay else None,
            },
            result_types=[results],
        )
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def print_results(printer: Printer, results: Sequence[SSAValue]) -> None:
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_list([r.type for r in results], printer.print_attribute)


def parse_results(parser: Parser) -> Sequence[Attribute]:
    parser.parse_punctuation("->")
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)


@irdl_op_definition
class VjpOp(_Derivative):
    """The results of a function, then the products of cotangents with its Jacobian (reverse mode).

        %y, %gx = nt.vjp @loss(%x, %w : tensor<8xf32>, tensor<8xf32>) cotangents(%one : tensor<f32>) wrt [0] of [0]
                  -> (tensor<f32>, tensor<8xf32>)

    `wrt` names the arguments that get a gradient, `of` the results that the cotangents belong to; a result that is not
    named has the cotangent zero. With `replay` (`nt.vjp replay @loss...`) only the gradients are results, and what the
    function does beside computing (prints, checks, ordered calls) is left out: it has been done.
    """

    name = "nt.vjp"
    KEYWORD: ClassVar[str] = "cotangents"

    @staticmethod
    def derivative_types(
        arguments: Sequence[Attribute], results: Sequence[Attribute], wrt: Sequence[int], of: Sequence[int]
    ) -> list[Attribute]:
        return [arguments[k] for k in wrt if k < len(arguments)]

    @property
    def _derivative_count(self) -> int:
        return len(self.wrt_indices)

    def _expected_directions(self, kind: FunctionType) -> list[Attribute]:
        return [kind.outputs.data[k] for k in self.of_indices]


@irdl_op_definition
class JvpOp(_Derivative):
    """The results of a function, then the products of its Jacobian with tangents (forward mode).

        %y, %t = nt.jvp @loss(%x, %w : tensor<8xf32>, tensor<8xf32>) tangents(%dx : tensor<8xf32>) wrt [0] of [0]
                 -> (tensor<f32>, tensor<f32>)

    `wrt` names the arguments that the tangents belong to (any other has the tangent zero), `of` the results whose
    tangents are wanted; `replay` as of `nt.vjp`.
    """

    name = "nt.jvp"
    KEYWORD: ClassVar[str] = "tangents"

    @staticmethod
    def derivative_types(
        arguments: Sequence[Attribute], results: Sequence[Attribute], wrt: Sequence[int], of: Sequence[int]
    ) -> list[Attribute]:
        return [results[k] for k in of if k < len(results)]

    @property
    def _derivative_count(self) -> int:
        return len(self.of_indices)

    def _expected_directions(self, kind: FunctionType) -> list[Attribute]:
        return [kind.inputs.data[k] for k in self.wrt_indices]


@irdl_op_definition
class StopGradientOp(IRDLOperation):
    """The same tensor, a constant for derivatives: `%c = nt.stop_gradient %x : tensor<4xf32>`.

    `nt-differentiate` removes it where nothing is differentiated any more.
    """

    name = "nt.stop_gradient"

    TENSOR: ClassVar = VarConstraint("TENSOR", BaseAttr(TensorType))

    source = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        super().__init__(operands=[source], result_types=[source.type])
