"""Scans in vectors (part of convert-nest-to-scf): a loop annotated `nestor.scan` has them in lanes.

    nest.for "i" %i = 0 to 4 attributes {nestor.scan} {
      %a = nest.load %x[%o + %i]
      nest.accumulate "s" add %a, %s[]
      %b = nest.load %s[]
      nest.store "y" %b, %y[%o + %i]
    }

becomes

    %a = vector.load %x[%o] : vector<4xf32>
    %1 = vector.shuffle %identity, %a [3, 4, 5, 6]        // each lane and the one before it
    %2 = arith.addf %a, %1 : vector<4xf32>
    %3 = vector.shuffle %identity, %2 [2, 3, 4, 5]        // each lane and the three before it
    %4 = arith.addf %2, %3 : vector<4xf32>
    %s0 = memref.load %s[]
    %t = vector.extract %4[3]
    %5 = arith.addf %s0, %t
    memref.store %5, %s[]
    %6 = vector.broadcast %s0 : vector<4xf32>
    %b = arith.addf %6, %4 : vector<4xf32>
    vector.store %b, %y[%o]

The annotation promises that lanes in lockstep do as iterations one after the other would; a loop that is not of this form
stays a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from ...analysis.nest.kernels.combiners import combiner_op, identity
from ...analysis.nest.kernels.vector_forms import varying_in
from ...analysis.nest.sets.domains import is_computation
from ...dialects.attributes import SCAN
from ...dialects.nest import AccumulateOp, ForOp, LoadOp, PrefetchOp, StoreOp, YieldOp
from .vectors import VectorLoop

if TYPE_CHECKING:
    from ..nest_common.body import NestBody


def scan_in(loop: ForOp) -> AccumulateOp | None:
    """The reduction whose result so far the iterations of an annotated loop read; None where it has no vector form."""
    if SCAN not in loop.attributes or loop.constant_trip_count() is None or loop.step_value != 1:
        return None
    ops = [op for op in loop.body.block.ops if not isinstance(op, YieldOp)]
    updates = [op for op in ops if isinstance(op, AccumulateOp)]
    if len(updates) != 1 or not _is_plain(updates[0]) or updates[0].combine is not None:
        return None
    (update,) = updates
    varying = varying_in(loop.body.block, {loop.iv})
    if update.order_name != "any" or any(v in varying for v in update.indices.operands):
        return None
    stored = {op.memref for op in ops if isinstance(op, StoreOp)}
    for op in ops:
        if isinstance(op, LoadOp):
            is_running = op.memref in update.memrefs
            if op.memref in stored or (is_running and not _reads_after(op, update)):
                return None
        elif isinstance(op, StoreOp):
            if not _is_plain(op) or not any(v in varying for v in op.indices.operands):
                return None
        elif op is not update and not isinstance(op, PrefetchOp) and not is_computation(op):
            return None
    return None if update.memrefs[0] in stored else update


def _is_plain(op: AccumulateOp | StoreOp) -> bool:
    return op.where is None and op.mask is None


def _reads_after(op: LoadOp, update: AccumulateOp) -> bool:
    return op.indices == update.indices and update.is_before_in_block(op)


class VectorScan(VectorLoop):
    """Lowers one annotated loop, all of whose iterations are the lanes of a vector."""

    def __init__(self, body: NestBody, loop: ForOp, update: AccumulateOp):
        width = loop.constant_trip_count()
        assert width is not None
        super().__init__(body, loop, width)
        self.update = update
        self.running: SSAValue | None = None
        reads = {op.results[0] for op in loop.body.block.ops if self._is_running(op)}
        self.varying = varying_in(loop.body.block, self.varying | reads)

    def obstacle(self) -> None:
        """`scan_in` has seen that there is none."""

    def _is_running(self, op: Operation) -> bool:
        return isinstance(op, LoadOp) and op.memref is self.update.memrefs[0]

    def operation(self, op: Operation) -> None:
        if op is self.update:
            self.builder.location = op.location  # pyright: ignore[reportAttributeAccessIssue]
            self._scan(self.update)
        elif self._is_running(op):
            assert self.running is not None
            self.body.define(op.results[0], self.running)
        else:
            super().operation(op)

    def _scan(self, op: AccumulateOp) -> None:
        element, width, builder = op.values[0].type, self.lanes.width, self.builder
        neutral = self.lanes.constant(identity(op.combiner.data, element), element)
        lanes, distance = self.lanes.vector(op.values[0]), 1
        while distance < width:
            before = DenseArrayBase.from_list(i64, [width - distance + k for k in range(width)])
            shifted = builder.value(vector.ShuffleOp, (neutral, lanes), lanes.type, {"mask": before})
            lanes = self._combined(op, (shifted, lanes))
            distance *= 2
        indices, buffer = self.body.index_values(op.indices), self.body.value(op.memrefs[0])
        old = self.body.read(buffer, indices)
        self.body.write(op, self._combined(op, (old, self._extract(lanes, width - 1))), buffer, indices)
        self.running = self._combined(op, (self.lanes.repeat(old), lanes))

    def _combined(self, op: AccumulateOp, values: Sequence[SSAValue]) -> SSAValue:
        op_type, properties = combiner_op(op.combiner.data, op.values[0].type)
        return self.builder.value(op_type, values, None, properties)
