"""Stacks of matrices times one matrix on the CPU: nest-schedule-cpu makes one product of them, whose rows are all rows.

    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 128 {
        nest.for "k" ... {
          nest.for "l" ... {
            ... nest.accumulate "t" add %p, %t[%i, %j, %k]        // of %x[%i, %j, %l] and %w[%l, %k]
  becomes
    %x_flat = memref.collapse_shape %x [[0, 1], [2]] : memref<8x128x512xf32> into memref<1024x512xf32>
    nest.for "i_j" %r = 0 to 1024 {
      nest.for "k" ... {
        nest.for "l" ... {
          ... nest.accumulate "t" add %p, %t_flat[%r, %k]         // of %x_flat[%r, %l] and %w[%l, %k]

so that the matrix is packed once, and not for each of the stack. Nests around it over the same elements, which set them
or compute with them, are flattened alike: they are done block by block with the product (product_tiles.py).
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import loops_in, perfect_band
from ....dialects.nest import ForOp, LoadOp
from ...nest.loops.flatten import flatten, why_not_contiguous, why_not_flatten
from ...nest.rewrite.steps import Steps
from ..patterns.products import Product, elementwise_accesses, product_in


def join_stacks(function: FuncOp, steps: Steps) -> None:
    """Flatten the rows of products of stacks, and of the elementwise nests around them, where memory allows it."""
    for block in [block for region in function.regions for block in region.blocks]:
        nests = [op for op in block.ops if isinstance(op, ForOp) and _is_serial(op)]
        axes: dict[ForOp, int] = {}
        for nest in nests:
            product = product_in(perfect_band(nest))
            if product is not None and (count := _stacked(product)) and _can_flatten(nest, count):
                axes |= {other: count for other in _around(nest, product.result, count)} | {nest: count}
        for nest in nests:
            if nest in axes:
                _flatten(nest, axes[nest], steps)


def _is_serial(nest: ForOp) -> bool:
    return all(loop.kind == "serial" for loop in loops_in(nest))


def _stacked(product: Product) -> int:
    """How many loops of a product stand just around its rows and move only what these move: 0 where others do too."""
    band = perfect_band(product.outermost)
    count = len(product.batch)
    if band[: count + 1] != [*product.batch, product.row]:
        return 0
    loads = [op for op in product.term.walk() if isinstance(op, LoadOp) and op.memref in product.panels]
    outer = {loop.iv for loop in product.batch}
    return 0 if any(outer & set(load.indices.operands) for load in loads) else count


def _can_flatten(nest: ForOp, count: int) -> bool:
    """Whether the first loops of a nest, so many and one, are over axes that are one in memory."""
    return all(
        why_not_contiguous(outer, inner, sums=True) is None
        for outer, inner in zip(perfect_band(nest)[:count], perfect_band(nest)[1 : count + 1], strict=True)
    )


def _around(nest: ForOp, result: SSAValue, count: int) -> list[ForOp]:
    """The neighbours of a product that run once over its elements, and can be flattened as it is."""
    found: list[ForOp] = []
    for step in (lambda op: op.prev_op, lambda op: op.next_op):
        other: Operation | None = step(nest)
        while other is not None and (not other.regions or isinstance(other, ForOp)):
            if isinstance(other, ForOp):
                if not _is_elementwise(other, result, count) or not _can_flatten(other, count):
                    break
                found.append(other)
            other = step(other)
    return found


def _is_elementwise(nest: ForOp, result: SSAValue, count: int) -> bool:
    """Whether a nest of straight-line code accesses the result at the variables of its loops, in their order."""
    variables = [loop.iv for loop in perfect_band(nest)]
    accesses = elementwise_accesses(nest, result)
    return (
        len(variables) == count + 2
        and bool(accesses)
        and all([op.indices[k].single_value() for k in range(len(variables))] == variables for op in accesses)
    )


def _flatten(nest: ForOp, count: int, steps: Steps) -> None:
    loop, *others = perfect_band(nest)[: count + 1]
    for other in others:
        if why_not_flatten(loop, other) is not None:
            return
        loop = steps.do(flatten, loop, other)
