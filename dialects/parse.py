"""Parsing textual IR so that every operation knows its place in the text, as `mlir-opt` does.

xDSL's parser leaves `loc(unknown)` on operations without a written location; here they get
`loc("file":line:column)` of the operation's name. Whatever is wrong with the text comes out as one kind
of exception, `SyntaxFailure`, with a place in that text.

>>> module = parse_module("func.func private @f()", "a.mlir")
>>> print(next(iter(module.ops)).location)
loc("a.mlir":1:1)
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    BFloat16Type,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineMap
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from .diagnostic import Diagnostic, NestorError, SourceLocation
from .limits import MAX_SPLAT, known_elements, why_not_numbers, why_too_large
from .registry import make_context

_NOT_AFFINE = (
    "not an affine expression: one side of '*', and the right side of 'floordiv', 'ceildiv' and 'mod', "
    "must be a constant"
)

_WRITTEN_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
_NOT_SUPPORTED = "this literal cannot be read: the bits of a float of this type are not supported"

_TYPE = re.compile(
    r"""(?:memref|tensor|vector)<[^<>!#"]*(?:<[^<>!#"]*>[^<>!#"]*)*> | (?:index|(?:[su]?i|bf|f|tf)[0-9]+)\b""",
    re.X,
)
"""What looks like a builtin type that means the same in every text: it names no alias and nothing of a dialect."""

_types: dict[str, TypeAttribute] = {}
_MANY_TYPES = 4096


class SyntaxFailure(NestorError):
    """The text is not IR: bad syntax, an unknown operation or type, an undefined or redefined name.

        nt.schedule("func.func @f() { nest.fore }")

    The caret is at what was not understood. `opt-tool --show-dialects` lists the operations;
    `f.lower(x).as_text("nest")` is text that is read back.
    """


def parse_module(text: str, name: str = "<string>", context: Context | None = None) -> ModuleOp:
    """Parse `text` into a module; `name` is the file name that locations and errors carry.

    An empty text is an empty module; a text of several top-level operations gets a module around them.
    Raises `SyntaxFailure` for whatever is wrong with the text.
    """
    return parse_located(text, name, context or make_context())[0]


def parse_located(
    text: str, name: str, context: Context, first_line: int = 1
) -> tuple[ModuleOp, dict[str, dict[str, str]]]:
    """Parse a piece of a file that starts at `first_line`: the module, and its `external_resources`."""
    return parse_with(LocatedParser, text, name, context, first_line)


def parse_with(
    make_parser: Callable[[Context, str, str, Places], LocatedParser],
    text: str,
    name: str,
    context: Context,
    first_line: int = 1,
) -> tuple[ModuleOp, dict[str, dict[str, str]]]:
    """`parse_located` by a parser of the caller's, a `LocatedParser` that remembers more."""
    places = Places(text, name, first_line)
    parser: LocatedParser | None = None
    try:
        parser = make_parser(context, text, name, places)
        return parser.parse_module(), parser.external_resources
    except ParseError as error:
        notes = _span_notes(error, places) if isinstance(error, MultipleSpansParseError) else []
        raise SyntaxFailure(_tidy(error.msg), places.at(error.span.start), notes=notes) from error
    except RecursionError as error:
        raise SyntaxFailure("the IR is nested too deeply to parse", places.at(_position(parser))) from error
    except (DiagnosticException, ValueError, OverflowError, struct.error) as error:
        # Raised by verifiers of attributes and types, and by conversions of literals, during parsing.
        place = places.at(places.end_of_previous_token(_position(parser)))
        raise SyntaxFailure(_tidy(_conversion_message(error)), place) from error
    except NotImplementedError as error:
        message = _NOT_AFFINE if "semi-affine" in str(error) else _NOT_SUPPORTED
        place = places.at(places.end_of_previous_token(_position(parser)))
        raise SyntaxFailure(message, place) from error


