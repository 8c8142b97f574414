"""How affine expressions over SSA values are written: `[%i + 1, 16 * %o]`, `min(%n, %i + 32)`, `where (%i < %n)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.affine_parser import AffineParser
from xdsl.printer import Printer

from .affine import AffineList, combine, comparison
from .limits import why_not_numbers


def parse_affine_exprs(
    parser: Parser, one: Callable[[Callable[[], AffineExpr]], list[AffineExpr]]
) -> AffineList:
    """Parse expressions over SSA names; `one` is given a function that parses a single expression."""
    start = parser.pos
    affine = AffineParser(parser._parser_state)  # pyright: ignore[reportPrivateUsage]
    parse_name, _, spans = affine._get_parse_optional_ssa_value()  # pyright: ignore[reportPrivateUsage]
    exprs = one(lambda: affine._parse_affine_expr(parse_name))  # pyright: ignore[reportPrivateUsage]
    operands = [parser.resolve_operand(UnresolvedOperand(span, 0), IndexType()) for span in spans]
    dims: list[AffineExpr] = [AffineDimExpr(k) for k in range(len(operands))]
    written = AffineList(tuple(_symbols_to(e, dims) for e in exprs), tuple(operands)).canonical()
    if (reason := why_not_numbers(written.exprs)) is not None:
        parser.raise_error(reason, start, parser.pos)
    return written


def _symbols_to(expr: AffineExpr, by: Sequence[AffineExpr]) -> AffineExpr:
    if isinstance(expr, AffineSymExpr):
        return by[expr.position]
    if isinstance(expr, AffineBinaryOpExpr):
        return combine(expr.kind, _symbols_to(expr.lhs, by), _symbols_to(expr.rhs, by))
    return expr


def parse_indices(parser: Parser) -> AffineList:
    """`[%i + 1, %j]`"""
    return parse_affine_exprs(
        parser, lambda expr: parser.parse_comma_separated_list(parser.Delimiter.SQUARE, expr)
    )


def parse_bound(parser: Parser, combiner: str) -> AffineList:
    """`%n - 1`, or `min(%n, %i + 32)` where `combiner` is `min`."""
    if parser.parse_optional_keyword(combiner):
        return parse_affine_exprs(
            parser, lambda expr: parser.parse_comma_separated_list(parser.Delimiter.PAREN, expr)
        )
    return parse_affine_exprs(parser, lambda expr: [expr()])


def parse_where(parser: Parser) -> AffineList:
    """`(%i + 16 * %o < %n, ...)` after the keyword `where`: each becomes an expression that is >= 0."""

    def constraint(expr: Callable[[], AffineExpr]) -> AffineExpr:
        lhs = expr()
        if parser.parse_optional_punctuation("<"):
            strict = parser.parse_optional_punctuation("=") is None
            return expr() - lhs - int(strict)
        if parser.parse_optional_punctuation(">"):
            strict = parser.parse_optional_punctuation("=") is None
            return lhs - expr() - int(strict)
        parser.raise_error("expected '<', '<=', '>' or '>=' in the domain of a statement")

    return parse_affine_exprs(
        parser,
        lambda expr: parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: constraint(expr)),
    )


def print_indices(printer: Printer, indices: AffineList) -> None:
    with printer.in_square_brackets():
        printer.print_list(indices.exprs, lambda e: print_expr(printer, e, indices.operands))


def print_bound(printer: Printer, bound: AffineList, combiner: str) -> None:
    if len(bound.exprs) == 1:
        return print_expr(printer, bound.exprs[0], bound.operands)
    printer.print_string(combiner)
    with printer.in_parens():
        printer.print_list(bound.exprs, lambda e: print_expr(printer, e, bound.operands))


def print_where(printer: Printer, where: AffineList) -> None:
    """`where (%i < %n, %i >= 2)`: negative terms stand on the left of a `<`."""

    def constraint(expr: AffineExpr) -> None:
        left, relation, right = comparison(expr)
        print_expr(printer, left, where.operands)
        printer.print_string(f" {relation} ")
        print_expr(printer, right, where.operands)

    printer.print_string(" where ")
    with printer.in_parens():
        printer.print_list(where.exprs, constraint)


_PRECEDENCE = {AffineBinaryOpKind.Add: 1}
_WORD = {
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}


def print_expr(printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue], parent: int = 0) -> None:
    """Print `expr` with the names of `operands`, with the fewest parentheses that parse back."""
    if isinstance(expr, AffineDimExpr):
        return printer.print_operand(operands[expr.position])
    if isinstance(expr, AffineConstantExpr):
        return printer.print_string(str(expr.value))
    assert isinstance(expr, AffineBinaryOpExpr)
    level = _PRECEDENCE.get(expr.kind, 2)
    if level < parent:
        with printer.in_parens():
            return print_expr(printer, expr, operands)
    if expr.kind is AffineBinaryOpKind.Add:
        return _print_sum(printer, _summands(expr), operands)
    lhs, rhs = expr.lhs, expr.rhs
    if expr.kind is AffineBinaryOpKind.Mul and isinstance(rhs, AffineConstantExpr):
        lhs, rhs = rhs, lhs
    print_expr(printer, lhs, operands, level)
    printer.print_string(f" {_WORD[expr.kind]} ")
    print_expr(printer, rhs, operands, level + 1)


def _summands(expr: AffineExpr) -> list[AffineExpr]:
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
        return [*_summands(expr.lhs), *_summands(expr.rhs)]
    return [expr]


def _print_sum(printer: Printer, summands: list[AffineExpr], operands: Sequence[SSAValue]) -> None:
    last = summands[-1]
    if _is_negative(summands[0]) and isinstance(last, AffineConstantExpr) and last.value > 0:
        summands = [last, *summands[:-1]]  # `31 - %i` rather than `-1 * %i + 31`
    print_expr(printer, summands[0], operands, 1)
    for summand in summands[1:]:
        if not _print_subtraction(printer, summand, operands):
            printer.print_string(" + ")
            print_expr(printer, summand, operands, 2)


def _is_negative(expr: AffineExpr) -> bool:
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind is not AffineBinaryOpKind.Mul:
        return False
    return isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value < 0


def _print_subtraction(printer: Printer, rhs: AffineExpr, operands: Sequence[SSAValue]) -> bool:
    """Print `+ -3` as `- 3` and `+ x * -16` as `- 16 * x`."""
    if isinstance(rhs, AffineConstantExpr) and rhs.value < 0:
        printer.print_string(f" - {-rhs.value}")
        return True
    if not _is_negative(rhs):
        return False
    assert isinstance(rhs, AffineBinaryOpExpr) and isinstance(rhs.rhs, AffineConstantExpr)
    factor = -rhs.rhs.value
    printer.print_string(" - " if factor == 1 else f" - {factor} * ")
    print_expr(printer, rhs.lhs, operands, 3 if factor != 1 else 2)
    return True
