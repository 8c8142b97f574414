"""Edits of textual IR: of tokens, numbers, types, names, attributes, operands, lines; cuts; what opens and never closes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r'\s+|"[^"\n]*"|[%@^#!]?[\w.]+|->|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w%#@!^])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=x|\b)")
_TYPE = re.compile(r"(?:memref|tensor|vector)<[^<>]*(?:<[^<>]*>[^<>]*)*>|\b(?:index|[su]?i\d+|bf16|f\d+)\b")
_ELEMENT = re.compile(r"\b(?:index|[su]?i(?:1|8|16|32|64)|bf16|f16|f32|f64)\b")
_VALUE = re.compile(r"%[\w.]+")
_STRING = re.compile(r'"[^"\n]*"')
_WORD = re.compile(r"[a-z_]+(?:\.[a-z_]+)+|\b[a-z]{3,}\b")
_NAME = re.compile(r"@[\w.]+")
_OPERANDS = re.compile(r"\[[^\[\]\n]*\]|\([^()\n]*\)")
_ATTRIBUTES = re.compile(r"\{[^{}\n]*\}|<\{[^{}\n]*\}>")

NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "64",
    "65",
    "1000003",
    "2147483647",
    "2147483648",
    "4294967297",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "9999999999999999999",
    "1" + "0" * 40,
    "0.5",
    "1e400",
    "0x7fc00000",
)
ELEMENTS = (
    "i1",
    "i8",
    "i32",
    "i64",
    "i128",
    "i3",
    "ui8",
    "si32",
    "index",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f80",
)
TYPES = (
    "i32",
    "index",
    "f32",
    "none",
    "tensor<f32>",
    "tensor<?x?xf32>",
    "tensor<*xf32>",
    "tensor<0x4xf32>",
    "memref<f32>",
    "memref<?x4xf32>",
    "memref<4xf32, strided<[?], offset: ?>>",
    "memref<4x4xf32, 3>",
    "memref<*xf32>",
    "vector<4xf32>",
    "vector<[4]xf32>",
    "tuple<i32>",
    "!llvm.ptr",
    "complex<f32>",
    "() -> ()",
)
OPENED = (
    '"',
    '"abc',
    "(",
    "[",
    "<",
    "{",
    "<{",
    "/*",
    "affine_map<(",
    "dense<[",
    "loc(",
    "{-#",
    "@",
    "%",
    "^",
    "#",
    "!",
)
ATTRIBUTES = (
    "{a = 1 : i32}",
    "{nest.role = 7}",
    '{nest.role = "nothing"}',
    "{sym_visibility}",
    "{nestor.noalias = 3.0 : f32}",
    "{operandSegmentSizes = array<i32: 9, 9, 9>}",
    "{value = dense<1> : tensor<1000000000000xi64>}",
    '{label = ""}',
)

Edit = Callable[[str, str, random.Random], str]


def _replace_one(
    text: str, pattern: re.Pattern[str], generator: random.Random, by: Callable[[str], str]
) -> str:
    """One of what the pattern finds, replaced; the text where it finds nothing."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    at = generator.choice(found)
    return text[: at.start()] + by(at[0]) + text[at.end() :]


def _any_of(text: str, pattern: re.Pattern[str], generator: random.Random) -> str:
    return generator.choice(pattern.findall(text) or [""])


def tokens(text: str, other: str, generator: random.Random) -> str:
    """A token removed, doubled, swapped with another, or replaced by it."""
    parts = _TOKEN.findall(text)
    at, second = generator.randrange(len(parts)), generator.randrange(len(parts))
    match generator.randrange(4):
        case 0:
            parts[at] = ""
        case 1:
            parts[at] *= 2
        case 2:
            parts[at], parts[second] = parts[second], parts[at]
        case _:
            parts[at] = parts[second]
    return "".join(parts)


def number(text: str, other: str, generator: random.Random) -> str:
    """A number at one place, or the same at all."""
    new = generator.choice(NUMBERS)
    if generator.randrange(4):
        return _replace_one(text, _NUMBER, generator, lambda _: new)
    old = _any_of(text, _NUMBER, generator)
    return re.sub(rf"(?<![\w%#@!^.-]){re.escape(old)}(?=x|\b)", new, text) if old else text


