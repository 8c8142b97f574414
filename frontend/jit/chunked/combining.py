"""The function that combines partial results of a reduction, by its combiner.

func.func @combine(%t: memref<?xf64> {nest.role = "inout"}, %p: memref<?xf64>) {
  nest.for "c.0" %i = 0 to %n {
    %a = nest.load %p[%i]
    nest.accumulate "t" add %a, %t[%i]
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....dialects.affine import AffineList
    from ....dialects.nest import AccumulateOp as Update
    from ....transforms.nest.reductions.block_relative import RelativePair


def combining_module(update: Update) -> tuple[ModuleOp, int]:
    """A module with the function `combine`, and the number of buffers: they come first, then as many partial ones."""
    from ....dialects.nest import AccumulateOp, LoadOp

    label = update.label.data if update.label is not None else ""

    def combine(
        totals: Sequence[SSAValue], parts: Sequence[SSAValue], indices: AffineList
    ) -> list[Operation]:
        loads = [LoadOp(part, indices) for part in parts]
        change = AccumulateOp(
            update.combiner.data,
            [load.result for load in loads],
            totals,
            indices,
            label=label,
            identity=update.identity,
            combine=None if update.combine is None else update.combine.clone(),
        )
        return [*loads, change]

    return _module(update, [buffer.type.element_type for buffer in update.memrefs], combine)  # pyright: ignore


def relative_combining_module(pair: RelativePair) -> tuple[ModuleOp, int]:
    """The same for the parts of a reduction and of the sum relative to it: `types_of_parts` says what these are."""
    from xdsl.dialects import arith
    from xdsl.dialects.builtin import IntegerAttr

    from ....dialects.nest import LoadOp, StoreOp
    from ....dialects.nest.common import INDEX
    from ....transforms.nest.producers.restrict_relative import combined_parts, types_of_parts

    def combine(
        totals: Sequence[SSAValue], parts: Sequence[SSAValue], indices: AffineList
    ) -> list[Operation]:
        block = Block([at := arith.ConstantOp(IntegerAttr(0, INDEX))])
        at.location = pair.total.location
        loads = [[LoadOp(one, indices) for one in side] for side in (totals, parts)]
        one, other = ([load.result for load in side] for side in loads)
        made = combined_parts(pair, one, other, at)
        computed = [op for op in block.ops if op is not at]
        for op in list(block.ops):
            op.detach()
        return [*loads[0], *loads[1], *computed, *(map(StoreOp, made, totals, [indices] * len(totals)))]

    return _module(pair.base, types_of_parts(pair), combine)


def _module(
    update: Update,
    elements: Sequence[Attribute],
    combine: Callable[[Sequence[SSAValue], Sequence[SSAValue], AffineList], list[Operation]],
) -> tuple[ModuleOp, int]:
    """A module whose function does this for each element of buffers of these types, like those of a reduction."""
    from xdsl.dialects import arith, func, memref
    from xdsl.dialects.builtin import (
        DYNAMIC_INDEX,
        ArrayAttr,
        DictionaryAttr,
        IntegerAttr,
        MemRefType,
        ModuleOp,
        StringAttr,
    )

    from ....dialects.affine import AffineList
    from ....dialects.attributes import DIMS, ROLE
    from ....dialects.nest import ForOp
    from ....dialects.nest.common import INDEX

    count, rank = len(elements), update.memrefs[0].type.get_num_dims()  # pyright: ignore
    types = [MemRefType(element, [DYNAMIC_INDEX] * rank) for element in elements]
    body = Block(arg_types=[*types, *types])
    sizes = []
    for axis in range(rank):
        at = arith.ConstantOp(IntegerAttr(axis, INDEX))
        sizes.append(memref.DimOp(body.args[0], at.result))
        body.add_ops([at, sizes[-1]])
    block, variables = body, []
    for axis, size in enumerate(sizes):
        loop = ForOp(f"c.{axis}", 0, AffineList.of(size.result))
        loop.location = update.location
        block.add_op(loop)
        block = loop.body.block
        variables.append(loop.iv)
    ops = combine(body.args[:count], body.args[count:], AffineList.of(*variables))
    for op in ops:
        op.location = update.location
    block.add_ops(ops)
    body.add_op(func.ReturnOp())
    function = func.FuncOp("combine", ([*types, *types], []), Region(body))
    dims = ArrayAttr([StringAttr(f"c{axis}") for axis in range(rank)])
    said = [DictionaryAttr({ROLE: StringAttr("inout"), DIMS: dims})] * count
    function.properties["arg_attrs"] = ArrayAttr([*said, *[DictionaryAttr({DIMS: dims})] * count])
    return ModuleOp([function]), count