class Places:
    """Positions of a text as line and column, without counting newlines from the start each time."""

    def __init__(self, text: str, name: str, first_line: int):
        self._starts = [0]
        while (end := text.find("\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)
        self._text = text
        self._name = name
        self._filename = StringAttr(name)
        self._first_line = first_line

    def at(self, position: int) -> SourceLocation:
        row = bisect_right(self._starts, position) - 1
        return SourceLocation(self._name, row + self._first_line, position - self._starts[row] + 1)

    def end_of_previous_token(self, position: int) -> int:
        return max(0, len(self._text[:position].rstrip()) - 1)

    def attribute(self, position: int) -> LocationAttr:
        place = self.at(position)
        return FileLineColLoc(self._filename, IntAttr(place.line), IntAttr(place.column))

    def whole_file(self) -> LocationAttr:
        return FileLineColLoc(self._filename, IntAttr(0), IntAttr(0))


class _HexadecimalElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """`0x7F800000` in `dense<...>`: of a float the bits (xDSL takes it for the number, and prints it as bits)."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        size = type.compile_time_size
        if self.value >= 1 << 8 * size:  # type: ignore[operator]
            parser.raise_error(f"{self.span.text} has more bits than {type}", self.span)
        return type.unpack(self.value.to_bytes(size, "little"), 1)[0]  # type: ignore[union-attr]


class _Lexer(MLIRLexer):
    """xDSL's lexer, but for strings: its expression tries 2^n ways to read one of n characters that nothing closes."""

    _string = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+("?)')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        found = self._string.match(self.input.content, start_pos)
        assert found is not None
        if found[1]:
            return super()._lex_string_literal(start_pos)
        at_backslash = self.input.content.startswith("\\", found.end())
        message = (
            "unknown escape sequence in a string" if at_backslash else "this string is not closed on its line"
        )
        raise ParseError(
            Span(found.end() if at_backslash else start_pos, found.end() + 1, self.input), message
        )


class LocatedParser(Parser):
    """xDSL's parser, with locations for operations and block arguments, and errors at the right place."""

    def __init__(self, context: Context, text: str, name: str, places: Places):
        self._places = places
        self._name_positions: list[int] = []
        self._first_uses: dict[str, Span] = {}
        self._open_regions: list[int] = []
        self.external_resources: dict[str, dict[str, str]] = {}
        super().__init__(context, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        operations: list[Operation] = []
        while self._current_token.kind != MLIRTokenKind.EOF:
            self._parse_top_level(operations)
        if self.forward_ssa_references:
            name = next(iter(self.forward_ssa_references))
            self.raise_error(f"use of undefined value '%{name}'", self._first_uses[name])
        if len(operations) == 1 and isinstance(operations[0], ModuleOp):
            return operations[0]
        module = ModuleOp(operations)
        module.location = self._places.whole_file()
        return module

    def _parse_top_level(self, operations: list[Operation]) -> None:
        kind = self._current_token.kind
        if kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
            self._parse_alias_def()
        elif kind == MLIRTokenKind.FILE_METADATA_BEGIN:
            self._parse_file_metadata_dictionary()
        elif (operation := self.parse_optional_operation()) is not None:
            operations.append(operation)
        else:
            self.raise_error("expected an operation")

    def parse_operation(self) -> Operation:
        depth = len(self._name_positions)
        op = super().parse_operation()
        position = self._name_positions[depth]
        del self._name_positions[depth:]
        if op.location is UNKNOWN_LOC:
            op.location = self._places.attribute(position)
        for region in op.regions:
            self._locate_implicit_terminators(op, region.blocks)
        return op

    @staticmethod
    def _locate_implicit_terminators(op: Operation, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block.last_op is not None and block.last_op.location is UNKNOWN_LOC:
                block.last_op.location = op.location

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        self._open_regions.append(self.pos)
        region = super().parse_optional_region(arguments)
        self._open_regions.pop()
        return region

    def _parse_optional_builtin_type(self) -> TypeAttribute | None:
        """Types are most of the text, and few: one that was read before is looked up by its text."""
        token = self._current_token
        if token.kind != MLIRTokenKind.BARE_IDENT:
            return super()._parse_optional_builtin_type()
        text = token.span.input.content
        found = _TYPE.match(text, token.span.start)
        known = _types.get(found[0]) if found is not None else None
        if found is not None and known is not None:
            self._resume_from(found.end())
            return known
        type = super()._parse_optional_builtin_type()
        if type is None:
            return None
        if (reason := why_too_large(type)) is not None:
            self.raise_error(reason, token.span.start, self.pos)
        if found is not None and not text[found.end() : self.pos].strip():
            if len(_types) >= _MANY_TYPES:
                _types.clear()
            _types[found[0]] = type
        return type

    def parse_affine_map(self) -> AffineMap:
        start = self.pos
        written = super().parse_affine_map()
        if (reason := why_not_numbers(written.results)) is not None:
            self.raise_error(reason, start, self.pos)
        return written

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        start = self.pos
        number = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(number, FloatAttr) and not isinstance(number.type, _WRITTEN_FLOATS):
            self.raise_error(f"numbers of {number.type} can be computed, but not written", start, self.pos)
        return number

    def _parse_block(self) -> Block:
        if self._current_token.kind == MLIRTokenKind.CARET_IDENT:
            label = self._current_token.span
            block = super()._parse_block()
            self.blocks[label.text[1:]] = (block, label)  # xDSL forgets it where a branch came first
            return block
        opened = Diagnostic("note", "the region opened here", self._places.at(self._open_regions[-1]))
        message = "expected an operation, a block label or '}'"
        raise SyntaxFailure(message, self._places.at(self.pos), notes=[opened])

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._name_positions.append(self._current_token.span.start)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        if (op_type := self.ctx.get_optional_op(name, dialect_stack=stack)) is not None:
            return op_type
        message, hint = _unknown_operation(self.ctx, name)
        raise SyntaxFailure(message, self._places.at(self._name_positions[-1]), hint=hint)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:  # type: ignore[override]
        if operand.operand_name not in self.ssa_values:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            previous = Diagnostic("note", "previously defined here", self._definition_place(name))
            place = self._places.at(span.start)
            raise SyntaxFailure(f"redefinition of value '%{name}'", place, notes=[previous])
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument) and value.location is UNKNOWN_LOC:
                value.location = self._places.attribute(span.start)

    def _definition_place(self, name: str) -> SourceLocation | None:
        value = self.ssa_values[name][0]
        location = value.location if isinstance(value, BlockArgument) else value.owner.location  # type: ignore
        if not isinstance(location, FileLineColLoc):
            return None
        return SourceLocation(location.filename.data, location.line.data, location.column.data)

    def _parse_dense_literal_type(self) -> Any:
        start = self.pos
        type = super()._parse_dense_literal_type()
        count, text = known_elements(type), self._current_token.span.input.content  # pyright: ignore[reportArgumentType]
        if count > max(MAX_SPLAT, len(text)):  # more than the text can write one by one
            message = f"one value for {count} elements; a literal has at most {MAX_SPLAT}"
            hint = "nt.broadcast has any number of elements from one"
            raise SyntaxFailure(message, self._places.at(start), hint=hint)
        return type

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        if not element.span.text.startswith("0x"):
            return element
        return _HexadecimalElement(element.is_negative, element.value, element.span)

    def _parse_external_resources(self) -> None:
        """`external_resources: { owner: { key: value, ... }, ... }`, as mlir-opt's reproducers have it."""
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_resource_group)

    def _parse_resource_group(self) -> None:
        owner = self.parse_identifier()
        self.parse_punctuation(":")
        entries = self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_resource_entry)
        self.external_resources[owner] = dict(entries)

    def _parse_resource_entry(self) -> tuple[str, str]:
        key = self.parse_identifier()
        self.parse_punctuation(":")
        text = self.parse_optional_str_literal()
        if text is None:
            text = "true" if self.parse_boolean() else "false"
        return key, text


def _position(parser: LocatedParser | None) -> int:
    return parser.pos if parser is not None else 0


def _tidy(message: str) -> str:
    """xDSL's message as one sentence in MLIR's style: one line, no capital, no full stop."""
    text = " ".join(message.split()) or "invalid syntax"
    if text.endswith("' is not registered"):
        text = "unknown type or attribute " + text.removesuffix(" is not registered")
    if text[1:2].islower():
        text = text[0].lower() + text[1:]
    return text.rstrip(".!")


def _conversion_message(error: Exception) -> str:
    text = str(error)
    return "integer literal is too large" if "integer string conversion" in text else text


def _span_notes(error: MultipleSpansParseError, places: Places) -> list[Diagnostic]:
    text = error.ref_text or "see here"
    return [
        Diagnostic("note", _tidy(message or text).rstrip(":"), places.at(span.start))
        for span, message in error.refs
    ]


def _unknown_operation(context: Context, name: str) -> tuple[str, str | None]:
    """Message and hint for an operation name that no dialect defines."""
    dialects = list(context.registered_dialect_names)
    dialect_name, _, _ = name.partition(".")
    if "." not in name:
        return f"unknown operation '{name}'", "operations are called dialect.name: --show-dialects lists them"
    if dialect_name not in dialects:
        close = get_close_matches(dialect_name, dialects, 1)
        guess = f"did you mean '{close[0]}'? " if close else ""
        return (
            f"unknown dialect '{dialect_name}' in operation '{name}'",
            f"{guess}--show-dialects lists what there is; --allow-unregistered-dialect accepts any",
        )
    dialect = context.get_optional_dialect(dialect_name)
    names = [op.name for op in dialect.operations] if dialect is not None else []
    close = get_close_matches(name, names, 3)
    hint = "did you mean " + " or ".join(f"'{c}'" for c in close) + "?" if close else None
    return f"unknown operation '{name}' in dialect '{dialect_name}'", hint
