"""How many blocks a kernel of the user's has: expressions of the extents of what it is called with, as texts.

    "(d0_0 + 15) // 16"         axis 0 of the first operand, in blocks of 16; results are counted after the operands

They are made by `frontend/interface/launch_rules.py` of what the user gives, and computed by the host of a GPU program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Value = TypeVar("Value")

_EXTENT = re.compile(r"d(\d+)_(\d+)")

OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
"""What a rule is made of, beside extents, whole numbers, and CHOICES of two."""

CHOICES = ("min", "max")


def extent(position: int, axis: int) -> str:
    """The text of an extent."""
    return f"d{position}_{axis}"


def computed(
    text: str,
    extent_of: Callable[[int, int], Value],
    number: Callable[[int], Value],
    apply: Callable[[str, Sequence[Value]], Value],
) -> Value:
    """What a rule is worth; `apply` computes one operation ("+", "//", "min", ...) of two values."""

    def value(node: ast.expr) -> Value:
        if isinstance(node, ast.BinOp):
            return apply(OPERATORS[type(node.op)], [value(node.left), value(node.right)])
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return apply(node.func.id, [value(one) for one in node.args])
        if isinstance(node, ast.Name):
            matched = _EXTENT.fullmatch(node.id)
            assert matched is not None, node.id
            return extent_of(int(matched[1]), int(matched[2]))
        assert isinstance(node, ast.Constant) and isinstance(node.value, int)
        return number(node.value)

    return value(ast.parse(text, mode="eval").body)
