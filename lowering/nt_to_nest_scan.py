"""Running results as loops: `nt.scan`.

    %y = nt.scan add %x along 1 : tensor<4x?xf32>
  becomes
    nest.for "i" %i = 0 to 4 {                           // the first element of each row, if there is one
      nest.for "j" %j = 0 to min(1, %n) {
        %0 = nest.load %x[%i, %j] : memref<4x?xf32>
        nest.store "y" %0, %y[%i, %j] : memref<4x?xf32>
      }
    }
    nest.for "i.1" %i = 0 to 4 {
      nest.for "j.1" %j = 0 to %n - 1 {
        %1 = nest.load %y[%i, %j] : memref<4x?xf32>
        %2 = nest.load %x[%i, %j + 1] : memref<4x?xf32>
        %3 = arith.addf %1, %2 : f32
        nest.store "y" %3, %y[%i, %j + 1] : memref<4x?xf32>
      }
    }

The loops are in the order of memory: rows are independent, and where the axis is not the last, elements side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ..dialects.affine import AffineList
from ..dialects.nest import LoadOp
from ..dialects.nt import ScanOp
from ..dialects.nt.ops import element_of
from ..dialects.nt.types import kind_of
from .nt_to_nest_access import Index, scaled_sum
from .nt_to_nest_elements import Elements
from .nt_to_nest_scalars import from_storage
from .nt_to_nest_shapes import constant


def emit_scan(
    op: ScanOp, elements: Elements, extents: Index, memref: SSAValue, order: Sequence[int], label: str
) -> None:
    """Emit the loops that compute `op` into `memref`, whose axes are in memory order `order`, the outermost first."""
    count, axis = extents[op.along], op.along
    known = count.constants()
    if known is not None and known[0] == 0:
        return
    first: list[AffineList] = [constant(0)] * len(extents)
    opened = 0
    for d in order:
        if d == axis and known is not None:
            continue
        index = elements.open_loop(d, extents[d] if d != axis else AffineList.of(constant(1), count))
        first[d] = index
        opened += 1
    elements.store(label, elements.get(op.source, tuple(first)), memref, tuple(first))
    _close(elements, opened)

    before: list[AffineList] = list(first)
    for d in order:
        extent = extents[d] if d != axis else scaled_sum([(count, 1)], constant(-1))
        before[d] = elements.open_loop(d, extent)
    after = list(before)
    after[axis] = scaled_sum([(before[axis], 1)], constant(1))
    load = LoadOp(memref, AffineList.of(*before))
    load.location = op.location
    elements.append(load)
    element = element_of(op.source)
    old = from_storage(elements.emitter(op.location), load.result, element)
    new = elements.get(op.source, tuple(after))
    value = op.row.expansions[kind_of(element)](elements.emitter(op.location), old, new)
    elements.store(label, value, memref, tuple(after))
    _close(elements, len(order))


def _close(elements: Elements, count: int) -> None:
    for _ in range(count):
        elements.close_loop()
