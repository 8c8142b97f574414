"""Statements and buffers of a kernel as one thread has them (part of convert-nest-to-gpu).

    nest.accumulate "s" add %a, %s[] : memref<f32>       shuffles, where all lanes of a warp update %s
nest.alloc "row" : memref<32x8xf32, 5>               8 elements of a thread, where the first axis counts the lanes
nest.alloc "tile" : memref<32x33xf32, 3>             memory that the threads of a block share
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType, NoneAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from ...analysis.nest.buffers import declared_space
from ...analysis.nest.kernels.barrier_places import THREAD_AXES, bound_loops, threads_for
from ...analysis.nest.kernels.combiners import NO_FASTMATH, identity
from ...analysis.nest.kernels.gpu_accesses import loops_around
from ...analysis.nest.kernels.lane_reductions import holds_first, reduction_loop
from ...analysis.nest.kernels.thread_copies import NoCopies, ThreadCopies, thread_copies
from ...analysis.nest.sets.domains import Domain, domain_of
from ...dialects.attributes import PAIRS
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import LANES, AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp, told_apart, with_lanes
from ..nest_common.fused_products import product_to_fuse
from ..nest_common.index_arithmetic import IndexBuilder
from .pairs import buffers_of_pairs
from .thread_ids import ThreadIds, on_any_lane, over_lanes
from .tiles import TileBody

_SHARED = IntegerAttr(3, i64)


class ThreadBody(TileBody):
    """What a thread does with statements and buffers.

    Where barriers are `explicit`, the nest holds all that it needs.
    """

    def __init__(
        self, builder: IndexBuilder, sites: dict[Operation, int], unit: Sequence[Operation], explicit: bool
    ):
        super().__init__(builder, sites)
        self.explicit = explicit
        self.loops_on: dict[str, list[ForOp]] = {}
        for loop in bound_loops(unit):
            self.loops_on.setdefault(loop.kind, []).append(loop)
        self.ids = ThreadIds(builder, self.loops_on)
        self.enclosing: set[str] = set()
        allocs = [inner for op in unit for inner in op.walk() if isinstance(inner, AllocOp)]
        self.of_threads = {
            alloc.memref: found for alloc in allocs if (found := thread_copies(alloc)) is not None
        }
        """The local buffers made outside of loops over threads: how these share them out, or why they cannot."""
        self.private = {alloc.memref for alloc in allocs if self._is_private(alloc)}
        """The buffers that each thread has for itself."""
        self.pairs = buffers_of_pairs(allocs, self.private)
        self.left_out: dict[SSAValue, set[int]] = {}
        """The axes that a buffer has lost: each thread keeps its own elements along them."""
        self.copies: dict[SSAValue, list[SSAValue]] = {}
        """The ids of threads that each have a part of a shared buffer: it is made inside the loops over these axes."""

    @property
    def thread_axes(self) -> list[str]:
        """The axes along which the threads of the kernel are told apart."""
        return told_apart(axis for axis in self.loops_on if axis in THREAD_AXES)

    @property
    def is_team_level(self) -> bool:
        """Whether threads of one block run the same iteration here."""
        return bool(self.axes_left)

    @property
    def axes_left(self) -> list[str]:
        """The axes over which no loop is around: of lanes, one of two where a loop over the other is."""
        around = with_lanes(self.enclosing)
        left = [axis for axis in self.thread_axes if axis not in around]
        other = next((b for a, b in (("lane.y", "lane.x"), ("lane.x", "lane.y")) if a in around), "lane")
        return [other if axis == "lane" else axis for axis in left]

    # ---- statements ----

    def load(self, op: LoadOp) -> None:
        """An element named like its buffer, or the buffer that this one holds a tile of, has no name of its own."""
        super().load(op)
        value, buffer = self.value(op.result), self.value(op.memref).name_hint or ""
        is_tile = value.name_hint is not None and buffer.startswith(f"{value.name_hint}_")
        if value.name_hint == buffer or is_tile or self.is_private(op.memref):
            value.name_hint = None

    def accumulate(self, op: AccumulateOp) -> None:
        """An update by all lanes of a warp is one of their values combined, by lane 0."""
        loop = reduction_loop(op)
        if loop is None:
            return super().accumulate(op)
        if not self.explicit:
            raise fail(
                op,
                f'a reduction over the lanes of the loop "{loop.label}" was not checked',
                hint="nest-insert-barriers checks it, then convert-nest-to-gpu{explicit-barriers=true}",
                error=LoweringError,
            )
        domain, values = domain_of(op), [self.value(v) for v in op.values]
        constraints = [c for c in domain.constraints if c not in self.assumed]
        if constraints or domain.mask is not None:
            runs = self.condition(Domain(tuple(constraints), domain.mask))
            values = [
                self.builder.value(arith.SelectOp, (runs, value, none), value.type)
                for value, none in zip(values, self._identities(op), strict=True)
            ]
        totals = over_lanes(
            self.builder, values, lambda some, others: self.combine(op, some, others), loop.kind
        )

        def update() -> Sequence[SSAValue]:
            buffers, indices = [self.value(m) for m in op.memrefs], self.index_values(op.indices)
            new = self.combine(op, [self.read(buffer, indices) for buffer in buffers], totals)
            for value, buffer in zip(new, buffers, strict=True):
                self.write(op, value, buffer, indices)
            return ()

        if self.private.issuperset(op.memrefs):  # every lane has a copy of the element
            update()
            return
        if loop.kind != "lane":
            raise fail(
                op,
                f"lanes along {loop.kind} combine their values in registers only",
                hint="put the buffer in local memory",
                error=LoweringError,
            )
        conditions = [self._is_lane_0()]
        if domain.mask is None and all(holds_first(c, loop) for c in constraints):
            conditions += [self.builder.at_least_zero(self.forms(c)[0]) for c in constraints]
        else:
            conditions.append(
                on_any_lane(self.builder, self.condition(Domain(tuple(constraints), domain.mask)))
            )
        self.branch(self._all(conditions), (), update)

    def combine(
        self, op: AccumulateOp, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A product that a sum adds is a fused multiply-add, written as one: compilers contract nothing by themselves."""
        product = product_to_fuse(op, new[0])
        if product is None:
            return super().combine(op, old, new)
        return [self.builder.value(math.FmaOp, (product.lhs, product.rhs, old[0]), None, NO_FASTMATH)]

    def _identities(self, op: AccumulateOp) -> list[SSAValue]:
        """The values that leave a reduction as it is."""
        types = [value.type for value in op.values]
        given = (
            op.identity.data if isinstance(op.identity, ArrayAttr) else [identity(op.combiner.data, types[0])]
        )
        return [self.builder.attribute_constant(a, t) for a, t in zip(given, types, strict=True)]

    def _is_lane_0(self) -> SSAValue:
        return self.builder.compare("eq", self.ids.along("lane"), self.builder.constant(0))

    def store(self, op: StoreOp) -> None:
        """A value that is computed to be stored is named by the place."""
        if self._is_overwritten(op):
            return
        value = self.value(op.value)
        if value.name_hint == op.statement and isinstance(value.owner, Operation) and op.value.has_one_use():
            value.name_hint = None
        super().store(op)

    def _is_overwritten(self, op: StoreOp) -> bool:
        """Whether a register of the thread is set again before it is used: where the domain of the second store holds."""
        if len(op.indices) or op.memref not in self.private:
            return False
        later = op.next_op
        while later is not None and not later.regions:
            if isinstance(later, StoreOp) and later.memref is op.memref:
                return later.mask is None and self.assumed.issuperset(domain_of(later).constraints)
            if op.memref in later.operands:
                return False
            later = later.next_op
        return False

    # ---- buffers ----

    def stack_buffer(self, op: AllocOp, buffer: MemRefType) -> SSAValue:
        new = super().stack_buffer(op, buffer)
        if op.memref in self.pairs and isinstance(new.owner, Operation):
            new.owner.attributes[PAIRS] = UnitAttr()
        return new

    def alloc(self, op: AllocOp) -> None:
        """Registers of a thread inside the loops over threads, else memory that the block shares."""
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        if DYNAMIC_INDEX in buffer.get_shape():
            raise fail(
                op,
                f'the buffer "{op.label.data}" inside a kernel needs constant extents',
                hint="allocate it outside the loops that are bound",
                error=LoweringError,
            )
        wanted, found = declared_space(buffer), "shared" if self.is_team_level else "local"
        copies = self.of_threads.get(op.memref)
        if isinstance(copies, ThreadCopies):
            return self._alloc_of_threads(op, buffer, copies)
        if wanted not in (None, found):
            owner = "a block" if found == "shared" else "a thread"
            notes = [(copies.op, copies.reason)] if isinstance(copies, NoCopies) else []
            raise fail(
                op,
                f'the buffer "{op.label.data}" is to be in {wanted} memory, but here it is that of {owner}',
                hint="shared memory is made outside the loops bound to threads, local memory inside all of them",
                notes=notes,
                error=LoweringError,
            )
        if not self.is_team_level:
            return self.define(op.memref, self.stack_buffer(op, buffer))
        around = with_lanes(self.enclosing)
        inside = [axis for axis in self.thread_axes if axis in around]
        lengths = [self._length(axis, op) for axis in inside]
        shape, layout = (*lengths, *buffer.get_shape()), NoneAttr() if inside else buffer.layout
        new = self.stack_buffer(op, MemRefType(buffer.element_type, shape, layout, _SHARED))
        self.define(op.memref, new)
        if inside:
            self.copies[new] = [self.ids.along(axis) for axis in inside]

    def _alloc_of_threads(self, op: AllocOp, buffer: MemRefType, copies: ThreadCopies) -> None:
        """What one thread keeps of a buffer: without the axes that are the thread's number."""
        left_out = set(copies.distributed.values())
        shape = [extent for axis, extent in enumerate(buffer.get_shape()) if axis not in left_out]
        kept = MemRefType(buffer.element_type, shape, buffer.layout, buffer.memory_space)
        new = self.stack_buffer(op, kept)
        self.left_out[new] = left_out
        self.define(op.memref, new)

    def places(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The indices of an element where the thread finds it."""
        left_out = self.left_out.get(buffer, ())
        own = [index for axis, index in enumerate(indices) if axis not in left_out]
        return [*self.copies.get(buffer, ()), *own]

    def _length(self, axis: str, op: AllocOp) -> int:
        """How many threads there are along an axis, a loop over which makes a buffer for each of its iterations."""
        for inner in op.memref.uses:
            if isinstance(inner.operation, memref.CollapseShapeOp):
                raise fail(
                    inner.operation,
                    f'the buffer "{op.label.data}" is one for each thread of {axis}, and cannot be seen collapsed',
                    hint="make it outside the loops bound to threads, or inside all of them",
                    error=LoweringError,
                )
        return threads_for(self.loops_on.get(axis, [])) if axis != "lane" else LANES

    def read(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        return super().read(buffer, self.places(buffer, indices))

    def write(self, op: Operation, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        super().write(op, value, buffer, self.places(buffer, indices))

    def update(
        self, op: AccumulateOp, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]
    ) -> None:
        """What a thread has for itself, no other one updates."""
        if op.memrefs[0] not in self.private:
            return super().update(op, value, buffer, self.places(buffer, indices))
        (new,) = self.combine(op, [self.read(buffer, indices)], [value])
        self.write(op, new, buffer, indices)

    def is_local(self, buffer: SSAValue) -> bool:
        return buffer in self.private

    def is_private(self, buffer: SSAValue) -> bool:
        return buffer in self.private or self.values.get(buffer) in self.copies

    def _is_private(self, op: AllocOp) -> bool:
        around = with_lanes(loop.kind for loop in loops_around(op))
        return around.issuperset(self.thread_axes) or isinstance(self.of_threads.get(op.memref), ThreadCopies)
