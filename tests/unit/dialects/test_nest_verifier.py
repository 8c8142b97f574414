"""What the verifier of nest refuses that no text can say: the parser refuses it first."""

from __future__ import annotations

import pytest
from nestor.dialects.nest.common import verify_affine
from parsed import parse_module
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineMap,
)
from xdsl.utils.exceptions import VerifyException

I, J = AffineDimExpr(0), AffineDimExpr(1)


def check(kind: AffineBinaryOpKind, left, right) -> None:
    function = next(iter(parse_module("func.func @f(%i: index, %j: index) { return }").ops))
    expression = AffineMapAttr(AffineMap(2, 0, (AffineBinaryOpExpr(kind, left, right),)))
    verify_affine(function, "an index", expression, function.regions[0].block.args)


def test_product_of_two_values_is_not_affine():
    with pytest.raises(VerifyException, match="'mul' needs a constant on one side"):
        check(AffineBinaryOpKind.Mul, I, J)
    check(AffineBinaryOpKind.Mul, I, AffineConstantExpr(-2))
    check(AffineBinaryOpKind.Mul, AffineConstantExpr(3), J)


@pytest.mark.parametrize(
    "kind", [AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod]
)
@pytest.mark.parametrize("divisor", [J, AffineConstantExpr(0), AffineConstantExpr(-4)])
def test_division_by_anything_but_a_positive_constant_is_not_affine(kind, divisor):
    with pytest.raises(VerifyException, match="needs a positive constant on its right"):
        check(kind, I, divisor)
    check(kind, I, AffineConstantExpr(4))
