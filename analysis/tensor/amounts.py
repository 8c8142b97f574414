"""How many bytes a tensor has: a number, or an expression in the names of the extents that only the run knows.

tensor<?x4xf64> {nt.dims = ["n", 4]}     32 * n
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.nt.ops import DimOp, FromScalarOp, ToScalarOp, element_of
from ...dialects.nt.types import width_of
from .extents import Extent, Extents

_SIGNS = {
    AffineBinaryOpKind.Add: "+",
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "%",
    AffineBinaryOpKind.FloorDiv: "//",
}
_ARITHMETIC: dict[type[Operation], str] = {
    arith.AddiOp: "+",
    arith.SubiOp: "-",
    arith.MuliOp: "*",
    arith.FloorDivSIOp: "//",
    arith.DivUIOp: "//",
    arith.RemUIOp: "%",
}
_OF_TWO: dict[type[Operation], str] = {
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.CeilDivSIOp: "ceildiv",
    arith.CeilDivUIOp: "ceildiv",
}


class Amount:
    """A sum of products of extents: what is known, and what the names stand for."""

    def __init__(self, terms: Mapping[tuple[str, ...], int] | None = None):
        self.terms = {names: count for names, count in (terms or {}).items() if count}

    @staticmethod
    def product(count: int, extents: Sequence[int | str]) -> Amount:
        """`count` times the extents."""
        names = sorted(e for e in extents if isinstance(e, str))
        for extent in extents:
            count *= extent if isinstance(extent, int) else 1
        return Amount({tuple(names): count})

    def __add__(self, other: Amount) -> Amount:
        terms = dict(self.terms)
        for names, count in other.terms.items():
            terms[names] = terms.get(names, 0) + count
        return Amount(terms)

    @property
    def number(self) -> int | None:
        """The amount, where no extent is unknown."""
        return self.terms.get((), 0) if set(self.terms) <= {()} else None

    def value(self, numbers: Mapping[str, int]) -> int | None:
        """The amount for extents; None where more must be known than they."""
        total = 0
        for names, count in self.terms.items():
            for name in names:
                factor = _value_of(ast.parse(name, mode="eval").body, numbers) if "?" not in name else None
                if factor is None:
                    return None
                count *= factor
            total += count
        return total

    def __str__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda term: (not term[0], term[0]))
        return " + ".join(" * ".join([str(count), *names]) for names, count in ordered) or "0"


_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "max": max,
    "min": min,
    "ceildiv": lambda one, other: -(-one // other),
}
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
    ast.Mod: int.__mod__,
}


def _value_of(text: ast.expr, numbers: Mapping[str, int]) -> int | None:
    """What an expression in names of extents is, as `Sizes` writes it."""
    if isinstance(text, ast.Constant):
        return text.value if isinstance(text.value, int) else None
    if isinstance(text, ast.Name):
        return numbers.get(text.id)
    if isinstance(text, ast.UnaryOp) and isinstance(text.op, ast.USub):
        inner = _value_of(text.operand, numbers)
        return None if inner is None else -inner
    if isinstance(text, ast.BinOp):
        form, sides = _OPERATORS.get(type(text.op)), [text.left, text.right]
    elif isinstance(text, ast.Call) and isinstance(text.func, ast.Name):
        form, sides = _FUNCTIONS.get(text.func.id), text.args
    else:
        return None
    known = [_value_of(one, numbers) for one in sides]
    if form is None or len(known) != 2 or known[0] is None or known[1] is None:
        return None
    if form in (int.__floordiv__, int.__mod__) and not known[1]:
        return None
    return form(known[0], known[1])


class Sizes:
    """The extents and the bytes of tensor values, as text for people."""

    def __init__(self) -> None:
        self._extents = Extents()

    def shape(self, value: SSAValue) -> tuple[int | str, ...]:
        """The extents: numbers, or names and expressions."""
        return tuple([self._text(e) for e in self._extents.of(value)])

    def bytes(self, value: SSAValue) -> Amount:
        """How many bytes its elements have."""
        return Amount.product(max(width_of(element_of(value)) // 8, 1), self.shape(value))

    def _text(self, extent: Extent) -> int | str:
        if isinstance(extent, int | str):
            return extent
        if isinstance(extent, SSAValue):
            return self._of_value(extent)
        if isinstance(extent, tuple) and len(extent) == 2:
            first, second = extent
            if isinstance(first, SSAValue):
                return f"{first.name_hint or 'value'}.shape[{second}]"
            return _of_affine(first[0], [self._of_value(v) for v in second])
        return "?"

    def _of_value(self, value: SSAValue) -> int | str:
        """A number of type index, as an expression in names of the program."""
        op = value.owner
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return op.value.value.data
        if isinstance(op, DimOp):
            return self._text(self._extents.axis(op.tensor, op.axis.value.data))
        if isinstance(value, BlockArgument) or value.name_hint is not None:
            return value.name_hint or f"argument {value.index}"  # pyright: ignore
        if isinstance(op, arith.IndexCastOp | arith.ExtSIOp | arith.TruncIOp | FromScalarOp | ToScalarOp):
            return self._of_value(op.operands[0])
        for kinds, form in ((_ARITHMETIC, "({0} {2} {1})"), (_OF_TWO, "{2}({0}, {1})")):
            if type(op) in kinds:
                one, other = (self._of_value(v) for v in op.operands)
                name = kinds[type(op)]
                return _both(name, one, other) if name in "+-*//%" else form.format(one, other, name)
        return "?"


def _of_affine(expr: AffineExpr, operands: Sequence[int | str]) -> int | str:
    if isinstance(expr, AffineConstantExpr):
        return expr.value
    if isinstance(expr, AffineDimExpr):
        return operands[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    sides = [_of_affine(e, operands) for e in (expr.lhs, expr.rhs)]
    if expr.kind in _SIGNS:
        return _both(_SIGNS[expr.kind], *sides)
    return f"ceildiv({sides[0]}, {sides[1]})"


def _both(sign: str, one: int | str, other: int | str) -> int | str:
    if sign in "+-" and other == 0:
        return one
    if sign in ("*", "//") and other == 1:
        return one
    if sign == "+" and isinstance(other, int) and other < 0:
        return f"({one} - {-other})"
    return f"({one} {sign} {other})"
