"""The function that combines partial results of a reduction, by its combiner.

func.func @combine(%t: memref<?xf64> {nest.role = "inout"}, %p: memref<?xf64>) {
  nest.for "c.0" %i = 0 to %n {
    %a = nest.load %p[%i]
    nest.accumulate "t" add %a, %t[%i]
  }
}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....dialects.nest import AccumulateOp as Update


def combining_module(update: Update) -> tuple[ModuleOp, int]:
    """A module with the function `combine`, and the number of buffers: they come first, then as many partial ones."""
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
    from xdsl.ir import Block, Region

    from ....dialects.affine import AffineList
    from ....dialects.attributes import DIMS, ROLE
    from ....dialects.nest import AccumulateOp, ForOp, LoadOp
    from ....dialects.nest.common import INDEX

    count, rank = len(update.memrefs), update.memrefs[0].type.get_num_dims()  # pyright: ignore
    types = [MemRefType(b.type.element_type, [DYNAMIC_INDEX] * rank) for b in update.memrefs]  # pyright: ignore
    body = Block(arg_types=[*types, *types])
    totals, parts = body.args[:count], body.args[count:]
    sizes = []
    for axis in range(rank):
        at = arith.ConstantOp(IntegerAttr(axis, INDEX))
        sizes.append(memref.DimOp(totals[0], at.result))
        body.add_ops([at, sizes[-1]])
    block, variables = body, []
    for axis, size in enumerate(sizes):
        loop = ForOp(f"c.{axis}", 0, AffineList.of(size.result))
        loop.location = update.location
        block.add_op(loop)
        block = loop.body.block
        variables.append(loop.iv)
    indices = AffineList.of(*variables)
    loads = [LoadOp(part, indices) for part in parts]
    region = None if update.combine is None else update.combine.clone()
    change = AccumulateOp(
        update.combiner.data,
        [load.result for load in loads],
        totals,
        indices,
        label=update.label.data if update.label is not None else "",
        identity=update.identity,
        combine=region,
    )
    for op in (*loads, change):
        op.location = update.location
    block.add_ops([*loads, change])
    body.add_op(func.ReturnOp())
    function = func.FuncOp("combine", ([*types, *types], []), Region(body))
    dims = ArrayAttr([StringAttr(f"c{axis}") for axis in range(rank)])
    said = [DictionaryAttr({ROLE: StringAttr("inout"), DIMS: dims})] * count
    function.properties["arg_attrs"] = ArrayAttr([*said, *[DictionaryAttr({DIMS: dims})] * count])
    return ModuleOp([function]), count
