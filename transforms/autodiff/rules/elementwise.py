"""Elementwise operations: their rows say the products with partial derivatives.

    %r = nt.tanh %x : tensor<4xf32>
  has the cotangent
    %0 = nt.multiply %r, %r ; %1 = nt.subtract %one, %0 ; %cx = nt.multiply %cr, %1

Where a partial derivative may be infinite or NaN (`sqrt` at 0, a factor that is NaN) and a zero of the cotangent says that
an element was not chosen (below a `select` or a maximum), its product is masked (`masks.py`): 0 * inf would be NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....dialects.nt.elementwise_ops import ElementwiseOp
from ....dialects.nt.ops import element_of
from ....dialects.nt.types import kind_of
from ..builder import Builder, Formula
from ..masks import CHOOSING, Mask, is_finite_constant, is_masked
from ..missing import missing
from . import complex_numbers

if TYPE_CHECKING:
    from ..forward import Forward
    from ..reverse import Reverse


def reverse(op: ElementwiseOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    cotangent = cotangents[0]
    assert cotangent is not None
    wanted = [k for k, v in enumerate(op.inputs) if to.wants(v)]
    if _is_complex(op):
        return complex_numbers.reverse(op, cotangent, wanted, to)
    choice = Mask.ALL if op.row.name in CHOOSING else Mask.NONE
    for k in wanted:
        product = _product(op, k, cotangent, to.builder)
        if product is None:
            continue
        if is_masked(to.masked, op.row, k, lambda j: is_finite_constant(op.inputs[j])):
            t = to.builder.formula(cotangent)
            product = t.equals(0.0).where(0.0, to.builder.formula(product)).value
        to.add(op.inputs[k], product, masked=choice)


def forward(op: ElementwiseOp, by: Forward) -> Sequence[SSAValue | None]:
    known = [(k, t) for k, v in enumerate(op.inputs) if (t := by.of(v)) is not None]
    if _is_complex(op):
        return [complex_numbers.forward(op, dict(known), by)]
    products = [p for k, t in known if (p := _product(op, k, t, by.builder)) is not None]
    return [add_all(products, by.builder)]


def add_all(terms: Sequence[SSAValue], builder: Builder) -> SSAValue | None:
    """The sum of tensors; None of none."""
    total: SSAValue | None = None
    for term in terms:
        total = term if total is None else builder.elementwise("add", total, term)
    return total


def _is_complex(op: ElementwiseOp) -> bool:
    kinds = {kind_of(element_of(v)) for v in (*op.inputs, op.result)}
    return "c" in kinds and op.row.name in complex_numbers.OWN


def _product(op: ElementwiseOp, k: int, tangent: SSAValue, builder: Builder) -> SSAValue | None:
    """The tangent of operand k (or the cotangent of the result) times the partial derivative; None: it is zero."""
    if op.row.partials is None:
        raise missing(op)
    partial: Callable[..., Formula | None] = op.row.partials[k]
    values = [builder.formula(v) for v in (*op.inputs, op.result)]
    product = partial(builder.formula(tangent), *values)
    return None if product is None else product.value
