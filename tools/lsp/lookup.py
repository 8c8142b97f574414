"""What stands at a place: its definition, and what is said of it on hovering."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import cleandoc

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation

from .completion import describe_pass, is_comment, pass_at
from .document import Document
from .index import Index, OperationName
from .text import Part, Word, word_at

Place = tuple[int, int]


@dataclass(frozen=True)
class Hover:
    """Text in Markdown on what is between `start` and `end`."""

    text: str
    start: int
    end: int


def definitions(document: Document, offset: int) -> list[Place]:
    """Where what stands at `offset` is defined: one place, or several symbols of that name."""
    word = word_at(document.text, offset)
    here = document.part_at(offset)
    if word is None or here is None:
        return []
    part, parsed = here
    if word.text[0] == "@":
        name = word.text[1:].strip('"')
        named = [symbol for symbol in document.symbols_beside(offset) if symbol.name == name]
        return [(symbol.name_start, symbol.name_end) for symbol in named]
    if word.text[0] in "#!":
        return [
            (other.start + found[0][0], other.start + found[0][1])
            for other, its in document.parts_beside(offset)
            if (found := its.index.aliases.get(word.text)) is not None
        ]
    if word.text[0] not in "%^":
        return []
    value = parsed.index.value_at(word.start - part.start)
    place = parsed.index.definitions.get(value) if value is not None else None
    if place is None:
        place = _scanned(part.text, word, word.start - part.start)
    return [] if place is None else [(part.start + place[0], part.start + place[1])]


def _scanned(text: str, word: Word, offset: int) -> Place | None:
    """A definition as text shows it, where the parser did not get to: the last one before the use, else the first after."""
    name = re.escape(word.text) + r"(?![\w$.\-])"
    if word.text[0] == "^":
        defines = re.compile(rf"^[ \t]*(?P<name>{name})(?:\([^\n]*\))?:", re.MULTILINE)
    else:
        defines = re.compile(
            rf"^[ \t]*(?:%[\w$.\-]+(?::\d+)?,[ \t]*)*(?P<name>{name})(?::\d+)?[ \t]*(?:,[^=\n]*)?=(?!=)"
            rf"|[(,][ \t]*(?P<argument>{name})[ \t]*:"
            rf'|"[ \t]*(?P<loop>{name})[ \t]*=',
            re.MULTILINE,
        )
    found = [next(m.span(g) for g in m.groupdict() if m[g] is not None) for m in defines.finditer(text)]
    before = [place for place in found if place[0] <= offset]
    if before:
        return before[-1]
    return found[0] if found else None


def hover(document: Document, offset: int) -> Hover | None:
    """What there is to say on what stands at `offset`."""
    if is_comment(document.text, offset):
        found = pass_at(document.text, offset)
        if found is None or (text := describe_pass(found.text)) is None:
            return None
        return Hover(text, found.start, found.end)
    word = word_at(document.text, offset)
    here = document.part_at(offset)
    if word is None or here is None:
        return None
    part, parsed = here
    text = _describe(document, part, parsed.index, word)
    return None if text is None else Hover(text, word.start, word.end)


def _describe(document: Document, part: Part, index: Index, word: Word) -> str | None:
    if word.text[0] in "%^":
        return _describe_value(document, part, index, word)
    if word.text[0] == "@":
        return _describe_symbol(document, word)
    if word.text[0] in "#!":
        return _describe_alias(document, word)
    start = word.start - part.start
    entry = index.operations.get(start) or index.operations.get(start - 1)  # the generic form has quotes
    if entry is not None:
        return _describe_operation(part, index, entry)
    kind = _operation_called(word.text)
    return None if kind is None else _documentation(kind)


def _describe_value(document: Document, part: Part, index: Index, word: Word) -> str | None:
    value = index.value_at(word.start - part.start)
    if isinstance(value, Block):
        arguments = ", ".join(str(argument.type) for argument in value.args)
        return _code(f"{word.text}({arguments})")
    if value is not None:
        return _code(f"{word.text} : {value.type}") + f"\n\n{_origin(value)}"
    good = document.last_good(part)
    types = {str(one.type) for one in good.index.by_name.get(word.text, ())} if good is not None else set()
    if not types:
        types = {str(one.type) for one in index.by_name.get(word.text, ())}
    if len(types) != 1:
        return None  # not read, or a name that stands for several values
    return _code(f"{word.text} : {types.pop()}")


def _origin(value: SSAValue) -> str:
    if isinstance(value, OpResult):
        return f"result {value.index} of `{value.op.name}`"
    if isinstance(value, BlockArgument):
        parent = value.owner.parent_op()
        return f"argument {value.index}" + (f" of `{parent.name}`" if parent is not None else "")
    return "used before its definition"


def _describe_symbol(document: Document, word: Word) -> str | None:
    name = word.text[1:].strip('"')
    for symbol in document.symbols_beside(word.start):
        if symbol.name != name:
            continue
        line = document.text[symbol.start : document.text.find("\n", symbol.start) % (len(document.text) + 1)]
        return _code(line.rstrip().removesuffix("{").rstrip())
    return None


def _describe_alias(document: Document, word: Word) -> str | None:
    for _, parsed in document.parts_beside(word.start):
        found = parsed.index.aliases.get(word.text)
        if found is not None:
            return _code(f"{word.text} = {found[1]}")
    return None


def _describe_operation(part: Part, index: Index, entry: OperationName) -> str:
    lines = [_documentation(entry.kind)]
    if entry.operation is not None:
        operation = entry.operation
        lines += _typed("operands", operation.operands, part, index)
        lines += _typed("results", operation.results, part, index)
    return "\n\n".join(lines)


def _typed(title: str, values: object, part: Part, index: Index) -> list[str]:
    texts = []
    for value in values:  # type: ignore[attr-defined]
        place = index.definitions.get(value)
        name = part.text[place[0] : place[1]] if place is not None else "%_"
        texts.append(f"{name} : {value.type}")
    return [f"{title}\n{_code(chr(10).join(texts))}"] if texts else []


def _documentation(kind: type[Operation]) -> str:
    return f"**{kind.name}**\n\n{documentation_of(kind)}".rstrip()


def documentation_of(kind: type[Operation]) -> str:
    """The docstring of an operation, or what its definition says where it has none."""
    text = cleandoc(kind.__doc__ or "")
    if text:
        return text
    if not issubclass(kind, IRDLOperation):
        return ""
    definition = kind.get_irdl_definition()
    parts = []
    for title, entries in (("operands", definition.operands), ("results", definition.results)):
        if entries:
            parts.append(f"{title}: {', '.join(name for name, _ in entries)}")
    return "; ".join(parts)


def _operation_called(name: str) -> type[Operation] | None:
    from .completion import operations_of

    return next((op for op in operations_of(name.partition(".")[0]) if op.name == name), None)


def _code(text: str) -> str:
    return f"```mlir\n{text}\n```"
