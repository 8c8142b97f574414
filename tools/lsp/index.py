"""Where in a text its values, blocks, operations and aliases are: a parser that remembers what it has read.

After an error the index has what was read before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ...dialects.diagnostic import NestorError
from ...dialects.parse import LocatedParser, Places, parse_with
from ...transforms.pass_manager import internal_failure


@dataclass
class OperationName:
    """The name of an operation in the text; `operation` is None where it was not read to its end."""

    start: int
    end: int
    kind: type[Operation]
    operation: Operation | None = None


@dataclass
class Index:
    """What is where; places are (start, end)."""

    definitions: dict[SSAValue | Block, tuple[int, int]] = field(default_factory=dict)
    values: dict[int, SSAValue | Block] = field(default_factory=dict)
    """By the place where the name starts, definitions and uses."""
    by_name: dict[str, list[SSAValue]] = field(default_factory=dict)
    operations: dict[int, OperationName] = field(default_factory=dict)
    aliases: dict[str, tuple[tuple[int, int], Attribute]] = field(default_factory=dict)
    forward: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """What stood for a value that was used before its definition."""

    def value_at(self, start: int) -> SSAValue | Block | None:
        found = self.values.get(start)
        return self.forward.get(found, found) if isinstance(found, SSAValue) else found


@dataclass(eq=False)
class Parsed:
    """A part of a file, read: its operations, its index, and what was wrong."""

    name: str
    text: str
    module: ModuleOp | None
    operations: list[Operation]
    index: Index
    failure: NestorError | None


class IndexingParser(LocatedParser):
    """Nestor's parser; it fills an index. Places are those in the text, whatever `loc(...)` says."""

    def __init__(self, context: Context, text: str, name: str, places: Places):
        self.index = Index()
        self._names: list[OperationName] = []
        super().__init__(context, text, name, places)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        kind = super()._get_op_by_name(name)
        start = self._name_positions[-1]
        quotes = 2 if self.lexer.input.content.startswith('"', start) else 0
        entry = OperationName(start, start + len(name) + quotes, kind)
        self.index.operations[start] = entry
        self._names.append(entry)
        return kind

    def parse_operation(self) -> Operation:
        depth = len(self._names)
        operation = super().parse_operation()
        entry = self._names[depth]
        del self._names[depth:]
        entry.operation = operation
        operation.location = self._places.attribute(entry.start)
        return operation

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:  # type: ignore[override]
        value = super().resolve_operand(operand, type)
        self.index.values[operand.span.start] = value
        return value

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        awaited = self.forward_ssa_references.get(name, {})
        super()._register_ssa_definition(name, values, span)
        for number, placeholder in awaited.items():
            self.index.forward[placeholder] = values[number]
        for value in values:
            self.index.definitions[value] = (span.start, span.end)
        if values:
            self.index.values[span.start] = values[0]
            self.index.by_name.setdefault(f"%{name}", []).extend(values)

    def _parse_block(self) -> Block:
        label = self._current_token
        block = super()._parse_block()
        if label.kind == MLIRTokenKind.CARET_IDENT:
            self.index.definitions[block] = (label.span.start, label.span.end)
            self.index.values[label.span.start] = block
        return block

    def parse_optional_successor(self) -> Block | None:
        start = self._current_token.span.start
        block = super().parse_optional_successor()
        if block is not None:
            self.index.values[start] = block
        return block

    def _parse_alias_def(self) -> None:
        token = self._current_token.span
        super()._parse_alias_def()
        self.index.aliases[token.text] = ((token.start, token.end), self.attribute_aliases[token.text])


def read(text: str, name: str, context: Context, aliases: dict[str, Attribute]) -> Parsed:
    """Parse `text`, in which `aliases` are known; `name` is the file that locations name."""
    made: list[IndexingParser] = []
    module, failure = None, None
    try:
        module, _ = parse_with(_keeping(made, aliases), text, name, context)
    except NestorError as error:
        failure = error
    except Exception as error:
        failure = internal_failure("the parser", error)
    operations: list[Operation] = []
    if module is not None:
        operations = list(module.body.block.ops) if module.body.blocks else []
    return Parsed(name, text, module, operations, made[0].index if made else Index(), failure)


def _keeping(
    made: list[IndexingParser], aliases: dict[str, Attribute]
) -> Callable[[Context, str, str, Places], IndexingParser]:
    def make(context: Context, text: str, name: str, places: Places) -> IndexingParser:
        parser = IndexingParser(context, text, name, places)
        parser.attribute_aliases.update(aliases)
        made.append(parser)
        return parser

    return make
