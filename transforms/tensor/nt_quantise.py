"""nt-quantise: the operands of products are rounded as integers of 8 bits would have them.

    func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> attributes {nt.quantise = {"f.py:2.0" = {
        terms = "contract [1] x [0]",
        lhs = {element = "uint8", scale = array<f32: 0.5>, zero = array<i32: 3>},
        rhs = {element = "int8", scale = array<f32: ...>, zero = array<i32: ...>, axis = 1 : i64}}}} {
      %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  becomes
      %s = nt.constant dense<0.5> : tensor<f32>
      %z = nt.constant dense<3> : tensor<ui8>
      %x_1 = nt.composite "fake_quantise"(%x, %s, %z : ...) -> tensor<8x4xf32> {...}
      ...
      %w_1 = nt.composite "fake_quantise"(%w, %s_1, %z_1 : ...) -> tensor<4x5xf32> {...}
      %0 = nt.dot %x_1, %w_1 contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>

`ruling` is the table: which products, and why not the others. With `nt.quantise = "dynamic"` (or to=dynamic) scales are
computed from the operands: one for each row of a left operand and each column of a right one, of windows (convolutions)
one for all, the largest magnitude becoming 127. Else they are constants, by the sites of `product_sites.py` (a
calibration), but those of operands that it says nothing of (weights). A value is rounded once, where it is made; of a
view, what that is a view of. Derivatives go straight through the rounding, so this runs before nt-differentiate. nt-
fuse-quantised then computes the products in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import NT_QUANTISE
from ...dialects.diagnostic import fail
from ...dialects.nt import BroadcastOp, DotOp, ReduceOp, ReshapeOp, TransposeOp, WindowOp
from ...dialects.nt.derivative_ops import StopGradientOp
from ...dialects.nt.ops import shape_of
from ...dialects.remarks import remark
from ..autodiff.builder import Builder
from .integer_products import most_terms, number_of_terms
from .product_sites import elements_of, functions_of, product_sites, terms_of
from .quantised_forms import BYTES, Spread, constant, fake_quantised

DYNAMIC = "dynamic"

STEPS = 126.9999
"""What the largest magnitude is divided by: it is rounded to 127, and never cut off before that."""


class Ruling(Enum):
    """Whether a product is computed with integers, or why not."""

    INTEGERS = "its operands are rounded to 8 bits"
    UNKNOWN_TERMS = (
        "the number of its terms is known at run time only, and 32 bits may be too few for their sum"
    )
    MANY_TERMS = "32 bits are too few for the sum of its terms"
    NO_TERMS = "it has no terms"
    NOT_CALIBRATED = "the calibration has not seen it"


def ruling(op: DotOp, site: str, given: DictionaryAttr | None) -> Ruling:
    """The table: what is done with a product of float32; `given` is a calibration, None where scales are computed."""
    if given is not None and site not in given.data:
        return Ruling.NOT_CALIBRATED
    terms = number_of_terms(op)
    if terms is None:
        return Ruling.UNKNOWN_TERMS
    if terms == 0:
        return Ruling.NO_TERMS
    return Ruling.INTEGERS if terms <= most_terms() else Ruling.MANY_TERMS


class _Quantiser:
    """Rounds operands; knows which are rounded already."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], SSAValue] = {}

    def rewrite(self, op: DotOp, given: DictionaryAttr | None) -> None:
        """Round both operands of a product."""
        operands = list(op.operands)
        for side in (0, 1):
            facts = None if given is None else given.data.get("lhs" if side == 0 else "rhs")
            if facts is None:
                op.operands[side] = self._dynamic(op, side, operands[side])
            else:
                assert isinstance(facts, DictionaryAttr)
                op.operands[side] = self._static(op, operands[side], facts)

    def _static(self, op: DotOp, operand: SSAValue, facts: DictionaryAttr) -> SSAValue:
        data: dict[str, Any] = dict(facts.data)
        axis = data["axis"].value.data if "axis" in data else None
        element = BYTES[data["element"].data]
        scales, zeros = (np.array(data[name].get_values()) for name in ("scale", "zero"))
        if axis is not None and shape_of(operand)[axis] not in (len(scales), DYNAMIC_INDEX):
            text = f"the calibration has {len(scales)} scales for the {shape_of(operand)[axis]} indices of axis {axis}"
            raise fail(op, text, hint="calibrate for weights of these shapes")
        root, views = _root(operand) if axis is None else (operand, [])
        key = (root, facts)
        if key not in self._made:
            b = _behind(root, op)
            numbers = (scales, zeros) if axis is not None else (scales[0], zeros[0])
            scale = constant(b, numbers[0], root.type.element_type, axis)  # pyright: ignore
            zero = constant(b, numbers[1], element, axis)
            self._made[key] = fake_quantised(b, root, scale, zero, element)
        return _again(views, self._made[key], op)

    def _dynamic(self, op: DotOp, side: int, operand: SSAValue) -> SSAValue:
        is_whole = elements_of(op, side) is operand
        root, views = (operand, []) if is_whole else _root(operand)
        summed = tuple(op.contract[side]) if is_whole else tuple(range(len(shape_of(root))))
        key = (root, summed)
        if key not in self._made:
            b = _behind(root, op)
            self._made[key] = _scaled(b, root, summed)
        return _again(views, self._made[key], op)


