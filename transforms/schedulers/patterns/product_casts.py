"""Casts of what a product multiplies, done in the product: what instructions for narrow matrices do themselves.

nest.for "i" ... { nest.for "k" ... {                nest.for "i" ... { nest.for "j" ... { nest.for "k" ... {
  %0 = nest.load %a[%i, %k] : ...xi8                   %0 = nest.load %a[%i, %k] : ...xi8
  %1 = arith.extsi %0 : i8 to i32           becomes    %1 = arith.extsi %0 : i8 to i32
  nest.store "t" %1, %t[%i, %k]                        ... nest.accumulate "c" add %p, %c[%i, %j]
... nest.accumulate "c" add %p, %c[%i, %j]           // of what is loaded, no more of %t
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, i32
from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import perfect_band
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from ...nest.producers.compute_inline import compute_inline, why_not_compute_inline
from ...nest.rewrite.steps import Steps
from .products import Product

Cast = arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp


def inline_casts(
    product: Product, nests: Sequence[ForOp], is_narrow: Callable[[Cast], bool], steps: Steps
) -> None:
    """Let a product read what was made wider for it, where both operands were: it widens the elements itself.

    `is_narrow` says of a cast whether its instruction can do it.
    """
    for alloc in widened_operands(product, nests, is_narrow) or ():
        if why_not_compute_inline(alloc) is None:
            steps.do(compute_inline, alloc)


def widened_operands(
    product: Product, nests: Sequence[ForOp], is_narrow: Callable[[Cast], bool]
) -> list[AllocOp] | None:
    """The buffers that were filled with wider elements for a product; None where not both operands were."""
    operands = (*product.row_panels, *product.panels)
    found = [alloc for buffer in operands if (alloc := _widened(buffer, nests, is_narrow)) is not None]
    return found if len(found) == len(operands) == 2 else None


def _widened(buffer: SSAValue, nests: Sequence[ForOp], is_narrow: Callable[[Cast], bool]) -> AllocOp | None:
    """The allocation of a buffer that a nest fills with elements of a matrix made wider, and nothing else writes."""
    alloc = buffer.owner
    if not isinstance(alloc, AllocOp):
        return None
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    if len(stores) != 1 or stores[0].where is not None or stores[0].mask is not None:
        return None
    value = stores[0].value.owner
    if not isinstance(value, Cast) or not isinstance(value.input.owner, LoadOp):
        return None
    if not is_narrow(value) or value.result.type not in (Float32Type(), i32):
        return None
    return alloc if any(perfect_band(nest)[-1] is stores[0].parent_op() for nest in nests) else None
