"""A call that is mapped over axes, of a part of them: views of its buffers instead of these (a step of nest-restrict).

    func.call @numpy.sort.5e1c92b0(%x, %t) : (memref<100x?xf64>, memref<100x?xf64>) -> ()
  becomes, for the indices %l to %u of axis 1
    %x_1 = memref.subview %x[0, %l] [100, %u - %l] [1, 1] : ... to memref<100x?xf64, strided<[?, 1], offset: ?>>
    %t_1 = memref.subview %t[0, %l] [100, %u - %l] [1, 1] : ... to memref<100x?xf64, strided<[?, 1], offset: ?>>
    func.call @numpy.sort.73a2f10c(%x_1, %t_1)

The symbol says what the buffers are, so it is another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.calls import declared_by, facts_of, inputs_of, target_of
from ....analysis.nest.sets.mapped_calls import CallAxis
from ....dialects.affine import AffineList
from ....dialects.custom_call_names import ARGUMENTS, ELEMENTS
from ....dialects.nest.common import INDEX
from ....lowering.nest_common.custom_calls import call_of, declaration, declare
from ..rewrite.loops import materialise
from ..rewrite.sizes import at_least_zero

Ends = tuple[AffineList, AffineList]
"""From where to where (exclusive): the largest of several bounds, and the smallest."""


def cut_call(
    call: CallOp, ends: Sequence[tuple[CallAxis, Ends]], begins: Mapping[SSAValue, Mapping[int, AffineList]]
) -> None:
    """Let a call compute the indices between `ends` of axes that it is mapped over. `begins`: where buffers begin that are
    parts of the whole ones, by axis."""
    cutter = _Cutter(call)
    axes = [(dim, *cutter.range_of(*bounds)) for dim, bounds in ends]
    buffers = []
    for position, buffer in enumerate(call.arguments):
        firsts = begins.get(buffer, {})
        parts = {
            axis: (first, size) for dim, first, size in axes if (axis := dim.places[position]) is not None
        }
        buffers.append(cutter.view(buffer, parts, firsts) if parts else buffer)
    declared = declared_by(call)
    facts, module = facts_of(declared), declared.parent_op()
    arguments, elements = facts[ARGUMENTS], facts[ELEMENTS]
    assert isinstance(module, ModuleOp)
    assert isinstance(arguments, DictionaryAttr) and isinstance(elements, ArrayAttr)
    types = [one.type for one in buffers]
    made = declaration(target_of(declared), arguments, types, elements.data, inputs_of(declared))
    declare(module, made)
    other = call_of(made, buffers)
    other.attributes.update(call.attributes)
    cutter.insert(other)
    call.detach()
    call.erase()


class _Cutter:
    """Makes the views of a call's buffers, before it."""

    def __init__(self, call: CallOp):
        self._call = call
        block = call.parent
        assert block is not None
        self._block = block

    def insert(self, op: Operation) -> Operation:
        op.location = self._call.location
        self._block.insert_op_before(op, self._call)
        return op

    def _value(self, expression: AffineList) -> SSAValue:
        return materialise(expression.canonical(), self._block, self._call)

    def range_of(self, lower: AffineList, upper: AffineList) -> tuple[SSAValue, SSAValue]:
        """The largest of some bounds, and how far the smallest of others is from it, or 0."""
        first, end = self._value(lower[0]), self._value(upper[0])
        for k in range(1, len(lower)):
            first = self.insert(arith.MaxSIOp(first, self._value(lower[k]))).results[0]
        for k in range(1, len(upper)):
            end = self.insert(arith.MinSIOp(end, self._value(upper[k]))).results[0]
        size = self.insert(arith.SubiOp(end, first)).results[0]
        return first, at_least_zero(size, self._call)

    def view(
        self,
        buffer: SSAValue,
        parts: Mapping[int, tuple[SSAValue, SSAValue]],
        begins: Mapping[int, AffineList],
    ) -> SSAValue:
        """The view of the part that begins at the first of two values along each axis, and has as many as the other."""
        given = buffer.type
        assert isinstance(given, MemRefType)
        offsets: list[SSAValue | int] = [0] * given.get_num_dims()
        sizes: list[SSAValue | int] = []
        for axis in range(given.get_num_dims()):
            if axis not in parts:
                sizes.append(self._extent(buffer, axis))
                continue
            first, size = parts[axis]
            offsets[axis] = self._value(AffineList.of(first).minus(begins.get(axis, AffineList.of(0))))
            sizes.append(size)
        steps = [1] * len(offsets)
        made = memref.SubviewOp.infer_result_type(given, offsets, sizes, steps)
        view = self.insert(memref.SubviewOp.get(buffer, offsets, sizes, steps, made)).results[0]
        view.name_hint = buffer.name_hint
        return view

    def _extent(self, buffer: SSAValue, axis: int) -> SSAValue | int:
        """Asked for anew: while a function is restricted, names of extents do not tell which ones are equal."""
        assert isinstance(buffer.type, MemRefType)
        extent = buffer.type.get_shape()[axis]
        if extent != DYNAMIC_INDEX:
            return extent
        at = self.insert(arith.ConstantOp(IntegerAttr(axis, INDEX))).results[0]
        return self.insert(memref.DimOp(buffer, at)).results[0]