def _scaled(b: Builder, x: SSAValue, summed: Sequence[int]) -> SSAValue:
    """`x` rounded with a scale for each index of the axes that are not summed."""
    element = BYTES["int8"]
    largest = b.elementwise("absolute", x)
    if summed:
        largest = b.value(ReduceOp("maximum", [largest], sorted(summed)))
    m = b.formula(largest)
    scale = m.equals(0.0).where(b.formula(b.uniform(1.0, largest)), m / b.formula(b.uniform(STEPS, largest)))
    along = tuple([k for k in range(len(shape_of(x))) if k not in summed])
    fixed = b.value(StopGradientOp(scale.value))
    return fake_quantised(b, x, Spread(fixed, along), constant(b, np.array(0), element), element)


def _root(value: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """What a value is a view of, and the views, the last first: those that need all of it."""
    views: list[Operation] = []
    while isinstance(view := value.owner, TransposeOp | ReshapeOp | WindowOp | BroadcastOp):
        views.append(view)
        value = view.operands[0]
    return value, views


def _again(views: Sequence[Operation], value: SSAValue, before: Operation) -> SSAValue:
    """The same views of another value."""
    for view in reversed(views):
        new = type(view).create(
            operands=[value, *view.operands[1:]],
            result_types=[r.type for r in view.results],
            properties=view.properties,
            attributes=view.attributes,
            location=view.location,
        )
        assert before.parent is not None
        before.parent.insert_op_before(new, before)
        value = new.results[0]
    return value


def _behind(value: SSAValue, op: Operation) -> Builder:
    """What makes operations for a product right behind what makes a value."""
    owner = value.owner
    block, anchor = (owner, owner.first_op) if isinstance(owner, Block) else (owner.parent, owner.next_op)
    assert block is not None
    return Builder(block, anchor, op.location)


@dataclass(frozen=True, eq=False)
class NtQuantisePass(ModulePass):
    """Round the operands of products to integers of 8 bits with scales."""

    name = "nt-quantise"

    to: str = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.to not in ("auto", DYNAMIC):
            raise fail(
                op, f'nothing is quantised as "{self.to}"', hint=f"{DYNAMIC}, or a calibration: nt.quantise"
            )
        wanted: dict[FuncOp, DictionaryAttr | None] = {}
        for function in functions_of(op):
            given = function.attributes.get(NT_QUANTISE)
            if self.to == DYNAMIC or given == StringAttr(DYNAMIC):
                wanted[function] = None
            elif isinstance(given, DictionaryAttr):
                wanted[function] = given
            elif given is not None:
                raise fail(
                    function, f"nothing is quantised as {given}", hint=f'"{DYNAMIC}", or a calibration'
                )
        quantiser = _Quantiser()
        for function, given in wanted.items():
            for site, product in product_sites(function).items():
                how = ruling(product, site, given)
                if how is not Ruling.INTEGERS:
                    remark(product, f"the product {site} stays float32: {how.value}")
                    continue
                quantiser.rewrite(product, None if given is None else _facts(product, site, given))


def _facts(product: DotOp, site: str, given: DictionaryAttr) -> DictionaryAttr:
    """What a calibration says of a product. Raises where that was another one."""
    facts = given.data[site]
    assert isinstance(facts, DictionaryAttr)
    terms = facts.data["terms"]
    assert isinstance(terms, StringAttr)
    if terms.data != terms_of(product):
        raise fail(
            product,
            f"the calibration has another product for {site}: {terms.data}, and not {terms_of(product)}",
            hint="calibrate this function again: its text has changed",
        )
    return facts
