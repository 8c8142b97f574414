"""Vectorized loops of the nest level as explicit vectors (part of convert-nest-to-scf).

    nest.for "i.i" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[%o + %v] : memref<?xf32>
      %b = arith.mulf %a, %s : f32
      nest.store "y" %b, %y[%o + %v] where (%o + %v < %n) : memref<?xf32>
    }

becomes

    %0 = arith.subi %n, %o
    %m = vector.create_mask %0 : vector<16xi1>
    %a = vector.maskedload %x[%o], %m, %zeros : ... into vector<16xf32>
    %1 = vector.broadcast %s : f32 to vector<16xf32>
    %b = arith.mulf %a, %1 : vector<16xf32>
    vector.maskedstore %y[%o], %m, %b : ...

What does not depend on the loop's variable stays scalar. Accesses are contiguous (`vector_access.py` says how
the others are made), reductions into one element become `vector.reduction`. What has no vector form
(`vector_forms.py`, which the primitives ask as well) is refused with a diagnostic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.machine import LINE_BYTES
from ...analysis.nest.buffers import element_bytes, strides_of
from ...analysis.nest.kernels.combiners import VECTOR_KINDS, combiner_op, identities
from ...analysis.nest.kernels.vector_forms import Obstacle, no_vector_form, varies, varying_in
from ...analysis.nest.loop_structure import is_in_rounds
from ...analysis.nest.sets.domains import DIVISIONS, Domain, domain_of, may_be_undefined
from ...dialects.affine import AffineList
from ...dialects.attributes import BF16_PAIRS
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext.arith import vector_form
from ...dialects.nest import AccumulateOp, ForOp, IndexOp, LoadOp, PrefetchOp, StoreOp
from ..nest_common.fused_products import allow_fma
from .lanes import LaneMask, Lanes
from .vector_access import VectorAccess

if TYPE_CHECKING:
    from ..nest_common.body import NestBody

_REASSOC: Attribute = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
_NO_FASTMATH: Attribute = arith.FastMathFlagsAttr("none")


class VectorLoop:
    """Lowers one vectorized loop into the current block of `body.builder`."""

    def __init__(self, body: NestBody, loop: ForOp, width: int | None = None):
        if width is None:
            assert loop.width is not None
            width = loop.width.value.data
        self.body = body
        self.loop = loop
        self.builder = body.builder
        self.varying = varying_in(loop.body.block, {loop.iv})
        self.lanes = Lanes(body, loop, width)
        self.access = VectorAccess(body, self.lanes)
        self._gathered: dict[StoreOp, list[tuple[SSAValue, Sequence[SSAValue], SSAValue]]] = {}
        """What copies of a loop store to neighbours: stored when all of it is there."""

    def lower(self) -> None:
        """Lower the loop. Where it may have no iteration it is guarded if its lanes share an element, or if it is the rest
        of a loop and runs for each row: masks without a lane cost as much as whole vectors."""
        if (found := self.obstacle()) is not None:
            raise self._refusal(found)
        lanes = self.lanes
        lanes.enter()
        if lanes.is_empty:
            return
        if lanes.may_be_empty and (
            self._is_rest_in_rounds() or any(self._is_shared_access(op) for op in self.loop.body.walk())
        ):
            lanes.is_known_nonempty = True
            self.body.branch(lanes.nonempty(), (), self._members)
            return
        self._members()

    def _is_rest_in_rounds(self) -> bool:
        """Whether it is what a split leaves over, inside a loop: often nothing. A piece at an edge has two bounds, and is
        rarely empty."""
        return len(self.loop.upper) == 1 and is_in_rounds(self.loop)

    def obstacle(self) -> Obstacle | None:
        """What in the loop has no vector form."""
        return no_vector_form(self.loop)

    def _members(self) -> Sequence[SSAValue]:
        for op in self.loop.body.block.ops:
            self.operation(op)
        return ()

    def _is_shared_access(self, op: Operation) -> bool:
        """Whether all lanes touch one element: no iteration must not touch it."""
        if isinstance(op, IndexOp):
            return True
        return isinstance(op, LoadOp | AccumulateOp) and not self.varies(op.indices)

    def varies(self, exprs: AffineList) -> bool:
        """Whether an expression differs between the lanes."""
        return varies(exprs, self.varying)

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        self.builder.location = op.location  # pyright: ignore[reportAttributeAccessIssue]
        if self.body.guards.is_dead(op):
            return
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op)
        if any(v in self.varying for v in op.operands):
            return self.elementwise(op)
        self.body.operation(op)

    def _refusal(self, found: Obstacle):
        """The diagnostic that the loop cannot be vectorized."""
        label = self.loop.label
        return fail(
            found.op,
            f'cannot vectorize the loop "{label}": {found.why}',
            hint=found.hint,
            notes=[(self.loop, f'the loop "{label}" is marked vectorized here')],
            error=LoweringError,
        )

    def elementwise(self, op: Operation) -> None:
        """A scalar operation on lanes: the same operation on vectors."""
        op_type = vector_form(type(op))
        operands = [self.lanes.vector(v) for v in op.operands]
        copy = op_type.create(
            operands=operands,
            result_types=[self.lanes.type(r.type) for r in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.builder.emit(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.body.define(old, new)

    def division(self, op: Operation) -> None:
        """An integer division on lanes: those where it is not needed divide by one, for they may hold zero."""
        if not any(v in self.varying for v in op.operands):
            return self.body.operation(op)
        if not may_be_undefined(op):
            return self.elementwise(op)
        dividend, divisor = [self.lanes.vector(v) for v in op.operands]
        element = op.results[0].type
        assert isinstance(element, IntegerType | IndexType)
        lanes_on = self.needed(op).vector()
        if lanes_on is not None:
            ones = self.lanes.constant(IntegerAttr(1, element), element)
            select = vector_form(arith.SelectOp)
            divisor = self.builder.emit(
                select.create(operands=[lanes_on, divisor, ones], result_types=[divisor.type])
            ).results[0]
        copy = type(op).create(operands=[dividend, divisor], result_types=[dividend.type])
        self.builder.emit(copy)
        self.body.define(op.results[0], copy.results[0])

    def needed(self, op: Operation) -> LaneMask:
        """The lanes in which a load or a computation is needed."""
        guards = self.body.guards.of(op)
        return self.lanes.mask(Domain()) if guards is None else self.lanes.any_of(guards)

    def load(self, op: LoadOp) -> None:
        if op in self.body.across:
            copy, vectors = self.body.across[op]
            at = self.body.values[copy]
            assert isinstance(at, int)
            return self.body.define(op.result, vectors[at])
        mask = self.needed(op)
        if self.varies(op.indices):
            buffer = self.body.value(op.memref)
            return self.body.define(op.result, self.access.load(op, buffer, op.indices, mask.vector()))
        condition = mask.any_lane()

        def read() -> SSAValue:
            return self.body.read(self.body.value(op.memref), self.body.index_values(op.indices))

        if condition is None:
            return self.body.define(op.result, read())
        (result,) = self.body.branch(condition, [op.result.type], lambda: [read()])
        self.body.define(op.result, result)

    def store(self, op: StoreOp) -> None:
        mask = self.lanes.mask(domain_of(op))
        if op in self._gathered:
            buffer, indices = self.access.first(op, self.body.value(op.memref), op.indices)
            return self._gathered[op].append((buffer, indices, self.lanes.vector(op.value)))
        if self.varies(op.indices):
            buffer, value = self.body.value(op.memref), self.lanes.vector(op.value)
            return self.access.store(op, value, buffer, op.indices, mask.vector())
        condition = mask.any_lane()

        def write() -> Sequence[SSAValue]:
            self.body.write(
                op, self.body.value(op.value), self.body.value(op.memref), self.body.index_values(op.indices)
            )
            return ()

        if condition is None:
            write()
            return
        self.body.branch(condition, (), write)

    def prefetch(self, op: PrefetchOp) -> None:
        """One for each cache line of lanes that are adjacent in memory, else one: that of the first lane's element."""
        values, iv = self.body.values, self.loop.iv
        lanes = values[iv]
        for lane in self._first_of_lines(op):
            values[iv] = self.builder.affine(self.lanes.first.plus(lane * self.loop.step_value))
            self.body.operation(op)
        values[iv] = lanes

    def _first_of_lines(self, op: PrefetchOp) -> range:
        """The lanes whose elements begin a cache line, as far as the first lane's does."""
        assert isinstance(op.memref.type, MemRefType)
        *outer, last = self.body.forms(op.indices)
        split = self.lanes.split(last)
        is_dense = split is not None and split[1] == 1 and strides_of(op.memref.type)[-1] == 1
        if not is_dense or any(form.uses(self.lanes.iv) for form in outer):
            return range(1)
        return range(0, self.lanes.width, LINE_BYTES // element_bytes(op.memref.type.element_type))

    # ---- reductions ----

    def accumulate(self, op: AccumulateOp) -> None:
        if self.varies(op.indices):
            return self._accumulate_lanes(op)
        self._reduce(op)

    def _accumulate_lanes(self, op: AccumulateOp) -> None:
        """Each lane has its own element: load, combine, store; one lane after the other where that is not seen."""
        mask = self.lanes.mask(domain_of(op)).vector()
        buffers = [self.body.value(m) for m in op.memrefs]
        if not self.access.is_injective(op.indices):
            return self._one_by_one(op, mask)
        old = [self.access.load(op, b, op.indices, mask) for b in buffers]
        combined = self._combine_vectors(op, old, [self.lanes.vector(v) for v in op.values])
        for value, buffer in zip(combined, buffers, strict=True):
            self.access.store(op, value, buffer, op.indices, mask)

    def _combine_vectors(
        self, op: AccumulateOp, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        if op.combine is None:
            op_type, properties = combiner_op(op.combiner.data, op.values[0].type)
            total = self.builder.value(op_type, (old[0], new[0]), None, properties)
            allow_fma(op, total, new[0])
            return [total]
        region = op.combine.block
        self.body.values.update(zip(region.args, (*old, *new), strict=True))
        self.varying |= varying_in(region, set(region.args) | self.varying)
        last = region.last_op
        assert last is not None
        for member in region.ops:
            if member is not last:
                self.operation(member)
        return [self.lanes.vector(v) for v in last.operands]

    def _reduce(self, op: AccumulateOp) -> None:
        """All lanes into one element; lanes outside of the domain hold the identity."""
        mask = self.lanes.mask(domain_of(op))
        lanes_on = mask.vector()
        values = [self.lanes.vector(v) for v in op.values]
        if op.combine is not None and op.identity is None:
            return self._in_order(op, values) if lanes_on is None else self._one_by_one(op, lanes_on)
        if lanes_on is not None:
            select = vector_form(arith.SelectOp)
            neutral = [self.lanes.constant(number, number.type) for number in identities(op)]
            values = [
                self.builder.value(select, (lanes_on, value, none), value.type)
                for value, none in zip(values, neutral, strict=True)
            ]
        totals = self._totals(op, values)

        def update() -> Sequence[SSAValue]:
            indices, buffers = self.body.index_values(op.indices), [self.body.value(m) for m in op.memrefs]
            old = [self.body.read(buffer, indices) for buffer in buffers]
            for value, buffer in zip(self.body.combine(op, old, totals), buffers, strict=True):
                self.body.write(op, value, buffer, indices)
            return ()

        condition = mask.any_lane()
        if condition is None:
            update()
            return
        self.body.branch(condition, (), update)

    def _in_order(self, op: AccumulateOp, values: Sequence[SSAValue]) -> None:
        """All lanes into one element, one lane after the other."""
        indices, buffers = self.body.index_values(op.indices), [self.body.value(m) for m in op.memrefs]
        results: Sequence[SSAValue] = [self.body.read(buffer, indices) for buffer in buffers]
        for lane in range(self.lanes.width):
            results = self.body.combine(op, results, [self._extract(value, lane) for value in values])
        for value, buffer in zip(results, buffers, strict=True):
            self.body.write(op, value, buffer, indices)

    def _totals(self, op: AccumulateOp, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The lanes of each vector combined: by `vector.reduction`, or by the region, one half with the other."""
        if op.combine is None:
            return [self._total(op.combiner.data, values[0], op.values[0].type)]
        lanes = self.lanes
        while self.lanes.width > 2 and self.lanes.width % 2 == 0:
            half = self.lanes.width // 2
            halves = [[self._part(value, range(at, at + half)) for value in values] for at in (0, half)]
            self.lanes = Lanes(self.body, self.loop, half)
            values = self._combine_vectors(op, *halves)
        first, *others = range(self.lanes.width)
        totals: Sequence[SSAValue] = [self._extract(value, first) for value in values]
        for lane in others:
            totals = self.body.combine(op, totals, [self._extract(value, lane) for value in values])
        self.lanes = lanes
        return totals

    def _part(self, values: SSAValue, lanes: range) -> SSAValue:
        """Some lanes of a vector."""
        assert isinstance(values.type, VectorType)
        mask: dict[str, Attribute] = {"mask": DenseArrayBase.from_list(i64, list(lanes))}
        part = VectorType(values.type.element_type, [len(lanes)])
        return self.builder.value(vector.ShuffleOp, (values, values), part, mask)

    def _total(self, combiner: str, values: SSAValue, element: Attribute) -> SSAValue:
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag(VECTOR_KINDS.get(combiner, combiner)))
        free = isinstance(element, AnyFloat) and combiner in ("add", "mul")
        properties: dict[str, Attribute] = {"kind": kind, "fastmath": _REASSOC if free else _NO_FASTMATH}
        return self.builder.value(vector.ReductionOp, (values,), element, properties)

    def _one_by_one(self, op: AccumulateOp, mask: SSAValue | None) -> None:
        """The updates of the lanes that are on, one after the other."""
        buffers = [self.body.value(m) for m in op.memrefs]
        vectors = [self.lanes.vector(v) for v in op.values]
        for lane, position in enumerate(self.access.positions(op.indices)):

            def update(lane: int = lane, position: Sequence[SSAValue] = position) -> Sequence[SSAValue]:
                old = [self.body.read(b, position) for b in buffers]
                combined = self.body.combine(op, old, [self._extract(v, lane) for v in vectors])
                for value, buffer in zip(combined, buffers, strict=True):
                    self.body.write(op, value, buffer, position)
                return ()

            self.access.where_on(mask, lane, (), update)

    def _extract(self, values: SSAValue, lane: int) -> SSAValue:
        assert isinstance(values.type, VectorType)
        position = DenseArrayBase.from_list(i64, [lane])
        return self.builder.value(
            vector.ExtractOp, (values,), values.type.element_type, {"static_position": position}
        )

    # ---- what may be inside ----

    def inner_loop(self, op: ForOp) -> None:
        """A loop whose iterations are the same for all lanes: it stays, and its body becomes vectors."""
        if BF16_PAIRS in op.attributes:
            from .bf16_pairs import lower_pairs

            return lower_pairs(self, op)
        around = self.body.counted if op.kind == "serial" else self.body.repeated
        from .interleaved_stores import interleaved_store

        store = interleaved_store(op, self.loop)
        if store is not None:
            self._gathered[store] = []
        around(op, lambda: [self.operation(member) for member in op.body.block.ops])
        if store is not None:
            self._store_together(self._gathered.pop(store))

    def _store_together(self, copies: Sequence[tuple[SSAValue, Sequence[SSAValue], SSAValue]]) -> None:
        """What the copies of a loop store to neighbours, at the place of the first."""
        from .interleaved_stores import interleaved

        buffer, indices, _ = copies[0]
        together = interleaved(self.builder, [value for _, _, value in copies])
        self.builder.emit(vector.StoreOp.create(operands=(together, buffer, *indices)))

    def index(self, op: IndexOp) -> None:
        self.body.index(op)

    def uniform(self, op: Operation) -> None:
        self.body.operation(op)


_HANDLERS: dict[type, Callable[[VectorLoop, Any], None]] = {
    LoadOp: VectorLoop.load,
    PrefetchOp: VectorLoop.prefetch,
    StoreOp: VectorLoop.store,
    AccumulateOp: VectorLoop.accumulate,
    ForOp: VectorLoop.inner_loop,
    IndexOp: VectorLoop.index,
    arith.ConstantOp: VectorLoop.uniform,
    memref.DimOp: VectorLoop.uniform,
    **dict.fromkeys(DIVISIONS, VectorLoop.division),
}
