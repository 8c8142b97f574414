"""Pairs of 16-bit floats (part of convert-nest-to-gpu): two iterations at a time, on values in registers.

    nest.for "c" %c = 0 to 2 vectorized(2) {                  %x and %w are f16, in registers, two elements a row
      %a = nest.load %x[%l, %m, %c]
      %b = arith.mulf %a, %s : f16
      nest.store "w" %b, %w[%l, %m, %c]
    }

becomes

    %0 = vector.load %x[%m, %c0] : memref<4x2xf16>, vector<2xf16>
    %1 = vector.broadcast %s : f16 to vector<2xf16>
    %2 = arith.mulf %0, %1 : vector<2xf16>
    vector.store %2, %w[%m, %c0]

What is loaded from elsewhere is two elements by one access, where that is known to be aligned.
What has no form for a pair is done for one iteration and then the other, operation by operation, as lanes of a vector
do it; of 16-bit floats the two are put together again. A buffer is an array of pairs (`nestor.pairs`) where all of its
accesses are in such loops, along its last axis, or a tensor core's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import BFloat16Type, Float16Type, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.nest.kernels.combiners import combiner_op
from ...analysis.nest.kernels.matrix_tiles import is_operand_in_registers
from ...analysis.nest.kernels.vector_forms import varying_in
from ...analysis.nest.sets.domains import domain_of, is_computation
from ...dialects.ext.vector import FromElementsOp
from ...dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, YieldOp
from .vectors import LaneLoop

if TYPE_CHECKING:
    from .tiles import TileBody

_ON_PAIRS = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.MaximumfOp, arith.MinimumfOp)
"""The operations that are done to both elements at a time."""


def buffers_of_pairs(allocs: Iterable[AllocOp], private: set[SSAValue]) -> set[SSAValue]:
    """Which of the buffers that threads have for themselves are arrays of pairs."""
    return {alloc.memref for alloc in allocs if alloc.memref in private and _has_pairs(alloc, private)}


def _has_pairs(alloc: AllocOp, private: set[SSAValue]) -> bool:
    type = alloc.memref.type
    assert isinstance(type, MemRefType)
    if not is_short_float(type.element_type) or not type.get_num_dims() or type.get_shape()[-1] != 2:
        return False
    users = [use.operation for use in alloc.memref.uses]
    return bool(users) and all(
        is_operand_in_registers(op)
        or (isinstance(op, LoadOp | StoreOp | AccumulateOp) and _is_along(op, private))
        for op in users
    )


def _is_along(op: LoadOp | StoreOp | AccumulateOp, private: set[SSAValue]) -> bool:
    """Whether the last index of an access counts the iterations of a loop over pairs around it, and no other does."""
    loop = op.parent_op()
    if not isinstance(loop, ForOp) or not _is_of_registers(loop, private):
        return False
    *others, last = (op.indices[k] for k in range(len(op.indices)))
    varying = varying_in(loop.body.block, {loop.iv})
    return last.single_value() is loop.iv and not any(v in varying for i in others for v in i.operands)


def _is_of_registers(loop: ForOp, private: set[SSAValue]) -> bool:
    """Whether a vectorized loop has two iterations, and writes only what threads have for themselves."""
    if loop.kind != "vectorized" or loop.constant_trip_count() != 2 or loop.step_value != 1:
        return False
    if loop.lower.constants() != (0,) or loop.width is None or loop.width.value.data != 2:
        return False
    for op in loop.body.block.ops:
        buffers = op.memrefs if isinstance(op, AccumulateOp) else ()
        buffers = (op.memref,) if isinstance(op, StoreOp) else buffers
        if not private.issuperset(buffers):
            return False
        if op.regions and not isinstance(op, AccumulateOp):
            return False
        if not buffers and not is_computation(op) and not isinstance(op, LoadOp | AllocOp | YieldOp):
            return False
    return True


def is_loop_over_pairs(body: TileBody, loop: ForOp) -> bool:
    """Whether a vectorized loop is lowered here."""
    if not body.pairs or not _is_of_registers(loop, body.private):
        return False
    return any(
        buffer in body.pairs
        for op in loop.body.block.ops
        for buffer in (op.memrefs if isinstance(op, AccumulateOp) else op.operands)
    )


class PairLoop:
    """One such loop."""

    def __init__(self, body: TileBody, loop: ForOp):
        self.body, self.builder, self.loop = body, body.builder, loop
        self.varying = varying_in(loop.body.block, {loop.iv})
        self.both: dict[SSAValue, SSAValue] = {}
        """Pairs by the values of the nest that they are."""
        self.each: dict[SSAValue, list[SSAValue]] = {}
        """What the two iterations have for a value of the nest."""
        lanes = LaneLoop(body, loop, set(body.assumed))
        asked = lanes.needs.is_needed
        self.vectors = {op for op in lanes.accesses if isinstance(op, LoadOp) and not asked}
        """Loads of two elements by one access to memory, the place of which is known to be a multiple of its size."""

    def lower(self) -> None:
        for op in self.loop.body.block.ops:
            if isinstance(op, YieldOp) or self.body.guards.is_dead(op):
                continue
            self.builder.location = op.location
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        if isinstance(op, LoadOp) and op.memref in self.body.pairs:
            self.both[op.result] = self._load(op)
        elif op in self.vectors:
            both = self._read(self._place(op, op.memref))
            self.each[op.result] = [self._part(both, k) for k in (0, 1)]
        elif self._is_one_element(op):
            self.body.operation(op)
        elif isinstance(op, StoreOp) and op.memref in self.body.pairs:
            self._write(op, op.memref, self._pair(op.value))
        elif isinstance(op, AccumulateOp) and op.memrefs[0] in self.body.pairs and op.combine is None:
            self._update(op)
        elif isinstance(op, AccumulateOp) and self._is_one_sum(op):
            self._add_both(op)
        elif is_computation(op) and not any(v in self.varying for v in op.operands):
            self.body.operation(op)
        elif isinstance(op, arith.SelectOp) and is_short_float(op.result.type):
            self._select(op)
        elif isinstance(op, _ON_PAIRS) and is_short_float(op.result.type):
            pair = VectorType(op.result.type, [2])
            found = type(op).create(
                operands=[self._pair(v) for v in op.operands],
                result_types=[pair],
                properties=dict(op.properties),
            )
            self.both[op.result] = self.builder.emit(found).results[0]
        else:
            self._one_by_one(op)

    def _is_one_element(self, op: Operation) -> bool:
        """Whether both iterations load one element, of what the loop does not write."""
        if not isinstance(op, LoadOp) or op.memref in self.body.private:
            return False
        domains = self.body.guards.of(op)
        is_everywhere = domains is None or any(
            d.mask is None and self.body.assumed.issuperset(d.constraints) for d in domains
        )
        return is_everywhere and not any(v in self.varying for v in op.operands)

    def _select(self, op: arith.SelectOp) -> None:
        """One of two pairs, each element by a condition of its own."""
        conditions = [self._of_iteration(op.cond, k) for k in (0, 1)]
        both = self._put_together(conditions, VectorType(op.cond.type, [2]))  # pyright: ignore[reportArgumentType]
        first, second = self._pair(op.lhs), self._pair(op.rhs)
        new = arith.SelectOp.create(operands=[both, first, second], result_types=[first.type])
        self.both[op.result] = self.builder.emit(new).results[0]

    def _one_by_one(self, op: Operation) -> None:
        """For one iteration and then the other."""
        body = self.body
        found: list[list[SSAValue]] = []
        for k in (0, 1):
            body.values[self.loop.iv] = k
            for value in (*op.operands, *_operands_inside(op)):
                if value in self.both or value in self.each:
                    body.values[value] = self._of_iteration(value, k)
            body.operation(op)
            found.append([body.value(result) for result in op.results])
        for result, *values in zip(op.results, *found, strict=True):
            if is_short_float(result.type):
                for value in values:
                    value.name_hint = None
                self.both[result] = self._put_together(values, VectorType(result.type, [2]))
            else:
                self.each[result] = values

    def _is_one_sum(self, op: AccumulateOp) -> bool:
        """Whether both iterations update one element everywhere, in any order."""
        domain = domain_of(op)
        return (
            op.combine is None
            and op.order_name == "any"
            and len(op.memrefs) == 1
            and op.memrefs[0] not in self.varying
            and domain.mask is None
            and self.body.assumed.issuperset(domain.constraints)
            and not any(v in self.varying for v in op.indices.operands)
            and op.values[0] in self.varying
        )

    def _add_both(self, op: AccumulateOp) -> None:
        """The two values are combined first: the element is updated once."""
        body, value = self.body, op.values[0]
        first, second = (self._of_iteration(value, k) for k in (0, 1))
        (body.values[value],) = body.combine(op, [first], [second])
        body.operation(op)

    # ---- values ----

    def _pair(self, value: SSAValue) -> SSAValue:
        if value in self.both:
            return self.both[value]
        assert value not in self.each
        pair = VectorType(value.type, [2])  # pyright: ignore[reportArgumentType]
        new = vector.BroadcastOp.create(operands=[self.body.value(value)], result_types=[pair])
        return self.builder.emit(new).results[0]

    def _of_iteration(self, value: SSAValue, k: int) -> SSAValue:
        if value in self.each:
            return self.each[value][k]
        return self._part(self.both[value], k) if value in self.both else self.body.value(value)

    def _part(self, pair: SSAValue, k: int) -> SSAValue:
        assert isinstance(pair.type, VectorType)
        return self.builder.emit(vector.ExtractOp(pair, [k], pair.type.element_type)).results[0]

    def _put_together(self, values: list[SSAValue], pair: VectorType) -> SSAValue:
        return self.builder.emit(FromElementsOp.create(operands=values, result_types=[pair])).results[0]

    # ---- memory ----

    def _place(self, op: LoadOp | StoreOp | AccumulateOp, memref: SSAValue) -> tuple[SSAValue, ...]:
        body = self.body
        body.values[self.loop.iv] = 0
        buffer = body.value(memref)
        return (buffer, *body.places(buffer, body.index_values(op.indices)))

    def _read(self, where: tuple[SSAValue, ...]) -> SSAValue:
        assert isinstance(where[0].type, MemRefType)
        pair = VectorType(where[0].type.element_type, [2])
        return self.builder.emit(vector.LoadOp.create(operands=where, result_types=[pair])).results[0]

    def _load(self, op: LoadOp) -> SSAValue:
        return self._read(self._place(op, op.memref))

    def _update(self, op: AccumulateOp) -> None:
        where = self._place(op, op.memrefs[0])
        value, old = self._pair(op.values[0]), self._read(where)
        op_type, properties = combiner_op(op.combiner.data, op.values[0].type)
        new = op_type.create(operands=[old, value], result_types=[old.type], properties=properties or {})
        self._write(op, op.memrefs[0], self.builder.emit(new).results[0])

    def _write(self, op: StoreOp | AccumulateOp, memref: SSAValue, value: SSAValue) -> None:
        """Where the domain does not hold, an element stays what it was."""
        where, domain = self._place(op, memref), domain_of(op)
        if domain.mask is not None or not self.body.assumed.issuperset(domain.constraints):
            old, values = self._read(where), []
            for k in (0, 1):
                self.body.values[self.loop.iv] = k
                for v in () if domain.mask is None else (domain.mask,):
                    if v in self.each:
                        self.body.values[v] = self.each[v][k]
                condition = self.body.condition(domain)
                parts = (condition, self._part(value, k), self._part(old, k))
                values.append(self.builder.value(arith.SelectOp, parts, parts[1].type))
            assert isinstance(value.type, VectorType)
            value = self._put_together(values, value.type)
        self.builder.emit(vector.StoreOp.create(operands=(value, *where)))


def is_short_float(type: Attribute) -> bool:
    return isinstance(type, Float16Type | BFloat16Type)


def _operands_inside(op: Operation) -> Iterable[SSAValue]:
    """What a combiner's region uses."""
    return (v for region in op.regions for inner in region.walk() for v in inner.operands)
