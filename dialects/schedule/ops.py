"""The operations of a schedule: the sequence, matching, and one operation per row of `table.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Dialect, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .options import parse_value, print_value, why_not_value
from .table import BUFFER, LOOP, PRIMITIVES, STATEMENT, Primitive, Target


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """Loops: a handle stands for any number of them, usually one."""

    name = "schedule.loop"


@irdl_attr_definition
class StatementType(ParametrizedAttribute, TypeAttribute):
    """Statements: stores and accumulates, by label."""

    name = "schedule.statement"


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """Buffers: arguments and allocations."""

    name = "schedule.buffer"


HANDLE_TYPES: dict[str, Attribute] = {LOOP: LoopType(), STATEMENT: StatementType(), BUFFER: BufferType()}


@irdl_op_definition
class SequenceOp(IRDLOperation):
    """A schedule: `schedule.sequence @cpu for @f params {T = 16} { ... }`.

    Its steps run in order on the function `@f` (on the functions of the module when none is named). Parameters are
    integers that options name as `@T`; who applies the schedule may give other values.

    `schedule.sequence @mine takes "product" { %i = schedule.match loops role "row" ... }` is a strategy: its steps are for
    each nest that is what it takes (nest-apply-strategies), and its loops and buffers have roles there.
    """

    name = "schedule.sequence"

    sym_name = prop_def(SymbolNameConstraint())
    function = opt_prop_def(FlatSymbolRefAttrConstr)
    takes = opt_prop_def(StringAttr)
    params = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        function: str | None = None,
        params: dict[str, int] | None = None,
        body: Region | None = None,
        takes: str | None = None,
    ):
        values: dict[str, Attribute] = {k: IntegerAttr(v, i64) for k, v in (params or {}).items()}
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function": SymbolRefAttr(function) if function is not None else None,
                "takes": StringAttr(takes) if takes is not None else None,
                "params": DictionaryAttr(values) if values else None,
            },
            regions=[Region(Block()) if body is None else body],
        )

    @property
    def parameters(self) -> dict[str, int]:
        """The parameters and their default values."""
        if self.params is None:
            return {}
        return {name: value.value.data for name, value in self.params.data.items()}  # pyright: ignore[reportAttributeAccessIssue]

    def set_parameter(self, name: str, value: int) -> None:
        """Declare a parameter, or give it another default."""
        values: dict[str, Attribute] = dict(self.params.data) if self.params is not None else {}
        self.properties["params"] = DictionaryAttr({**values, name: IntegerAttr(value, i64)})

    def verify_(self) -> None:
        if self.takes is not None and self.function is not None:
            raise VerifyException(f"{self.name}: is for a function, or for nests that it takes, not for both")
        if self.params is not None:
            for name, value in self.params.data.items():
                if not isinstance(value, IntegerAttr):
                    raise VerifyException(f"{self.name}: the parameter '{name}' is {value}, not an integer")
        for op in self.body.block.ops:
            if not isinstance(op, MatchOp | PrimitiveOp):
                raise VerifyException(f"{self.name}: {op.name} is not a step of a schedule")
            if self.takes is None and isinstance(op, MatchOp) and op.is_by_role:
                raise VerifyException(f"{self.name}: has no roles; they are those of what it takes")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.function is not None:
            printer.print_string(" for ")
            printer.print_symbol_name(self.function.string_value())
        if self.takes is not None:
            printer.print_string(" takes ")
            printer.print_string_literal(self.takes.data)
        if self.params is not None:
            printer.print_string(" params {")
            printer.print_string(", ".join(f"{name} = {value}" for name, value in self.parameters.items()))
            printer.print_string("}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name().data
        function = parser.parse_symbol_name().data if parser.parse_optional_keyword("for") else None
        takes = parser.parse_str_literal() if parser.parse_optional_keyword("takes") else None
        params = {}
        if parser.parse_optional_keyword("params"):
            params = dict(
                parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parameter(parser))
            )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        op = cls(name, function, params, body, takes)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _parameter(parser: Parser) -> tuple[str, int]:
    name = parser.parse_identifier(context_msg="a parameter's name")
    parser.parse_punctuation("=")
    return name, parser.parse_integer()


ROLE = "role"
"""How loops and buffers are matched by what they are in a nest that a strategy takes."""

PATTERNS = ("containing", "contiguous", "reducing", ROLE)
"""How loops are matched other than by name: directly containing an operation; along which a buffer is contiguous; that
carry a reduction; of a role."""

MATCHED = {"loops": LOOP, "statements": STATEMENT, "buffers": BUFFER}
"""What can be matched, and the kind of the handles."""


@irdl_op_definition
class MatchOp(IRDLOperation):
    """Handles of what is there: `%i, %j = schedule.match loops ["i", "j"]`, one handle a name.

    Also `statements ["y"]` by label and `buffers ["x"]` by name. `%k = schedule.match loops containing "nest.accumulate"`,
    `loops contiguous "x"` and `loops reducing "s"` match by what is in them: one handle of all that match; `loops role
    "row"` and `buffers role "result"` by what they are in the nest that a strategy takes. What must be there and is not is
    an error, unless the match is `optional`.
    """

    name = "schedule.match"

    kind = prop_def(StringAttr)
    pattern = opt_prop_def(StringAttr)
    names = prop_def(ArrayAttr[StringAttr])
    optional = opt_prop_def(UnitAttr)
    handles = var_result_def(AnyAttr())

    def __init__(self, kind: str, names: Sequence[str], pattern: str | None = None, optional: bool = False):
        handle = HANDLE_TYPES[MATCHED[kind]]
        super().__init__(
            result_types=[[handle] * (1 if pattern is not None else len(names))],
            properties={
                "kind": StringAttr(kind),
                "names": ArrayAttr([StringAttr(name) for name in names]),
                "pattern": StringAttr(pattern) if pattern is not None else None,
                "optional": UnitAttr() if optional else None,
            },
        )

    @property
    def is_by_role(self) -> bool:
        return self.pattern is not None and self.pattern.data == ROLE

    @property
    def wanted(self) -> list[str]:
        """The names as strings."""
        return [name.data for name in self.names]

    def verify_(self) -> None:
        if self.kind.data not in MATCHED:
            raise VerifyException(
                f"{self.name}: cannot match '{self.kind.data}'; one of {', '.join(MATCHED)}"
            )
        if not self.names.data:
            raise VerifyException(f"{self.name}: says no name")
        known = {"loops": PATTERNS, "buffers": (ROLE,)}.get(self.kind.data, ())
        if self.pattern is not None and self.pattern.data not in known:
            raise VerifyException(
                f"{self.name}: unknown pattern '{self.pattern.data}' of {self.kind.data}; "
                f"loops can be matched by {', '.join(PATTERNS)}, buffers by {ROLE}"
            )
        expected = 1 if self.pattern is not None else len(self.names)
        handle = HANDLE_TYPES[MATCHED[self.kind.data]]
        if [result.type for result in self.results] != [handle] * expected:
            raise VerifyException(f"{self.name}: gives {expected} handles of type {handle}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {'optional ' if self.optional is not None else ''}{self.kind.data} ")
        quoted = ", ".join(f'"{name}"' for name in self.wanted)
        printer.print_string(f"[{quoted}]" if self.pattern is None else f"{self.pattern.data} {quoted}")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        optional = parser.parse_optional_keyword("optional") is not None
        position = parser.pos
        kind = parser.parse_identifier(context_msg="loops, statements or buffers")
        if kind not in MATCHED:
            parser.raise_error(
                f"cannot match '{kind}': one of {', '.join(MATCHED)}", position, position + len(kind)
            )
        position = parser.pos
        pattern = parser.parse_optional_identifier()
        if pattern is None:
            names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
        else:
            if pattern not in PATTERNS:
                parser.raise_error(
                    f"unknown pattern '{pattern}': one of {', '.join(PATTERNS)}", position, parser.pos
                )
            names = [parser.parse_str_literal()]
        op = cls(kind, names, pattern, optional)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


class PrimitiveOp(IRDLOperation):
    """Base of the primitives: `%o, %i = schedule.split %loop by 16 tail(mask)`; see `table.py`."""

    ROW: ClassVar[Primitive]

    targets = var_operand_def(AnyAttr())
    handles = var_result_def(AnyAttr())
    options = prop_def(DictionaryAttr)

    def __init__(self, targets: Sequence[SSAValue], options: dict[str, Attribute] | None = None):
        given = dict(options or {})
        super().__init__(
            operands=[list(targets)],
            result_types=[self.result_types_for(given, len(targets))],
            properties={"options": DictionaryAttr(given)},
        )

    @classmethod
    def result_types_for(cls, options: dict[str, Attribute], targets: int) -> list[Attribute]:
        """The types of the handles that the step gives."""
        words: dict[str, object] = {
            name: value.data for name, value in options.items() if isinstance(value, StringAttr)
        }
        words |= {name: True for name, value in options.items() if isinstance(value, UnitAttr)}
        return [HANDLE_TYPES[result.kind] for result in cls.ROW.results_for(words, targets)]

    def consumed_handles(self) -> list[SSAValue]:
        """The targets that the step replaces by its results."""
        return [value for target, values in self.grouped_targets() if target.consumed for value in values]

    def grouped_targets(self) -> list[tuple[Target, list[SSAValue]]]:
        """Each target of the row with the handles given for it."""
        given, grouped = list(self.targets), []
        fixed = sum(not target.variadic for target in self.ROW.targets)
        for target in self.ROW.targets:
            count = len(self.targets) - fixed if target.variadic else 1
            grouped.append((target, given[:count]))
            given = given[count:]
        return grouped

    def verify_(self) -> None:
        row = self.ROW
        fixed = sum(not target.variadic for target in row.targets)
        if len(self.targets) < fixed or (len(self.targets) > fixed and fixed == len(row.targets)):
            raise VerifyException(f"{self.name}: takes {fixed} handles, not {len(self.targets)}")
        for target, values in self.grouped_targets():
            for value in values:
                if value.type != HANDLE_TYPES[target.kind]:
                    raise VerifyException(
                        f"{self.name}: '{target.name}' is a handle of a {target.kind}, not {value.type}"
                    )
        self._verify_fresh()
        names = [option.name for option in row.options]
        for name, value in self.options.data.items():
            if name not in names:
                raise VerifyException(
                    f"{self.name}: unknown option '{name}'; options: {', '.join(names) or 'none'}"
                )
            if (reason := why_not_value(row.option(name), value)) is not None:
                raise VerifyException(f"{self.name}: {reason}")
        for option in row.options:
            if option.required and option.name not in self.options.data:
                raise VerifyException(f"{self.name}: the option '{option.name}' is required")
        expected = self.result_types_for(dict(self.options.data), len(self.targets))
        if [result.type for result in self.results] != expected:
            raise VerifyException(f"{self.name}: gives {len(expected)} handles, not {len(self.results)}")

        sequence = self.parent_op()
        self._verify_parameters(sequence.parameters if isinstance(sequence, SequenceOp) else {})

    def _verify_fresh(self) -> None:
        """No handle was consumed by an earlier step."""
        consumed = self.consumed_handles()
        if len(set(consumed)) != len(consumed):
            raise VerifyException(f"{self.name}: one handle is given twice")
        for value in dict.fromkeys(self.targets):
            for use in value.uses:
                other = use.operation
                if (
                    other is self
                    or not isinstance(other, PrimitiveOp)
                    or value not in other.consumed_handles()
                ):
                    continue
                if other.is_before_in_block(self):
                    name = f"%{value.name_hint}" if value.name_hint else "a handle"
                    raise VerifyException(f"{self.name}: uses {name}, which {other.name} consumed")

    def _verify_parameters(self, known: dict[str, int]) -> None:
        for value in self.options.data.values():
            for one in value.data if isinstance(value, ArrayAttr) else (value,):
                if isinstance(one, SymbolRefAttr) and one.string_value() not in known:
                    listing = ", ".join(known) or "none"
                    raise VerifyException(
                        f"{self.name}: unknown parameter @{one.string_value()}; parameters here: {listing}"
                    )

    def print(self, printer: Printer) -> None:
        separator = " "
        for target, values in self.grouped_targets():
            for value in values:
                printer.print_string(f" {target.keyword} " if target.keyword else separator)
                printer.print_ssa_value(value)
                separator = ", "
        for option in self.ROW.options:
            if option.name in self.options.data:
                print_value(printer, option, self.options.data[option.name])
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        row, operands, start = cls.ROW, [], parser.pos
        for position, target in enumerate(row.targets):
            if target.keyword:
                parser.parse_keyword(target.keyword)
            elif position:
                parser.parse_punctuation(",")
            operands.append(_handle(parser, target))
            while target.variadic and parser.parse_optional_punctuation(","):
                operands.append(_handle(parser, target))
        options: dict[str, Attribute] = {}
        while (option := _next_option(parser, row, options)) is not None:
            options[option.name] = parse_value(parser, option)
        missing = [
            option.keyword or option.name
            for option in row.options
            if option.required and option.name not in options
        ]
        if missing:
            parser.raise_error(f"{cls.name}: '{missing[0]}' is required", start, parser.pos)
        op = cls(operands, options)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


def _handle(parser: Parser, target: Target) -> SSAValue:
    return parser.resolve_operand(parser.parse_unresolved_operand(), HANDLE_TYPES[target.kind])


def _next_option(parser: Parser, row: Primitive, given: dict[str, Attribute]):
    for option in row.options:
        if option.name not in given and parser.parse_optional_keyword(option.keyword or option.name):
            return option
    return None


def _define(row: Primitive) -> type[PrimitiveOp]:
    members = {
        "name": f"schedule.{row.name}",
        "__doc__": row.summary,
        "__module__": __name__,
        "__annotations__": {"name": ClassVar[str]},
    }
    class_name = "".join(part.capitalize() for part in row.name.split("_")) + "Op"
    op_type = irdl_op_definition(type(class_name, (PrimitiveOp,), members))
    op_type.ROW = row
    return op_type


PRIMITIVE_OPS: dict[str, type[PrimitiveOp]] = {name: _define(row) for name, row in PRIMITIVES.items()}
"""The operation class by the row's name."""

SCHEDULE = Dialect(
    "schedule", [SequenceOp, MatchOp, *PRIMITIVE_OPS.values()], [LoopType, StatementType, BufferType]
)
