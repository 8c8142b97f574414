"""Stores to every second or fourth element, of copies that fill what is between: shuffles (part of convert-nest-to-scf).

    nest.for "j" %j = 0 to 16 vectorized(16) {
      nest.for "v" %v = 0 to 2 unrolled {
        %a = nest.load %x[%v, %j] : memref<2x16xi16>
        nest.store "y" %a, %y[2 * %j + %v] : memref<32xi16>

becomes

    %0 = vector.load %x[%c0, %c0] : memref<2x16xi16>, vector<16xi16>
    %1 = vector.load %x[%c1, %c0] : memref<2x16xi16>, vector<16xi16>
    %2 = vector.shuffle %0, %1 [0, 16, 1, 17, ...] : vector<16xi16>, vector<16xi16>
    vector.store %2, %y[%c0] : memref<32xi16>, vector<32xi16>

The buffer is one that a nest.alloc made, which the copies do not read, and the stores have no domain; others are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import SSAValue

from ...analysis.nest.buffers import strides_of
from ...analysis.nest.values.linear_forms import forms_of
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp

if TYPE_CHECKING:
    from ..nest_common.index_arithmetic import IndexBuilder

COUNTS = (2, 4)
"""How many copies fill an element of each lane together."""


def interleaved_store(copies: ForOp, lanes: ForOp) -> StoreOp | None:
    """The store of an unrolled loop in `lanes` whose copies write neighbours, all lanes together what is contiguous."""
    count = copies.constant_trip_count()
    if copies.kind != "unrolled" or count not in COUNTS or copies.step_value != 1 or lanes.step_value != 1:
        return None
    if copies.lower.constants() != (0,) or len(copies.upper) != 1:
        return None
    ops = list(copies.body.block.ops)
    found = [op for op in ops if isinstance(op, StoreOp) and lanes.iv in op.indices.operands]
    found = [op for op in found if _fills(op, copies, lanes, count)]
    if len(found) != 1 or any(op.regions for op in ops):
        return None
    (store,) = found
    if not isinstance(store.memref.owner, AllocOp) or store.where is not None or store.mask is not None:
        return None
    for op in ops:
        used = op.memrefs if isinstance(op, AccumulateOp) else ()
        if op is not store and isinstance(op, LoadOp | StoreOp):
            used = (op.memref,)
        if store.memref in used:
            return None
    return store


def _fills(store: StoreOp, copies: ForOp, lanes: ForOp, count: int) -> bool:
    *outer, last = forms_of(store.indices, store.indices.operands)
    if strides_of(store.memref.type)[-1] != 1:  # pyright: ignore[reportArgumentType]
        return False
    if last.coefficient(lanes.iv) != count or last.coefficient(copies.iv) != 1:
        return False
    rest = [*outer, last.without(lanes.iv).without(copies.iv)]
    return not any(form.uses(variable) for form in rest for variable in (lanes.iv, copies.iv))


def interleaved(builder: IndexBuilder, vectors: Sequence[SSAValue]) -> SSAValue:
    """The first elements of all vectors, then the second ones, and so on."""
    if len(vectors) == 1:
        return vectors[0]
    first, second = (interleaved(builder, vectors[k::2]) for k in range(2))
    assert isinstance(first.type, VectorType)
    width = first.type.get_shape()[0]
    order = [lane + width * k for lane in range(width) for k in range(2)]
    result = VectorType(first.type.element_type, [2 * width])
    mask = {"mask": DenseArrayBase.from_list(i64, order)}
    return builder.value(vector.ShuffleOp, (first, second), result, mask)
