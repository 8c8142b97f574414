"""An element of a buffer as MLIR writes it, for operations that xDSL lacks: `%x[%i, %j]`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer


def print_element(printer: Printer, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Print `%x[%i, %j]`."""
    printer.print_ssa_value(buffer)
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


def parse_element(parser: Parser) -> tuple[UnresolvedOperand, list[UnresolvedOperand]]:
    """The buffer and the indices of `%x[%i, %j]`."""
    buffer = parser.parse_unresolved_operand()
    return buffer, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
