"""A file that is open in the editor: read part by part, verified, and asked where things are.

A part is a function, a schedule or an alias. One whose text and aliases are as before is not read again, and not
verified again while what the others look like from outside is as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...dialects.diagnostic import Diagnostic, NestorError, SourceLocation
from ...dialects.verifier import symbol_errors, verification_errors
from ...transforms.pass_manager import internal_failure
from ..opt_tool.context import make_tool_context
from .index import Parsed, read
from .text import Lines, Part, Symbol, is_alias, open_braces, split_parts, split_pieces, symbols, word_at

_UNREGISTERED = re.compile(r"//.*RUN:.*--?allow-unregistered-dialect")


@dataclass(frozen=True)
class Problem:
    """A diagnostic with its place in the text; `related` are its notes."""

    start: int
    end: int
    severity: str
    message: str
    related: tuple[Problem, ...] = ()


@dataclass
class _Piece:
    """What is between two lines `// -----`: a module of its own."""

    part: Part
    parts: list[tuple[Part, Parsed]]


@dataclass
class _Verified:
    outside: object
    errors: list[Diagnostic]


@dataclass
class Document:
    """The last text of a file, and what is known of it."""

    allow_unregistered: bool = False
    text: str = ""
    lines: Lines = field(default_factory=lambda: Lines(""))
    problems: list[Problem] = field(default_factory=list)
    _pieces: list[_Piece] = field(default_factory=list)
    _good: dict[str, Parsed] = field(default_factory=dict)
    """The last reading without a fault of the part that defines this symbol."""
    _verified: dict[str, _Verified] = field(default_factory=dict)
    _count: int = 0

    def update(self, text: str) -> None:
        """Read `text`; `problems` are what is wrong with it then."""
        known: dict[tuple[str, str], list[Parsed]] = {}
        for piece in self._pieces:
            context = ""
            for part, parsed in piece.parts:
                known.setdefault((context, _as_key(parsed.text)), []).append(parsed)
                context += part.text if is_alias(part) else ""
        self.text, self.lines = text, Lines(text)
        accept_any = self.allow_unregistered or _UNREGISTERED.search(text) is not None
        context = make_tool_context(allow_unregistered=accept_any)
        self._pieces = [self._read_piece(piece, context, known) for piece in split_pieces(text)]
        places = {parsed.name: part for piece in self._pieces for part, parsed in piece.parts}
        self._verified = {name: one for name, one in self._verified.items() if name in places}
        self.problems = [
            self._problem(diagnostic, places)
            for piece in self._pieces
            for diagnostic in self._diagnostics(piece)
        ]

    def _read_piece(
        self, piece: Part, context: Context, known: dict[tuple[str, str], list[Parsed]]
    ) -> _Piece:
        parts = split_parts(piece)
        read_parts = self._read_parts(parts, context, known)
        if len(parts) > 1 and open_braces(piece.text) == 0:
            broken = [part for part, parsed in read_parts if parsed.failure is not None]
            if any(open_braces(part.text) != 0 for part in broken):  # a line's start inside of something
                whole = self._read_parts([piece], context, known)
                if whole[0][1].failure is None:
                    read_parts = whole
        return _Piece(piece, read_parts)

    def _read_parts(
        self, parts: list[Part], context: Context, known: dict[tuple[str, str], list[Parsed]]
    ) -> list[tuple[Part, Parsed]]:
        aliases: dict[str, Attribute] = {}
        alias_text = ""
        result: list[tuple[Part, Parsed]] = []
        for part in parts:
            before = known.get((alias_text, _as_key(part.text)), [])
            same = next((one for one in before if one.failure is None or one.text == part.text), None)
            if same is not None:
                before.remove(same)
                parsed = same
            else:
                self._count += 1
                parsed = read(part.text, f"part {self._count}", context, aliases)
            result.append((part, parsed))
            if is_alias(part):
                alias_text += part.text
                aliases |= {name: value for name, (_, value) in parsed.index.aliases.items()}
            if parsed.failure is None:
                for symbol in symbols(part):
                    self._good[symbol.name] = parsed
        return result

    def _diagnostics(self, piece: _Piece) -> list[Diagnostic]:
        failures = [parsed.failure for _, parsed in piece.parts if parsed.failure is not None]
        if failures:
            return [failure.diagnostic for failure in failures]
        try:
            return list(self._verify(piece))
        except NestorError as error:
            return [error.diagnostic]
        except Exception as error:
            return [internal_failure("the verifier", error).diagnostic]

    def _verify(self, piece: _Piece) -> Iterator[Diagnostic]:
        if len(piece.parts) == 1:
            _, parsed = piece.parts[0]
            if parsed.module is not None:
                yield from self._verify_part(parsed, [parsed.module], None)
            return
        module = ModuleOp([])
        for _, parsed in piece.parts:
            for operation in parsed.operations:
                operation.detach()
                module.body.block.add_op(operation)
        outside = tuple(_seen_from_outside(operation) for operation in module.body.block.ops)
        yield from symbol_errors(module)
        for _, parsed in piece.parts:
            yield from self._verify_part(parsed, parsed.operations, outside)

    def _verify_part(self, parsed: Parsed, operations: list[Operation], outside: object) -> list[Diagnostic]:
        before = self._verified.get(parsed.name)
        if before is None or before.outside != outside:
            errors = [error for operation in operations for error in verification_errors(operation)]
            before = self._verified[parsed.name] = _Verified(outside, errors)
        return before.errors

    def _problem(self, diagnostic: Diagnostic, places: dict[str, Part]) -> Problem:
        message = diagnostic.message
        if diagnostic.hint:
            message += f"\nhelp: {diagnostic.hint}"
        start = self._offset(diagnostic.location, places)
        end = self._end_of_word(start)
        related = []
        for note in diagnostic.notes:
            at = self._offset(note.location, places) if note.location is not None else start
            related.append(Problem(at, self._end_of_word(at), "note", note.message))
        return Problem(start, end, diagnostic.severity, message, tuple(related))

    @staticmethod
    def _offset(location: SourceLocation | None, places: dict[str, Part]) -> int:
        if location is None or location.file not in places:
            return 0
        part = places[location.file]
        return part.start + Lines(part.text).offset(max(location.line - 1, 0), max(location.column - 1, 0))

    def _end_of_word(self, start: int) -> int:
        word = word_at(self.text, start)
        if word is not None and word.start <= start < word.end:
            return word.end
        line_end = self.text.find("\n", start)
        return min(start + 1, len(self.text)) if line_end != start else start

    def part_at(self, offset: int) -> tuple[Part, Parsed] | None:
        """The part around `offset`, read."""
        for piece in reversed(self._pieces):
            for part, parsed in reversed(piece.parts):
                if part.start <= offset:
                    return part, parsed
        return None

    def last_good(self, part: Part) -> Parsed | None:
        """The last reading without a fault of what `part` defines."""
        for symbol in symbols(part):
            return self._good.get(symbol.name)
        return None

    def all_symbols(self) -> list[Symbol]:
        """The symbols of the file, in order."""
        return [symbol for piece in self._pieces for part, _ in piece.parts for symbol in symbols(part)]

    def symbols_beside(self, offset: int) -> list[Symbol]:
        """The symbols of the piece around `offset`."""
        piece = self._piece_at(offset)
        return [] if piece is None else [symbol for part, _ in piece.parts for symbol in symbols(part)]

    def parts_beside(self, offset: int) -> list[tuple[Part, Parsed]]:
        """The parts of the piece around `offset`."""
        piece = self._piece_at(offset)
        return [] if piece is None else piece.parts

    def _piece_at(self, offset: int) -> _Piece | None:
        return next((piece for piece in reversed(self._pieces) if piece.part.start <= offset), None)


def _as_key(text: str) -> str:
    """Lines without text at the end of a part change nothing in it."""
    return text.rstrip()


def _seen_from_outside(operation: Operation) -> object:
    """What verifiers of other functions see of this one: all but its body."""
    if operation.name not in ("func.func", "schedule.sequence", "memref.global"):
        return id(operation)
    return (
        operation.name,
        tuple(sorted(operation.properties.items())),
        tuple(sorted(operation.attributes.items())),
        any(region.blocks for region in operation.regions),
    )
