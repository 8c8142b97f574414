"""Results whose extents only the run knows (`nt.callee_allocated`): the function allocates them, its caller gets them.

    func.func @positive(%x: tensor<?xf64>) -> (tensor<?xf64> {nt.callee_allocated}) {
      ...
      func.return %y : tensor<?xf64>                                          // of %count elements
  becomes
    func.func @positive(%x: memref<?xf64>, %out: memref<2xi64> {nest.hands_over = memref<?xf64>, nest.role = "out"}) {
      %y = nest.alloc "y"(%count) : memref<?xf64>
      ...
      func.call @nestor_hand_over.f64.1(%y, %out, %count) : (memref<?xf64>, memref<2xi64>, index) -> ()

A window of the first rows of a buffer is handed over as it is: its elements lie at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, NoneAttr
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.nt import SliceOp
from ..abi.handed_over import hand_over_name
from ..nest_common.custom_calls import declare
from .shapes import as_value

if TYPE_CHECKING:
    from .convert import Conversion


def in_memory(c: Conversion, value: SSAValue) -> SSAValue:
    """A buffer in row-major order that has the elements of `value` at its start."""
    rows = _rows_of(c, value)
    if rows is not None:
        return rows
    buffer = c.materialise(value)
    if isinstance(buffer.type, MemRefType) and isinstance(buffer.type.layout, NoneAttr):
        return buffer
    return c.copied(value)


def _rows_of(c: Conversion, value: SSAValue) -> SSAValue | None:
    """The buffer of the function's own whose first rows `value` is; None for all else."""
    op = value.owner
    if not isinstance(op, SliceOp) or c.buffer_of(value) is not None:
        return None
    buffer = c.buffer_of(op.source)
    if buffer is None or isinstance(buffer, BlockArgument):
        return None
    starts = all(op.offsets[k].constants() == (0,) for k in range(len(op.offsets)))
    alike = c.extents_of(value)[1:] == c.extents_of(op.source)[1:]
    return buffer if starts and alike and op.stride_values == (1,) * len(op.offsets) else None


def hand_over(c: Conversion, value: SSAValue, buffer: SSAValue, words: SSAValue) -> None:
    """Give `value`, which is at the start of `buffer`, to the caller."""
    kind, place = buffer.type, c.scope.current.location
    assert isinstance(kind, MemRefType)
    rank = kind.get_num_dims()
    open_kind = MemRefType(kind.element_type, [DYNAMIC_INDEX] * rank)
    if kind != open_kind:
        cast = memref.CastOp.create(operands=[buffer], result_types=[open_kind])
        cast.location = place
        c.insert(cast)
        buffer = cast.dest
    extents = [as_value(e, c.insert, c.index_constant) for e in c.extents_of(value)]
    name = hand_over_name(str(kind.element_type), rank)
    declare(c.module, func.FuncOp.external(name, [open_kind, words.type, *[IndexType()] * rank], []))
    call = func.CallOp(name, [buffer, words, *extents], [])
    call.location = place
    c.insert(call)
