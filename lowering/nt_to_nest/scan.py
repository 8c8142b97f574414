"""Scans as loops: `nt.scan`.

    %y = nt.scan add %x along 1 : tensor<4x?xf32>
  becomes
    nest.for "i" %i = 0 to 4 {
      %s = nest.alloc "y" : memref<f32>
      nest.store "y" %identity, %s[]
      nest.for "j" %j = 0 to %n {
        %0 = nest.load %x[%i, %j] : memref<4x?xf32>
        nest.accumulate "y" add %0, %s[]
        %1 = nest.load %s[]
        nest.store "y" %1, %y[%i, %j] : memref<4x?xf32>
      }
    }

and where the axis is not the last one of memory, or the operation has no identity,

    %y = nt.scan subtract %x along 0 : tensor<?x4xf32>
  becomes
    nest.for "i" %i = 0 to min(1, %n) {                  // the first element of each column, if there is one
      nest.for "j" %j = 0 to 4 {
        %0 = nest.load %x[%i, %j] : memref<?x4xf32>
        nest.store "y" %0, %y[%i, %j] : memref<?x4xf32>
      }
    }
    nest.for "i.1" %i = 0 to %n - 1 {
      nest.for "j.1" %j = 0 to 4 {
        %1 = nest.load %y[%i, %j] : memref<?x4xf32>
        %2 = nest.load %x[%i + 1, %j] : memref<?x4xf32>
        %3 = arith.subf %1, %2 : f32
        nest.store "y" %3, %y[%i + 1, %j] : memref<?x4xf32>
      }
    }

The loops are in the order of memory: rows are independent, and where the axis is not the last, elements side by side.
With `scans-as-updates`, where the operation has an identity, the second form is one of updates as well: it keeps the
combiner, by which chunks of the axis are scanned one by one (`analysis/nest/sets/running.py`):

    %s = nest.alloc "y" : memref<4xf32>
    nest.for "j" %j = 0 to 4 { nest.store "y" %identity, %s[%j] }
    nest.for "i" %i = 0 to %n {
      nest.for "j.1" %j = 0 to 4 {
        %0 = nest.load %x[%i, %j]
        nest.accumulate "y" add %0, %s[%j]
        %1 = nest.load %s[%j]
        nest.store "y" %1, %y[%i, %j]
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from ...analysis.nest.kernels.combiners import identity
from ...dialects.affine import AffineList
from ...dialects.nest import AccumulateOp, AllocOp, LoadOp
from ...dialects.nt import REDUCTIONS, ScanOp
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import kind_of
from .access import Index, scaled_sum
from .elements import Elements
from .scalars import from_storage, to_storage
from .shapes import constant

Alloc = Callable[[str, Attribute, Index], SSAValue]
"""Makes a buffer: its label, its element type, its extents."""


def emit_scan(
    op: ScanOp,
    elements: Elements,
    extents: Index,
    memref: SSAValue,
    order: Sequence[int],
    label: str,
    alloc: Alloc | None = None,
) -> None:
    """Emit the loops that compute `op` into `memref`, whose axes are in memory order `order`, the outermost first.

    With `alloc`, which makes a buffer, all scans that can be are updates."""
    count, axis = extents[op.along], op.along
    known = count.constants()
    if known is not None and known[0] == 0:
        return
    name = _combiner(op)
    if name is not None and axis == order[-1]:
        return _emit_rows(op, name, elements, extents, memref, order, label)
    if name is not None and alloc is not None:
        return _emit_beside(op, name, elements, extents, memref, order, label, alloc)
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


def _combiner(op: ScanOp) -> str | None:
    """The combiner of `nest.accumulate` that the scan's operation is, None where it is none."""
    name = op.combiner.data
    reduction = REDUCTIONS.get(name.removeprefix("logical_"))
    kind = kind_of(element_of(op.source))
    # Nobody else reads that a scan of complex numbers is one: it becomes two, of their parts.
    return None if reduction is None or kind == "c" else reduction.combiners.get(kind)


def _emit_rows(
    op: ScanOp,
    name: str,
    elements: Elements,
    extents: Index,
    memref: SSAValue,
    order: Sequence[int],
    label: str,
) -> None:
    """Loops over rows, each with a variable that has the result so far."""
    assert isinstance(memref.type, MemRefType)
    storage = memref.type.element_type
    index: list[AffineList] = [constant(0)] * len(extents)
    for d in order[:-1]:
        index[d] = elements.open_loop(d, extents[d])
    variable = AllocOp(label, MemRefType(storage, []))
    zero = arith.ConstantOp(identity(name, storage))
    variable.location = zero.location = op.location
    elements.append(variable)
    elements.append(zero)
    elements.store(label, zero.result, variable.memref, ())
    index[order[-1]] = elements.open_loop(order[-1], extents[order[-1]])
    value = to_storage(elements.emitter(op.location), elements.get(op.source, tuple(index)), storage)
    update = AccumulateOp(name, [value], [variable.memref], AffineList((), ()), label=label)
    load = LoadOp(variable.memref, AffineList((), ()))
    update.location = load.location = op.location
    elements.append(update)
    elements.append(load)
    elements.store(label, load.result, memref, tuple(index))
    _close(elements, len(order))


def _emit_beside(
    op: ScanOp,
    name: str,
    elements: Elements,
    extents: Index,
    memref: SSAValue,
    order: Sequence[int],
    label: str,
    alloc: Alloc,
) -> None:
    """Loops in the order of memory, with a buffer of the results so far of what is side by side."""
    assert isinstance(memref.type, MemRefType)
    storage = memref.type.element_type
    beside = [d for d in range(len(extents)) if d != op.along]
    running = alloc(label, storage, tuple(extents[d] for d in beside))
    index: list[AffineList] = [constant(0)] * len(extents)
    zero = arith.ConstantOp(identity(name, storage))
    zero.location = op.location
    elements.append(zero)
    for d in order:
        if d != op.along:
            index[d] = elements.open_loop(d, extents[d])
    elements.store(label, zero.result, running, tuple(index[d] for d in beside))
    _close(elements, len(beside))
    for d in order:
        index[d] = elements.open_loop(d, extents[d])
    value = to_storage(elements.emitter(op.location), elements.get(op.source, tuple(index)), storage)
    at = AffineList.of(*(index[d] for d in beside)) if beside else AffineList((), ())
    update = AccumulateOp(name, [value], [running], at, label=label)
    load = LoadOp(running, at)
    update.location = load.location = op.location
    elements.append(update)
    elements.append(load)
    elements.store(label, load.result, memref, tuple(index))
    _close(elements, len(order))


def _close(elements: Elements, count: int) -> None:
    for _ in range(count):
        elements.close_loop()