def type_(text: str, other: str, generator: random.Random) -> str:
    """A type by another one: of the list, of this text, of another; or an element type, at one place or at all."""
    match generator.randrange(4):
        case 0:
            return _replace_one(text, _TYPE, generator, lambda _: generator.choice(TYPES))
        case 1:
            new = _any_of(text + other, _TYPE, generator)
            return _replace_one(text, _TYPE, generator, lambda old: new or old)
        case 2:
            return _replace_one(text, _ELEMENT, generator, lambda _: generator.choice(ELEMENTS))
        case _:
            old = _any_of(text, _ELEMENT, generator)
            return re.sub(rf"(?<=[x<: ]){old}\b", generator.choice(ELEMENTS), text) if old else text


def name(text: str, other: str, generator: random.Random) -> str:
    """A name of a value, a symbol, an operation or a string by another one of its kind."""
    pattern = generator.choice([_VALUE, _VALUE, _NAME, _STRING, _WORD])
    new = _any_of(text if generator.randrange(3) else text + other, pattern, generator)
    return _replace_one(text, pattern, generator, lambda old: new or old)


def operands(text: str, other: str, generator: random.Random) -> str:
    """The members of one list in another order, one of them twice, or one less."""

    def edited(old: str) -> str:
        members = [one.strip() for one in old[1:-1].split(",")]
        match generator.randrange(3):
            case 0:
                generator.shuffle(members)
            case 1:
                members.append(generator.choice(members))
            case _:
                members.pop(generator.randrange(len(members)))
        return old[0] + ", ".join(members) + old[-1]

    return _replace_one(text, _OPERANDS, generator, edited)


def attribute(text: str, other: str, generator: random.Random) -> str:
    """A dictionary of attributes removed, or one of another kind in its place or at the end of a line."""
    new = generator.choice([*ATTRIBUTES, "", _any_of(other, _ATTRIBUTES, generator)])
    if _ATTRIBUTES.search(text) and generator.randrange(2):
        return _replace_one(text, _ATTRIBUTES, generator, lambda _: new)
    lines = text.split("\n")
    at = generator.randrange(len(lines))
    before, brace, after = lines[at].rpartition(" : " if generator.randrange(2) else " {")
    lines[at] = f"{before} {new}{brace}{after}" if brace else f"{lines[at]} {new}"
    return "\n".join(lines)


def line(text: str, other: str, generator: random.Random) -> str:
    """A line twice, removed, moved, or one of another text."""
    lines = text.split("\n")
    at, to = generator.randrange(len(lines)), generator.randrange(len(lines))
    match generator.randrange(4):
        case 0:
            lines.insert(to, lines[at])
        case 1:
            lines.pop(at)
        case 2:
            lines.insert(to, lines.pop(at))
        case _:
            lines.insert(to, generator.choice(other.split("\n")))
    return "\n".join(lines)


def cut(text: str, other: str, generator: random.Random) -> str:
    """The text up to somewhere."""
    return text[: generator.randrange(len(text) + 1)]


def splice(text: str, other: str, generator: random.Random) -> str:
    """The start of one text and the end of another, at lines; or both, one after the other."""
    if not generator.randrange(3):
        return text + other
    first, second = text.split("\n"), other.split("\n")
    return "\n".join(first[: generator.randrange(len(first))] + second[generator.randrange(len(second)) :])


def opened(text: str, other: str, generator: random.Random) -> str:
    """Something that opens and is never closed."""
    at = generator.randrange(len(text) + 1)
    return text[:at] + generator.choice(OPENED) + text[at:]


def characters(text: str, other: str, generator: random.Random) -> str:
    """A character that IR has no use for."""
    at = generator.randrange(len(text) + 1)
    return (
        text[:at]
        + generator.choice(["\0", "\x1b", "é", "²", "\u2028", "\\", "`", "\r", "\v", "\ufeff"])
        + text[at:]
    )


EDITS: tuple[tuple[Edit, int], ...] = (
    (tokens, 5),
    (number, 6),
    (type_, 5),
    (name, 5),
    (operands, 3),
    (attribute, 3),
    (line, 4),
    (cut, 1),
    (splice, 2),
    (opened, 1),
    (characters, 1),
)
"""The kinds of edits, and how often each is drawn."""


def mutate(text: str, other: str, generator: random.Random) -> str:
    """`text` after one to four edits; some take from `other`."""
    kinds, weights = zip(*EDITS, strict=True)
    for _ in range(generator.choice([1, 1, 1, 2, 2, 3, 4])):
        edit = generator.choices(kinds, weights)[0]
        text = edit(text, other, generator) or text
    return text
