"""Values of options: their form as attributes and in text.

An integer is an `i64` attribute, or a symbol that names a parameter of the sequence; `ints` is an array of those.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..diagnostic import NestorError
from .table import Option


def attribute_of(value: object) -> Attribute:
    """A Python value as an attribute. `None` and `False` have none: leave the option out."""
    if value is True:
        return UnitAttr()
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, list | tuple):
        return ArrayAttr([attribute_of(one) for one in value])
    if isinstance(value, Attribute):
        return value
    raise NestorError(
        f"an option of a schedule cannot be {value!r}", hint="an integer, a word, a flag, or a list"
    )


def value_of(attribute: Attribute, parameters: dict[str, int]) -> object:
    """An attribute as a Python value; symbols are looked up among the parameters."""
    if isinstance(attribute, UnitAttr):
        return True
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, SymbolRefAttr):
        return parameters[attribute.string_value()]
    assert isinstance(attribute, ArrayAttr)
    return tuple(value_of(one, parameters) for one in attribute)


def why_not_value(option: Option, attribute: Attribute) -> str | None:
    """Why `attribute` is no value of the option, None when it is one."""
    if _is_of_type(option.type, attribute):
        if option.type != "word" or not isinstance(attribute, StringAttr) or attribute.data in option.choices:
            return None
        return f"'{option.name}' is one of {', '.join(option.choices)}, not '{attribute.data}'"
    return f"'{option.name}' is {_WORDS[option.type]}, not {attribute}"


_WORDS = {
    "int": "an integer",
    "ints": "a list of integers",
    "word": "a word",
    "string": "a string",
    "place": "a string or an integer",
    "flag": "a flag",
}


def _is_of_type(wanted: str, attribute: Attribute) -> bool:
    if wanted == "int":
        return isinstance(attribute, IntegerAttr | SymbolRefAttr)
    if wanted == "ints":
        return isinstance(attribute, ArrayAttr) and all(_is_of_type("int", one) for one in attribute)
    if wanted == "place":
        return isinstance(attribute, StringAttr) or _is_of_type("int", attribute)
    return isinstance(attribute, UnitAttr if wanted == "flag" else StringAttr)


def parse_value(parser: Parser, option: Option) -> Attribute:
    """The value of an option whose name (or keyword) was read already."""
    if option.type == "flag":
        return UnitAttr()
    if option.keyword:
        return _parse_plain(parser, option)
    with parser.in_parens():
        return _parse_plain(parser, option)


def _parse_plain(parser: Parser, option: Option) -> Attribute:
    if option.type == "int":
        return _parse_int(parser)
    if option.type == "ints":
        delimiter = parser.Delimiter.SQUARE if option.keyword else parser.Delimiter.NONE
        return ArrayAttr(parser.parse_comma_separated_list(delimiter, lambda: _parse_int(parser)))
    if option.type == "string":
        return StringAttr(parser.parse_str_literal(f", the value of {option.name}"))
    if option.type == "place":
        text = parser.parse_optional_str_literal()
        return _parse_int(parser) if text is None else StringAttr(text)
    position = parser.pos
    word = parser.parse_identifier(context_msg=f"one of {', '.join(option.choices)}")
    if word not in option.choices:
        choices = ", ".join(option.choices)
        parser.raise_error(
            f"'{option.name}' is one of {choices}, not '{word}'", position, position + len(word)
        )
    return StringAttr(word)


def _parse_int(parser: Parser) -> Attribute:
    symbol = parser.parse_optional_symbol_name()
    if symbol is not None:
        return SymbolRefAttr(symbol)
    return IntegerAttr(parser.parse_integer(), i64)


def print_value(printer: Printer, option: Option, attribute: Attribute) -> None:
    """`name(value)`, `keyword value`, or the bare name of a flag."""
    if option.type == "flag":
        printer.print_string(f" {option.name}")
        return
    printer.print_string(f" {option.keyword} " if option.keyword else f" {option.name}(")
    if isinstance(attribute, StringAttr) and option.type != "word":
        printer.print_string_literal(attribute.data)
    else:
        printer.print_string(_text(option, attribute))
    printer.print_string("" if option.keyword else ")")


def _text(option: Option, attribute: Attribute) -> str:
    if isinstance(attribute, ArrayAttr):
        listed = ", ".join(_text(option, one) for one in attribute)
        return f"[{listed}]" if option.keyword else listed
    if isinstance(attribute, IntegerAttr):
        return str(attribute.value.data)
    if isinstance(attribute, SymbolRefAttr):
        return f"@{attribute.string_value()}"
    assert isinstance(attribute, StringAttr)
    return attribute.data
