"""What a value is as a number."""

from __future__ import annotations

from ..interface.errors import DTypeError
from .graph import Graph
from .promotion import Operand
from .values import Value, operand_of


def number_kind(graph: Graph, value: Value) -> Operand:
    """`operand_of`, with a diagnostic."""
    try:
        return operand_of(value)
    except TypeError as error:
        raise graph.error(
            DTypeError, str(error), "arguments and locals must be numbers or arrays here"
        ) from None
