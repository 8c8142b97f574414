"""How the lanes of a vectorized loop reach memory.

* consecutive elements: `vector.load/store`, `maskedload/maskedstore` with a mask;
* under a mask, consecutive elements of a buffer on this thread's stack that are known to exist in every lane: a load
  and a store of all lanes, the others as they were (LLVM keeps such buffers in registers, masked accesses it does not);
* consecutive elements of another axis than the last (a transposed array): the same on a `memref.subview` of
  that axis;
* every second, third or fourth element, also one of each row of two: vectors of all elements, and shuffles
  (interleaved_loads.py);
* any other index along one axis: `vector.gather/scatter` along that axis;
* indices that move along several axes: one lane after the other, those that are off skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.nest.buffers import strides_of
from ...analysis.nest.values.linear_forms import Linear
from ...dialects.affine import AffineList
from ...dialects.ext.arith import vector_form
from ...dialects.ext.vector import GatherOp, ScatterOp
from ...dialects.nt.common import int_array
from .lanes import Lanes

if TYPE_CHECKING:
    from ..nest_common.body import NestBody


@dataclass(frozen=True, eq=False)
class _Place:
    """Where the lanes are: `buffer[indices]` is lane 0, and the lanes move along its last axis.

    They move by `growth` elements, or (None) by the elements that `offsets` gives.
    """

    buffer: SSAValue
    indices: Sequence[SSAValue]
    growth: int | None
    offsets: SSAValue | None
    is_whole: bool
    """Whether every lane is an element of a buffer that no other thread sees."""


class VectorAccess:
    """Loads and stores of the lanes of one loop."""

    def __init__(self, body: NestBody, lanes: Lanes):
        self.body = body
        self.builder = body.builder
        self.lanes = lanes

    def is_injective(self, indices: AffineList) -> bool:
        """Whether no two lanes use the same element: one index, at least, moves steadily."""
        splits = [self.lanes.split(form) for form in self.body.forms(indices)]
        return any(split is not None and split[1] != 0 for split in splits)

    def first(
        self, op: Operation, buffer: SSAValue, indices: AffineList
    ) -> tuple[SSAValue, Sequence[SSAValue]]:
        """Where the first lane is, the others being a fixed number of elements apart along the last axis."""
        place = self._place(buffer, indices)
        assert place is not None
        return place.buffer, place.indices

    def load(self, op: Operation, buffer: SSAValue, indices: AffineList, mask: SSAValue | None) -> SSAValue:
        """The elements of the lanes that are on, zero in the others."""
        place = self._place(buffer, indices)
        if place is None:
            return self._load_each(buffer, indices, mask)
        assert isinstance(buffer.type, MemRefType)
        element = buffer.type.element_type
        result = self.lanes.type(element)
        where = (place.buffer, *place.indices)
        if place.growth == 1 and mask is None:
            return self.builder.value(vector.LoadOp, where, result)
        if place.is_whole:
            assert mask is not None
            elements = self.builder.value(vector.LoadOp, where, result)
            return self._select(mask, elements, self.lanes.zeros(element))
        if place.growth == 1:
            assert mask is not None
            return self.builder.value(vector.MaskedLoadOp, (*where, mask, self.lanes.zeros(element)), result)
        from .interleaved_loads import interleaved_load, is_gathered

        if not is_gathered(place.growth, _is_contiguous(place.buffer), mask):
            assert place.growth is not None
            return interleaved_load(self.lanes, where, place.growth, mask, element)
        mask = self.lanes.all_on() if mask is None else mask
        return self.builder.value(
            GatherOp, (*where, self._offsets(place), mask, self.lanes.zeros(element)), result
        )

    def store(
        self, op: Operation, value: SSAValue, buffer: SSAValue, indices: AffineList, mask: SSAValue | None
    ) -> None:
        """Store the lanes that are on."""
        place = self._place(buffer, indices)
        if place is None:
            return self._store_each(op, value, buffer, indices, mask)
        where = (place.buffer, *place.indices)
        attributes = {name: a for name, a in op.attributes.items() if name.startswith("nestor.")}
        if place.growth == 1 and mask is None:
            self.builder.emit(vector.StoreOp.create(operands=(value, *where), attributes=attributes))
        elif place.is_whole:
            assert mask is not None
            before = self.builder.value(vector.LoadOp, where, value.type)
            blended = self._select(mask, value, before)
            self.builder.emit(vector.StoreOp.create(operands=(blended, *where), attributes=attributes))
        elif place.growth == 1:
            assert mask is not None
            self.builder.emit(
                vector.MaskedStoreOp.create(operands=(*where, mask, value), attributes=attributes)
            )
        else:
            mask = self.lanes.all_on() if mask is None else mask
            self.builder.emit(
                ScatterOp.create(operands=(*where, self._offsets(place), mask, value), attributes=attributes)
            )

    def _select(self, mask: SSAValue, on: SSAValue, off: SSAValue) -> SSAValue:
        return self.builder.value(vector_form(arith.SelectOp), (mask, on, off), on.type)

    def _offsets(self, place: _Place) -> SSAValue:
        if place.offsets is not None:
            return place.offsets
        assert place.growth is not None
        return self.lanes.iota(place.growth)

    def _place(self, buffer: SSAValue, indices: AffineList) -> _Place | None:
        """Where the lanes are, None when they do not move along one axis."""
        forms = self.body.forms(indices)
        splits = [self.lanes.split(form) for form in forms]
        moving = [d for d, split in enumerate(splits) if split is None or split[1] != 0]
        if len(moving) != 1:
            return None
        axis = moving[0]
        split = splits[axis]
        starts = [self._start(form, split_) for form, split_ in zip(forms, splits, strict=True)]
        offsets = self.lanes.index_vector(forms[axis]) if split is None else None
        growth = None if split is None else split[1]
        is_whole = growth == 1 and buffer in self.body.private and self._is_within(buffer, splits, axis)
        if axis != len(forms) - 1:
            step = strides_of(buffer.type)[axis]  # pyright: ignore
            if growth is not None and step is not None and growth * step == 2 and _is_contiguous(buffer):
                return _Place(buffer, starts, 2, None, False)  # longer rows: transposed_loads.py
            buffer = self._axis_view(buffer, starts, axis)
            starts = [self.builder.constant(0)]
            axis = 0
        if growth == 1 and not _is_contiguous(buffer):
            offsets = self.lanes.iota(1)
            growth = None
        return _Place(buffer, starts, growth, offsets, is_whole and growth == 1)

    def _is_within(self, buffer: SSAValue, splits: Sequence[tuple[Linear, int] | None], axis: int) -> bool:
        """Whether the elements of all lanes exist: constant places in a buffer of constant extents."""
        assert isinstance(buffer.type, MemRefType)
        for d, (split, extent) in enumerate(zip(splits, buffer.type.get_shape(), strict=True)):
            if split is None or split[0].terms:
                return False
            first = split[0].constant
            last = first + self.lanes.width - 1 if d == axis else first
            if not 0 <= first <= last < extent:
                return False
        return True

    def _start(self, form: Linear, split: tuple[Linear, int] | None) -> SSAValue:
        return self.builder.constant(0) if split is None else self.builder.affine(split[0])

    def _axis_view(self, buffer: SSAValue, starts: Sequence[SSAValue], axis: int) -> SSAValue:
        """`buffer[starts]` along `axis` as a buffer of one dimension."""
        key = ("view", buffer, tuple(starts), axis, self.lanes.width)
        return self.builder.once(key, lambda: self._make_view(buffer, starts, axis))

    def _make_view(self, buffer: SSAValue, starts: Sequence[SSAValue], axis: int) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        rank = buffer.type.get_num_dims()
        sizes = [self.lanes.width if d == axis else 1 for d in range(rank)]
        stride = strides_of(buffer.type)[axis]
        layout = StridedLayoutAttr([stride], None)
        result = MemRefType(buffer.type.element_type, [self.lanes.width], layout, buffer.type.memory_space)
        properties = {
            "static_offsets": int_array([DYNAMIC_INDEX] * rank),
            "static_sizes": int_array(sizes),
            "static_strides": int_array([1] * rank),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, rank, 0, 0]),
        }
        return self.builder.value(memref.SubviewOp, (buffer, *starts), result, properties)

    # ---- lane by lane ----

    def _load_each(self, buffer: SSAValue, indices: AffineList, mask: SSAValue | None) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        element_type = buffer.type.element_type
        result = self.lanes.zeros(element_type)
        for lane, position in enumerate(self.positions(indices)):

            def read(position: Sequence[SSAValue] = position) -> Sequence[SSAValue]:
                return [self.body.read(buffer, position)]

            (element,) = self.where_on(mask, lane, [element_type], read)
            at = {"static_position": int_array([lane])}
            result = self.builder.value(vector.InsertOp, (element, result), result.type, at)
        return result

    def _store_each(
        self, op: Operation, value: SSAValue, buffer: SSAValue, indices: AffineList, mask: SSAValue | None
    ) -> None:
        for lane, position in enumerate(self.positions(indices)):

            def write(lane: int = lane, position: Sequence[SSAValue] = position) -> Sequence[SSAValue]:
                self.body.write(op, self.extract(value, lane), buffer, position)
                return ()

            self.where_on(mask, lane, (), write)

    def where_on(
        self,
        mask: SSAValue | None,
        lane: int,
        types: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """What `then` gives if the lane is on, else zeros."""
        return then() if mask is None else self.body.branch(self.extract(mask, lane), types, then)

    def positions(self, indices: AffineList) -> list[list[SSAValue]]:
        """The indices of every lane."""
        forms = self.body.forms(indices)
        positions = []
        for lane in range(self.lanes.width):
            position = []
            for form in forms:
                split = self.lanes.split(form)
                if split is None:
                    position.append(self.extract(self.lanes.index_vector(form), lane))
                else:
                    position.append(self.builder.affine(split[0].plus(lane * split[1])))
            positions.append(position)
        return positions

    def extract(self, values: SSAValue, lane: int) -> SSAValue:
        assert isinstance(values.type, VectorType)
        at = {"static_position": int_array([lane])}
        return self.builder.value(vector.ExtractOp, (values,), values.type.element_type, at)


def _is_contiguous(buffer: SSAValue) -> bool:
    assert isinstance(buffer.type, MemRefType)
    return strides_of(buffer.type)[-1] == 1
